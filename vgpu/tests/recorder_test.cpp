// What is recorded of kernels: instructions, lines, uses and barriers, warp by warp.
#include "vgpu/src/interpreter/recorder.hpp"
#include "interpreter_harness.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using dcgn::Launch;
using dcgn::base::KernelTrace, dcgn::base::LaunchTrace, dcgn::base::WarpEvent, dcgn::base::WarpReader;
using dcgn::test::run_kernel;
using dcgn::virtual_gpu::interpreter::record_with, dcgn::virtual_gpu::interpreter::Recorder;

namespace {

// "3 load 1:15 use1 2": instructions, then an access's lines less `first_line` with their sectors.
std::string text_of(WarpReader reader) {
  std::string text;
  for (WarpEvent event; reader.next(event);) {
    if (!text.empty()) text += ' ';
    switch (event.kind) {
      case WarpEvent::Kind::issue: text += std::to_string(event.count); break;
      case WarpEvent::Kind::load: text += "load"; break;
      case WarpEvent::Kind::store: text += "store"; break;
      case WarpEvent::Kind::atomic: text += "atomic" + std::to_string(event.count); break;
      case WarpEvent::Kind::use: text += "use" + std::to_string(event.count); break;
      case WarpEvent::Kind::barrier: text += "barrier"; break;
    }
    for (const auto& touch : event.touches) {
      text += ' ';
      text += std::to_string(touch.line);
      text += ':';
      text += std::to_string(touch.sectors);
    }
  }
  return text;
}

class InterpreterRecorder : public testing::Test {
 protected:
  ~InterpreterRecorder() override { record_with(nullptr); }

  // Of a kernel that gets 16 KB which begin where a page does, in %a; %t is the thread's number, %b 4 * %t + %a.
  LaunchTrace record(const std::string& instructions, const Launch& launch, std::uint64_t most = 0) {
    constexpr std::size_t words = 4096, page = 4096;
    memory_.assign(words + page / 4, 0);
    auto* const begin =
        reinterpret_cast<std::uint32_t*>((reinterpret_cast<std::uintptr_t>(memory_.data()) + page - 1) / page * page);
    Recorder recorder(most);
    record_with(&recorder);
    run_kernel(
        ".visible .entry k(.param .u64 out) { .reg .b32 %r<20>, %t; .reg .b64 %rd<20>, %a, %b; .reg .f32 %f<9>;"
        ".reg .pred %p<5>; ld.param.u64 %a, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %rd0, %t, 4;"
        "add.u64 %b, %a, %rd0;" +
            instructions + " ret; }",
        launch, begin);
    record_with(nullptr);
    KernelTrace trace = recorder.take();
    EXPECT_EQ(trace.steps.size(), 1U);
    return std::move(trace.steps.at(0).launch);
  }
  // What its only block's warps do, behind the four instructions that all kernels here begin with.
  std::vector<std::string> warps(const std::string& instructions, unsigned threads) {
    const LaunchTrace launch = record(instructions, {.grid = 1, .block = threads});
    std::vector<std::string> all;
    for (std::size_t w = 0; w < launch.blocks.at(0).warps(); ++w) all.push_back(text_of(launch.blocks[0].warp(w)));
    return all;
  }

