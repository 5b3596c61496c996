// What is not split, by name and place; and what looks alike and is.
#include "corpus.hpp"
#include "vgpu/src/ptx/parser.hpp"
#include "vgpu/src/ptx/rewrite.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

using dcgn::test::corpus_text, dcgn::test::ptx_module;
using namespace dcgn::virtual_gpu::ptx;

namespace {

std::vector<KernelReport> reports(const std::string& name) {
  return rewrite(parse(name, corpus_text(name)), {}).kernels;
}

// Why `kernel` of a file of the corpus is not split; and checks that the line named has the instruction's first word.
std::string why(const std::string& name, const std::string& kernel) {
  for (const KernelReport& k : reports(name)) {
    if (k.name != kernel) continue;
    if (k.split()) return "split";
    const Reason& reason = k.reasons.front();
    std::istringstream lines(corpus_text(name));
    std::string line;
    for (std::size_t i = 0; i < reason.line; ++i) std::getline(lines, line);
    EXPECT_NE(line.find(reason.instruction.substr(0, reason.instruction.find_first_of(" ,("))), std::string::npos)
        << reason.line << ": " << reason.instruction;
    return reason.construct;
  }
  return "no such kernel";
}

// The same for a kernel of these instructions.
std::string why_not(const std::string& instructions) {
  const auto all =
      rewrite(parse("x.ptx", ptx_module(".entry k() {\n.reg .pred %p<9>;\n" + instructions + "\n}")), {}).kernels;
  return all.front().split() ? "split" : all.front().reasons.front().construct;
}

bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

}  // namespace

TEST(Refusal, names_what_the_corpus_has) {
  EXPECT_TRUE(begins(why("grid_sync.ptx", "two_phases"), "grid synchronisation: %envreg2"));
  EXPECT_EQ(why("grid_sync.ptx", "one_phase"), "split");
  EXPECT_EQ(why("clusters.ptx", "exchange"), "clusters: .explicitcluster");
  EXPECT_EQ(why("dynamic_parallelism.ptx", "parent"), "dynamic parallelism: __cudaCDP2GetParameterBufferV2");
  EXPECT_EQ(why("dynamic_parallelism.ptx", "_Z5childPi"), "dynamic parallelism: another kernel launches it");
  EXPECT_TRUE(begins(why("textures.ptx", "sample"), "textures"));
  EXPECT_TRUE(begins(why("textures.ptx", "draw"), "surfaces"));
  EXPECT_TRUE(begins(why("bulk_copy.ptx", "bulk_add"), "bulk reductions"));
  EXPECT_EQ(why("bulk_copy.ptx", "bulk"), "split");
  EXPECT_EQ(why("bulk_copy.ptx", "staged"), "split");
}

TEST(Refusal, knows_each_construct) {
  EXPECT_TRUE(begins(why_not("mov.u64 %rd1, %gridid;"), "%gridid"));
  EXPECT_TRUE(begins(why_not("mov.u32 %r1, %total_smem_size;"), "shared memory: %total_smem_size"));
  EXPECT_TRUE(begins(why_not("griddepcontrol.wait;"), "grid synchronisation"));
  const std::string to_others =
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], 16, [%r3];";
  const std::string to_many =
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd2], 16, [%r3], "
      "3;";
  for (const char* cluster :
       {"barrier.cluster.arrive;", "mov.u32 %r1, %cluster_ctarank;", "mov.u32 %r1, %nclusterid.x;",
        "getctarank.u32 %r1, %r2;", "mapa.shared::cluster.u32 %r1, %r2, 1;", "ld.shared::cluster.u32 %r1, [%r2];",
        "fence.acq_rel.cluster;", to_others.c_str(), to_many.c_str(),
        "clusterlaunchcontrol.try_cancel.b128 [%r1], [%r2];"})
    EXPECT_TRUE(begins(why_not(cluster), "clusters: ")) << cluster;
  EXPECT_TRUE(begins(why_not("multimem.red.release.sys.global.add.f32 [%rd1], %f1;"), "multimem"));
  EXPECT_TRUE(begins(why_not("txq.width.b32 %r1, [%rd1];"), "textures"));
  EXPECT_EQ(why_not("fence.mbarrier_init.release.cluster;"), "split");
  EXPECT_EQ(why_not("atom.global.add.u32 %r1, [%rd1], 1;"), "split");
  EXPECT_TRUE(begins(why_not("mbarrier.nonsense.gpu [%r1];"), "mbarrier: of the scope of one GPU"));
}

