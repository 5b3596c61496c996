"""Messages between CPU ranks: objects, arrays, layouts, requests, errors."""

import os
import pickle
import sys
import threading
import traceback
import types
import unittest
from array import array
from typing import Any
from unittest import mock

import dcgn

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

needs_numpy = unittest.skipIf(np is None, "no NumPy")


def run(main: Any, cpus: int = 2, **more: Any) -> dict[int, Any]:
    """What main(comm) returned on each rank."""
    results: dict[int, Any] = {}
    dcgn.run(lambda comm: results.__setitem__(comm.rank, main(comm)), cpus=cpus, **more)
    return results


class Objects(unittest.TestCase):
    def test_arrive_as_they_were(self) -> None:
        objects = [None, 7, "text", {"a": [1, (2, 3)]}, b"x" * 100_000]

        def main(comm: dcgn.Comm) -> Any:
            if comm.rank == 0:
                for tag, o in enumerate(objects):
                    comm.send(o, 1, tag)
                return None
            return [comm.recv(source=0, tag=tag) for tag in range(len(objects))]

        self.assertEqual(run(main)[1], objects)

    def test_sendrecv_in_a_ring_and_status(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            status = dcgn.Status()
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            came = comm.sendrecv(("from", comm.rank), right, 5, source=left, recvtag=5, status=status)
            return came, status.source, status.tag, status.count

        for rank, (came, source, tag, count) in run(main, cpus=3).items():
            left = (rank - 1) % 3
            self.assertEqual((came, source, tag), (("from", left), left, 5))
            self.assertGreaterEqual(count, len(pickle.dumps(("from", left), protocol=5)))

    @needs_numpy
    def test_memory_of_objects_comes_as_it_was(self) -> None:
        objects = [
            np.arange(100_000),
            {"a": np.arange(3), "b": [np.full(5001, 1, np.int8), np.eye(100)], "c": np.arange(12.0).reshape(3, 4).T},
            np.arange(50_000.0)[::5],
            np.asfortranarray(np.arange(10_000.0).reshape(100, 100)),
        ]

        def main(comm: dcgn.Comm) -> Any:
            if comm.rank == 0:
                for o in objects:
                    comm.send(o, 1)
                    comm.isend(o, 1).wait()
                    comm.bsend(o, 1)
                    comm.bcast(o)
                return None
            found = []
            for _ in objects:
                room = bytearray(1 << 20)
                found.append([comm.recv(source=0), comm.irecv(1 << 20, 0).wait(), comm.recv(room, 0), comm.bcast(None)])
            return found

        for expected, came in zip(objects, run(main)[1]):
            for o in came:
                if isinstance(expected, dict):
                    np.testing.assert_array_equal(o["a"], expected["a"])
                    np.testing.assert_array_equal(o["b"][0], expected["b"][0])
                    np.testing.assert_array_equal(o["b"][1], expected["b"][1])
                    np.testing.assert_array_equal(o["c"], expected["c"])
                    o = o["b"][1]
                else:
                    np.testing.assert_array_equal(o, expected)
                self.assertTrue(o.flags.aligned and o.flags.writeable)

    def test_requests(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            other = 1 - comm.rank
            requests = [comm.irecv(source=other, tag=t) for t in range(3)]
            requests += [comm.isend((comm.rank, t), other, t) for t in range(3)]
            return dcgn.Request.waitall(requests)

        results = run(main)
        self.assertEqual(results[0], [(1, 0), (1, 1), (1, 2), None, None, None])
        self.assertEqual(results[1], [(0, 0), (0, 1), (0, 2), None, None, None])

    def test_test_tells_when_it_is_complete(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            if comm.rank == 1:
                comm.recv(source=0, tag=1)
                return comm.send("late", 0, 2)
            request = comm.irecv(source=1, tag=2)
            before = request.test()
            comm.send("go", 1, 1)
            status = dcgn.Status()
            return before, request.wait(status), request.wait(), request.test(), status.source

        self.assertEqual(run(main)[0], ((False, None), "late", "late", (True, "late"), 1))

    def test_wildcards(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            if comm.rank:
                return comm.ssend(comm.rank, 0, 10 + comm.rank)
            found = []
            for _ in range(comm.size - 1):
                status = dcgn.Status()
                found.append((comm.recv(status=status), status.source, status.tag))
            return sorted(found)

        self.assertEqual(run(main, cpus=4)[0], [(r, r, 10 + r) for r in (1, 2, 3)])


class Buffers(unittest.TestCase):
    def test_without_numpy(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            if comm.rank == 0:
                return comm.Send(array("d", [1.5, 2.5]), 1)
            room = array("d", [0, 0, 0])
            status = comm.Recv(room, 0)
            return list(room), status.count

        self.assertEqual(run(main)[1], ([1.5, 2.5, 0], 16))

    @needs_numpy
    def test_strided_arrays_need_no_packing(self) -> None:
        matrix = np.arange(120.0).reshape(10, 12)
        views = [np.s_[::2, 3:7], np.s_[:, 4], np.s_[::-1], np.s_[2:2], np.s_[1:9:3, ::-4]]

        def main(comm: dcgn.Comm) -> Any:
            came = []
            for view in views:
                if comm.rank == 0:
                    comm.Send(matrix[view], 1)
                    comm.Isend(matrix[view], 1).wait()
                else:
                    plain = np.zeros_like(matrix[view])
                    comm.Recv(plain, 0)
                    strided = np.zeros_like(matrix)
                    comm.Irecv(strided[view], 0).wait()
                    came.append((plain, strided))
            return came

        for view, (plain, strided) in zip(views, run(main)[1]):
            np.testing.assert_array_equal(plain, matrix[view])
            expected = np.zeros_like(matrix)
            expected[view] = matrix[view]
            np.testing.assert_array_equal(strided, expected)

    @needs_numpy
    def test_transposed_on_the_way(self) -> None:
        matrix = np.arange(12, dtype=np.int32).reshape(3, 4)

        def main(comm: dcgn.Comm) -> Any:
            if comm.rank == 0:
                return comm.Send(matrix.T, 1)
            room = np.zeros((4, 3), np.int32)
            comm.Recv(room, 0)
            return room

        np.testing.assert_array_equal(run(main)[1], matrix.T)

    @needs_numpy
    def test_datatypes(self) -> None:
        with self.assertRaisesRegex(dcgn.Error, "an element 5, expected one of byte"):
            dcgn.Datatype.of(5)
        element = dcgn.Datatype.of(np.float64)
        column = dcgn.Datatype.vector(5, 1, 6, element)
        corner = dcgn.Datatype.subarray([5, 6], [2, 3], [1, 2], element)
        matrix = np.arange(30.0).reshape(5, 6)

        def main(comm: dcgn.Comm) -> Any:
            if comm.rank == 0:
                comm.Send([matrix, column], 1)
                return comm.Send([matrix, 1, corner], 1)
            first, rest = np.zeros(5), np.zeros((2, 3))
            comm.Recv(first, 0)
            comm.Recv(rest, 0)
            return first, rest

        first, rest = run(main)[1]
        np.testing.assert_array_equal(first, matrix[:, 0])
        np.testing.assert_array_equal(rest, matrix[1:3, 2:5])

    @needs_numpy
    def test_a_datatype_that_reaches_past_the_array_is_refused(self) -> None:
        column = dcgn.Datatype.vector(6, 1, 6, dcgn.Datatype.of("float64"))
        with self.assertRaisesRegex(dcgn.Error, "past|inside|elements|bytes") as caught:
            dcgn.run(lambda comm: comm.Send([np.zeros((5, 6)), 1, column], 0), cpus=1)
        self.assertEqual(caught.exception.code, "invalid_size")

    @needs_numpy
    def test_sendrecv(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            other = 1 - comm.rank
            mine, its = np.full(1000, comm.rank, np.int16), np.zeros(1000, np.int16)
            comm.Sendrecv(mine, other, 0, its, other, 0)
            both = np.full((4, 4), comm.rank)
            comm.Sendrecv_replace(both[:, ::2], other, source=other)
            return its.sum(), both.sum()

        self.assertEqual(run(main), {0: (1000, 8), 1: (0, 8)})

    @needs_numpy
    def test_by_dlpack(self) -> None:
        class OnlyDlpack:
            def __init__(self, base: Any) -> None:
                self.base = base

            def __dlpack__(self, **more: Any) -> Any:
                return self.base.__dlpack__(**more)

            def __dlpack_device__(self) -> Any:
                return self.base.__dlpack_device__()

        matrix = np.arange(12.0).reshape(3, 4)

        def main(comm: dcgn.Comm) -> Any:
            if comm.rank == 0:
                return comm.Send(OnlyDlpack(matrix[:, 1:3]), 1)
            room = np.zeros((3, 2))
            comm.Recv(OnlyDlpack(room), 0)
            return room

        np.testing.assert_array_equal(run(main)[1], matrix[:, 1:3])

    @needs_numpy
    def test_by_cuda_array_interface(self) -> None:
        # As an emulated GPU has it: its memory is the host's.
        class Array:
            def __init__(self, base: Any) -> None:
                self.base = base
                self.__cuda_array_interface__ = {**base.__array_interface__, "version": 3}

        matrix = np.arange(12.0).reshape(3, 4)

        def main(comm: dcgn.Comm) -> Any:
            if comm.rank == 0:
                return comm.Send(Array(matrix[:, 1:3]), 1)
            room = np.zeros((3, 2))
            comm.Recv(Array(room), 0)
            return room

        np.testing.assert_array_equal(run(main)[1], matrix[:, 1:3])

    @needs_numpy
    def test_of_pytorch(self) -> None:
        # What is asked of its tensors, by what looks like one: the tests do without PyTorch.
        class Tensor:
            def __init__(self, base: Any, requires_grad: bool = False) -> None:
                self.base = base
                self.is_cuda, self.is_cpu, self.requires_grad = False, True, requires_grad
                self.layout = torch.strided
                self.dtype = dtypes[base.dtype.name]

            is_conj = is_neg = lambda self: False

            def is_contiguous(self) -> bool:
                return bool(self.base.flags.c_contiguous)

            def element_size(self) -> int:
                return int(self.base.itemsize)

            def data_ptr(self) -> int:
                return int(self.base.ctypes.data)

            def numel(self) -> int:
                return int(self.base.size)

        class Dtype:
            def __init__(self, name: str) -> None:
                self.name = name

            def __str__(self) -> str:
                return f"torch.{self.name}"

        torch: Any = types.ModuleType("torch")
        torch.Tensor, torch.strided = Tensor, object()
        dtypes = {name: Dtype(name) for name in ("float32", "int64", "uint8", "bool", "complex128")}
        with mock.patch.dict(sys.modules, torch=torch):
            for name in dtypes:
                sent = np.arange(6).reshape(2, 3).astype(name)

                def main(comm: dcgn.Comm) -> Any:
                    if comm.rank == 0:
                        return comm.Send(Tensor(sent), 1)
                    room = np.zeros((2, 3), name)
                    comm.Recv(Tensor(room), 0)
                    return room

                np.testing.assert_array_equal(run(main)[1], sent)
            for other in (Tensor(np.zeros((3, 2)).astype("float32").T), Tensor(np.zeros(2, "float32"), True)):
                with self.assertRaisesRegex(TypeError, "has no memory"):  # nor has it other ways to say where
                    dcgn.run(lambda comm: comm.Send(other, 0), cpus=1)
            with self.assertRaisesRegex(TypeError, "has no memory"):  # a subclass may mean something else by all this
                dcgn.run(lambda comm: comm.Send(type("Tensor", (Tensor,), {})(np.zeros(2, "float32")), 0), cpus=1)

    @needs_numpy
    def test_buffers_of_requests_stay_where_nobody_holds_them(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            if comm.rank == 0:
                comm.Isend(np.full(100_000, 7), 1)  # neither the request nor the array is kept
                np.full(100_000, 9)
                return None
            room = np.zeros(100_000, int)
            comm.Recv(room, 0)
            return int(room.min()), int(room.max())

        self.assertEqual(run(main)[1], (7, 7))

    @needs_numpy
    def test_what_makes_no_sense_of_an_array_is_refused(self) -> None:
        class Cuda:
            def __init__(self, **other: Any) -> None:
                self.__cuda_array_interface__ = {**np.zeros(4).__array_interface__, "version": 3, **other}

        class Dlpack:
            def __init__(self, result: Any) -> None:
                self.result = result

            def __dlpack__(self, **_: Any) -> Any:
                if isinstance(self.result, Exception):
                    raise self.result
                return self.result

        class Property:
            @property
            def __cuda_array_interface__(self) -> Any:
                raise RuntimeError("it has a gradient")

        double = dcgn.Datatype.of("float64")
        for wrong, error, text in (
            (Cuda(shape=(2**31, 2**31, 4)), ValueError, "shape .2147483648, .*expected one that memory can hold"),
            (Cuda(strides=(8, 8, 8)), ValueError, "3 strides, expected one for each of 1 dimensions"),
            (Cuda(mask=np.zeros(4, bool)), TypeError, "an array with a mask"),
            (Cuda(typestr="|O8"), TypeError, 'typestr "|O8", expected numbers'),
            (Cuda(typestr="banana"), TypeError, "'banana'.* expected shape, typestr"),
            (Cuda(shape=None), TypeError, "'shape': None.* expected shape, typestr"),
            (Property(), RuntimeError, "it has a gradient"),
            (Dlpack(BufferError("not to be had")), BufferError, "not to be had"),
            (Dlpack(5), TypeError, "__dlpack__ gave 5, expected a capsule"),
            ([np.zeros(3), dcgn.Datatype.vector(10, 1, 12, double)], ValueError, "24 bytes, expected room for one .* 872"),
        ):
            with self.assertRaisesRegex(error, text):
                dcgn.run(lambda comm: comm.Send(wrong, 0), cpus=1)

    def test_what_has_no_memory_is_refused(self) -> None:
        for wrong in (7, "text", object()):
            with self.assertRaisesRegex(TypeError, "has no memory"):
                dcgn.run(lambda comm: comm.Send(wrong, 0), cpus=1)
        with self.assertRaises(BufferError):
            dcgn.run(lambda comm: comm.Recv(b"read-only", 0), cpus=1)

    @needs_numpy
    def test_elements_that_mean_nothing_elsewhere_are_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "an array of Python objects, expected numbers or bytes"):
            dcgn.run(lambda comm: comm.Send(np.array([1], dtype=object), 0), cpus=1)
        with self.assertRaisesRegex(ValueError, "cannot include dtype 'M' in a buffer"):
            dcgn.run(lambda comm: comm.Send(np.zeros(3, "M8[s]"), 0), cpus=1)
        named = np.ones(2, np.dtype([("Of", np.int32), ("O", np.float64)]))  # names are no elements

        def main(comm: dcgn.Comm) -> Any:
            found = np.zeros_like(named)
            comm.Sendrecv(named, 0, 0, found, 0, 0)
            return found

        dcgn.run(lambda comm: self.assertEqual(main(comm).tolist(), named.tolist()), cpus=1)

    @needs_numpy
    def test_what_a_list_should_have_is_named(self) -> None:
        array = np.zeros(4)
        double = dcgn.Datatype.of("float64")
        for wrong, text in (
            ([array, "d"], "'d', expected a dcgn.Datatype"),
            ([array, "4", double], "'4', expected a count"),
        ):
            with self.assertRaisesRegex(TypeError, text):
                dcgn.run(lambda comm: comm.Send(wrong, 0), cpus=1)

    def test_memory_is_no_object(self) -> None:
        def main(comm: dcgn.Comm, data: bytes) -> None:
            comm.Send(data, 0)
            comm.recv(source=0)

        for data in (b"seven b", b"\xff" * 16, b"\x00\xff" * 20):
            with self.assertRaisesRegex(ValueError, f"a message of {len(data)} bytes that is no object, expected one of"):
                dcgn.run(main, data, cpus=1)

    def test_no_request_is_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "waitall: None among the requests"):
            dcgn.Request.waitall([None])  # type: ignore[list-item]


class Datatypes(unittest.TestCase):
    def test_constructors(self) -> None:
        double, int32 = dcgn.Datatype.of("float64"), dcgn.Datatype.of("int32")
        self.assertEqual(dcgn.Datatype.contiguous(3, double).size, 24)
        self.assertEqual(dcgn.Datatype.vector(3, 2, 4, double).extent, 80)
        self.assertEqual(dcgn.Datatype.hvector(3, 2, 32, double), dcgn.Datatype.vector(3, 2, 4, double))
        self.assertEqual(dcgn.Datatype.indexed([1, 2], [4, 0], double).size, 24)
        self.assertEqual(dcgn.Datatype.hindexed([1, 2], [32, 0], double).true_extent, 40)
        pair = dcgn.Datatype.struct([1, 1], [0, 8], [int32, double])
        self.assertEqual((pair.size, pair.extent, pair.elements), (12, 16, 2))
        self.assertEqual(dcgn.Datatype.resized(double, 0, 64).extent, 64)
        self.assertFalse(dcgn.Datatype.resized(double, 0, 64).is_contiguous(2))
        self.assertIn("times", dcgn.Datatype.vector(3, 2, 4, double).describe())
        self.assertEqual(hash(double), hash(dcgn.Datatype.of("float64")))

    def test_errors_name_the_value(self) -> None:
        with self.assertRaisesRegex(dcgn.Error, "-1"):
            dcgn.Datatype.contiguous(-1, dcgn.Datatype.of("float64"))
        with self.assertRaisesRegex(dcgn.Error, 'named "float63", expected one of byte, '):
            dcgn.Datatype.of("float63")


class Errors(unittest.TestCase):
    def test_the_library_s_own(self) -> None:
        with self.assertRaisesRegex(dcgn.Error, "rank 5 is out of range") as caught:
            dcgn.run(lambda comm: comm.send("x", 5), cpus=2)
        e = caught.exception
        self.assertEqual((e.code, e.operation), ("invalid_rank", "send"))
        self.assertIn(e.rank, (0, 1))
        self.assertIn("CPU", e.place)

    def test_truncation(self) -> None:
        def main(comm: dcgn.Comm) -> None:
            if comm.rank == 0:
                comm.Send(bytes(16), 1)
            else:
                comm.Recv(bytearray(8), 0)

        with self.assertRaises(dcgn.Error) as caught:
            dcgn.run(main, cpus=2)
        self.assertEqual(caught.exception.code, "truncated")

    def test_deadlock_is_reported(self) -> None:
        with self.assertRaises(dcgn.Error) as caught:
            dcgn.run(lambda comm: comm.recv(source=1 - comm.rank), cpus=2)
        self.assertEqual(caught.exception.code, "deadlock")

    def test_what_a_rank_throws_comes_out(self) -> None:
        def main(comm: dcgn.Comm) -> None:
            if comm.rank == 1:
                raise KeyError("mine")
            comm.recv(source=1)

        try:
            dcgn.run(main, cpus=2)
        except KeyError as e:
            self.assertEqual(e.args, ("mine",))
            self.assertIn("main", [frame.name for frame in traceback.extract_tb(e.__traceback__)])
        else:
            self.fail("nothing was thrown")

    def test_unreceived(self) -> None:
        def main(comm: dcgn.Comm) -> None:
            if comm.rank == 0:
                comm.send("x", 1)
            comm.barrier()  # before that rank 1 does not end

        eagerly = mock.patch.dict(os.environ, DCGN_EAGER_BYTES="512")
        with eagerly, self.assertRaisesRegex(dcgn.Error, "1 message was sent and never received"):
            dcgn.run(main, cpus=2)

    def test_a_communicator_ends_with_its_kernel(self) -> None:
        kept: list[dcgn.Comm] = []
        dcgn.run(lambda comm: kept.append(comm), cpus=1)
        with self.assertRaises(dcgn.Error) as caught:
            kept[0].send("x", 0)
        self.assertEqual(caught.exception.code, "not_attached")

    def test_other_threads_are_no_ranks(self) -> None:
        codes = []

        def main(comm: dcgn.Comm) -> None:
            def other() -> None:
                try:
                    comm.Iprobe()
                except dcgn.Error as e:
                    codes.append(e.code)

            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

        dcgn.run(main, cpus=1)
        self.assertEqual(codes, ["not_attached"])


if __name__ == "__main__":
    unittest.main()
