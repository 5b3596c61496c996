// What kernels do with the memory that their arguments point to.
#include "vgpu/src/ptx/memory_use.hpp"

#include "corpus.hpp"
#include "vgpu/src/ptx/parser.hpp"
#include "vgpu/src/ptx/survey.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

using dcgn::test::corpus_text, dcgn::test::ptx_module;
using namespace dcgn::virtual_gpu::ptx;

namespace {

MemoryUse use_in(const Module& module, const std::string& kernel) {
  for (std::size_t f = 0; f < module.functions.size(); ++f)
    if (module.functions[f].name == kernel && module.functions[f].body) return memory_use(module, CallGraph(module), f);
  throw std::runtime_error("no kernel " + kernel);
}

// Each parameter of a kernel in a word: "r" is only read, where its blocks are; "R" is only read, and blocks far apart
// may read the same; "w" is written or not known; "-" is not used or no pointer. The grid has one dimension, or `y`
// rows.
// "!" in the end: it may write elsewhere.
std::string words_of(const Module& module, const std::string& kernel, std::uint32_t y = 1) {
  const MemoryUse memory = use_in(module, kernel);
  std::string words;
  for (const ParameterReport& p : layout_of(module.find_function(kernel)->parameters)) {
    const PointerUse* use = p.bytes < 8 ? nullptr : memory.at(p.offset);
    words += !use ? '-' : !use->only_read ? 'w' : use->read_by_all(y, 1) ? 'R' : 'r';
  }
  return words + (memory.writes_elsewhere ? "!" : "");
}
std::string corpus_words(const std::string& file, const std::string& kernel, std::uint32_t y = 1) {
  return words_of(parse(file, corpus_text(file)), kernel, y);
}

// Of a kernel with pointers a and b and a number n of 8 bytes, which are in %a, %b (in global space) and %n.
std::string kernel_of(const std::string& body, const std::string& before) {
  return ptx_module(before + R"(
.entry k(.param .u64 a, .param .u64 b, .param .u64 n) {
  .reg .b64 %a, %b, %n, %d<9>; .reg .b32 %r<9>; .reg .pred %p<3>;
  ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %n, [n];
  cvta.to.global.u64 %a, %a; cvta.to.global.u64 %b, %b;
)" + body + "\n}");
}
std::string words_of_body(const std::string& body, const std::string& before = "") {
  return words_of(parse("x.ptx", kernel_of(body, before)), "k");
}

// Of a parameter in a letter: "a" is in an access's address, "w" is one and may be written, "s" goes where it is not
// followed, "-" neither. "!" in the end: it follows pointers that its arguments do not tell of.
std::string accesses_of(const Module& module, const std::string& kernel) {
  const MemoryUse memory = use_in(module, kernel);
  std::string letters;
  for (const ParameterReport& p : layout_of(module.find_function(kernel)->parameters)) {
    const PointerUse* use = memory.at(p.offset);
    letters += !use ? '-' : use->address ? (use->written ? 'w' : 'a') : use->written ? 's' : '-';
  }
  return letters + (memory.follows_pointers ? "!" : "");
}
std::string accesses_of_body(const std::string& body, const std::string& before = "") {
  return accesses_of(parse("x.ptx", kernel_of(body, before)), "k");
}

// What is reduced into, word by word: "add.u32 - -".
std::string reductions_of(const Module& module, const std::string& kernel) {
  const MemoryUse memory = use_in(module, kernel);
  std::string words;
  for (const ParameterReport& p : layout_of(module.find_function(kernel)->parameters)) {
    const PointerUse* use = memory.at(p.offset);
    words += words.empty() ? "" : " ";
    words += use && use->reduced ? use->reduced->operation + "." + use->reduced->type : "-";
  }
  return words;
}
std::string reductions_of_body(const std::string& body, const std::string& before = "") {
  return reductions_of(parse("x.ptx", kernel_of(body, before)), "k");
}

}  // namespace

