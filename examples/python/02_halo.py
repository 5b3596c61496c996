"""
Step 2: heat on a plate that ranks share out by columns. The columns at the edges are strided in memory: they are sent and
received where they are.
"""

import numpy as np

import dcgn

ROWS, COLUMNS, STEPS = 64, 96, 200


def step(u: np.ndarray) -> None:
    u[1:-1, 1:-1] += 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])


def plate(columns: int) -> np.ndarray:
    return np.zeros((ROWS + 2, columns + 2))


def main(comm: dcgn.Comm, results: list) -> None:
    mine = COLUMNS // comm.size
    u = plate(mine)
    if comm.rank == 0:
        u[:, 0] = 1.0  # hot, and stays so
    left, right = comm.rank - 1, comm.rank + 1
    for _ in range(STEPS):
        requests = []
        if left >= 0:
            requests += [comm.Irecv(u[:, 0], left), comm.Isend(u[:, 1], left)]
        if right < comm.size:
            requests += [comm.Irecv(u[:, -1], right), comm.Isend(u[:, -2], right)]
        dcgn.Request.waitall(requests)
        step(u)
    parts = comm.gather(u[:, 1:-1])
    if parts is not None:
        results.append(np.hstack(parts))


results: list = []
dcgn.run(main, results, cpus=3)

alone = plate(COLUMNS)
alone[:, 0] = 1.0
for _ in range(STEPS):
    step(alone)
print("heat:", round(results[0].sum(), 6), "- as of one rank:", np.array_equal(results[0], alone[:, 1:-1]))
