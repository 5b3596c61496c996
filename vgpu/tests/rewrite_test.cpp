// What is rewritten, and that all else stays as it was.
#include "vgpu/src/ptx/rewrite.hpp"

#include "corpus.hpp"
#include "vgpu/src/ptx/parser.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>

using dcgn::test::assemble, dcgn::test::corpus_names, dcgn::test::corpus_text, dcgn::test::error_of,
    dcgn::test::find_ptxas, dcgn::test::ptx_module;
using namespace dcgn::virtual_gpu::ptx;

namespace {

Rewritten rewrite_text(const std::string& text, const Options& options = {}) {
  return rewrite(parse("x.ptx", text), options);
}
Rewritten rewrite_corpus(const std::string& name, const Options& options = {}) {
  return rewrite(parse(name, corpus_text(name)), options);
}
const KernelReport& kernel(const Rewritten& rewritten, const std::string& name) {
  for (const KernelReport& k : rewritten.kernels)
    if (k.name == name) return k;
  throw std::runtime_error("no report of " + name);
}
const VariableReport& variable(const Rewritten& rewritten, const std::string& name) {
  for (const VariableReport& v : rewritten.variables)
    if (v.name == name) return v;
  throw std::runtime_error("no report of " + name);
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What one instruction becomes, in a kernel that is split.
std::string becomes(const std::string& instruction) {
  const std::string marker = "\nmembar.cta;\n";
  const std::string text = rewrite_text(ptx_module(".entry k() {" + marker + instruction + marker + "}")).text;
  const std::size_t begin = text.find(marker) + marker.size();
  return text.substr(begin, text.rfind(marker) - begin);
}

std::string target_of(const std::string& name) { return has(name, "sm_80") ? "sm_80" : "sm_90"; }

void assemble_corpus(Mode mode, bool count_touches = false, bool whole = false) {
  const auto ptxas = find_ptxas();
  if (!ptxas) GTEST_SKIP() << "no ptxas in PATH or /usr/local/cuda/bin";
  for (const std::string& name : corpus_names())
    EXPECT_EQ(assemble(*ptxas, rewrite_corpus(name, {mode, {}, count_touches, whole}).text, target_of(name)), "")
        << name;
}

}  // namespace

TEST(Rewrite, what_is_not_touched_stays_byte_for_byte) {
  // No kernel: nothing to do.
  const std::string text = ptx_module("/* a */ .func f ( ) {\t\r\n // b\n ret ;\n}\n.const .u32 c=0x1U;\n\n");
  EXPECT_EQ(rewrite_text(text).text, text);
  // All lines of the corpus without what is rewritten are there still, in their order.
  for (const std::string& name : corpus_names()) {
    SCOPED_TRACE(name);
    const std::string before = corpus_text(name), after = rewrite_corpus(name).text;
    std::size_t at = 0, begin = 0;
    for (std::size_t end; (end = before.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string line = before.substr(begin, end - begin);
      if (has(line, "ctaid") || has(line, "atom") || has(line, "red.") || has(line, "membar") || has(line, ".gpu"))
        continue;
      if (has(line, "mov.u64") || has(line, ".global")) continue;  // may name a shared variable
      const std::size_t found = after.find(line, at);
      ASSERT_NE(found, std::string::npos) << line;
      at = found + line.size();
    }
  }
}

TEST(Rewrite, widens_scopes) {
  EXPECT_EQ(becomes("atom.global.add.u32 %r1, [%rd1], 1;"), "atom.sys.global.add.u32 %r1, [%rd1], 1;");
  EXPECT_EQ(becomes("atom.add.u32 %r1, [%rd1], 1;"), "atom.sys.add.u32 %r1, [%rd1], 1;");
  EXPECT_EQ(becomes("@!%p atom.acquire.global.cas.b64 %r1, [%rd1], 1, 2;"),
            "@!%p atom.acquire.sys.global.cas.b64 %r1, [%rd1], 1, 2;");
  EXPECT_EQ(becomes("atom.add.acq_rel.gpu.s32 %r1,[%rd1],%r6;"), "atom.add.acq_rel.sys.s32 %r1,[%rd1],%r6;");
  EXPECT_EQ(becomes("atom.add.relaxed.s32 %r1,[%rd1],%r6;"), "atom.add.relaxed.sys.s32 %r1,[%rd1],%r6;");
  EXPECT_EQ(becomes("red.global.add.f32 [%rd1], %f1;"), "red.sys.global.add.f32 [%rd1], %f1;");
  EXPECT_EQ(becomes("membar.gl;"), "membar.sys;");
  EXPECT_EQ(becomes("fence.sc.gpu;"), "fence.sc.sys;");
  EXPECT_EQ(becomes("fence.proxy.tensormap::generic.release.gpu;"), "fence.proxy.tensormap::generic.release.sys;");
  EXPECT_EQ(becomes("ld.acquire.gpu.global.u32 %r1, [%rd1];"), "ld.acquire.sys.global.u32 %r1, [%rd1];");
  EXPECT_EQ(becomes("st.release.gpu.u32 [%rd1], %r1;"), "st.release.sys.u32 [%rd1], %r1;");
  for (const char* same : {"atom.shared.add.u32 %r1, [%r2], 1;", "atom.shared::cta.gpu.add.u32 %r1, [%r2], 1;",
                           "atom.cta.global.add.u32 %r1, [%rd1], 1;", "atom.relaxed.sys.global.add.u32 %r1, [%rd1], 1;",
                           "membar.cta;", "membar.sys;", "fence.acq_rel.cta;", "ld.global.u32 %r1, [%rd1];",
                           "ld.volatile.global.u32 %r1, [%rd1];", "ld.relaxed.cta.u32 %r1, [%rd1];"})
    EXPECT_EQ(becomes(same), same);
}

TEST(Rewrite, replaces_index_and_grid_in_whatever_form) {
  EXPECT_EQ(becomes("mov.u32 %r1, %ctaid.x;"), "mov.u32 %r1, %dcgn_ctaid_x;");
  EXPECT_EQ(becomes("mad.lo.u32 %r1, %nctaid.z, %ctaid.y, 1;"), "mad.lo.u32 %r1, %dcgn_nctaid_z, %dcgn_ctaid_y, 1;");
  EXPECT_EQ(becomes("mov.b32 %r1, %ctaid.g;"), "mov.b32 %r1, %dcgn_ctaid_y;");
  EXPECT_EQ(becomes("mov.u32 %r1, %nctaid.w;"), "mov.u32 %r1, 0;");
  EXPECT_EQ(becomes("mov.u16 %h1, %ctaid.x;"), "cvt.u16.u32 %h1, %dcgn_ctaid_x;");
  EXPECT_EQ(becomes("@%p mov.v4.u32 {%r1, _, %r2, %r3}, %ctaid;"),
            "@%p mov.u32 %r1, %dcgn_ctaid_x; @%p mov.u32 %r2, %dcgn_ctaid_z; @%p mov.u32 %r3, 0;");
  EXPECT_EQ(
      becomes("mov.v4.u32 %v1, %nctaid;"),
      "mov.u32 %v1.x, %dcgn_nctaid_x; mov.u32 %v1.y, %dcgn_nctaid_y; mov.u32 %v1.z, %dcgn_nctaid_z; mov.u32 %v1.w, 0;");
  EXPECT_EQ(becomes("mov.u32 %r1, %tid.x;"), "mov.u32 %r1, %tid.x;");
  EXPECT_TRUE(has(error_of([] { becomes("add.u32 %r1, %ctaid, 1;"); }), "found '%ctaid' as a vector"));
}

TEST(Rewrite, gives_kernels_parameters_behind_their_own) {
  const Rewritten r =
      rewrite_text(ptx_module(".entry a { ret; }\n.entry b() { ret; }\n.entry c(.param .u8 x, .param .align 8 .b8 "
                              "y[12], .param .u16 z // last\n) { ret; }"));
  EXPECT_TRUE(has(r.text, ".entry a (\n\t.param .u32 dcgn_first_x,\n"));
  EXPECT_TRUE(has(r.text, ".entry b(\n\t.param .u32 dcgn_first_x,\n"));
  EXPECT_TRUE(has(r.text, "// last\n,\n\t.param .u32 dcgn_first_x,\n"));
  const KernelReport& c = kernel(r, "c");
  ASSERT_EQ(c.parameters.size(), 3U);
  EXPECT_EQ(c.parameters[1].offset, 8U);
  EXPECT_EQ(c.parameters[1].bytes, 12U);
  EXPECT_EQ(c.parameters[2].offset, 20U);
  ASSERT_EQ(c.added.size(), 6U);
  EXPECT_EQ(c.added[0].offset, 24U);
  EXPECT_EQ(c.added[5].offset, 44U);
  const Rewritten early = rewrite_text(ptx_module(".entry c(.param .u8 x) { ret; }"), {Mode::early_exit, {}});
  ASSERT_EQ(kernel(early, "c").added.size(), 2U);
  EXPECT_EQ(kernel(early, "c").added[0].offset, 8U);
  EXPECT_TRUE(has(early.text, "@%dcgn_p1 ret;"));
  EXPECT_TRUE(rewrite_text(ptx_module(".entry full(.param .b8 x[32741]) { ret; }"))
                  .kernels[0]
                  .reasons[0]
                  .construct.find("parameters") == 0);
}

TEST(Rewrite, functions_read_a_record_that_kernels_write) {
  const Rewritten r = rewrite_corpus("device_function.ptx");
  EXPECT_TRUE(has(r.text, ".weak .shared .align 16 .b32 dcgn_block[6];"));
  EXPECT_TRUE(has(r.text, "ld.shared.u32 %dcgn_nctaid_y, [dcgn_block+16];"));
  EXPECT_EQ(kernel(r, "numbers").record_bytes, 24U);
  EXPECT_EQ(kernel(r, "no_numbers").record_bytes, 0U);
  EXPECT_EQ(kernel(r, "numbers").changes.block_index, 3U);  // in the function that it calls through another one
  // Indirect calls, virtual ones among them.
  EXPECT_EQ(kernel(rewrite_corpus("function_pointer.ptx"), "areas").record_bytes, 24U);
  // A function of another module may read it.
  EXPECT_EQ(kernel(rewrite_corpus("separate_caller.ptx"), "calls_elsewhere").record_bytes, 24U);
  EXPECT_TRUE(has(rewrite_corpus("separate_callee.ptx").text, "ld.shared.u32 %dcgn_ctaid_x, [dcgn_block+0];"));
  // What is not split keeps its index, and its functions read it all the same.
  const Rewritten one = rewrite_corpus("device_function.ptx", {Mode::split, "no_numbers"});
  EXPECT_FALSE(kernel(one, "numbers").split());
  EXPECT_TRUE(kernel(one, "numbers").added.empty());
  EXPECT_TRUE(has(one.text, "mov.u32 %dcgn_ctaid_x, %ctaid.x;"));
  EXPECT_TRUE(has(one.text, "st.shared.v4.u32 [dcgn_block]"));
  // The oracle needs none.
  EXPECT_FALSE(has(rewrite_corpus("device_function.ptx", {Mode::early_exit, {}}).text, "dcgn_block"));
  const auto with_shared = [](int bytes) {
    return ptx_module(".func f() { .reg .u32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }\n.entry k() { .shared .b8 s[" +
                      std::to_string(bytes) + "]; .reg .u32 %r<2>; st.shared.u32 [s], %r1; call f; ret; }\n");
  };
  EXPECT_TRUE(kernel(rewrite_text(with_shared(49120)), "k").split());
  EXPECT_EQ(kernel(rewrite_text(with_shared(49120)), "k").static_shared, 49120U);
  if (const auto ptxas = find_ptxas()) {
    EXPECT_EQ(assemble(*ptxas, rewrite_text(with_shared(49120)).text, "sm_90"), "");
  }
}

TEST(Rewrite, a_kernel_without_room_for_the_record_stays_whole) {
  const std::string text = ptx_module(R"(
.func f() { .reg .u32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }
.func g() { .reg .u32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }
.entry full() { .shared .b8 s[49136]; .reg .u32 %r<2>; st.shared.u32 [s], %r1; call f; ret; }
.entry same() { call f; ret; }
.entry other() { call g; ret; }
.entry plain() { .shared .b8 s[49152]; .reg .u32 %r<2>; st.shared.u32 [s], %r1; mov.u32 %r1, %ctaid.x; ret; }
)");
  const Rewritten r = rewrite_text(text);
  ASSERT_EQ(kernel(r, "full").reasons.size(), 1U);
  EXPECT_EQ(kernel(r, "full").reasons[0].construct,
            "shared memory: 49136 bytes, which leave no room for 24 that functions read the block's index from");
  EXPECT_EQ(kernel(r, "full").record_bytes, 0U);
  EXPECT_EQ(kernel(r, "full").static_shared, 49136U);
  ASSERT_EQ(kernel(r, "same").reasons.size(), 1U);
  EXPECT_TRUE(has(kernel(r, "same").reasons[0].construct, "shared memory: full, which runs the same function, has"));
  EXPECT_EQ(kernel(r, "same").reasons[0].function, "f");
  EXPECT_TRUE(kernel(r, "other").split());
  EXPECT_EQ(kernel(r, "other").record_bytes, 24U);
  EXPECT_TRUE(kernel(r, "plain").split());
  // The oracle and whole kernels need no record.
  EXPECT_TRUE(kernel(rewrite_text(text, {Mode::early_exit, {}}), "full").split());
  Options options;
  options.whole = true;
  for (const KernelReport& k : rewrite_text(text, options).kernels) {
    EXPECT_TRUE(k.reasons.empty()) << k.name;
    EXPECT_EQ(k.record_bytes, 0U) << k.name;
  }
  if (const auto ptxas = find_ptxas()) {
    EXPECT_EQ(assemble(*ptxas, r.text, "sm_90"), "");
    EXPECT_EQ(assemble(*ptxas, rewrite_text(text, options).text, "sm_90"), "");
  }
}

TEST(Rewrite, counts_what_it_did) {
  const Rewritten r = rewrite_corpus("by_hand.ptx");
  const KernelReport& forms = kernel(r, "forms");
  ASSERT_TRUE(forms.split());
  EXPECT_EQ(forms.changes.block_index, 5U);  // one in the function that it calls
  EXPECT_EQ(forms.changes.grid_size, 2U);
  EXPECT_EQ(forms.changes.atomics, 7U);
  EXPECT_EQ(forms.changes.fences, 3U);
  EXPECT_EQ(forms.changes.ordered_accesses, 2U);
  EXPECT_EQ(forms.changes.variables, 4U);
  EXPECT_EQ(variable(r, "addresses").addresses.size(), 2U);
  EXPECT_EQ(variable(r, "addresses").addresses[1].offset, 8U);
}

// As nvcc has them in a struct without padding.
TEST(Rewrite, reports_an_address_that_is_given_byte_by_byte_once) {
  std::string bytes = "3";
  for (const char* mask : {"0XFF", "0xFF00", "0xFF0000", "0xFF000000", "0xFF00000000", "0xFF0000000000",
                           "0xFF000000000000", "0xFF00000000000000"})
    bytes += std::string(", ") + mask + "(generic(counter))";
  const Rewritten r = rewrite_text(ptx_module(".global .align 4 .u32 counter;\n.global .align 1 .u8 packed[10] = {" +
                                              bytes + ", 4};\n.entry k() { ret; }"));
  ASSERT_EQ(variable(r, "packed").addresses.size(), 1U);
  EXPECT_EQ(variable(r, "packed").addresses[0].symbol, "counter");
  EXPECT_EQ(variable(r, "packed").addresses[0].offset, 1U);
}

TEST(Rewrite, reports_variables_and_has_code_go_by_pointers) {
  const Rewritten r = rewrite_corpus("device_globals.ptx");
  EXPECT_EQ(variable(r, "counter").pointer, "dcgn_at_counter");
  EXPECT_EQ(variable(r, "counter").bytes, 4U);
  EXPECT_FALSE(variable(r, "counter").initialized);
  EXPECT_EQ(variable(r, "origin").alignment, 16U);
  EXPECT_TRUE(variable(r, "origin").initialized);
  EXPECT_TRUE(variable(r, "managed").managed);
  EXPECT_TRUE(variable(r, "steps").constant);
  EXPECT_EQ(variable(r, "steps").pointer, "");
  ASSERT_EQ(variable(r, "where").addresses.size(), 1U);
  EXPECT_EQ(variable(r, "where").addresses[0].symbol, "array");
  EXPECT_TRUE(has(r.text, ".const .align 8 .u64 dcgn_at_counter = counter;"));
  EXPECT_TRUE(has(
      r.text, "{ .reg .b64 %dcgn_a<1>; ld.const.u64 %dcgn_a0, [dcgn_at_origin]; st.global.f32 \t[%dcgn_a0+4], %f1; }"));
  EXPECT_TRUE(has(r.text, "mov.u64 \t%rd5, steps;"));
  EXPECT_EQ(kernel(r, "count").changes.variables, 6U);
  EXPECT_EQ(variable(rewrite_corpus("function_pointer.ptx"), "table").why_not, "holds functions");
  EXPECT_EQ(variable(rewrite_corpus("function_pointer.ptx"), "_ZTV6Square").why_not, "holds functions");
  EXPECT_EQ(variable(rewrite_corpus("templates.ptx"), "$str").why_not, "compiler's string");
  // Constant memory that is full has no room for pointers.
  EXPECT_TRUE(has(rewrite_corpus("constants_full.ptx").text, "\n.global .align 8 .u64 dcgn_at_hits = hits;"));
  EXPECT_TRUE(has(rewrite_corpus("separate_caller.ptx").text, "\n.extern .global .align 8 .u64 dcgn_at_total;"));
  EXPECT_TRUE(
      has(rewrite_corpus("separate_callee.ptx").text, "\n.visible .global .align 8 .u64 dcgn_at_total = total;"));
  // Declared, then defined: one pointer, where the definition is.
  const std::string twice = rewrite_text(ptx_module(".extern .global .u32 x;\n.visible .global .u32 x = 1;\n")).text;
  EXPECT_EQ(
      twice,
      ptx_module(
          ".extern .global .u32 x;\n.visible .global .u32 x = 1;\n.visible .global .align 8 .u64 dcgn_at_x = x;\n"));
  // x+4 where a register takes no offset; and a name that a function has for itself.
  const std::string text = rewrite_text(ptx_module(".global .b8 x[8];\n.entry k() { mov.u64 %rd1, x+4; }\n"
                                                   ".func f() { .local .b8 x[4]; mov.u64 %rd2, x; }"))
                               .text;
  EXPECT_TRUE(has(text, "add.s64 %dcgn_a0, %dcgn_a0, 4; mov.u64 %rd1, %dcgn_a0; }"));
  EXPECT_TRUE(has(text, "mov.u64 %rd2, x;"));
}

TEST(Rewrite, errors_name_what_is_wrong) {
  EXPECT_EQ(error_of([] {
              rewrite_corpus("histogram.ptx", {Mode::split, "nobody"});
            }),
            "dcgn: ptx: histogram.ptx: no kernel nobody, expected one of histogram, largest, multiply_all, work_queue");
  EXPECT_TRUE(has(error_of([] { rewrite_text(rewrite_corpus("histogram.ptx").text); }),
                  "expected PTX that was not rewritten before"));
  EXPECT_TRUE(
      has(error_of([] { rewrite_text(".version 6.0\n.target sm_50\n.address_size 64\n"); }), "found target sm_50"));
  EXPECT_TRUE(
      has(error_of([] { rewrite_text(".version 6.0\n.target sm_70\n.address_size 32\n"); }), ".address_size 32"));
}

// Damaged files that still parse are rewritten, or refused with a line, never otherwise.
TEST(Rewrite, survives_damage) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto names = corpus_names();
  std::size_t rewritten = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = corpus_text(names[random() % names.size()]);
    for (unsigned changes = 1 + random() % 3; changes != 0; --changes) {
      // Names, numbers and directives change places: what is left is more often PTX than after changes of letters.
      const std::size_t from = random() % text.size(), to = random() % text.size(), length = random() % 12;
      text.replace(to, length, text.substr(from, length));
    }
    const std::string error = error_of([&] {
      rewrite_text(text, {round % 2 ? Mode::split : Mode::early_exit, {}});
      ++rewritten;
    });
    if (!error.empty()) {
      EXPECT_EQ(error.rfind("dcgn: ptx: x.ptx", 0), 0U) << error;
    }
  }
  EXPECT_GT(rewritten, 100U);
}

