"""The reference has all that is public, and all of it has a comment."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import reference  # noqa: E402
from headers import MODULES, Parser  # noqa: E402

# Of each include/dcgn/ itself: what only includes others, what calls are made of, or what is said where it is used.
NO_PAGE = {"buffers.hpp", "call.hpp", "dcgn.hpp", "group.hpp", "host_device.hpp", "peers.hpp", "stencil.hpp", "version.hpp"}

PLANTED = """// Planted.
namespace dcgn {

// Told.
class Told {
 public:
  Told(const Told&) = default;
  // Does this.
  template <class T>
    requires requires(const T& t) { t.size(); }
  DCGN_HOST_DEVICE int call(const T& t, int tag = 0) const {
    return t.size();  // of it
  }
  int beside() { return 1; }  // told there

  void untold(int x);

 private:
  void hidden();
  int value_ = 0;
};

struct AlsoUntold {
  int a = 0, b[2] = {};
};

namespace detail {
void internal();
}
}  // namespace dcgn
"""


class Reference(unittest.TestCase):
    def test_each_public_declaration_has_a_comment(self) -> None:
        self.assertEqual(reference.untold(), [])

    def test_what_has_none_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "planted.hpp").write_text(PLANTED)
            header = Parser(f"{folder}/planted.hpp").read()
        self.assertEqual([n.split(": ")[1] for n in reference.untold_of(header)],
                         ["Told::untold has no comment", "AlsoUntold has no comment",
                          "AlsoUntold::a, AlsoUntold::b has no comment"])  # fmt: skip
        said = {n: d.text for g in header.groups for d in g.declarations for n in d.names}
        self.assertEqual(said["beside"].strip(), "int beside();  // told there")
        self.assertTrue(said["call"].endswith("int call(const T& t, int tag = 0) const;"))
        self.assertNotIn("hidden", said)
        self.assertNotIn("internal", said)

    def test_each_header_has_a_page(self) -> None:
        placed = {path for _, _, paths in reference.PAGES for path in paths}
        there = {p.name for module in MODULES for p in (ROOT / module / "include/dcgn").glob("*.hpp")}
        self.assertEqual(there - placed, NO_PAGE)

    def test_calls_that_mpi_has_are_there(self) -> None:
        pages = "".join(reference.pages().values())
        for call in reference.MPI.values():
            with self.subTest(call=call):
                self.assertIn(f"`{call}`", pages)


if __name__ == "__main__":
    unittest.main()