 private:
  std::vector<std::uint32_t> memory_;
};

using Texts = std::vector<std::string>;

TEST_F(InterpreterRecorder, HasLinesAndTheFirstUseOfWhatWasLoaded) {
  EXPECT_EQ(warps("ld.global.u32 %r0, [%b]; add.u32 %r1, %t, 1; add.u32 %r2, %r0, 1; st.global.u32 [%b], %r2;", 64),
            (Texts{"4 load 0:15 1 use1 1 store 0:15 1", "4 load 1:15 1 use1 1 store 1:15 1"}));
}

TEST_F(InterpreterRecorder, TellsLoadsApartByHowFarBackTheyAre) {
  EXPECT_EQ(warps("ld.global.u32 %r0, [%a]; ld.global.u32 %r1, [%a+128]; ld.global.u32 %r2, [%a+256];"
                  "add.u32 %r3, %r1, 1; add.u32 %r3, %r0, %r2;",
                  32),
            (Texts{"4 load 0:1 load 1:1 load 2:1 use2 1 use3 use1 2"}));
}

TEST_F(InterpreterRecorder, AResultThatIsOverwrittenIsWaitedFor) {
  EXPECT_EQ(warps("ld.global.u32 %r0, [%a]; mov.u32 %r0, 1;", 32), (Texts{"4 load 0:1 use1 2"}));
}

TEST_F(InterpreterRecorder, StridesAndVectorsTouchTheLinesThatTheyTouch) {
  // 128 bytes apart: a line each, of which 32 bytes are touched.
  const Texts strided = warps("mul.wide.u32 %rd1, %t, 128; add.u64 %rd1, %rd1, %a; st.global.u32 [%rd1], %t;", 4);
  EXPECT_EQ(strided, (Texts{"6 store 0:1 1:1 2:1 3:1 1"}));
  EXPECT_EQ(warps("mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %rd1, %a; ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1];"
                  "add.f32 %f4, %f2, %f2;",
                  32),
            (Texts{"6 load 0:15 1:15 2:15 3:15 use1 2"}));
  EXPECT_EQ(warps("mul.wide.u32 %rd1, %t, 2; add.u64 %rd1, %rd1, %a; ld.global.u16 %r0, [%rd1+62];", 32),
            (Texts{"6 load 0:14 use1 1"}));  // 62 to 125; a kernel's end waits for its loads
}

TEST_F(InterpreterRecorder, ThreadsThatDoNotTakePartTouchNothing) {
  EXPECT_EQ(warps("setp.lt.u32 %p0, %t, 8; @%p0 st.global.u32 [%b], %t; setp.gt.u32 %p1, %t, 99; @%p1 st.global.u32 "
                  "[%b], %t;",
                  32),
            (Texts{"5 store 0:1 3"}));
}

TEST_F(InterpreterRecorder, AtomicsSayOfHowManyThreads) {
  EXPECT_EQ(warps("red.global.add.u32 [%a], 1; atom.global.add.u32 %r0, [%a+4], 1; add.u32 %r1, %r0, 1;", 20),
            (Texts{"4 atomic20 0:1 atomic20 0:1 use1 2"}));
}

TEST_F(InterpreterRecorder, SharedAndLocalMemoryAndConstantsAreNotGlobal) {
  EXPECT_EQ(warps(".shared .b32 s[32]; .local .b32 l[4]; mov.u32 %r0, s; st.shared.u32 [%r0], %t;"
                  "cvta.shared.u64 %rd1, %rd2; mov.u64 %rd3, l; cvta.local.u64 %rd3, %rd3; st.u32 [%rd3], %t;",
                  32),
            (Texts{"11"}));
}

TEST_F(InterpreterRecorder, EachWarpComesToABarrierOnce) {
  EXPECT_EQ(warps("setp.lt.u32 %p0, %t, 16; @%p0 bra a; bar.sync 0; bra b; a: add.u32 %r0, %t, 1; bar.sync 0; b: "
                  "mov.u32 %r1, 1;",
                  64)
                .at(1),
            "7 barrier 3");
  const Texts all = warps("bar.sync 0; bar.sync 0;", 96);
  EXPECT_EQ(all, (Texts{"5 barrier 1 barrier 1", "5 barrier 1 barrier 1", "5 barrier 1 barrier 1"}));
}

TEST_F(InterpreterRecorder, CopiesToSharedMemoryAreWaitedForWhereTheKernelDoes) {
  EXPECT_EQ(warps(".shared .align 16 .b32 s[128]; mov.u32 %r0, s; mad.lo.u32 %r0, %t, 16, %r0;"
                  "mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %rd1, %a; cp.async.cg.shared.global [%r0], [%rd1], 16;"
                  "cp.async.commit_group; cp.async.wait_group 0; mov.u32 %r2, 1;",
                  32),
            (Texts{"8 load 0:15 1:15 2:15 3:15 1 use1 3"}));
}

TEST_F(InterpreterRecorder, GroupsOfCopiesAreWaitedForByTheirOrder) {
  EXPECT_EQ(warps(".shared .align 16 .b32 s[256]; mov.u32 %r0, s; cp.async.ca.shared.global [%r0], [%a], 16;"
                  "cp.async.commit_group; cp.async.ca.shared.global [%r0+16], [%a+128], 16; cp.async.commit_group;"
                  "cp.async.wait_group 1; mov.u32 %r2, 1; cp.async.wait_group 0;",
                  1),
            (Texts{"5 load 0:1 2 load 1:1 1 use2 2 use1 2"}));
}

TEST_F(InterpreterRecorder, BulkCopiesTouchAllTheirLines) {
  EXPECT_EQ(warps(".shared .align 128 .b8 s[512]; .shared .align 8 .b64 m; mov.u32 %r0, s; mov.u32 %r1, m;"
                  "mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared.b64 %rd5, [%r1], 384;"
                  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%a], 384, [%r1];"
                  "cp.async.bulk.global.shared::cta.bulk_group [%a+512], [%r0], 256;",
                  1),
            (Texts{"8 load 0:15 1:15 2:15 1 store 4:15 5:15 1"}));
}

