"""Pictures of what several GPUs gain."""

import contextlib
import importlib.util
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from dcgn import plot, vgpu
from dcgn.results import USAGE, Document, Failure, load

HERE = importlib.util.find_spec("matplotlib") is not None
RESULT = Path(__file__).parents[2] / "bench/results/vgpu-h200-two-gpus.json"


def row(measure: str, workload: str, parts: int, speedup: float, **more: Any) -> dict[str, Any]:
    one = {"measure": measure, "workload": workload, "parts": parts, "devices": parts, "placement": "chunked"}
    return one | {"schedule": "fixed", "speedup": speedup, "limit": float(parts), "p50": 9.0, "wrong": 0} | more


def document() -> Document:
    rows = []
    for name, gain in (("scan", 1.5), ("rays", 2.0)):
        rows += [row("scaling", name, 1, 1.0), row("scaling", name, 2, gain), row("scaling", name, 4, 2 * gain)]
        rows.append(row("measured", name, 4, 2 * gain, placement="as measured", schedule="measured"))
        rows.append(row("schedule", name, 4, gain, schedule="stealing"))
        rows.append(row("placement", name, 4, gain / 2, placement="interleaved"))
    rows += [row("remote", "vector-add", 2, 0.5, placement=f"{p} % remote", limit=0.6) for p in (0, 50)]
    rows += [row("launch", "empty kernel, launch and wait", p, 0.0) for p in (1, 2)]
    return Document("a machine", "abc1234", rows, "vgpu")


@unittest.skipUnless(HERE, "no matplotlib")
class Picture(unittest.TestCase):
    def test_has_a_panel_for_each_kind_of_row(self) -> None:
        scaling, placements, remote, launch = vgpu.draw(document()).axes
        # Two workloads and the mean, at 2 and at 4 parts.
        heights = sorted(round(bar.get_height(), 3) for bar in scaling.patches)
        self.assertEqual(heights, sorted([1.5, 2, 1.732, 3, 4, 3.464]))
        names = [text.get_text() for text in scaling.get_xticklabels()]
        self.assertEqual(names, ["scan", "rays", "geometric mean"])
        # Marks of the most parts alone.
        marks = {line.get_label(): list(line.get_xdata()) for line in placements.lines}
        self.assertEqual(marks["chunked"], [3, 4])
        self.assertEqual(marks["measured"], [3, 4])
        self.assertEqual(marks["stealing"], [1.5, 2])
        self.assertEqual(marks["interleaved"], [0.75, 1])
        # Twice as long as one GPU.
        self.assertEqual([bar.get_height() for bar in remote.patches], [2, 2])
        self.assertEqual(launch.get_ylabel(), "us")

    def test_is_drawn_by_the_command(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            name = str(Path(folder) / "a.svg")
            words = mock.patch("sys.argv", ["plot", str(RESULT), "-o", name])
            with words, contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(plot.main(), 0)
            self.assertIn("</svg>", Path(name).read_text(encoding="utf-8"))

    def test_rows_of_one_part_alone_are_no_picture(self) -> None:
        alone = Document("m", "c", [row("scaling", "scan", 1, 1.0)], "vgpu")
        with self.assertRaisesRegex(Failure, "expected several"):
            vgpu.draw(alone)


class Mistakes(unittest.TestCase):
    def test_name_what_is_expected(self) -> None:
        for words in ([str(RESULT), str(RESULT)], [str(RESULT), "--fit"], [str(RESULT), "--measure", "scaling"]):
            with self.assertRaisesRegex(Failure, "expected it alone") as caught:
                plot.run(words)
            self.assertEqual(caught.exception.code, USAGE)

    def test_a_row_without_a_speed_up_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "a.json"
            text = RESULT.read_text(encoding="utf-8").replace('"speedup"', '"speed"', 1)
            file.write_text(text, encoding="utf-8")
            with self.assertRaisesRegex(Failure, 'None as "speedup" of row 0'):
                load(str(file))


if __name__ == "__main__":
    unittest.main()
