"""PyTorch's symmetric memory between GPUs, a process each: one-shot and two-shot all-reduce, in CUDA graphs.

    python3 -m torch.distributed.run --nproc-per-node N dcgn_peer_torch_coll.py --ranks N --seconds S all_reduce:SIZE...

Prints a line of JSON: rows as `dcgn bench coll` has them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory

LARGE = 128 << 10


def given(rank: int, count: int, device: torch.device) -> torch.Tensor:
    """What a rank gives: given() of bench/collective.hpp."""
    i = torch.arange(count, dtype=torch.int64, device=device)
    return ((i * 2654435761 & 0xFFFFFFFF) >> 25) + (1 + rank)


class Bench:
    def __init__(self, seconds: float) -> None:
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        self.group = dist.group.WORLD.group_name
        self.seconds = seconds

    def agree(self, value: float) -> float:
        """The largest of all ranks'."""
        values = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.all_reduce(values, dist.ReduceOp.MAX)
        return float(values.item())

    def capture(self, call: Callable[[], object], calls: int) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                call()
        return graph

    def block(self, graph: torch.cuda.CUDAGraph, call: Callable[[], object]) -> float:
        """Microseconds that a replay takes the rank that takes longest."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        dist.barrier()
        call()  # waits on the GPU for the others' launches
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        return self.agree(begin.elapsed_time(end) * 1e3)

    def times(self, call: Callable[[], object], size: int) -> tuple[list[float], int]:
        """Microseconds of a call in each block, and calls of a block: time_blocks() of bench/peers/rounds.hpp."""
        for _ in range(3):
            call()
        tries = 100 if size <= LARGE else 5
        graph = self.capture(call, tries)
        self.block(graph, call)
        us = self.block(graph, call) / tries
        total = self.seconds * 1e6 / us
        if size <= LARGE:
            total = max(total, min(10_000, 1e6 / us))
        total = math.ceil(max(total, 50))
        blocks = min(total, int(min(max(math.ceil(total * us / 2000), 50), 5000)))
        calls = math.ceil(total / blocks)
        graph = self.capture(call, calls)
        self.block(graph, call)
        return [self.block(graph, call) / calls for _ in range(blocks)], calls

    def row(self, form: str, size: int) -> dict[str, object]:
        count = size // 4
        data = symmetric_memory.empty(count, dtype=torch.float32, device=self.device)
        symmetric_memory.rendezvous(data, self.group)
        data.fill_(0)
        if form == "one-shot":
            def call() -> torch.Tensor:
                return torch.ops.symm_mem.one_shot_all_reduce(data, "sum", self.group)
        else:
            def call() -> torch.Tensor:
                return torch.ops.symm_mem.two_shot_all_reduce_(data, "sum", self.group)

        us, calls = self.times(call, size)
        data.copy_(given(self.rank, count, self.device))
        torch.cuda.synchronize()
        dist.barrier()
        result = call()
        summed = given(0, count, self.device) * self.ranks + self.ranks * (self.ranks - 1) // 2
        wrong = torch.tensor([int((result != summed).sum())], device=self.device)
        dist.all_reduce(wrong)

        us.sort()
        median, p99 = (us[max(1, math.ceil(part * len(us))) - 1] for part in (0.5, 0.99))
        return {
            "whose": f"PyTorch {torch.__version__.split('+')[0]}, {form}",
            "measure": "all_reduce",
            "path": f"{self.ranks} GPU{'s' * (self.ranks != 1)}",
            "scope": "-",
            "bytes": size,
            "rounds": len(us) * calls,
            "p50": median,
            "p99": p99,
            "unit": "us",
            "GBps": size * 1e-3 / median,
            "wrong": int(wrong.item()),
            "ranks": self.ranks,
        }


def sizes_of(words: list[str]) -> list[int]:
    sizes = []
    for word in words:
        op, _, size = word.partition(":")
        if op != "all_reduce" or not size.isdigit() or int(size) % 4 or int(size) < 4:
            raise SystemExit(f"dcgn_peer_torch_coll.py: {word}: expected all_reduce:SIZE, of floats")
        sizes.append(int(size))
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(prog="dcgn_peer_torch_coll.py")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("rounds", nargs="+", metavar="all_reduce:SIZE")
    asked = parser.parse_args()
    sizes = sizes_of(asked.rounds)
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    bench = Bench(asked.seconds)
    if bench.ranks != asked.ranks:
        raise SystemExit(f"dcgn_peer_torch_coll.py: {bench.ranks} processes: expected {asked.ranks}")
    rows = []
    for size in sizes:
        for form in ("one-shot", "two-shot"):
            try:
                rows.append(bench.row(form, size))
            except RuntimeError as e:  # not all sizes suit both; all ranks find the same
                if bench.rank == 0:
                    text = str(e).splitlines()[0]
                    print(f"dcgn_peer_torch_coll.py: {size} B, {form}, is left out: {text}", file=sys.stderr)
    if bench.rank == 0:
        print(json.dumps(rows), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