TEST(MemoryUse, finds_what_is_only_reduced_into) {
  const auto corpus = [](const std::string& file, const std::string& kernel) {
    return reductions_of(parse(file, corpus_text(file)), kernel);
  };
  EXPECT_EQ(corpus("k_means.ptx", "k_means"), "- - - - add.f32 add.u32");
  EXPECT_EQ(corpus("histogram.ptx", "histogram"), "- - add.u32");
  EXPECT_EQ(corpus("histogram.ptx", "largest"), "- - -") << "a loop of compare-and-swap";
  EXPECT_EQ(corpus("histogram.ptx", "work_queue"), "- - -") << "whose results are used";
  EXPECT_EQ(corpus("breadth_first.ptx", "bfs_level"), "- - - - - - - -");

  const std::string add = "red.global.add.u32 [%a], 1;";
  EXPECT_EQ(reductions_of_body(add), "add.u32 - -");
  EXPECT_EQ(reductions_of_body(add + "add.s64 %d0, %a, 8; atom.global.gpu.add.u32 %r1, [%d0+4], %r0;"), "add.u32 - -");
  EXPECT_EQ(reductions_of_body(add + "red.relaxed.sys.global.min.s64 [%b], %n;"), "add.u32 min.s64 -");
  EXPECT_EQ(reductions_of_body("selp.b64 %d0, %a, %b, %p0; red.global.xor.b32 [%d0], 5;"), "xor.b32 xor.b32 -");
  EXPECT_EQ(reductions_of_body("atom.global.inc.u32 %r0, [%a], -1;"), "add.u32 - -");
  for (const char* other :
       {"ld.global.u32 %r0, [%a];", "st.global.u32 [%a], 1;", "red.global.add.f32 [%a], 0f3f800000;",
        "red.global.max.u32 [%a], 1;", "atom.global.add.u32 %r0, [%a], 1; mov.u32 %r1, %r0;",
        "atom.global.exch.b32 %r0, [%a], 1;", "st.global.u64 [%b], %a;", "setp.eq.u64 %p0, %a, %b;",
        "red.release.gpu.global.add.u32 [%a], 1;", "prefetch.global.L2 [%a];",
        "mov.u64 %d0, a; ld.param.u32 %r1, [%d0];"})
    EXPECT_EQ(reductions_of_body(add + other).substr(0, 1), "-") << other;
  for (const char* alone : {"atom.global.inc.u32 %r0, [%a], 7;", "atom.global.dec.u32 %r0, [%a], -1;",
                            "red.global.v2.f32.add [%a], {%r0, %r1};", "red.global.add.noftz.f16x2 [%a], %r0;"})
    EXPECT_EQ(reductions_of_body(alone).substr(0, 1), "-") << alone;
}

TEST(MemoryUse, of_the_workloads_is_what_their_source_says) {
  EXPECT_EQ(corpus_words("vector_add.ptx", "vector_add"), "rrw-");
  EXPECT_EQ(corpus_words("histogram.ptx", "histogram"), "R-w");
  EXPECT_EQ(corpus_words("histogram.ptx", "work_queue"), "w-w");
  EXPECT_EQ(corpus_words("breadth_first.ptx", "bfs_level"), "RRw-r-ww");
  EXPECT_EQ(corpus_words("k_means.ptx", "k_means"), "R--www");
  EXPECT_EQ(corpus_words("conjugate_gradient.ptx", "sparse_product"), "rRRRw-");
  EXPECT_EQ(corpus_words("conjugate_gradient.ptx", "dot"), "RRw-");
  EXPECT_EQ(corpus_words("conjugate_gradient.ptx", "axpy"), "wRRrw-");
  EXPECT_EQ(corpus_words("coulomb.ptx", "coulomb", 8), "wR---");
  EXPECT_EQ(corpus_words("srad.ptx", "srad", 8), "rw---");
  EXPECT_EQ(corpus_words("back_propagation.ptx", "layer_forward", 8), "rrw-");
  EXPECT_EQ(corpus_words("back_propagation.ptx", "adjust_weights", 8), "Rrww-");
  EXPECT_EQ(corpus_words("finite_difference.ptx", "finite_difference", 8), "rw---");
}

TEST(MemoryUse, a_pointer_is_followed_through_what_moves_it) {
  EXPECT_EQ(
      words_of_body("mov.u32 %r0, %ctaid.x; mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %a, %d0; ld.global.u32 %r1, [%d1+8];"
                    "add.s64 %d2, %b, %d0; st.global.u32 [%d2], %r1;"),
      "rw-");
  EXPECT_EQ(words_of_body("mov.u32 %r0, %ctaid.x; mad.wide.u32 %d1, %r0, 4, %a; ld.global.nc.u32 %r1, [%d1];"), "r--");
  // Either of two, written: both are.
  EXPECT_EQ(words_of_body("selp.b64 %d0, %a, %b, %p0; st.global.u32 [%d0], %r0;"), "ww-");
  EXPECT_EQ(words_of_body("mov.b64 {%r0, %r1}, %a; mov.b64 %d0, {%r0, %r1}; st.global.u32 [%d0], %r2;"), "w--!");
  // Whatever comes first in the text.
  EXPECT_EQ(words_of_body("bra $second; $first: st.global.u32 [%d0], %r0; ret; $second: mov.b64 %d0, %a; bra $first;"),
            "w--");
  // Thread by thread from global memory to shared.
  EXPECT_EQ(words_of_body("cp.async.ca.shared.global [tile], [%a], 16; cp.async.commit_group; cp.async.wait_all;",
                          ".shared .align 16 .b8 tile[64];"),
            "R--");
}