TEST(Rewrite, split_kernels_assemble) { assemble_corpus(Mode::split); }
TEST(Rewrite, kernels_that_exit_early_assemble) { assemble_corpus(Mode::early_exit); }

TEST(Rewrite, whole_kernels_keep_their_parameters_and_share_variables) {
  Options options;
  options.whole = true;
  for (const std::string& name : corpus_names()) {
    const Rewritten whole = rewrite_corpus(name, options), split = rewrite_corpus(name);
    for (const char* added : {"dcgn_first_x", "dcgn_block", "%dcgn_ctaid_x", "%dcgn_nctaid_x"})
      EXPECT_FALSE(has(whole.text, added)) << name;
    for (const KernelReport& k : whole.kernels) EXPECT_FALSE(k.split()) << name << ": " << k.name;
    EXPECT_EQ(whole.kernels.size(), split.kernels.size());
    ASSERT_EQ(whole.variables.size(), split.variables.size());
    for (std::size_t v = 0; v < split.variables.size(); ++v)
      EXPECT_EQ(whole.variables[v].pointer, split.variables[v].pointer) << name;
  }
  EXPECT_TRUE(has(rewrite_corpus("device_globals.ptx", options).text, "[dcgn_at_counter]"));
}
TEST(Rewrite, whole_kernels_assemble) { assemble_corpus(Mode::split, false, true); }

