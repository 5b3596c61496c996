"""Jobs: how many CPU ranks, GPUs and slots there are, and what runs on them."""

from __future__ import annotations

import atexit
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Optional

from dcgn import _dcgn
from dcgn._dcgn import ONE_BLOCK_PER_SLOT, Node, Report
from dcgn.comm import Comm
from dcgn.kernel import Kernel, check_kernel


_jobs: weakref.WeakSet[Job] = weakref.WeakSet()


# A job's functions may refer to it, as those of a script do: it would stay, with its threads, while Python is taken down.
@atexit.register
def _leave_jobs() -> None:
    by_exception = getattr(sys, "last_value", None) is not None
    for job in list(_jobs):
        job._leave(by_exception)


class Job(_dcgn.Job):
    """
    A job of CPU ranks, each a thread that runs a Python function, and of slots of GPUs, which run kernels.

    `cpus`, `gpus` and `slots` are this process's own; `nodes` lists several in their place. A process that mpirun or
    torchrun has started is a node of a job of all of them. `deadline_s` is how long a call may wait. `mpi` names the MPI
    between processes ("openmpi", "mpich", "tcp", or "off"); `comm` is a communicator of mpi4py whose processes the nodes
    are. All else is set by environment variables, which the guide lists.

    Throws Error(configuration) where the shapes make no sense, ValueError where both kinds are given.
    """

    def __init__(
        self,
        *,
        cpus: int = 0,
        gpus: int = 0,
        slots: int = 1,
        nodes: Optional[Sequence[Node]] = None,
        deadline_s: Optional[float] = None,
        mpi: Optional[str] = None,
        comm: Any = None,
    ) -> None:
        if nodes is not None and (cpus, gpus, slots) != (0, 0, 1):
            raise ValueError(f"cpus={cpus}, gpus={gpus} and slots={slots} beside nodes, expected one or the other")
        self._comm = comm  # lasts as long
        address = 0
        if comm is not None:
            from mpi4py import MPI

            address = MPI._addressof(comm)
            mpi = mpi or ("openmpi" if MPI.get_vendor()[0] == "Open MPI" else "mpich")
        shapes = [Node(cpus=cpus, gpus=gpus, slots=slots)] if nodes is None else list(nodes)
        super().__init__(shapes, deadline_s, mpi, address)
        _jobs.add(self)

    def cpu(self, kernel: Callable[..., object], *args: Any) -> Job:
        """Has every CPU rank that has no kernel of its own run kernel(comm, *args)."""
        self._cpu(lambda comm: kernel(Comm(comm), *args))
        return self

    def cpu_rank(self, rank: int, kernel: Callable[..., object], *args: Any) -> Job:
        """Has one CPU rank run kernel(comm, *args)."""
        self._cpu_rank(rank, lambda comm: kernel(Comm(comm), *args))
        return self

    def gpu(self, kernel: Kernel, *args: Any, **launch: int) -> Job:
        """As gpu_on, on every GPU of this process."""
        for gpu in range(self.gpus):
            self.gpu_on(gpu, kernel, *args, **launch)
        return self

    def gpu_on(
        self,
        gpu: int,
        kernel: Kernel,
        *args: Any,
        grid: int = ONE_BLOCK_PER_SLOT,
        block: int = 32,
        shared_bytes: int = 0,
    ) -> Job:
        """
        Has a GPU run kernel(context, comm, *args) by `grid` blocks of `block` threads, each block with `shared_bytes` of
        dynamic shared memory. Several kernels of a GPU run one after the other. An emulated GPU has the host's arrays as they
        are; a real one has copies of them while the job runs, and what its kernels change comes back when the job has ended
        well. Throws CompileError.
        """
        check_kernel(kernel, "gpu")
        library = kernel.compile(self._architecture(gpu))
        self._gpu(gpu, str(library), grid, block, shared_bytes, True, args)
        return self


def run(
    main: Callable[..., object],
    *args: Any,
    cpus: int = 1,
    gpus: int = 0,
    slots: int = 1,
    kernel: Optional[Kernel] = None,
    kernel_args: Sequence[Any] = (),
    block: int = 32,
    shared_bytes: int = 0,
    deadline_s: Optional[float] = None,
) -> Report:
    """
    Runs a job: main(comm, *args) on each CPU rank, and kernel(context, comm, *kernel_args) on each GPU, a block for each
    slot. Throws what a rank throws; Error where ranks wait for what cannot come, or leave messages that nobody received.
    """
    job = Job(cpus=cpus, gpus=gpus, slots=slots, deadline_s=deadline_s)
    job.cpu(main, *args)
    if kernel is not None:
        job.gpu(kernel, *kernel_args, block=block, shared_bytes=shared_bytes)
    return job.run()
