#!/usr/bin/env python3
"""PyTorch's strided copy, as `dcgn bench ddt` has it: SHAPE[,SHAPE...] BYTES SECONDS; prints rows as JSON."""
import json
import math
import re
import sys
import time

import torch


def views(shape, size):
    """The elements as PyTorch sees them in the memory: sizes and strides in elements, the element's type, and the memory's bytes."""
    kind, *numbers = re.split(r"[:/]", shape)
    numbers = [int(n) for n in numbers]
    if kind == "contiguous":
        return (size,), (1,), torch.uint8, size
    if kind == "rows":
        length, stride = numbers
        width = math.gcd(8, length, stride)
        rows = max(1, size // length)
        of_width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[width]
        return (rows, length // width), (stride // width, 1), of_width, (rows - 1) * stride + length
    if kind == "transpose":
        n = max(1, math.isqrt(size // numbers[0]))
        return (n, n), (1, n), {4: torch.int32, 8: torch.int64}[numbers[0]], n * n * numbers[0]
    raise SystemExit(f"torch_ddt.py: {shape}: expected contiguous, rows:LENGTH/STRIDE or transpose:4 or :8")


def times(act, seconds):
    """Microseconds of a round in each of some blocks, and rounds in all: as bench/ddt_buffers.hpp has it."""
    def run(rounds):
        begin = time.perf_counter()
        for _ in range(rounds):
            act()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    run(1)
    once = run(2) / 2
    total = int(min(100_000, max(10, seconds / once)))
    blocks = min(20, total // 5 + 1)
    rounds = (total - 1) // blocks + 1
    return sorted(run(rounds) / rounds * 1e6 for _ in range(blocks)), blocks * rounds


def measured(shape, size, seconds):
    sizes, strides, kind, extent = views(shape, size)
    device = torch.device("cuda", 0)
    torch.manual_seed(1)
    memory = torch.randint(0, 256, (extent,), dtype=torch.uint8, device=device)
    spread = torch.as_strided(memory.view(kind), sizes, strides)
    packed = torch.randint(0, 256, (spread.numel() * kind.itemsize,), dtype=torch.uint8, device=device).view(kind).view(sizes)
    made = torch.empty_like(packed)
    rows = []
    for action, act, found, expected in (
        ("pack", lambda: made.copy_(spread), made, lambda: spread.cpu().contiguous()),
        ("unpack", lambda: spread.copy_(packed), spread, lambda: packed.cpu()),
    ):
        us, rounds = times(act, seconds)
        wrong = int((found.cpu() != expected()).sum().item()) * kind.itemsize
        bytes_ = packed.numel() * kind.itemsize
        p50 = us[math.ceil(len(us) * 0.5) - 1]
        rows.append({"whose": f"PyTorch {torch.__version__} copy_", "shape": shape, "action": action, "place": "device",
                     "about": size, "bytes": bytes_, "rounds": rounds, "p50": p50, "p99": us[math.ceil(len(us) * 0.99) - 1],
                     "unit": "us", "GBps": bytes_ * 1e-3 / p50, "wrong": wrong})
    return rows


def main():
    size, seconds = int(sys.argv[2]), float(sys.argv[3])
    print(json.dumps([row for shape in sys.argv[1].split(",") for row in measured(shape, size, seconds)]))


if __name__ == "__main__":
    main()
