"""Jobs: their shapes, kernels of GPUs from source, reports, signals."""

import os
import signal
import threading
import time
import unittest
from typing import Any

import dcgn
from test_messages import needs_numpy, np

COUNT = dcgn.Kernel(
    """
    struct Count {
      DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context&, dcgn::gpu::Comm, unsigned) const {}
    };
    """,
    "Count",
)
FILL = dcgn.Kernel(
    """
    struct Fill {
      DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm, float* to) const {
        if (ctx.thread_rank() == 0) *to = 1;
      }
    };
    """,
    "Fill",
)
MULTIPLY = dcgn.Kernel(
    """
    struct Multiply {
      DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, double by, const float* add) const {
        const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
        const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
        double* x = ctx.shared<double>();
        me.recv(block, *x, 0);
        if (ctx.thread_rank() == 0) *x = *x * by + add[0] + add[1];
        ctx.sync_block();
        me.send(block, *x, 1);
      }
    };
    """,
    "Multiply",
)
SUM = dcgn.Kernel(
    """
    struct Sum {
      DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, float mine) const {
        float* sum = ctx.shared<float>();
        if (ctx.thread_rank() == 0) *sum = mine;
        ctx.sync_block();
        comm.slot(ctx.block_rank()).all_reduce(dcgn::gpu::this_block(ctx), *sum, dcgn::Sum{});
      }
    };
    """,
    "Sum",
)


@needs_numpy
class Kernels(unittest.TestCase):
    def test_two_cpu_ranks_and_four_slots(self) -> None:
        answers: list[float] = []

        def main(comm: dcgn.Comm) -> None:
            x = np.zeros(1)
            for slot in range(2, 6):
                if comm.rank == 0:
                    comm.Send(np.array([slot], float), slot)
                else:
                    comm.Recv(x, slot)
                    answers.append(float(x[0]))

        add = np.array([0.25, 0.5], np.float32)
        report = dcgn.run(main, cpus=2, gpus=1, slots=4, kernel=MULTIPLY, kernel_args=(10, add), shared_bytes=8)
        self.assertEqual(answers, [20.75, 30.75, 40.75, 50.75])
        self.assertEqual([r.received_messages for r in report.ranks], [0, 4, 1, 1, 1, 1])
        self.assertIn("slot 3 of GPU 0", report.ranks[5].place)
        self.assertIn("slot 3 of GPU 0", str(report))
        self.assertGreater(report.elapsed_s, 0)

    def test_the_report_says_why_messages_were_slow(self) -> None:
        def main(comm: dcgn.Comm) -> None:
            if comm.rank == 0:
                comm.ssend("a", 1)
            else:
                comm.recv(source=0)

        report = dcgn.run(main, cpus=2)
        self.assertEqual(report.ranks[0].slow.get("synchronous or buffered"), 1)
        self.assertIn("took the slow path", str(report))

    def test_cpu_ranks_and_slots_in_one_collective(self) -> None:
        sums = []

        def main(comm: dcgn.Comm) -> None:
            x = np.array([comm.rank], np.float32)
            comm.Allreduce(dcgn.IN_PLACE, x)
            sums.append(x[0])

        dcgn.run(main, cpus=2, gpus=2, slots=2, kernel=SUM, kernel_args=(np.float32(10),), shared_bytes=4)
        self.assertEqual(sums, [41, 41])

    def test_nodes_and_kernels_of_each(self) -> None:
        found: dict[int, Any] = {}
        job = dcgn.Job(nodes=[dcgn.Node(cpus=1, count=2), dcgn.Node(cpus=1, gpus=1, slots=1)])
        self.assertEqual((job.size, job.gpus), (4, 1))
        with self.assertRaisesRegex(ValueError, "cpus=2, gpus=0 and slots=1 beside nodes"):
            dcgn.Job(cpus=2, nodes=[dcgn.Node(cpus=1)])

        def main(comm: dcgn.Comm, name: str) -> None:
            x = np.zeros(1, np.float32)
            comm.Allreduce(dcgn.IN_PLACE, x)
            found[comm.rank] = name, float(x[0])

        job.cpu(main, "any").cpu_rank(1, main, "one").gpu_on(0, SUM, 5, block=64, shared_bytes=4)
        job.run()
        self.assertEqual(found, {0: ("any", 5), 1: ("one", 5), 2: ("any", 5)})
        with self.assertRaisesRegex(dcgn.Error, "a job runs once"):
            job.run()

    def test_wrong_arguments_are_named(self) -> None:
        add = np.zeros(2, np.float32)
        cases: list[tuple[tuple[Any, ...], str]] = [
            ((1.0,), "the kernel got 1 arguments, expected 2"),
            ((add, add), "argument 0 is an array, expected a number"),
            ((1.0, 2), "argument 1 is a number, expected an array"),
            ((1.0, np.zeros(2)), "argument 1 is an array of float64, expected float32"),
            ((1.0, np.zeros(4, np.float32)[::2]), "an array with gaps"),
        ]
        for args, text in cases:
            with self.assertRaisesRegex(dcgn.Error, text):
                dcgn.Job(gpus=1).gpu(MULTIPLY, *args)
        for number in (-1, 1 << 40):
            with self.assertRaisesRegex(dcgn.Error, f"argument 0 is {number}, expected an integer from 0 to 4294967295"):
                dcgn.Job(gpus=1).gpu(COUNT, number)
        dcgn.Job(gpus=1).gpu(COUNT, (1 << 32) - 1)
        read_only = np.zeros(1, np.float32)
        read_only.flags.writeable = False
        with self.assertRaisesRegex(dcgn.Error, "argument 0 is a read-only array, expected one that may be written"):
            dcgn.Job(gpus=1).gpu(FILL, read_only)
        pair = np.zeros(2, np.float32)
        pair.flags.writeable = False
        dcgn.Job(gpus=1).gpu(MULTIPLY, 1.0, pair)  # a pointer to const
        with self.assertRaisesRegex(TypeError, "gpu: 'COUNT' as the kernel, expected a dcgn.Kernel"):
            dcgn.Job(gpus=1).gpu("COUNT", 1)  # type: ignore[arg-type]

    def test_structures(self) -> None:
        kernel = dcgn.Kernel(
            """
            struct Pair { int a; float b; };
            struct Take {
              DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm, Pair p, float* out) const {
                if (ctx.thread_rank() == 0) *out = p.a + p.b;
              }
            };
            """,
            "Take",
        )
        out = np.zeros(1, np.float32)
        pair = np.array([(3, 0.5)], dtype=[("a", np.int32), ("b", np.float32)])
        dcgn.Job(gpus=1).gpu(kernel, pair, out).run()
        self.assertEqual(out[0], 3.5)

    def test_arrays_have_what_kernels_wrote(self) -> None:
        kernel = dcgn.Kernel(
            """
            struct Half {
              DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm, float* all, int first) const {
                for (int i = ctx.thread_rank(); i < 64; i += ctx.num_threads()) all[first + i] += 1;
              }
            };
            """,
            "Half",
        )
        all = np.arange(256, dtype=np.float32)
        job = dcgn.Job(gpus=2)
        for gpu in range(job.gpus):  # one array of all: each has its own part of it, twice
            job.gpu_on(gpu, kernel, all, 64 * gpu).gpu_on(gpu, kernel, all, 64 * gpu)
        job.run()
        expected = np.arange(256, dtype=np.float32)
        expected[: 64 * job.gpus] += 2
        np.testing.assert_array_equal(all, expected)

    def test_errors_of_the_compiler_have_the_source_s_lines(self) -> None:
        kernel = dcgn.Kernel("struct Bad {\n  void operator()(int) const { return undeclared; }\n};", "Bad")
        with self.assertRaisesRegex(dcgn.CompileError, r"Bad does not compile:\n(.*\n)*Bad:2:.*undeclared"):
            kernel.compile()

    def test_a_compiler_that_is_not_there(self) -> None:
        before = os.environ.get("CXX")
        os.environ["CXX"] = "/nonexistent/c++"
        try:
            with self.assertRaisesRegex(dcgn.CompileError, "/nonexistent/c.. cannot be run"):
                SUM.compile()
        finally:
            os.environ.pop("CXX")
            if before is not None:
                os.environ["CXX"] = before

    def test_it_is_compiled_once(self) -> None:
        library = SUM.compile()
        made = library.stat().st_mtime_ns
        self.assertEqual(dcgn.Kernel(SUM.source, "Sum").compile(), library)
        self.assertEqual(library.stat().st_mtime_ns, made)