TEST(MemoryUse, a_pointer_that_goes_elsewhere_is_not_only_read) {
  const std::string load = "ld.global.u32 %r0, [%a];";
  EXPECT_EQ(words_of_body(load), "R--");
  for (const char* use :
       {"setp.eq.u64 %p0, %a, %b;", "st.shared.u64 [kept], %a;", "sub.s64 %d0, %b, %a;", "shr.u64 %d0, %a, 3;",
        "atom.global.exch.b64 %d0, [%b], %a;", "red.global.add.u32 [%a], 1;", "ld.volatile.global.u32 %r1, [%a];",
        "ld.acquire.gpu.global.u32 %r1, [%a];", "and.b64 %d0, %a, -16;", "cvt.u32.u64 %r1, %a;"})
    EXPECT_EQ(words_of_body(load + use, ".shared .align 8 .b64 kept;").substr(0, 1), "w") << use;
  // A difference of what memory holds, and one of the pointer's halves.
  EXPECT_EQ(words_of_body(load + "ld.global.u64 %d0, [%b]; sub.s64 %d1, %a, %d0;"), "wR-");
  EXPECT_EQ(words_of_body(load + "ld.param.u32 %r1, [a+4];"), "w--");
  // By address, and to a function.
  EXPECT_EQ(words_of_body(load + "mov.u64 %d0, a; ld.param.u32 %r1, [%d0];"), "w--");
  const std::string function =
      ".func f(.param .b64 to) { .reg .b64 %t; ld.param.b64 %t, [to]; st.global.u32 [%t], 1; ret; }\n";
  EXPECT_EQ(words_of_body(load + "{ .param .b64 p; st.param.b64 [p], %a; call.uni f, (p); }", function), "w--!");
}

TEST(MemoryUse, stores_whose_address_has_no_known_origin_may_go_anywhere) {
  EXPECT_EQ(words_of_body("ld.global.u64 %d0, [%a]; st.global.u32 [%d0], 1;"), "R--!");
  EXPECT_EQ(words_of_body("ld.global.u64 %d0, [%a]; add.s64 %d1, %d0, %n; st.global.u32 [%d1], 1;"), "R-w!");
  EXPECT_EQ(words_of_body("ld.global.v2.u32 {%r0, %r1}, [%a]; mov.b64 %d0, {%r0, %r1}; red.global.add.u32 [%d0], 1;"),
            "R--!");
  EXPECT_EQ(words_of_body("st.u32 [%d0], 1;"), "---!");
  EXPECT_EQ(
      words_of_body("cp.async.bulk.global.shared::cta.bulk_group [%a], [tile], 64;", ".shared .align 16 .b8 tile[64];"),
      "w--!");
  EXPECT_EQ(words_of_body("call.uni g, ();", ".extern .func g();\n"), "---!");
  // A variable and the stack are known.
  EXPECT_EQ(words_of_body("mov.u64 %d0, total; add.s64 %d1, %d0, 8; st.global.u32 [%d1], 1;",
                          ".global .align 8 .b8 total[64];"),
            "---");
  EXPECT_EQ(
      words_of_body(".local .align 8 .b8 stack[16]; mov.u64 %d0, stack; cvta.local.u64 %d1, %d0; st.u32 [%d1+4], 1;"),
      "---");
}

