"""Collectives of objects and of arrays, and communicators."""

import operator
import unittest
from typing import Any

import dcgn
from test_messages import needs_numpy, np, run

RANKS = 3


class Objects(unittest.TestCase):
    def both_ways(self, main: Any, expected: Any) -> None:
        for root in range(RANKS):
            self.assertEqual(run(lambda comm: main(comm, root), cpus=RANKS), {r: expected(r, root) for r in range(RANKS)})

    def test_bcast(self) -> None:
        self.both_ways(
            lambda comm, root: comm.bcast({"from": root} if comm.rank == root else None, root),
            lambda rank, root: {"from": root},
        )

    def test_gather(self) -> None:
        self.both_ways(
            lambda comm, root: comm.gather("x" * comm.rank, root),
            lambda rank, root: ["x" * r for r in range(RANKS)] if rank == root else None,
        )

    def test_scatter(self) -> None:
        self.both_ways(
            lambda comm, root: comm.scatter([(root, r) for r in range(RANKS)] if comm.rank == root else None, root),
            lambda rank, root: (root, rank),
        )

    def test_reduce_keeps_the_order_of_ranks(self) -> None:
        self.both_ways(
            lambda comm, root: comm.reduce(str(comm.rank), root=root),
            lambda rank, root: "012" if rank == root else None,
        )

    def test_to_all(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            comm.barrier()
            return (
                comm.allgather([comm.rank] * comm.rank),
                comm.alltoall([(comm.rank, to) for to in range(RANKS)]),
                comm.allreduce(comm.rank + 1, dcgn.PROD),
                comm.allreduce(comm.rank, max),
                comm.allreduce([comm.rank], operator.add),
                comm.allreduce(comm.rank, dcgn.MIN),
            )

        for rank, found in run(main, cpus=RANKS).items():
            expected = ([[], [1], [2, 2]], [(r, rank) for r in range(RANKS)], 6, 2, [0, 1, 2], 0)
            self.assertEqual(found, expected)

    def test_a_list_of_the_wrong_length_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "scatter: 1 objects, expected one for each of 2 ranks"):
            dcgn.run(lambda comm: comm.scatter([0]), cpus=2)