class Shapes(unittest.TestCase):
    def test_wrong_ones_are_refused(self) -> None:
        with self.assertRaises(dcgn.Error) as caught:
            dcgn.Job(cpus=-1)
        self.assertEqual(caught.exception.code, "configuration")
        with self.assertRaisesRegex(dcgn.Error, "has no kernel"):
            dcgn.Job(cpus=1).run()

    def test_deterministic_mode_is_refused(self) -> None:
        os.environ["DCGN_SEED"] = "1"
        try:
            with self.assertRaisesRegex(dcgn.Error, "deterministic mode"):
                dcgn.Job(cpus=1)
        finally:
            del os.environ["DCGN_SEED"]

    def test_the_deadline(self) -> None:
        def main(comm: dcgn.Comm) -> None:
            if comm.rank == 0:
                comm.recv(source=1)
            time.sleep(2)

        with self.assertRaises(dcgn.Error) as caught:
            dcgn.run(main, cpus=2, deadline_s=0.5)
        self.assertEqual(caught.exception.code, "deadline")


class Signals(unittest.TestCase):
    def interrupted(self, main: Any) -> float:
        began = time.monotonic()
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            dcgn.run(main, cpus=2)
        timer.join()
        return time.monotonic() - began

    def test_an_interrupt_ends_ranks_that_wait(self) -> None:
        def main(comm: dcgn.Comm) -> None:
            if comm.rank == 0:
                comm.recv(source=1)
            while comm.rank == 1:  # else the deadlock would be found first
                comm.Iprobe(0, 1)

        self.assertLess(self.interrupted(main), 30)

    def test_and_ranks_that_compute(self) -> None:
        def main(comm: dcgn.Comm) -> None:
            while True:
                time.sleep(0.01)

        self.assertLess(self.interrupted(main), 30)


if __name__ == "__main__":
    unittest.main()