TEST(MemoryUse, tells_reads_that_stay_with_their_blocks_from_those_that_do_not) {
  const std::string index = "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x;";
  const auto kernel = [&](const std::string& body) {
    return parse("x.ptx", ptx_module(".entry k(.param .u64 a) { .reg .b64 %a, %d<9>; .reg .b32 %r<9>; .reg .pred %p;"
                                     "ld.param.u64 %a, [a];" +
                                     index + body + "}"));
  };
  const std::string columns = "mad.wide.u32 %d0, %r0, 4, %a; ld.u32 %r5, [%d0];",
                    rows = "mad.wide.u32 %d1, %r1, 4, %a; ld.u32 %r6, [%d1];";
  // Of a grid with rows, blocks of one column are in all chunks.
  EXPECT_EQ(words_of(kernel(columns), "k", 1), "r");
  EXPECT_EQ(words_of(kernel(columns), "k", 7), "R");
  EXPECT_EQ(words_of(kernel(rows), "k", 7), "r");
  EXPECT_EQ(words_of(kernel(rows + columns), "k", 7), "R");
  // The size of the grid in an index is no stride, unless a loop adds it.
  EXPECT_EQ(words_of(kernel("mad.lo.u32 %r3, %r1, %r2, %r0; mad.wide.u32 %d0, %r3, 4, %a; ld.u32 %r5, [%d0];"), "k", 7),
            "r");
  EXPECT_EQ(words_of(kernel("mad.wide.u32 %d0, %r0, 4, %a; $l: ld.u32 %r5, [%d0]; add.s64 %d0, %d0, 4; bra $l;"), "k"),
            "r");
  EXPECT_EQ(words_of(kernel("mov.u32 %r3, %r0; $l: mad.wide.u32 %d0, %r3, 4, %a; ld.u32 %r5, [%d0];"
                            "add.u32 %r4, %r3, %r2; mov.u32 %r3, %r4; bra $l;"),
                     "k"),
            "R");
  // What was read leads to it.
  EXPECT_EQ(
      words_of(
          kernel("mad.wide.u32 %d0, %r0, 4, %a; ld.u32 %r5, [%d0]; mad.wide.u32 %d1, %r5, 4, %a; ld.u32 %r6, [%d1];"),
          "k"),
      "R");
}

TEST(MemoryUse, tells_pointers_from_counts) {
  const std::string index = "mov.u32 %r0, %ctaid.x; cvt.u64.u32 %d0, %r0;";
  // base[lo + i]++ for i below n, as nvcc has it: lo is shifted and compared.
  EXPECT_EQ(accesses_of_body(index + "add.s64 %d1, %d0, %b; add.s64 %d2, %n, %b; setp.ge.s64 %p0, %d1, %d2; @%p0 ret;"
                                     "shl.b64 %d3, %d1, 2; add.s64 %d4, %a, %d3; ld.global.f32 %r1, [%d4];"
                                     "st.global.f32 [%d4], %r1;"),
            "w--");
  EXPECT_EQ(accesses_of_body(index + "mul.lo.s64 %d1, %d0, %n; mad.lo.s64 %d2, %d1, 4, %a; ld.global.f32 %r1, [%d2];"
                                     "div.u64 %d3, %d0, %n; shl.b64 %d3, %d3, 3; add.s64 %d4, %b, %d3;"
                                     "red.global.add.u64 [%d4], 1;"),
            "aw-");
  // Added as it is, it may be the pointer and the other one the index.
  EXPECT_EQ(accesses_of_body("add.s64 %d1, %a, %n; st.global.u8 [%d1], 1;"), "w-w");
  EXPECT_EQ(accesses_of_body("add.s64 %d1, tile, %n; ld.shared.u8 %r1, [%d1];", ".shared .b8 tile[64];"), "---");
  for (const char* aligned :
       {"and.b64 %d1, %a, -16;", "shr.u64 %d1, %a, 4;", "mov.b64 {%r0, %r1}, %a; mov.b64 %d1, {%r0, %r1};",
        "max.u64 %d1, %a, %d8;", "ld.param.u32 %r0, [a]; ld.param.u32 %r1, [a+4]; mov.b64 %d1, {%r0, %r1};"})
    EXPECT_EQ(accesses_of_body(std::string(aligned) + "st.global.u32 [%d1], 1;").substr(0, 3), "w--") << aligned;
  for (const char* stored :
       {"st.global.u64 [%b], %n;", "st.local.u64 [%d8], %n;", "atom.global.exch.b64 %d1, [%b], %n;",
        "mov.b64 {%r0, %r1}, %n; st.global.v2.u32 [%b], {%r0, %r1};"})
    EXPECT_EQ(accesses_of_body(stored).substr(2, 1), "s") << stored;
  // A function may do with it what it likes; and what the address of a parameter leads to is not followed.
  const std::string function = ".func f(.param .b64 to) { ret; }\n";
  EXPECT_EQ(accesses_of_body("{ .param .b64 p; st.param.b64 [p], %a; call.uni f, (p); }", function), "w--");
  EXPECT_EQ(accesses_of_body("call.uni f, (%b);", function), "-w-");
  EXPECT_EQ(accesses_of_body("mov.u64 %d0, a; ld.param.u64 %d1, [%d0]; ld.u32 %r1, [%d1];"), "w--!");
  EXPECT_EQ(accesses_of_body("ld.param.u32 %r0, [n]; st.global.u32 [%a], %r0;"), "w--");
}

