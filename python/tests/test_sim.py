"""The simulator from Python: through the command where it is built, and pictures by what matplotlib was told to draw."""

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

from dcgn import sim
from dcgn.results import USAGE, Failure

HERE = importlib.util.find_spec("matplotlib") is not None
PNG = b"\x89PNG\r\n\x1a\n"
MESH = """
[topology]
kind = "mesh"
extents = [3, 3]
[run]
measure = 1000
"""


def available() -> bool:
    """Whether the command is built, with its simulator."""
    try:
        return bool(sim.call("keys", "router").rows)
    except (sim.SimulationError, ValueError):
        return False


def sweep_document() -> sim.Document:
    rows = []
    for k in range(1, 6):
        row: dict[str, Any] = {
            "load": k / 10,
            "latency_mean": 20.0 + k * k,
            "latency_p99": 40.0 + k,
        }
        row |= {"throughput": min(k, 4) / 10, "channel_load_max": k / 12, "saturated": k == 5}
        rows.append(row)
    found = {"load": 0.42, "resolution": 0.01, "latency_at_zero": 20.0, "runs": 7}
    return sim.Document({"what": "sim sweep", "title": "a mesh", "rows": rows, "saturation": found})


def figure_document() -> sim.Document:
    rows: list[dict[str, Any]] = []
    for label in ("BP", "BFS"):
        for part in ("memcpy", "kernel"):
            for group, value in (("PCIe", 0.5), ("UMN", 0.1)):
                rows.append(
                    {"series": f"{group} {part}", "label": label, "ours": value, "paper": None}
                )
    rows.append({"series": "PCIe total / UMN", "label": "GMEAN", "ours": 5.0, "paper": 8.5})
    return sim.Document(
        {"what": "sim figure", "figure": 14, "title": "run time", "unit": "share", "rows": rows}
    )


class Values(unittest.TestCase):
    def test_toml_is_as_files_have_it(self) -> None:
        self.assertEqual(sim.toml(True), "true")
        self.assertEqual(sim.toml(0.25), "0.25")
        self.assertEqual(sim.toml("20 GB/s"), '"20 GB/s"')
        self.assertEqual(sim.toml([[0, 1], [1, 2]]), "[[0, 1], [1, 2]]")

    def test_documents_that_are_none_are_refused(self) -> None:
        for text in (
            "no",
            "[]",
            "{}",
            '{"what": "sim run", "rows": []}',
            '{"what": "p2p", "rows": [1]}',
        ):
            with self.subTest(text), self.assertRaises(Failure) as caught:
                sim.parse(text, "it.json")
            self.assertIn("it.json: expected a result of dcgn sim", str(caught.exception))
        with self.assertRaises(Failure):
            sim.load("/nonexistent.json")

    def test_a_missing_command_is_named(self) -> None:
        with mock.patch.dict(os.environ, {"DCGN_COMMAND": "/nonexistent/dcgn"}):
            with self.assertRaises(sim.SimulationError) as caught:
                sim.run("x.toml")
        self.assertIn("/nonexistent/dcgn", str(caught.exception))


