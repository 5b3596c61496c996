"""scripts/check-house finds what goes against the table of folders, and nothing else."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/check-house"

TABLE = """# Contributing

## The house

| folder | may include | what it holds |
|---|---|---|
| `core/include/dcgn/` | | headers |
| `core/src/` | all above | sources |
| `wing/include/dcgn/` | `core/include/` | headers |
| `wing/src/` | `core/include/`, `wing/include/` | sources |
| `tests/` | all above | tests |

## Building
"""

HOUSE = {
    "CONTRIBUTING.md": TABLE,
    "core/include/dcgn/dcgn.hpp": "#include <dcgn/comm.hpp>\n#include <dcgn/gpu/slot.hpp>\n",
    "core/include/dcgn/comm.hpp": "#include <vector>\n",
    "core/include/dcgn/gpu/slot.hpp": "#include <dcgn/comm.hpp>\n",
    "core/src/base/file.hpp": "",
    "core/src/base/file.cpp": '#include "file.hpp"\n#include "made_by_the_build.hpp"\n',
    "wing/include/dcgn/wing.hpp": "#include <dcgn/comm.hpp>\n",
    "wing/src/wing.cpp": "#include <dcgn/wing.hpp>\n",
    "tests/wing_test.cpp": '#include "base/file.hpp"\n',
}


def said(changes: dict[str, str]) -> tuple[int, str]:
    """The exit code and the lines of check-house in a house with these files changed."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**HOUSE, **changes}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        subprocess.run(["git", "init", "-q", folder], check=True)
        run = subprocess.run([sys.executable, str(SCRIPT), folder], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + (run.stderr if run.returncode == 2 else "")


class House(unittest.TestCase):
    def test_a_good_house_has_no_faults(self) -> None:
        self.assertEqual(said({}), (0, ""))

    def test_an_include_upwards_is_found(self) -> None:
        code, text = said({"core/src/base/file.cpp": '\n#include "wing/src/x.hpp"\n', "wing/src/x.hpp": ""})
        self.assertEqual(code, 1)
        self.assertEqual(text, "core/src/base/file.cpp:2: includes wing/src/x.hpp, and core/src/ may not include from wing/src/\n")

    def test_an_include_that_the_row_does_not_name_is_found(self) -> None:
        code, text = said({"wing/src/wing.cpp": '#include "base/file.hpp"\n'})
        self.assertEqual(code, 1)
        self.assertIn("wing/src/wing.cpp:1: includes core/src/base/file.hpp", text)

    def test_an_include_upwards_is_found_however_it_is_written(self) -> None:
        for words in ("<wing/src/x.hpp>", '/* why */ "wing/src/x.hpp"', '"../../../wing/src/x.hpp"'):
            code, text = said({"core/src/base/file.cpp": f"#include {words}\n", "wing/src/x.hpp": ""})
            self.assertEqual((code, text.count("\n")), (1, 1), words)

    def test_an_arrow_that_goes_up_is_the_only_fault_where_it_closes_a_cycle(self) -> None:
        code, text = said({"core/include/dcgn/comm.hpp": "#include <dcgn/wing.hpp>\n"})
        self.assertEqual(code, 1)
        self.assertEqual(
            text,
            "core/include/dcgn/comm.hpp:1: includes wing/include/dcgn/wing.hpp, and core/include/dcgn/ may not include from "
            "wing/include/dcgn/\n",
        )

    def test_a_folder_with_nothing_but_what_the_build_reads_is_found(self) -> None:
        for name in ("CMakeLists.txt", "tool.c", "tool.cuh"):
            self.assertEqual(said({f"shed/{name}": ""})[0], 1, name)

    def test_a_folder_without_a_row_is_found(self) -> None:
        code, text = said({"shed/tool.cpp": ""})
        self.assertEqual((code, text), (1, "shed/tool.cpp:1: no row of CONTRIBUTING.md names its folder shed/\n"))

    def test_a_source_that_is_too_long_is_found(self) -> None:
        self.assertEqual(said({"wing/src/long.cpp": "\n" * 500, "wing/src/table.hpp": "\n" * 501}), (0, ""))
        code, text = said({"wing/src/long.cpp": "\n" * 501})
        self.assertEqual((code, text), (1, "wing/src/long.cpp:501: 501 lines, expected at most 500\n"))

    def test_a_cycle_of_public_headers_is_found(self) -> None:
        code, text = said({"core/include/dcgn/comm.hpp": "#include <dcgn/gpu/slot.hpp>\n"})
        self.assertEqual(code, 1)
        self.assertIn("core/include/dcgn/comm.hpp:1: core/include/dcgn/ -> core/include/dcgn/gpu/ (1 include)", text)
        self.assertIn("core/include/dcgn/gpu/slot.hpp:1: ", text)
        self.assertEqual(text.count("\n"), 2)

    def test_a_row_may_not_name_what_is_not_above(self) -> None:
        code, text = said({"CONTRIBUTING.md": TABLE.replace("`core/include/` | headers", "`tests/` | headers")})
        self.assertEqual(code, 1)
        self.assertIn("the row of wing/include/dcgn/ names tests/, which no row above it is", text)

    def test_without_a_table_it_cannot_look(self) -> None:
        code, text = said({"CONTRIBUTING.md": "# Contributing\n"})
        self.assertEqual(code, 2)
        self.assertIn("expected rows of three cells", text)


if __name__ == "__main__":
    unittest.main()