TEST(MemoryUse, tells_accesses_that_follow_pointers) {
  const std::string memory =
      ".shared .align 16 .b8 tile[64]; .global .align 8 .b8 total[64]; .const .align 8 .u64 place;";
  const std::string stack =
      ".local .align 8 .b8 depot[16]; .reg .b64 %SP, %SPL; mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;add.u64 %d0, "
      "%SP, 8; st.u64 [%d0], 1; ld.u64 %d1, [%SP+0]; ld.local.u64 %d2, [%d3];";
  for (const char* plain :
       {"ld.global.u32 %r0, [%a]; mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %b, %d0; ld.global.u32 %r1, [%d1];",
        "selp.b64 %d0, %a, %b, %p0; st.u32 [%d0], %r0;", "and.b64 %d0, %a, -16; ld.v4.u32 {%r0, %r1, %r2, %r3}, [%d0];",
        "mov.u64 %d0, total; add.s64 %d1, %d0, 8; st.global.u32 [%d1], 1; ld.global.u32 %r1, [total+4];",
        "mov.u64 %d0, tile; cvta.shared.u64 %d1, %d0; st.u32 [%d1+4], 1; atom.shared.add.u32 %r0, [%r5], 1;",
        stack.c_str(), "ld.global.u64 %d0, [%a]; st.global.u64 [%b], %d0;",
        "ld.const.u64 %d0, [%d1]; prefetch.global.L2 [%d2];",
        "cp.async.ca.shared.global [tile], [%a], 16; cp.async.bulk.global.shared::cta.bulk_group [%a], [%r5], 64;"})
    EXPECT_EQ(accesses_of_body(plain, memory).find('!'), std::string::npos) << plain;
  for (const char* follows :
       {"ld.global.u64 %d0, [%a]; ld.global.u32 %r0, [%d0];", "ld.const.u64 %d0, [place]; st.global.u32 [%d0], 1;",
        "ld.local.u64 %d0, [%d8]; red.global.add.u32 [%d0+4], 1;", "ld.u32 %r0, [%d8];", "ld.global.u32 %r0, [4096];",
        "ld.shared.u64 %d0, [tile]; add.s64 %d1, %a, %d0; ld.u8 %r0, [%d1];",
        "cvt.u64.u32 %d0, %r0; shl.b64 %d1, %d0, 32; or.b64 %d2, %d1, %d3; add.s64 %d4, %d2, %n; ld.u8 %r0, [%d4];",
        "ld.global.f64 %d0, [%a]; mov.b64 %d1, %d0; add.s64 %d2, %d1, %n; ld.u8 %r0, [%d2];",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d8], 64, [%r2];",
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%a, {%r0}], [%r1];"})
    EXPECT_NE(accesses_of_body(follows, memory).find('!'), std::string::npos) << follows;
  // Of functions only names are known.
  const auto calls = [&](const std::string& inside) {
    return accesses_of_body("call.uni f, ();",
                            memory + ".func f() { .reg .b64 %d<9>; .reg .b32 %r<9>; " + inside + " ret; }\n");
  };
  EXPECT_EQ(calls("st.shared.u32 [%r1], 1; ld.global.u32 %r1, [total]; st.u64 [%SP+8], %d0; st.local.u32 [%d1], 1;"),
            "---");
  EXPECT_EQ(calls("ld.u32 %r1, [%d0];"), "---!");
  EXPECT_EQ(accesses_of_body("call.uni g, ();", ".extern .func g();\n"), "---!");
  EXPECT_EQ(accesses_of_body("", ""), "---");
  for (const auto& [file, kernel] :
       {std::pair("vector_add.ptx", "vector_add"), std::pair("histogram.ptx", "work_queue"),
        std::pair("breadth_first.ptx", "bfs_level"), std::pair("scan.ptx", "scan_blocks")})
    EXPECT_FALSE(use_in(parse(file, corpus_text(file)), kernel).follows_pointers) << kernel;
}

