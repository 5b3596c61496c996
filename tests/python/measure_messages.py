"""
What messages cost in Python, the best of several rounds: `python measure_messages.py 2` of two ranks in one process, or
`mpirun -n 2 --bind-to none python measure_messages.py 1` of one in each.
"""

import sys
import time
from collections.abc import Callable

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


def main(comm: dcgn.Comm) -> None:
    other = 1 - comm.rank
    small, array = np.zeros(1), np.zeros(16 << 20, np.uint8)

    def to_myself() -> None:
        comm.Send(small, 0)
        comm.Recv(small, 0)

    def to_and_fro() -> None:
        if comm.rank == 0:
            comm.Send(small, other)
        comm.Recv(small, other)
        if comm.rank == 1:
            comm.Send(small, other)

    def large() -> None:
        comm.Send(array, other) if comm.rank == 0 else comm.Recv(array, other)

    if comm.rank == 0:
        print(f"Send and Recv of 8 bytes by one rank: {1e6 * best(50_000, to_myself):.2f} us")
    half = best(20_000, to_and_fro) / 2
    one = best(10, large)
    if comm.rank == 0:
        print(f"half a round trip of 8 bytes: {1e6 * half:.2f} us")
        print(f"16 MiB: {array.nbytes / one / 1e9:.1f} GB/s")


dcgn.run(main, cpus=int(sys.argv[1]))