TEST(Refusal, an_instruction_that_is_not_known_keeps_its_kernels_whole) {
  EXPECT_EQ(why_not("vmystery2.sync.u64 %rd1, %rd2;"), "instruction: vmystery2 is not known");
  for (const char* known : {"abs.s32 %r1, %r2;", "xor.b32 %r1, %r1, %r2;", "tcgen05.fence::after_thread_sync;",
                            "szext.wrap.u32 %r1, %r2, 4;"})
    EXPECT_EQ(why_not(known), "split") << known;
  const auto kernels = rewrite(parse("x.ptx",
                                     ".version 9.5\n.target sm_90\n.address_size 64\n"
                                     ".func f() {\n  later.than.this [%rd1];\n  ret; }\n"
                                     ".entry a() { call f; ret; }\n.entry b() { ret; }\n"),
                               {})
                           .kernels;
  ASSERT_EQ(kernels[0].reasons.size(), 1U);
  EXPECT_EQ(kernels[0].reasons[0].construct, "instruction: later is not known");
  EXPECT_EQ(kernels[0].reasons[0].function, "f");
  EXPECT_EQ(kernels[0].reasons[0].line, 5U);
  EXPECT_TRUE(kernels[0].memory.writes_elsewhere && kernels[0].memory.follows_pointers);
  EXPECT_TRUE(kernels[1].split());
}

TEST(Refusal, follows_calls_and_says_where) {
  const std::string text = ptx_module(
      ".func g() { barrier.cluster.wait; ret; }\n"
      ".func f() { call g; ret; }\n"
      ".entry a() { call f; ret; }\n"
      ".entry b() { ret; }\n"
      ".global .u64 table[1] = {f};\n"
      ".entry c() { call %rd1, (), proto; ret; }\n");
  const auto kernels = rewrite(parse("x.ptx", text), {}).kernels;
  ASSERT_FALSE(kernels[0].split());
  EXPECT_EQ(kernels[0].reasons[0].function, "g");
  EXPECT_EQ(kernels[0].reasons[0].line, 4U);
  EXPECT_EQ(kernels[0].reasons[0].instruction, "barrier.cluster.wait;");
  EXPECT_TRUE(kernels[1].split());
  EXPECT_FALSE(kernels[2].split());
}

TEST(Refusal, tells_spin_waits_from_loops_that_look_alike) {
  for (const char* name : {"spin_wait.ptx", "spin_wait.debug.ptx"}) {
    for (const char* waits :
         {"volatile_wait", "acquire_wait", "atomic_barrier", "lock", "look_back", "wait_by_function"})
      EXPECT_TRUE(begins(why(name, waits), "spin-wait")) << name << waits;
    for (const char* innocent : {"search", "find_root", "stoppable"})
      EXPECT_EQ(why(name, innocent), "split") << name << innocent;
  }
  for (const char* waits : {"past_l1", "past_caches", "block_fence", "clobber", "by_first_thread", "barrier_or",
                            "any_lane", "counting_barrier"})
    EXPECT_TRUE(begins(why("polling.ptx", waits), "spin-wait")) << waits;
  for (const char* innocent : {"tiles", "until_stable", "drain"})
    EXPECT_EQ(why("polling.ptx", innocent), "split") << innocent;
  for (const char* name : {"histogram.ptx", "histogram.lines.ptx", "histogram.sm_80.ptx", "histogram.debug.ptx"})
    for (const char* innocent : {"histogram", "largest", "multiply_all", "work_queue"})
      EXPECT_EQ(why(name, innocent), "split") << name << innocent;
}

