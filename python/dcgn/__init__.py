"""
Decagon from Python: jobs of CPU ranks and GPU slots that send each other messages, with mpi4py's conventions.

    import dcgn

    def main(comm):
        print(comm.allreduce(comm.rank))

    dcgn.run(main, cpus=4)

What is listed in __all__ needs the compiled module, which `pip install .` builds. The other modules do without it: the
pictures of what `dcgn bench` measured (dcgn.plot), the simulator of memory networks (dcgn.sim).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcgn._dcgn import (
        ANY_SOURCE,
        ANY_TAG,
        BAND,
        BOR,
        BXOR,
        LAND,
        LOR,
        LXOR,
        MAX,
        MIN,
        MOST_BLOCKS_PER_SLOT,
        ONE_BLOCK_PER_SLOT,
        PROD,
        SUM,
        Datatype,
        Error,
        Field,
        Node,
        Op,
        RankReport,
        Report,
        Request,
        Status,
        __version__,
    )
    from dcgn.comm import IN_PLACE, Comm
    from dcgn.job import Job, run
    from dcgn.kernel import Kernel
    from dcgn.source import CompileError
    from dcgn.stencil import Grid, Stepper, Update
    from dcgn.virtual_gpu import VirtualBuffer, VirtualGpu

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "BAND",
    "BOR",
    "BXOR",
    "IN_PLACE",
    "LAND",
    "LOR",
    "LXOR",
    "MAX",
    "MIN",
    "MOST_BLOCKS_PER_SLOT",
    "ONE_BLOCK_PER_SLOT",
    "PROD",
    "SUM",
    "Comm",
    "CompileError",
    "Datatype",
    "Error",
    "Field",
    "Grid",
    "Job",
    "Kernel",
    "Node",
    "Op",
    "RankReport",
    "Report",
    "Request",
    "Status",
    "Stepper",
    "Update",
    "VirtualBuffer",
    "VirtualGpu",
    "__version__",
    "run",
]

_MODULES = {
    "Comm": "comm",
    "CompileError": "source",
    "Grid": "stencil",
    "IN_PLACE": "comm",
    "Job": "job",
    "Kernel": "kernel",
    "Stepper": "stencil",
    "Update": "stencil",
    "VirtualBuffer": "virtual_gpu",
    "VirtualGpu": "virtual_gpu",
    "run": "job",
}


def __getattr__(name: str) -> Any:
    """Loads what is asked for, so that modules that need no compiled one do not."""
    if name not in __all__:
        raise AttributeError(f"module 'dcgn' has no attribute {name!r}")
    try:
        import_module("dcgn._dcgn")
    except ModuleNotFoundError as e:
        raise ImportError(f"dcgn.{name} needs the package's compiled module: `pip install .` in Decagon's sources") from e
    value = getattr(import_module(f"dcgn.{_MODULES.get(name, '_dcgn')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