@unittest.skipUnless(available(), "the command is not built")
class Command(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.config = Path(folder.name) / "mesh.toml"
        self.config.write_text(MESH, encoding="utf-8")

    def test_a_run_has_its_load_and_settings(self) -> None:
        done = sim.run(
            self.config, load=0.2, settings={"traffic.pattern": "neighbour", "run.seed": 3}
        )
        self.assertEqual(done.what, "sim run")
        self.assertEqual(done.row["load"], 0.2)
        self.assertAlmostEqual(done.row["throughput"], 0.2, delta=0.05)
        self.assertEqual(len(done.content["loads"]), 2 * 12 + 2 * 9)
        self.assertFalse(done.row["saturated"])

    def test_points_of_a_sweep_are_runs(self) -> None:
        curve = sim.sweep(self.config, [0.1, 0.3], threads=2)
        self.assertEqual(curve.column("load"), [0.1, 0.3])
        self.assertEqual(curve.rows[1], sim.run(self.config, load=0.3).row)
        self.assertEqual(curve.rows, sim.sweep(self.config, "0.1:0.3:0.2", threads=1).rows)

    def test_topologies_have_their_graph(self) -> None:
        picture = self.config.with_name("it.svg")
        one = sim.topology("sFBFLY:4", svg=picture)
        self.assertIn("gpu 3", picture.read_text(encoding="utf-8"))
        self.assertEqual(one.row["channels"], 24)
        self.assertEqual(len(one.content["graph"]["channels"]), 24)
        self.assertEqual(sim.figure(12).content["figure"], 12)

    def test_samples_are_the_commands_unless_given(self) -> None:
        self.assertNotIn("--samples", str(sim.figure(12).content["command"]))
        self.assertIn("--samples 500", str(sim.figure(12, samples=500).content["command"]))

    def test_figures_have_seeds(self) -> None:
        several = sim.figure(18, samples=200, seeds=2)
        self.assertEqual(several.content["claims"][0]["seeds"], 2)
        self.assertGreater(several.rows[-1]["spread"], 0)

    def test_kernels_are_recorded_and_run(self) -> None:
        trace = self.config.with_name("scan.kernels")
        recorded = sim.record("scan", trace, scale=0)
        self.assertEqual(recorded.rows[0]["step"], "copy to the GPU")
        config = self.config.with_name("kernels.toml")
        config.write_text(f'[topology]\nkind = "sFBFLY"\ngpus = 2\n[kernels]\ntrace = "{trace}"\n', encoding="utf-8")
        self.assertEqual(sim.run(config).row["launches"], 4)

    def test_mistakes_are_the_commands(self) -> None:
        with self.assertRaises(sim.SimulationError) as caught:
            sim.run(self.config, settings={"router.vcs_per_class": 0})
        self.assertEqual(caught.exception.code, USAGE)
        self.assertIn("router.vcs_per_class = 0", str(caught.exception))


@unittest.skipUnless(HERE, "no matplotlib")
class Pictures(unittest.TestCase):
    def test_a_sweep_marks_what_is_saturated(self) -> None:
        above, below = sim.draw(sweep_document()).axes
        hollow = [line for line in above.lines if line.get_markerfacecolor() == "white"]
        self.assertEqual([list(line.get_xdata()) for line in hollow], [[0.5]])
        delivered = next(line for line in below.lines if line.get_label() == "delivered")
        self.assertEqual(list(delivered.get_ydata()), [0.1, 0.2, 0.3, 0.4, 0.4])
        self.assertIn(0.42, [line.get_xdata()[0] for line in above.lines])

    def test_a_figure_has_bars_and_the_papers_values(self) -> None:
        bars, ratios = sim.draw(figure_document()).axes
        self.assertEqual([text.get_text() for text in bars.get_xticklabels()], ["BP", "BFS"])
        tops = {round(patch.get_y() + patch.get_height(), 6) for patch in bars.patches}
        self.assertEqual(tops, {0.5, 1.0, 0.1, 0.2})  # parts stand on each other
        stated = next(line for line in ratios.lines if line.get_label() == "paper")
        self.assertEqual(list(stated.get_xdata()), [8.5])

    def test_what_is_no_curve_is_refused(self) -> None:
        with self.assertRaises(Failure) as caught:
            sim.draw(sim.Document({"what": "sim topo", "rows": [{}]}))
        self.assertEqual(caught.exception.code, USAGE)

    def test_the_program_draws_stdin_and_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            text = json.dumps(sweep_document().content)
            source, target = Path(folder) / "in.json", Path(folder) / "out.png"
            source.write_text(text, encoding="utf-8")
            for words, stdin in (([str(source)], ""), ([], text)):
                with mock.patch.object(sys, "argv", ["sim", "-o", str(target), *words]):
                    with mock.patch.object(sys, "stdin", io.StringIO(stdin)):
                        self.assertEqual(sim.main(), 0)
                self.assertEqual(target.read_bytes()[:8], PNG)
                target.unlink()
            with mock.patch.object(sys, "argv", ["sim", "--check", "-o", str(target)]):
                self.assertEqual(sim.main(), 0)
            self.assertFalse(target.exists())
            said = io.StringIO()
            with mock.patch.object(sys, "argv", ["sim", "-o", "x.nothing"]):
                with contextlib.redirect_stderr(said):
                    self.assertEqual(sim.main(), USAGE)
            self.assertIn("x.nothing", said.getvalue())