@needs_numpy
class Buffers(unittest.TestCase):
    def test_move(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            rank, size = comm.rank, comm.size
            shared = np.arange(4.0) if rank == 1 else np.zeros(4)
            comm.Bcast(shared, 1)
            gathered = np.zeros((size, 2), np.int64) if rank == 0 else None
            comm.Gather(np.array([rank, -rank]), gathered, 0)
            part = np.zeros(2, np.int32)
            comm.Scatter(np.arange(2 * size, dtype=np.int32) if rank == 2 else None, part, 2)
            all_of_them = np.zeros((size, 1), np.uint8)
            comm.Allgather(np.array([rank], np.uint8), all_of_them)
            exchanged = np.zeros(size)
            comm.Alltoall(10.0 * rank + np.arange(size), exchanged)
            comm.Barrier()
            return [a if a is None else a.tolist() for a in (shared, gathered, part, all_of_them, exchanged)]

        for rank, found in run(main, cpus=RANKS).items():
            self.assertEqual(
                found,
                [
                    [0, 1, 2, 3],
                    [[0, 0], [1, -1], [2, -2]] if rank == 0 else None,
                    [2 * rank, 2 * rank + 1],
                    [[0], [1], [2]],
                    [rank, 10 + rank, 20 + rank],
                ],
            )

    def test_move_with_gaps(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            grid = np.zeros((4, 2 * comm.size))
            comm.Allgather(np.full((4, 2), comm.rank).T[:, ::2] + 0.5, grid.reshape(-1)[: 4 * comm.size])
            column = np.arange(8.0).reshape(4, 2) if comm.rank == 0 else np.zeros((4, 2))
            comm.Bcast(column[:, 1], 0)
            return grid.reshape(-1)[: 4 * comm.size].tolist(), column[:, 1].tolist()

        for found in run(main).values():
            self.assertEqual(found, ([0.5] * 4 + [1.5] * 4, [1, 3, 5, 7]))

    def test_reductions(self) -> None:
        kinds = [np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128]
        functions = {
            dcgn.Op.SUM: lambda a: a.sum(0),
            dcgn.Op.PROD: lambda a: a.prod(0),
            dcgn.Op.MIN: lambda a: a.min(0),
            dcgn.Op.MAX: lambda a: a.max(0),
            dcgn.Op.BXOR: lambda a: np.bitwise_xor.reduce(a),
            dcgn.Op.LAND: lambda a: np.logical_and.reduce(a).astype(a.dtype),
        }
        inputs = np.array([[1, 2, 3, 0], [4, 3, 2, 1], [1, 1, 5, 2]])

        def works(kind: Any, op: dcgn.Op) -> bool:
            if op in (dcgn.Op.MIN, dcgn.Op.MAX):
                return not np.issubdtype(kind, np.complexfloating)
            return op != dcgn.Op.BXOR or np.issubdtype(kind, np.integer)

        def main(comm: dcgn.Comm) -> Any:
            found = {}
            for kind in kinds:
                for op in functions:
                    if not works(kind, op):
                        continue
                    mine = inputs[comm.rank].astype(kind)
                    everywhere, at_root = np.zeros(4, kind), np.zeros(8, kind)
                    comm.Allreduce(mine, everywhere, op)
                    comm.Allreduce(dcgn.IN_PLACE, mine, op)
                    comm.Reduce(inputs[comm.rank].astype(kind), at_root[::2] if comm.rank == 1 else None, op, 1)
                    found[kind, op] = everywhere, mine, at_root[::2]
            return found

        results = run(main, cpus=RANKS)
        for rank, found in results.items():
            for (kind, op), (everywhere, in_place, at_root) in found.items():
                with self.subTest(kind=kind, op=op, rank=rank):
                    expected = functions[op](inputs.astype(kind))
                    np.testing.assert_array_equal(everywhere, expected)
                    np.testing.assert_array_equal(in_place, expected)
                    np.testing.assert_array_equal(at_root, expected if rank == 1 else 0 * expected)

    def test_begun_and_waited_for(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            rank, size = comm.rank, comm.size
            shared = np.arange(4.0) if rank == 1 else np.zeros(4)
            gathered = np.zeros(size, np.int64) if rank == 0 else None
            part, total = np.zeros(2), np.full(3, float(rank))
            everyone, exchanged = np.zeros((2, size), np.int32), np.zeros(size)
            at_root = np.zeros(3) if rank == 2 else None
            requests = [
                comm.Ibarrier(),
                comm.Ibcast(shared, 1),
                comm.Igather(np.array([rank]), gathered, 0),
                comm.Iscatter(np.arange(2.0 * size) if rank == 2 else None, part, 2),
                comm.Iallgather(np.array([rank, -rank], np.int32), everyone.T.reshape(-1)),
                comm.Iallreduce(dcgn.IN_PLACE, total),
                comm.Ireduce(np.full(3, rank + 1.0), at_root, dcgn.Op.PROD, 2),
                comm.Ialltoall(10.0 * rank + np.arange(size), exchanged),
            ]
            dcgn.Request.waitall(requests)
            return [a if a is None else a.tolist() for a in (shared, gathered, part, total, at_root, exchanged)]

        for rank, found in run(main, cpus=RANKS).items():
            self.assertEqual(
                found,
                [
                    [0, 1, 2, 3],
                    [0, 1, 2] if rank == 0 else None,
                    [2 * rank, 2 * rank + 1],
                    [3, 3, 3],
                    [6, 6, 6] if rank == 2 else None,
                    [rank, 10 + rank, 20 + rank],
                ],
            )

    def test_scans(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            mine = np.array([comm.rank + 1, 2])
            upto, before = np.zeros(2, int), np.zeros(2, int)
            comm.Scan(mine, upto)
            comm.Exscan(mine, before, dcgn.Op.PROD)
            return upto.tolist(), before.tolist()

        found = run(main, cpus=RANKS)
        self.assertEqual(found, {0: ([1, 2], [0, 0]), 1: ([3, 4], [1, 2]), 2: ([6, 6], [2, 4])})

    def test_what_does_not_reduce_is_refused(self) -> None:
        cases = [
            (np.zeros(2, complex), np.zeros(2, complex), dcgn.Op.MAX, "an operation that complex128 does not have"),
            (np.zeros(2), np.zeros(2, int), dcgn.Op.SUM, "sendbuf has float64 and recvbuf int64"),
            (np.zeros(2, "S3"), np.zeros(2, "S3"), dcgn.Op.SUM, "bytes of no type"),
        ]
        for send, receive, op, text in cases:
            with self.assertRaisesRegex(dcgn.Error, text):
                dcgn.run(lambda comm: comm.Allreduce(send, receive, op), cpus=1)


class Communicators(unittest.TestCase):
    def test_split(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            half = comm.Split(comm.rank % 2, -comm.rank)
            return half.size, half.rank, half.in_world(0), half.allgather(comm.rank)

        found = run(main, cpus=4)
        self.assertEqual(found[0], (2, 1, 2, [2, 0]))
        self.assertEqual(found[3], (2, 0, 3, [3, 1]))

    def test_dup_keeps_messages_apart(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            other = comm.Dup()
            if comm.rank == 0:
                comm.bsend("world", 1)
                other.send("other", 1)
                return None
            return other.recv(source=0), comm.recv(source=0)

        self.assertEqual(run(main)[1], ("other", "world"))

    def test_a_freed_one_is_refused_and_so_is_freeing_the_world(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            other = comm.Dup()
            other.Free()
            codes = []
            for call in (other.Barrier, comm.Free):
                try:
                    call()
                except dcgn.Error as e:
                    codes.append(e.code)
            return codes

        self.assertEqual(run(main)[0], ["not_attached", "configuration"])

    def test_a_negative_color_is_in_none(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            part = comm.Split(comm.rank - 1)
            return part.rank, part.size

        self.assertEqual(run(main), {0: (-1, 0), 1: (0, 1)})


if __name__ == "__main__":
    unittest.main()
