"""Pictures: what is in them, by what matplotlib was told to draw."""

import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from dcgn import plot
from dcgn.results import USAGE, Document, Failure, Series, series

HERE = importlib.util.find_spec("matplotlib") is not None
PNG = b"\x89PNG\r\n\x1a\n"


def rows(whose: str, measure: str, path: str, scope: str) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for n in (8, 4096, 1 << 20):
        us = 2 + n * 1e-3 / 40
        made.append({"whose": whose, "measure": measure, "path": path, "scope": scope})
        made[-1] |= {"bytes": n, "p50": us, "GBps": n * 1e-3 / us, "unit": "us", "wrong": 0}
    return made


def document() -> Document:
    made = []
    for measure in ("latency", "bandwidth"):
        made += rows("dcgn 0.1.0", measure, "slot-slot", "warp")
        made += rows("dcgn 0.1.0", measure, "slot-slot", "block")
        made += rows("NCCL 2.28.9", measure, "device-device", "-")
        made += rows("limit: device copy", measure, "slot-slot", "-")
    rate = rows("dcgn 0.1.0", "rate", "slot-slot", "block")[:1]
    source = rows("dcgn 0.1.0", "any-source", "slots-slot", "warp")
    for k, one in enumerate(source):
        one |= {"senders": 8 << k, "bytes": 8}
    return Document("a machine", "abc1234", made + [rate[0] | {"unit": "M/s"}] + source)


def both_ways() -> Document:
    return Document("m", "c", rows("dcgn 0.1.0", "bidirectional", "slot-slot", "block"))


class Spread(unittest.TestCase):
    def test_moves_only_what_is_too_close(self) -> None:
        self.assertEqual(plot.spread([0.0, 3.0, 8.0], 2.0, 10.0), [0.0, 3.0, 8.0])
        self.assertEqual(plot.spread([1.0, 1.0, 2.0, 9.0], 2.0, 10.0), [1.0, 3.0, 5.0, 9.0])
        self.assertEqual(plot.spread([9.0, 9.0, 9.5], 2.0, 10.0), [6.0, 8.0, 10.0])
        self.assertEqual(plot.spread([], 2.0, 10.0), [])


class Table(unittest.TestCase):
    def test_has_a_line_a_series(self) -> None:
        lines = plot.fit_table(series([document()])).splitlines()
        self.assertEqual(len(lines), 1 + 8)
        self.assertRegex(lines[1], r"^latency +dcgn 0.1.0, slot-slot, warp +2.000 +40.000 +0% at ")

    def test_both_ways_are_fitted_as_one(self) -> None:
        self.assertRegex(plot.fit_table(series([both_ways()])), r" 2.000 +40.000 +0% at ")

    def test_times_that_do_not_grow_have_no_bandwidth(self) -> None:
        flat = [row | {"p50": 9.0} for row in rows("dcgn 0.1.0", "latency", "slot-slot", "block")]
        self.assertIn(" flat ", plot.fit_table(series([Document("m", "c", flat)])))


class Names(unittest.TestCase):
    def test_say_which_file_where_several_have_the_same(self) -> None:
        first, second = document(), document()
        second.commit = "def5678"

        def names(*documents: Document) -> list[str]:
            shown: list[Series] = [one for one in series(documents) if one.measure == "rate"]
            return plot.labels_of(shown, documents)

        self.assertEqual(names(first), ["dcgn 0.1.0, slot-slot, block"])
        self.assertEqual([n.split(", ")[-1] for n in names(first, second)], ["abc1234", "def5678"])
        self.assertEqual([n.split(", ")[-1] for n in names(first, first)], ["file 1", "file 2"])


class Colours(unittest.TestCase):
    def test_differ_by_who_takes_part(self) -> None:
        scopes = ("thread", "warp", "block", "blocks:8", "grid")
        made = [row for s in scopes for row in rows("dcgn 0.1.0", "latency", "slot-slot", s)]
        shown = series([Document("m", "c", made)])
        styles = plot.Styles(shown)
        self.assertEqual(len({styles.colour(one) for one in shown}), len(scopes))


class Missing(unittest.TestCase):
    def test_names_the_python_that_has_no_matplotlib(self) -> None:
        nothing = {"matplotlib": None, "matplotlib.backend_bases": None}
        with mock.patch.dict(sys.modules, nothing):
            with self.assertRaises(Failure) as caught:
                plot.picture_format("a.png")
        self.assertIn(sys.executable, str(caught.exception))
        self.assertIn("first python3 of PATH", str(caught.exception))


