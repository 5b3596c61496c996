"""Results of `dcgn bench`: which rows are one series, and which files are refused."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from dcgn import sim
from dcgn.results import TABLES_ALONE, WRONG, Document, Failure, load, series, size_text

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"


def row(**changes: object) -> dict[str, Any]:
    plain: dict[str, Any] = {"whose": "dcgn 0.1.0", "path": "cpu-cpu", "scope": "-"}
    plain |= {"bytes": 8, "p50": 0.5, "GBps": 0.016, "wrong": 0}
    return plain | changes


class Load(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "a.json"

    def refusal_of(self, content: object) -> Failure:
        text = content if isinstance(content, str) else json.dumps(content)
        self.file.write_text(text, encoding="utf-8")
        with self.assertRaises(Failure) as caught:
            load(str(self.file))
        self.assertTrue(str(caught.exception).startswith(f"{self.file}: "))
        self.assertNotIn("\n", str(caught.exception))
        return caught.exception

    def test_what_is_in_the_repository_can_be_read(self) -> None:
        for file in RESULTS.glob("*.json"):
            what = str(json.loads(file.read_text(encoding="utf-8")).get("what"))
            if what in TABLES_ALONE:
                with self.assertRaisesRegex(Failure, f"{TABLES_ALONE[what]}, which are not drawn"):
                    load(str(file))
            elif what in ("vgpu", "stencil"):  # these have pictures of their own
                self.assertEqual(load(str(file)).what, what)
            elif what.startswith("sim "):
                self.assertTrue(sim.load(file).rows, file)
            else:
                self.assertTrue(series([load(str(file))]), file)

    def test_pixels_have_series_of_what_has_sizes(self) -> None:
        pixels = [row(measure=m, path="pinned") for m in ("read-back", "upload", "output")]
        content = {"what": "pixels", "machine": "m", "commit": "c", "rows": pixels}
        self.file.write_text(json.dumps(content), encoding="utf-8")
        found = series([load(str(self.file))])
        self.assertEqual([one.measure for one in found], ["read-back", "upload"])
        content["rows"] = pixels[2:]
        self.assertIn("neither transfers nor frames", str(self.refusal_of(content)))

    def test_layouts_are_paths_at_the_size_asked_for(self) -> None:
        both = {"place": "device", "about": 1000, "p50": 2.0, "wrong": 0}
        ours = both | {"whose": "dcgn 0.1.0", "shape": "triangle", "bytes": 998, "GBps": 0.5}
        copy = both | {"whose": "limit: memcpy", "action": "copy", "bytes": 998, "GBps": 1.0}
        rows = [copy | {"shape": "triangle"}, ours | {"action": "pack"}, ours | {"action": "unpack"}]
        rows.append(copy | {"shape": "stair:4"})  # one copy of a size is enough
        text = json.dumps({"what": "ddt", "machine": "m", "commit": "c", "rows": rows})
        self.file.write_text(text, encoding="utf-8")
        found = series([load(str(self.file))])
        self.assertEqual(
            [(one.measure, one.whose, one.path) for one in found],
            [
                ("pack", "limit: memcpy", "contiguous"),
                ("unpack", "limit: memcpy", "contiguous"),
                ("pack", "dcgn 0.1.0", "triangle"),
                ("unpack", "dcgn 0.1.0", "triangle"),
            ],
        )
        self.assertEqual([(p.x, p.gb_per_s) for p in found[2].points], [(1000.0, 0.5)])

    def test_messages_have_the_layouts_of_both_ends(self) -> None:
        both = {"place": "two-gpus", "about": 1000, "bytes": 1000, "p50": 2.0, "GBps": 0.5, "wrong": 0}
        ours = both | {"whose": "dcgn 0.1.0", "action": "message"}
        plain = ours | {"shape": "contiguous", "other": "contiguous"}
        copy = plain | {"whose": "limit: copy engine", "action": "copy"}
        rows = [copy, plain, ours | {"shape": "triangle", "other": "triangle"}]
        rows += [copy, plain, ours | {"shape": "contiguous", "other": "transpose:8"}]
        text = json.dumps({"what": "ddt", "machine": "m", "commit": "c", "rows": rows})
        self.file.write_text(text, encoding="utf-8")
        self.assertEqual(
            [(one.measure, one.whose, one.path, one.scope) for one in series([load(str(self.file))])],
            [
                ("message", "limit: copy engine", "contiguous", "two-gpus"),
                ("message", "dcgn 0.1.0", "contiguous", "two-gpus"),
                ("message", "dcgn 0.1.0", "triangle", "two-gpus"),
                ("message", "dcgn 0.1.0", "contiguous to transpose:8", "two-gpus"),
            ],
        )

    def test_others_are_refused(self) -> None:
        head = {"machine": "m", "commit": "c"}
        for content, said in (
            ("{", "found no JSON"),
            ([1], "found list"),
            ({"machine": "m", "rows": [row()]}, 'no "commit"'),
            (head | {"rows": []}, "no rows"),
            (head | {"rows": [7]}, "7 as row 0"),
            (head | {"rows": [row(), row(p50="fast")]}, "'fast' as \"p50\" of row 1"),
        ):
            failure = self.refusal_of(content)
            self.assertIn("expected a result of dcgn bench", str(failure))
            self.assertIn(said, str(failure))

    def test_wrong_data_is_not_shown(self) -> None:
        failure = self.refusal_of({"machine": "m", "commit": "c", "rows": [row(wrong=3)]})
        self.assertEqual(failure.code, WRONG)
        self.assertIn("3 wrong bytes", str(failure))

    def test_a_file_that_is_not_there(self) -> None:
        with self.assertRaisesRegex(Failure, "none.json: No such file"):
            load("none.json")


class Rows(unittest.TestCase):
    def test_are_a_series_by_all_but_their_size(self) -> None:
        rows = [row(bytes=64), row(), row(scope="warp"), row(measure="bandwidth")]
        found = series([Document("m", "c", rows), Document("m", "d", [row()])])
        self.assertEqual([len(one.points) for one in found], [2, 1, 1, 1])
        self.assertEqual([point.x for point in found[0].points], [8, 64])
        self.assertEqual(found[0].measure, "latency", "what rows without a measure are")
        self.assertEqual([one.document for one in found], [0, 0, 0, 1])

    def test_without_an_idea_are_a_series_of_their_own(self) -> None:
        found = series([Document("m", "c", [row(), row(without="checks")])])
        self.assertEqual(
            [one.name for one in found],
            ["dcgn 0.1.0, cpu-cpu", "dcgn 0.1.0, cpu-cpu, without checks"],
        )

    def test_of_any_source_are_by_their_senders(self) -> None:
        said = [row(measure="any-source", senders=n) for n in (32, 8)]
        named = [row(measure="any-source", path=f"{n} slots to cpu") for n in (32, 8)]
        for rows in said, named:
            (one,) = series([Document("m", "c", rows)])
            self.assertEqual([point.x for point in one.points], [8, 32])
        self.assertEqual(one.path, "slots to cpu")
        with self.assertRaisesRegex(Failure, "senders"):
            series([Document("m", "c", [row(measure="any-source")])])

    def test_time_is_by_throughput(self) -> None:
        (one,) = series([Document("m", "c", [row(bytes=1000, p50=3, GBps=2)])])
        self.assertEqual(one.points[0].us, 0.5)


class Size(unittest.TestCase):
    def test_is_written_as_it_is_typed(self) -> None:
        sizes = {8: "8", 1000: "1000", 4096: "4K", 1 << 20: "1M", 3 << 30: "3G", 5 << 40: "5120G"}
        for size, text in sizes.items():
            self.assertEqual(size_text(size), text)


if __name__ == "__main__":
    unittest.main()
