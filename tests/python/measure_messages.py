"""
What messages cost in Python, the best of several rounds: `python measure_messages.py 2` of two ranks in one process, or
`mpirun -n 2 --bind-to none python measure_messages.py 1` of one in each. With `device` behind it, of PyTorch's tensors in
the memory of the ranks' GPUs.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import dcgn
import numpy as np


def best(rounds: int, act: Callable[[], None], repeats: int = 5) -> float:
    """Seconds of one of so many acts."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(rounds):
            act()
        times.append((time.perf_counter() - began) / rounds)
    return min(times)


on_device = "device" in sys.argv
large_bytes = (256 if on_device else 16) << 20


def make(rank: int, count: int) -> Any:
    if not on_device:
        return np.zeros(count, np.uint8)
    import torch

    return torch.zeros(count, dtype=torch.uint8, device=f"cuda:{(rank > 0) % torch.cuda.device_count()}")


def main(comm: dcgn.Comm) -> None:
    cpus = [0, 1 if sys.argv[1] == "2" else comm.size // 2]  # behind each node's come its GPUs'
    first = comm.rank == cpus[0]
    other = cpus[1] if first else cpus[0]
    small, array = make(comm.rank, 8), make(comm.rank, large_bytes)

    def to_myself() -> None:
        comm.Send(small, cpus[0])
        comm.Recv(small, cpus[0])

    def to_and_fro() -> None:
        if first:
            comm.Send(small, other)
        comm.Recv(small, other)
        if not first:
            comm.Send(small, other)

    def large() -> None:
        comm.Send(array, other) if first else comm.Recv(array, other)

    if first:
        print(f"Send and Recv of 8 bytes by one rank: {1e6 * best(50_000, to_myself):.2f} us")
    half = best(20_000, to_and_fro) / 2
    one = best(10, large)
    if first:
        print(f"half a round trip of 8 bytes: {1e6 * half:.2f} us")
        print(f"{large_bytes >> 20} MiB: {large_bytes / one / 1e9:.1f} GB/s")


job = {}
if on_device:
    import torch

    idle = "struct Idle { DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context&, dcgn::gpu::Comm) const {} };"
    job = {"gpus": torch.cuda.device_count(), "kernel": dcgn.Kernel(idle, "Idle")}
dcgn.run(main, cpus=int(sys.argv[1]), **job)
