"""Pictures of stencils' steps."""

from __future__ import annotations

import importlib.util
import tempfile
import unittest
from pathlib import Path

from dcgn.results import USAGE, Failure, load

RESULTS = Path(__file__).parents[2] / "bench/results"

HERE = importlib.util.find_spec("matplotlib") is not None


@unittest.skipUnless(HERE, "no matplotlib")
class Steps(unittest.TestCase):
    def test_a_panel_for_each_grid_and_a_bar_for_each_row(self) -> None:
        from dcgn import steps

        document = load(str(RESULTS / "stencil-jacobi-h200-two-gpus.json"))
        figure = steps.draw(document)
        self.assertEqual([axes.get_title(loc="left") for axes in figure.axes],
                         ["jacobi, 2048 x 2048 cells", "jacobi, 20480 x 20480 cells"])
        heights = sorted(bar.get_height() for axes in figure.axes for bar in axes.patches)
        self.assertEqual(heights, sorted(float(row["p50"]) for row in document.rows))
        names = [label.get_text() for label in figure.axes[0].get_xticklabels()]
        self.assertEqual(names[:4], ["borders-first", "shift", "graph", "persistent"])
        self.assertIn("NVSHMEM 3.4.5", names)

    def test_it_is_alone(self) -> None:
        from dcgn import plot

        file = str(RESULTS / "stencil-h100-two-gpus.json")
        with self.assertRaises(Failure) as caught:
            plot.run([file, file])
        self.assertEqual(caught.exception.code, USAGE)
        self.assertIn("dcgn bench stencil: expected it alone", str(caught.exception))
        with tempfile.TemporaryDirectory() as folder:
            plot.run([file, "-o", f"{folder}/steps.png"])
            self.assertGreater(Path(f"{folder}/steps.png").stat().st_size, 10000)


if __name__ == "__main__":
    unittest.main()