@unittest.skipUnless(HERE, "no matplotlib")
class Picture(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "p2p.json"
        one = document()
        content = {"machine": one.machine, "commit": one.commit, "rows": one.rows}
        self.file.write_text(json.dumps(content), encoding="utf-8")

    def run_plot(self, *words: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.chdir(self.folder):
            plot.run([str(self.file), *words])
        return out.getvalue()

    def test_has_a_panel_a_measure_and_names_machine_and_commit(self) -> None:
        figure = plot.draw([document()], series([document()]), fits=True)
        titles = [axes.get_title("left") for axes in figure.axes]
        self.assertEqual(
            titles, [plot.MEASURES[m] for m in ("latency", "bandwidth", "rate", "any-source")]
        )
        titled: Any = figure
        self.assertEqual(titled._suptitle.get_text(), "a machine; commit abc1234")
        latency, bandwidth, rate, source = figure.axes
        self.assertEqual((latency.get_xscale(), latency.get_yscale()), ("log", "log"))
        self.assertEqual((bandwidth.get_xscale(), bandwidth.get_yscale()), ("log", "linear"))
        self.assertEqual(len(rate.patches), 1)
        senders: Any = source.lines[0].get_xdata()
        self.assertEqual(list(senders), [8, 16, 32])
        shown = latency.get_legend()
        assert shown
        legend = [text.get_text() for text in shown.get_texts()]
        self.assertIn("NCCL 2.28.9, device-device", legend)
        self.assertNotIn("device copy, slot-slot", legend)
        self.assertEqual([text.get_text() for text in latency.texts], ["device copy, slot-slot"])
        by_name = {line.get_label(): line for line in latency.lines}
        self.assertEqual(by_name["dcgn 0.1.0, slot-slot, block"].get_linestyle(), "-")
        self.assertEqual(by_name["NCCL 2.28.9, device-device"].get_linestyle(), "--")
        self.assertEqual(by_name["NCCL 2.28.9, device-device"].get_marker(), "s")
        # 4 series, 3 thin fits, and the legend's entry for them.
        self.assertEqual(len(latency.lines), 4 + 3 + 1)

    def test_collectives_are_times_by_size_and_barriers_are_bars(self) -> None:
        made = rows("dcgn 0.1.0", "all_reduce", "8 GPUs", "block")
        for form in ("", ", symmetric windows"):
            made += rows("NCCL 2.28.9" + form, "all_reduce", "8 GPUs", "-")
        made.append(made[0] | {"measure": "barrier", "bytes": 0, "GBps": 0})
        one = Document("m", "c", made)
        call, barrier = plot.draw([one], series([one]), fits=True).axes
        self.assertEqual((call.get_xscale(), call.get_yscale()), ("log", "log"))
        self.assertEqual(len(barrier.patches), 1)
        dashed = [line for line in call.lines if line.get_linestyle() == "--"]
        self.assertEqual(len({line.get_marker() for line in dashed}), 2)
        self.assertRegex(plot.fit_table(series([one])), r"all_reduce +NCCL 2.28.9, 8 GPUs +2.000 ")

    def test_both_ways_say_that_they_are_of_each(self) -> None:
        (axes,) = plot.draw([both_ways()], series([both_ways()]), fits=False).axes
        self.assertIn("of each way", axes.get_title("left"))
        self.assertEqual(axes.get_ylabel(), "GB/s each way")

    def test_is_written_whole_and_alone(self) -> None:
        self.assertEqual(self.run_plot(), "wrote p2p.png\n")
        self.assertTrue((self.folder / "p2p.png").read_bytes().startswith(PNG))
        self.run_plot("-o", "a.svg", "--measure", "latency,rate")
        self.assertIn("</svg>", (self.folder / "a.svg").read_text(encoding="utf-8"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.svg", "p2p.json", "p2p.png"])
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual((self.folder / "p2p.png").stat().st_mode & 0o777, 0o666 & ~umask)

    def test_the_fit_is_printed(self) -> None:
        self.assertIn("worst deviation", self.run_plot("--fit"))

    def test_mistakes_name_the_value_and_leave_nothing(self) -> None:
        for words, said in (
            (("-o", "a.xyz"), "-o a.xyz: expected a name that ends in ."),
            (("-o", "a"), "-o a: expected a name that ends in"),
            (("--measure", "speed"), "--measure speed: expected what the files have: latency, b"),
        ):
            with self.assertRaises(Failure) as caught:
                self.run_plot(*words)
            self.assertIn(said, str(caught.exception))
            self.assertEqual(caught.exception.code, USAGE)
        with self.assertRaisesRegex(Failure, "nowhere/a.png: cannot be written: No such file"):
            self.run_plot("-o", "nowhere/a.png")
        self.assertEqual(os.listdir(self.folder), ["p2p.json"])


if __name__ == "__main__":
    unittest.main()
