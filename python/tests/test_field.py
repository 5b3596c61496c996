"""Records of the demonstrations: what is read, what is refused, and what matplotlib is told to draw."""

import contextlib
import importlib.util
import io
import math
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from dcgn import field
from dcgn.results import USAGE, Failure

HERE = importlib.util.find_spec("matplotlib") is not None
TITLES = "step,time,free_energy,mass,domain_length\n"


class FieldTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, text: str, name: str = "run.csv") -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def growing(self, power: float) -> str:
        """A run whose domains grow by this power of time."""
        times = [0.0] + [10 ** (i / 10) for i in range(31)]
        lines = (f"{i},{t!r},{-t!r},{1 + t * 1e-15!r},{3 * t**power!r}\n" for i, t in enumerate(times))
        return self.file(TITLES + "".join(lines))

    def test_reads_what_is_known(self) -> None:
        history = field.read(self.file(TITLES + "0,0,-1.5,2,\n10,0.5,-2,2,7.5\n"))
        self.assertEqual(history.points("free_energy"), ([0.0, 0.5], [-1.5, -2.0]))
        self.assertEqual(history.points("domain_length"), ([0.5], [7.5]))

    def test_names_file_and_line_of_what_is_something_else(self) -> None:
        for text, expected in (
            ("", "run.csv:1: expected step,time"),
            ("a,b\n", "run.csv:1: expected step,time"),
            (TITLES, "run.csv: no records"),
            (TITLES + "1,2,x,4,5\n", "run.csv:2: expected numbers for step"),
            (TITLES + "1,2,3,4,5\n1,2\n", "run.csv:3: expected numbers for step"),
        ):
            with self.assertRaisesRegex(Failure, expected):
                field.read(self.file(text))
        with self.assertRaisesRegex(Failure, "none.csv: No such file"):
            field.read(str(self.folder / "none.csv"))

    def test_exponent_of_a_power_is_the_power(self) -> None:
        history = field.read(self.growing(1 / 3))
        slope = field.exponent(*history.points("domain_length"))
        self.assertIsNotNone(slope)
        self.assertAlmostEqual(slope or math.nan, 1 / 3, places=12)
        self.assertIsNone(field.exponent([1.0, 2.0], [1.0, 2.0]))

    @unittest.skipUnless(HERE, "no matplotlib")
    def test_draws_energy_mass_and_length(self) -> None:
        energy, mass, length = field.draw([field.read(self.growing(1 / 3))]).axes
        self.assertEqual(energy.get_lines()[0].get_ydata()[-1], -1000)
        self.assertAlmostEqual(mass.get_lines()[0].get_ydata()[-1], 1e-12, delta=1e-15)
        self.assertEqual(length.get_xscale(), "log")
        labels = [text.get_text() for text in length.get_legend().get_texts()]
        self.assertEqual(labels, ["last decade: $t^{0.33}$", "$t^{1/3}$"])

    @unittest.skipUnless(HERE, "no matplotlib")
    def test_says_where_lengths_are_not_recorded(self) -> None:
        axes = field.draw([field.read(self.file(TITLES + "0,0,1,1,\n1,1,1,1,\n"))]).axes[2]
        self.assertEqual([text.get_text() for text in axes.texts], ["not recorded"])

    @unittest.skipUnless(HERE, "no matplotlib")
    def test_writes_and_checks(self) -> None:
        picture = self.folder / "run.png"
        for words, there in ((["--check"], False), ([self.growing(0.3)], True)):
            with mock.patch.object(sys, "argv", ["field", f"--output={picture}", *words]):
                self.assertEqual(field.main(), 0)
            self.assertEqual(picture.exists(), there)
        self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))
        errors = io.StringIO()
        with mock.patch.object(sys, "argv", ["field", "--output=a.xyz"]):
            with contextlib.redirect_stderr(errors):
                self.assertEqual(field.main(), USAGE)
        self.assertRegex(errors.getvalue(), r"^dcgn: demo: plot: -o a.xyz: expected a name that ends in .*\n$")


if __name__ == "__main__":
    unittest.main()