// Only what the loop itself reads may hold it.
TEST(Refusal, looks_into_functions_that_a_loop_calls) {
  const auto waits = [](const std::string& atomic) {
    const std::string function =
        ".func (.param .b32 r) f(.param .b64 p) { " + atomic + " st.param.b32 [r], %r1; ret; }\n";
    const std::string kernel =
        ".entry k() {\nagain: call (%r1), f, (%rd1); setp.eq.u32 %p1, %r1, 9; @%p1 bra again; ret; }";
    return !rewrite(parse("x.ptx", ptx_module(function + kernel)), {}).kernels.front().split();
  };
  EXPECT_TRUE(waits("ld.acquire.gpu.u32 %r1, [%rd1];"));
  EXPECT_TRUE(waits("atom.global.or.b32 %r1, [%rd1], 0;"));
  EXPECT_TRUE(waits("atom.global.add.u32 %r1, [%rd1], 0;"));
  EXPECT_FALSE(waits("atom.global.add.u32 %r1, [%rd1], 1;"));  // takes work off a counter
  EXPECT_FALSE(waits("ld.global.u32 %r1, [%rd1];"));
}

TEST(Refusal, finds_spin_waits_in_other_forms) {
  // Through shared memory, by the block's first thread.
  EXPECT_TRUE(
      begins(why_not("again: @%p3 bra join; ld.volatile.global.u32 %r1, [%rd1]; st.shared.u32 [flag], %r1;\n"
                     "join: bar.sync 0; ld.shared.u32 %r2, [flag]; setp.eq.u32 %p1, %r2, 0; @%p1 bra again; ret;"),
             "spin-wait"));
  // The way out is a return with a guard; the flag is read by an exchange.
  EXPECT_TRUE(
      begins(why_not("again: atom.global.exch.b32 %r1, [%rd1], 1; setp.eq.u32 %p1, %r1, 0; @%p1 ret; bra again;"),
             "spin-wait"));
  // A plain load that a fence makes read again.
  EXPECT_TRUE(
      begins(why_not("again: membar.gl; ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra again; ret;"),
             "spin-wait"));
  // What it writes itself, and a bound that moves, make a wait with a fence none the less.
  EXPECT_TRUE(
      begins(why_not("again: membar.gl; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], 2; add.u32 %r2, %r2, 1;\n"
                     "setp.lt.u32 %p1, %r2, %r1; @%p1 bra again; ret;"),
             "spin-wait"));
  // Counts only what it waited; the branch back is by what was read.
  EXPECT_TRUE(begins(why_not("again: add.u32 %r2, %r2, 1; ld.relaxed.gpu.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0;\n"
                             "@%p1 bra again; ret;"),
                     "spin-wait"));
  // A branch decides whether the address goes on.
  EXPECT_TRUE(begins(why_not("again: ld.volatile.global.u64 %rd2, [%rd1]; setp.eq.s64 %p1, %rd2, 0; @%p1 bra again;\n"
                             "add.s64 %rd1, %rd1, 8; setp.lt.s64 %p2, %rd1, %rd3; @%p2 bra again; ret;"),
                     "spin-wait"));
  // Through a barrier that reduces.
  EXPECT_TRUE(begins(
      why_not("again: ld.volatile.global.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, 0; bar.red.or.pred %p2, 0, %p1;\n"
              "@!%p2 bra again; ret;"),
      "spin-wait"));
  // By a branch that goes to one of several places.
  EXPECT_TRUE(
      begins(why_not("list: .branchtargets again, out;\nagain: ld.volatile.global.u32 %r1, [%rd1]; brx.idx %r1, list;\n"
                     "out: ret;"),
             "spin-wait"));
  // Innocent: tries so many times, then goes on without.
  EXPECT_EQ(
      why_not("again: add.u32 %r2, %r2, 1; setp.gt.u32 %p2, %r2, 9; @%p2 bra out; ld.volatile.global.u32 %r1, [%rd1];\n"
              "setp.eq.u32 %p1, %r1, 0; @%p1 bra again;\nout: ret;"),
      "split");
  // Innocent: an exchange whose comparand is read anew each round.
  EXPECT_EQ(why_not("again: ld.volatile.global.u32 %r1, [%rd1]; add.u32 %r2, %r1, 5;\n"
                    "atom.global.cas.b32 %r3, [%rd1], %r1, %r2; setp.ne.u32 %p1, %r3, %r1; @%p1 bra again; ret;"),
            "split");
  // Innocent: shared memory is the block's own.
  EXPECT_EQ(why_not("again: ld.volatile.shared.u32 %r1, [%r9]; setp.eq.u32 %p1, %r1, 0; @%p1 bra again; ret;"),
            "split");
}
