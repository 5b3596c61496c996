"""Stencils: fields on a grid over ranks, stepped in time by an update that is given as source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Union

from dcgn import _dcgn
from dcgn._dcgn import Comm, Field
from dcgn.source import compiled

_CELLS = {
    "float32": "float",
    "float64": "double",
    "complex64": "dcgn::complex<float>",
    "complex128": "dcgn::complex<double>",
    "int32": "int",
}
_TEXT = """#include <dcgn_update_entry.hpp>
#line 1 "{name}"
{source}
#line 1 "dcgn.Update"
extern "C" void dcgn_python_update(dcgn::Span<const dcgn::python::Argument> arguments, dcgn::stencil::UpdateCode& code) {{
  code = dcgn::stencil::code_of<{cells}, {fields}>({name}{{{members}}});
}}
"""

Side = Union[Literal["periodic", "neumann"], float]


class Grid(_dcgn.Grid):
    """
    A regular grid of cells, x first, and which of so many ranks has which part of it.

    `spacing` is the distance of cells, in each dimension or one for all. `sides` says what a stencil reads beyond the lower
    and the upper side of each dimension, or one for all: the opposite side ("periodic"), the mirror image ("neumann"), or a
    value. `parts` are ranks along each dimension; else all are along the last one.

    Arrays of a grid's cells have x as their last index: their shape is that of `extents`, the other way round.
    """

    def __init__(
        self,
        extents: Sequence[int],
        ranks: int,
        *,
        spacing: Sequence[float] = (),
        sides: Sequence[Side] = (),
        parts: Sequence[int] = (),
    ) -> None:
        super().__init__(list(extents), ranks, list(spacing), list(sides), list(parts))


class Update:
    """
    An update of one cell, as C++ source that defines the type `name`, as the guide's page on stencils says:

        struct NAME {
          static constexpr int dims = 2, radius = 1;
          float rate;
          template <class Cells>
          DCGN_HOST_DEVICE float operator()(const Cells& u) const { return rate * (u(-1, 0) + u(1, 0) - 2 * u(0, 0)); }
        };

    A stepper gives its members their values, in their order.
    """

    def __init__(self, source: str, name: str) -> None:
        self.source = source
        self.name = name

    def compile(self, cells: str, fields: int = 1, members: int = 0, architecture: str = "") -> Path:
        """The shared library that a stepper loads, of fields of such cells. Throws CompileError."""
        values = ", ".join(f"dcgn::python::Member{{arguments[{i}], {i}}}" for i in range(members))
        text = _TEXT.format(name=self.name, source=self.source, cells=_CELLS[cells], fields=fields, members=values)
        return compiled(self.name, text, architecture, fused=False)


class Stepper(_dcgn.Stepper):
    """
    Steps fields in time by an update, whose members are `args`; made by all ranks of the grid, which are all of `comm`.

    `scheme` is "euler", "midpoint", "rk4" or "next"; `mode` "automatic", "borders_first", "shift", "graph" or "persistent";
    `exchange` "each_stage" or "each_step". Fields are looked at every `check_every` steps, and at the end of each run().
    """

    def __init__(
        self,
        comm: Comm,
        update: Update,
        fields: Union[Field, Sequence[Field]],
        *args: Any,
        scheme: str = "midpoint",
        dt: float = 1.0,
        mode: str = "automatic",
        exchange: str = "each_stage",
        check_every: int = 0,
    ) -> None:
        all_fields: list[Field] = [fields] if isinstance(fields, Field) else list(fields)
        first = all_fields[0]
        library = update.compile(first.cells, len(all_fields), len(args), first._architecture())
        super().__init__(comm, str(library), all_fields, args, scheme, dt, mode, exchange, check_every)

