// Blocks that hand over to the last one: which kernels' do, and what is put into them.
#include "vgpu/src/ptx/hand_over.hpp"

#include "corpus.hpp"
#include "vgpu/src/ptx/parser.hpp"
#include "vgpu/src/ptx/rewrite.hpp"

#include <gtest/gtest.h>

#include <string>

using dcgn::test::corpus_text, dcgn::test::ptx_module;
using namespace dcgn::virtual_gpu::ptx;

namespace {

std::string kernel_of(const std::string& body) {
  return ptx_module(R"(
.entry k(.param .u64 a, .param .u64 b, .param .u64 n) {
  .shared .align 4 .b32 flag;
  .reg .b64 %a, %b, %n; .reg .b32 %r<9>; .reg .pred %p<3>;
  ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %n, [n];
)" + body + "\n}");
}

// What a body is rewritten to.
std::string rewritten(const std::string& body) { return rewrite(parse("x.ptx", kernel_of(body)), {}).text; }

bool hands_over(const std::string& file, const std::string& kernel) {
  for (const KernelReport& report : rewrite(parse(file, corpus_text(file)), {}).kernels)
    if (report.name == kernel) return report.memory.hands_over;
  return false;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* last_block = R"(
  st.global.u32 [%a], %r1;
  atom.global.inc.u32 %r2, [%b], %r3;
  setp.ne.u32 %p0, %r2, %r3;
  @%p0 ret;
  ld.global.u32 %r4, [%a+4];
)";

}  // namespace

TEST(HandOver, of_the_workloads_is_what_their_source_says) {
  EXPECT_TRUE(hands_over("conjugate_gradient.ptx", "dot"));
  EXPECT_FALSE(hands_over("conjugate_gradient.ptx", "axpy"));
  EXPECT_FALSE(hands_over("breadth_first.ptx", "bfs_level")) << "it does not load what it stores";
  EXPECT_FALSE(hands_over("k_means.ptx", "k_means"));
  EXPECT_FALSE(hands_over("histogram.ptx", "histogram"));
}

// As on one GPU, whose hardware keeps the order.
TEST(HandOver, gets_fences_where_it_has_none) {
  EXPECT_TRUE(
      contains(rewritten(last_block), "fence.acq_rel.sys; atom.sys.global.inc.u32 %r2, [%b], %r3; fence.acq_rel.sys;"));
  // Under a guard, and by way of shared memory.
  EXPECT_TRUE(
      contains(rewritten("st.global.u32 [%a], %r1; @!%p1 atom.global.add.u32 %r2, [%b], 1;"
                         "selp.u32 %r3, 1, %r2, %p2; st.shared.u32 [flag], %r3; ld.global.u32 %r4, [%a];"),
               "@!%p1 fence.acq_rel.sys; @!%p1 atom.sys.global.add.u32 %r2, [%b], 1; @!%p1 fence.acq_rel.sys;"));
}

TEST(HandOver, is_found_whichever_way_the_result_goes) {
  const auto gets_fences = [](const std::string& way) {
    return contains(
        rewritten("st.global.u32 [%a], %r1; atom.global.add.u32 %r2, [%b], 1;" + way + " ld.global.u32 %r4, [%a];"),
        "fence.acq_rel.sys; atom.sys.global");
  };
  EXPECT_FALSE(gets_fences(""));
  EXPECT_TRUE(gets_fences("st.shared.u32 [flag], %r2;"));
  EXPECT_TRUE(gets_fences("st.shared::cta.u32 [flag], %r2;"));
  EXPECT_TRUE(gets_fences("atom.shared.max.u32 %r3, [flag], %r2;"));
  EXPECT_TRUE(gets_fences("add.u32 %r3, %r2, 1; st.u32 [%n], %r3;"));
  EXPECT_TRUE(gets_fences("st.local.u32 [%n], %r2;"));
  EXPECT_FALSE(gets_fences("st.global.u32 [%n], %r2;"));
  EXPECT_FALSE(gets_fences("mul.wide.u32 %n, %r2, 4; st.shared.u32 [%n], 1;")) << "it says where";
  // A sum by atomics is handed over as well as what is stored.
  EXPECT_TRUE(contains(rewritten("red.global.add.f32 [%a], 0f3f800000; atom.global.inc.u32 %r2, [%b], %r3;"
                                 "setp.ne.u32 %p0, %r2, %r3; @%p0 ret; ld.volatile.global.u32 %r4, [%a];"),
                       "fence.acq_rel.sys; atom"));
  // The value that a loop of compare-and-swap begins with is not.
  EXPECT_FALSE(contains(rewritten("ld.global.u32 %r1, [%a]; atom.global.cas.b32 %r2, [%a], %r1, %r3;"
                                  "setp.ne.u32 %p0, %r1, %r2; @%p0 ret;"),
                        "fence"));
}

TEST(HandOver, is_found_in_functions) {
  const std::string function = R"(
.func (.param .b32 result) take(.param .b64 count) {
  .reg .b64 %c; .reg .b32 %t;
  ld.param.u64 %c, [count];
  atom.global.add.u32 %t, [%c], 1;
  st.param.b32 [result], %t;
  ret;
}
)";
  const std::string text = kernel_of(
      "st.global.u32 [%a], %r1; { .param .b64 p; .param .b32 q; st.param.b64 [p], %b; call.uni (q), take, (p);"
      "ld.param.b32 %r2, [q]; } setp.ne.u32 %p0, %r2, 7; @%p0 ret; ld.global.u32 %r4, [%a];");
  const std::size_t at = text.find(".entry");
  EXPECT_TRUE(contains(rewrite(parse("x.ptx", text.substr(0, at) + function + text.substr(at)), {}).text,
                       "fence.acq_rel.sys; atom.sys.global.add.u32 %t"));
}

TEST(HandOver, is_left_as_it_is_where_nothing_is_handed_over) {
  const std::string text = last_block;
  const auto with = [&](const std::string& what, const std::string& by) {
    std::string changed = text;
    changed.replace(changed.find(what), what.size(), by);
    return changed;
  };
  EXPECT_FALSE(contains(rewritten(with("atom", "membar.gl; atom")), "fence.acq_rel")) << "a fence of its own";
  EXPECT_FALSE(contains(rewritten(with("atom.", "atom.acq_rel.gpu.")), "fence")) << "an order of its own";
  EXPECT_FALSE(contains(rewritten(with("ld.global.u32 %r4, [%a+4]", "ld.global.u32 %r4, [%n]")), "fence"))
      << "it loads other memory";
  EXPECT_FALSE(contains(rewritten(with("setp.ne.u32 %p0, %r2", "setp.ne.u32 %p0, %r5")), "fence"))
      << "the result decides nothing";
  EXPECT_FALSE(contains(
      rewritten(with("setp.ne.u32 %p0, %r2", "mul.wide.u32 %n, %r2, 4; st.global.u32 [%n], 1; setp.ne.u32 %p0, %r5")),
      "fence"))
      << "it is an index";
}
