"""Each public call has a docstring, a place in the guide, and the same arguments in the stub."""

import ast
import inspect
import re
import unittest
from pathlib import Path
from typing import Any, Iterator

import dcgn
from dcgn import _dcgn

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/guide/python.md").read_text()
CONSTANTS = {"ANY_SOURCE", "ANY_TAG", "IN_PLACE", "ONE_BLOCK_PER_SLOT", "__version__"}


def members(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in inspect.getmembers(kind):
        if not name.startswith("_") and not hasattr(RuntimeError, name):
            yield name, value


def in_guide(name: str) -> bool:
    return re.search(rf"\b{name}\b", GUIDE) is not None


def stub() -> dict[str, ast.stmt]:
    """What _dcgn.pyi defines, by its name: "Comm.Send"."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse((ROOT / "python/dcgn/_dcgn.pyi").read_text()).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = node
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    found[f"{node.name}.{member.name}"] = member
                elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                    found[f"{node.name}.{member.target.id}"] = member
                elif isinstance(member, ast.Assign) and isinstance(member.targets[0], ast.Name):
                    found[f"{node.name}.{member.targets[0].id}"] = member
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found


def arguments(function: ast.FunctionDef) -> list[tuple[str, bool]]:
    """Names, and whether they may be left out."""
    given = function.args
    names = [a.arg for a in given.args]
    optional = [False] * (len(names) - len(given.defaults)) + [True] * len(given.defaults)
    found = list(zip(names, optional)) + [(a.arg, d is not None) for a, d in zip(given.kwonlyargs, given.kw_defaults)]
    return [(n, o) for n, o in found if n != "self"]


class Documented(unittest.TestCase):
    def test_each_public_name(self) -> None:
        for name in dcgn.__all__:
            value = getattr(dcgn, name)
            with self.subTest(name=name):
                if name not in CONSTANTS:
                    self.assertTrue(value.__doc__)
                if name != "__version__":
                    self.assertTrue(in_guide(name), "not in the guide")
            if not inspect.isclass(value):
                continue
            for member, its in members(value):
                if name == "Op" and not isinstance(its, dcgn.Op):
                    continue  # what every enumeration has
                with self.subTest(name=name, member=member):
                    self.assertTrue(its.__doc__, "no docstring")
                    self.assertTrue(in_guide(member), "not in the guide")

    def test_the_stub_has_what_the_module_has(self) -> None:
        found = stub()
        for name, value in inspect.getmembers(_dcgn):
            if name.startswith("_") and name != "__version__":
                continue
            with self.subTest(name=name):
                self.assertIn(name, found)
            for member in vars(value) if inspect.isclass(value) else ():
                if member.startswith("__") or (name, member) == ("Op", "_"):
                    continue
                with self.subTest(name=f"{name}.{member}"):
                    self.assertTrue(f"{name}.{member}" in found or name == "Op" and member.startswith("_"))

    def test_the_stub_has_nothing_else(self) -> None:
        for name in stub():
            owner, _, member = name.partition(".")
            with self.subTest(name=name):
                self.assertTrue(hasattr(_dcgn, owner))
                if member and owner != "Error":
                    self.assertTrue(hasattr(getattr(_dcgn, owner), member))

    def test_arguments_are_the_same(self) -> None:
        checked = 0
        for name, node in stub().items():
            owner, _, member = name.partition(".")
            its = getattr(getattr(_dcgn, owner), member, None)
            signature = getattr(its, "__nb_signature__", None)
            if signature is None or not isinstance(node, ast.FunctionDef) or member.startswith(("__eq", "__hash")):
                continue
            with self.subTest(name=name):
                # Defaults that are objects stand as \0, \1, ... there.
                text = re.sub(r"\\(\d+)", r"None", signature[0][0])
                real = ast.parse(f"{text}: ...").body[0]
                assert isinstance(real, ast.FunctionDef)
                self.assertEqual(
                    [a for a in arguments(node) if member[0] != "_" or member == "__init__"],
                    [a for a in arguments(real) if member[0] != "_" or member == "__init__"],
                )
                checked += 1
        self.assertGreater(checked, 40)


if __name__ == "__main__":
    unittest.main()