// As nvcc loads a struct without padding.
TEST(MemoryUse, of_a_packed_struct_is_that_of_its_bytes) {
  std::string body = ".entry k(.param .align 1 .b8 s[17], .param .u64 n) { .reg .b64 %d<99>; .reg .b32 %r<9>;";
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    body += "ld.param.u8 %d" + n + ", [s+" + std::to_string(i + 1) + "];";
    if (i == 0) continue;
    for (const std::string& piece :
         {"bfi.b64 %d1" + n, ", %d" + n, ", %d" + (i == 1 ? "0" : "1" + std::to_string(i - 1)),
          ", " + std::to_string(8 * i) + ", 8;"})
      body += piece;
  }
  const MemoryUse use = use_in(parse("x.ptx", ptx_module(body + "st.global.u32 [%d17], 1; ret; }")), "k");
  for (const std::uint64_t word : {0u, 8u}) {
    ASSERT_TRUE(use.at(word));
    EXPECT_TRUE(use.at(word)->in_pieces && use.at(word)->address && use.at(word)->written) << word;
  }
  EXPECT_FALSE(use.at(16));
  EXPECT_FALSE(use_in(parse("x.ptx", kernel_of("st.global.u32 [%a], 1;", "")), "k").at(0)->in_pieces);
  // One that lies in memory.
  EXPECT_NE(accesses_of_body("ld.global.u8 %d0, [%a]; ld.global.u8 %d1, [%a+1]; bfi.b64 %d2, %d1, %d0, 8, 8;"
                             "add.s64 %d3, %d2, %n; st.global.u32 [%d3], 1;")
                .find('!'),
            std::string::npos);
}

TEST(MemoryUse, tells_atomics_whatever_their_scope) {
  const auto atomics = [](const std::string& body, const std::string& before = "") {
    const MemoryUse use = use_in(parse("x.ptx", kernel_of(body, before)), "k");
    return !use.atomics ? "none" : use.follows_atomics ? "anywhere" : "known";
  };
  for (const char* atomic : {"atom.global.add.u32 %r0, [%a], 1;", "red.global.sys.add.u32 [%a], 1;",
                             "atom.relaxed.sys.global.cas.b32 %r0, [%a+4], 0, 1;", "red.add.u32 [%a], 1;"})
    EXPECT_STREQ(atomics(atomic), "known") << atomic;
  for (const char* none :
       {"atom.shared.add.u32 %r0, [tile], 1;", "red.cta.global.add.u32 [%a], 1;", "st.relaxed.sys.global.u32 [%a], 1;"})
    EXPECT_STREQ(atomics(none, ".shared .align 4 .b8 tile[4];"), "none") << none;
  EXPECT_STREQ(atomics("ld.global.u64 %d0, [%a]; red.global.sys.add.u32 [%d0], 1;"), "anywhere");
  EXPECT_STREQ(atomics("call.uni f, ();", ".func f() { .reg .b64 %d; red.global.add.u32 [%d], 1; ret; }"), "anywhere");
  EXPECT_STREQ(atomics("call.uni g, ();", ".extern .func g();"), "anywhere");
}

// Registers are joined until nothing changes; thousands of them must not take long.
TEST(MemoryUse, of_a_long_kernel_is_found_soon) {
  std::string body = "mov.u32 %r0, %nctaid.x;";
  for (int i = 0; i < 4000; ++i) body += "add.u32 %q" + std::to_string(i + 1) + ", %q" + std::to_string(i) + ", %r0;";
  EXPECT_EQ(words_of_body("bra $in; $in: " + body +
                          " mad.wide.u32 %d0, %q3999, 4, %a; ld.u32 %r1, [%d0]; mov.u32 %q0, %q4000; bra $in;"),
            "R--");
  // Each reads a register that the next one writes.
  constexpr int against = 20000;
  body = "bra $in; $in: ";
  for (int i = 0; i < against; ++i)
    body += "add.u32 %q" + std::to_string(i) + ", %q" + std::to_string(i + 1) + ", 1;\n";
  body += "mov.u32 %q" + std::to_string(against) + ", %ctaid.x;";
  EXPECT_EQ(words_of_body(body + "mad.wide.u32 %d0, %q0, 4, %a; ld.u32 %r1, [%d0]; bra $in;"), "r--");
}