TEST(Rewrite, loads_stores_and_atomics_count_the_pages_that_they_touch) {
  const auto counted = [](const std::string& instruction) {
    const std::string text =
        rewrite_text(ptx_module(".entry k() {\n" + instruction + "\n}"), {Mode::split, {}, true}).text;
    const std::size_t begin = text.find("{ .reg .b64 %dcgn_s<3>");
    return begin == std::string::npos ? "" : text.substr(begin, text.rfind('\n') - begin);
  };
  const std::string load = counted("@!%p1 ld.global.nc.v2.f32 {%f1, %f2}, [%rd1+-8];");
  EXPECT_TRUE(has(load, "add.s64 %dcgn_s0, %rd1, -8;"));
  EXPECT_TRUE(has(load, "setp.lt.and.u64 %dcgn_in, %dcgn_s0, %dcgn_s1, !%p1;"));
  EXPECT_TRUE(has(load, "} @!%p1 ld.global.nc.v2.f32 {%f1, %f2}, [%rd1+-8];"));
  EXPECT_TRUE(has(counted("st.u32 [%rd1], %r1;"), "add.s64 %dcgn_s0, %rd1, 0;"));
  EXPECT_TRUE(has(counted("@%p1 red.global.add.u32 [%rd1 + 4], 1;"), "%dcgn_s1, %p1;"));
  for (const char* other : {"ld.shared.u32 %r1, [%r2];", "ld.param.u64 %rd1, [k_param_0];", "ld.global.u32 %r1, [12];",
                            "mov.u32 %r1, %tid.x;"})
    EXPECT_EQ(counted(other), "") << other;
}

TEST(Rewrite, kernels_that_count_touches_assemble) { assemble_corpus(Mode::split, true); }
