// CUDA source to PTX that can be split, which needs no GPU.
#include "vgpu/src/nvrtc.hpp"

#include "corpus.hpp"
#include "vgpu/src/ptx/parser.hpp"
#include "vgpu/src/ptx/rewrite.hpp"

#include <gtest/gtest.h>

#include <string>

using dcgn::test::error_of;
using namespace dcgn::virtual_gpu;

namespace {

std::string compile_or_skip(const std::string& text) {
  try {
    return compile("kernels.cu", text, {"--gpu-architecture=compute_90"});
  } catch (const dcgn::Error& e) {
    if (e.code() == dcgn::Code::unsupported) return {};
    throw;
  }
}

}  // namespace

TEST(Nvrtc, compiles_what_can_be_split) {
  const std::string ptx = compile_or_skip("extern \"C\" __global__ void k(int* x) { x[blockIdx.x] = gridDim.x; }");
  if (ptx.empty()) GTEST_SKIP() << "no NVRTC here";
  const ptx::Rewritten rewritten = ptx::rewrite(ptx::parse("kernels.cu", ptx), {});
  ASSERT_EQ(rewritten.kernels.size(), 1U);
  EXPECT_TRUE(rewritten.kernels.front().split());
  EXPECT_EQ(rewritten.kernels.front().changes.block_index, 1U);
}

TEST(Nvrtc, errors_are_the_compilers_with_line) {
  const std::string error = error_of([] { compile_or_skip("__global__ void k() {\n  nobody();\n}\n"); });
  if (error.empty()) GTEST_SKIP() << "no NVRTC here";
  EXPECT_EQ(error.rfind("dcgn: load: kernels.cu(2): error:", 0), 0U) << error;
}
