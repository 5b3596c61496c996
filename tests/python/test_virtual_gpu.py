"""A kernel over several GPUs computes what one computes; memory lies where it is placed."""

import os
import shutil
import unittest

import dcgn
from test_messages import needs_numpy, np

SMOOTH = dcgn.Kernel(
    """
    struct Smooth {
      DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, const float* in, float* out, int count) const {
        const int i = static_cast<int>(ctx.block_rank() * ctx.num_threads() + ctx.thread_rank());
        if (i > 0 && i < count - 1) out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
      }
    };
    """,
    "Smooth",
)
N = 1 << 14
NVCC = os.environ.get("CUDACXX") or shutil.which("nvcc") or os.path.exists("/usr/local/cuda/bin/nvcc")


@needs_numpy
class VirtualGpu(unittest.TestCase):
    def test_computes_what_one_gpu_does(self) -> None:
        gpu = dcgn.VirtualGpu([0, 1])
        self.assertEqual(gpu.parts, 2)
        start = np.random.default_rng(3).random(N, np.float32)
        a, b = dcgn.VirtualBuffer(gpu, N, "float32"), dcgn.VirtualBuffer(gpu, (N,), "float32")
        a.write(start)
        b.write(start)
        gpu.launch(SMOOTH, a, b, N, grid=N // 256, block=256)
        gpu.launch(SMOOTH, b, a, N, grid=N // 256, block=256)
        gpu.synchronize()
        found = np.zeros(N, np.float32)
        a.read(found)

        def smooth(x: "np.ndarray") -> "np.ndarray":
            quarter, half = np.float32(0.25), np.float32(0.5)
            y = x.copy()
            y[1:-1] = quarter * x[:-2] + half * x[1:-1] + quarter * x[2:]
            return y

        np.testing.assert_allclose(found, smooth(smooth(start)), rtol=1e-6)

    @unittest.skipUnless(NVCC, "no nvcc here")
    def test_one_source_is_what_real_gpus_take_too(self) -> None:
        text = SMOOTH._compile_to_ptx("sm_90").read_text()
        self.assertEqual(text.count(".entry"), 1)
        self.assertIn(".param .u32", text)

    def test_pages_lie_where_they_are_placed(self) -> None:
        gpu = dcgn.VirtualGpu([0, 1])
        buffer = dcgn.VirtualBuffer(gpu, 1 << 22, "uint8")
        content = np.arange(1 << 22, dtype=np.uint32).astype(np.uint8)
        buffer.write(content)
        self.assertEqual(buffer.bytes_on_parts, [1 << 21, 1 << 21])
        self.assertEqual(buffer.place("owner", 1), 1 << 21)
        self.assertEqual(buffer.bytes_on_parts, [0, 1 << 22])
        found = np.zeros(1 << 22, np.uint8)
        buffer.read(found)
        np.testing.assert_array_equal(found, content)

    def test_what_is_wrong_is_named(self) -> None:
        gpu = dcgn.VirtualGpu([0])
        buffer = dcgn.VirtualBuffer(gpu, 8, "float32")
        with self.assertRaisesRegex(dcgn.Error, "40 bytes, or an array with gaps; expected 32"):
            buffer.write(np.zeros(10, np.float32))
        with self.assertRaisesRegex(dcgn.Error, "the placement everywhere, expected chunked"):
            buffer.place("everywhere")  # type: ignore[arg-type]
        with self.assertRaisesRegex(dcgn.Error, "the kernel got 1 arguments, expected 3"):
            gpu.launch(SMOOTH, buffer, grid=1, block=32)
        if gpu.is_emulated:  # what is loaded tells the sizes of its parameters alone
            with self.assertRaisesRegex(dcgn.Error, "argument 0 is an array of float64, expected float32"):
                gpu.launch(SMOOTH, dcgn.VirtualBuffer(gpu, 8), buffer, 8, grid=1, block=32)
        with self.assertRaisesRegex(ValueError, r"the shape \(-2, -2\), expected lengths of 0 or more"):
            dcgn.VirtualBuffer(gpu, (-2, -2))
        with self.assertRaisesRegex(ValueError, "elements 'float', expected one of int8, uint8"):
            dcgn.VirtualBuffer(gpu, 4, "float")
        with self.assertRaisesRegex(dcgn.Error, "interleaved -3 pages at a time, expected 1 or more"):
            buffer.place("interleaved", -3)
        with self.assertRaisesRegex(TypeError, "launch: 'SMOOTH' as the kernel, expected a dcgn.Kernel"):
            gpu.launch("SMOOTH", grid=1, block=32)  # type: ignore[arg-type]

    def test_shapes_may_be_of_numpys_integers(self) -> None:
        gpu = dcgn.VirtualGpu([0])
        self.assertEqual(dcgn.VirtualBuffer(gpu, np.int64(6)).shape, (6,))
        self.assertEqual(dcgn.VirtualBuffer(gpu, np.array([2, 3])).shape, (2, 3))


if __name__ == "__main__":
    unittest.main()