TEST_F(InterpreterRecorder, BarriersOfSomeWarpsAreNoneOfTheBlock) {
  EXPECT_EQ(warps("setp.lt.u32 %p0, %t, 64; @%p0 bar.sync 1, 64; mov.u32 %r0, 1; bar.sync 0;", 96),
            (Texts{"8 barrier 1", "8 barrier 1", "8 barrier 1"}));
}

// Of a hundred launches in turns of two sizes: of each at most eight, which do not all stand at one place of the turns.
TEST_F(InterpreterRecorder, KeepsSomeLaunchesOfEachSize) {
  std::uint32_t word = 0;
  Recorder recorder(0, 8);
  record_with(&recorder);
  const auto launch = [&](unsigned blocks) {
    run_kernel(
        ".visible .entry k(.param .u64 out) { .reg .b64 %a; ld.param.u64 %a, [out]; st.global.u32 [%a], 1; ret; }",
        {.grid = blocks, .block = 32}, &word);
  };
  for (int i = 0; i < 100; ++i) launch(i % 4 < 3 ? 2 : 3);
  record_with(nullptr);
  const KernelTrace trace = recorder.take();
  ASSERT_EQ(trace.steps.size(), 100U);
  std::size_t kept[2] = {}, at[3] = {}, all[2] = {};
  for (std::size_t i = 0; i < 100; ++i) {
    const LaunchTrace& its = trace.steps[i].launch;
    const std::size_t size = its.block_count() - 2;
    ++all[size];
    EXPECT_EQ(its.kernel, "k");
    if (its.blocks.empty()) continue;
    EXPECT_EQ(its.blocks.size(), its.block_count());
    ++kept[size];
    if (size == 0) ++at[i % 4];
  }
  EXPECT_EQ(all[0], 75U);
  EXPECT_EQ(all[1], 25U);
  for (const std::size_t some : kept) {
    EXPECT_GE(some, 3U);
    EXPECT_LE(some, 8U);
  }
  for (const std::size_t some : at) EXPECT_GE(some, 1U);
}

TEST_F(InterpreterRecorder, KeepsNoMoreLaunchesThanAsked) {
  std::uint32_t word = 0;
  for (const std::uint64_t most : {1, 2, 3, 5}) {
    Recorder recorder(0, most);
    record_with(&recorder);
    for (int i = 0; i < 60; ++i)
      run_kernel(
          ".visible .entry k(.param .u64 out) { .reg .b64 %a; ld.param.u64 %a, [out]; st.global.u32 [%a], 1; ret; }",
          {.grid = 2, .block = 32}, &word);
    record_with(nullptr);
    std::uint64_t kept = 0;
    for (const auto& step : recorder.take().steps) kept += step.launch.blocks.empty() ? 0 : 1;
    EXPECT_GE(kept, 1U) << most;
    EXPECT_LE(kept, most);
  }
}

// work(unsigned*) and work(float*).
TEST_F(InterpreterRecorder, TellsOverloadsApart) {
  std::uint32_t word = 0;
  Recorder recorder(0);
  record_with(&recorder);
  for (const char* const name : {"_Z4workPj", "_Z4workPf", "_Z4workPj"})
    run_kernel(".visible .entry " + std::string(name) +
                   "(.param .u64 out) { .reg .b64 %a; ld.param.u64 %a, [out]; st.global.u32 [%a], 1; ret; }",
               {.grid = 1, .block = 32}, &word);
  record_with(nullptr);
  std::vector<std::string> names;
  for (const auto& step : recorder.take().steps) names.push_back(step.launch.kernel);
  EXPECT_EQ(names, (std::vector<std::string>{"work", "work #2", "work"}));
}

TEST_F(InterpreterRecorder, KeepsAllBlocksOrASample) {
  const LaunchTrace all = record("st.global.u32 [%b], %t;", {.grid = 300, .block = 32});
  ASSERT_EQ(all.blocks.size(), 300U);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(all.blocks[i].number, i);
  const LaunchTrace some = record("st.global.u32 [%b], %t;", {.grid = 300, .block = 32}, 32);
  EXPECT_EQ(some.blocks.size(), 32U);
  EXPECT_EQ(some.block_count(), 300U);
  EXPECT_EQ(some.kernel, "k");
}

// Pages are numbered in the order of their first touch, wherever they are.
TEST_F(InterpreterRecorder, DoesNotDependOnAddresses) {
  const std::string far = "st.global.u32 [%b+12288], %t; st.global.u32 [%b], %t;";
  EXPECT_EQ(warps(far, 32), (Texts{"4 store 0:15 store 32:15 1"}));
}

}  // namespace
