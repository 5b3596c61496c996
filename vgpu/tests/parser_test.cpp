// The parser: what it finds in modules, and the errors that say where.
#include "vgpu/src/ptx/parser.hpp"

#include "corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

using dcgn::test::corpus_names, dcgn::test::corpus_text, dcgn::test::error_of, dcgn::test::ptx_module;
using namespace dcgn::virtual_gpu::ptx;

namespace {

std::string error_of_module(const std::string& text) {
  return error_of([&] { parse("x.ptx", text); });
}
std::string error_of_body(const std::string& body) { return error_of_module(ptx_module(body)); }

}  // namespace

TEST(Parser, reads_the_corpus) {
  for (const std::string& name : corpus_names()) {
    SCOPED_TRACE(name);
    const std::string text = corpus_text(name);
    const Module module = parse(name, text);
    const auto kernels = std::count_if(module.functions.begin(), module.functions.end(),
                                       [](const Function& f) { return f.entry && f.body; });
    // Kernels by other means: lines that hold the word.
    std::size_t expected = 0;
    for (std::size_t at = 0; (at = text.find(".entry ", at)) != std::string::npos; ++at) ++expected;
    EXPECT_EQ(static_cast<std::size_t>(kernels), name == "separate_callee.ptx" ? 0 : expected);
    EXPECT_EQ(module.address_size, 64);
    EXPECT_EQ(module.source->text(), text);
  }
}

TEST(Parser, knows_every_kind_of_variable) {
  const Module module = parse("x.ptx", ptx_module(R"(
.global .align 16 .b8 bytes[2][3] = {{1, 2, 3}, {4, 5, 6}};
.const .v4 .f32 vector = {0f3F800000, 1.0, 2, -3};
.extern .shared .align 16 .b8 pool[];
.weak .global .u64 pointers[3] = {bytes+2, generic(vector)+8, 0xFF(bytes)};
.visible .global .attribute(.managed) .s16 a, b = -7;
.common .global .f64 c;
.global .texref t;
)"));
  const auto& v = module.variables;
  ASSERT_EQ(v.size(), 8U);
  EXPECT_EQ(v[0].bytes(), 6U);
  EXPECT_EQ(v[0].alignment, 16U);
  EXPECT_TRUE(v[0].initialized);
  EXPECT_EQ(v[1].space, Space::constant);
  EXPECT_EQ(v[1].bytes(), 16U);
  EXPECT_EQ(v[1].alignment, 16U);
  EXPECT_EQ(v[2].linkage, Linkage::external);
  EXPECT_EQ(v[2].bytes(), 0U);
  EXPECT_EQ(v[3].linkage, Linkage::weak);
  ASSERT_EQ(v[3].addresses.size(), 3U);
  EXPECT_EQ(v[3].addresses[1].symbol, "vector");
  EXPECT_EQ(v[3].addresses[1].element, 1U);
  EXPECT_EQ(v[3].addresses[2].element, 2U);
  EXPECT_FALSE(v[3].addresses[2].later_byte);
  EXPECT_TRUE(v[4].managed);
  EXPECT_EQ(v[5].name, "b");
  EXPECT_TRUE(v[5].initialized);
  EXPECT_EQ(v[6].linkage, Linkage::common);
  EXPECT_EQ(v[7].type, ".texref");
}

TEST(Parser, knows_functions_and_their_bodies) {
  const Module module = parse("x.ptx", ptx_module(R"(
.extern .func (.param .b32 r) f (.param .b64 a, .param .align 8 .b8 s[24]) .noreturn;
.visible .entry k(.param .u64 .ptr .global .align 4 p, .param .v2 .f32 q)
.maxntid 256, 1, 1
.minnctapersm 2
.pragma "nounroll";
{
  .reg .pred %p<3>;
  .reg .u32 %r<5>, %single;
  .loc 1 2 3, function_name $L__x + 4, inlined_at 1 5 6
table: .branchtargets a, b;
proto: .callprototype (.param .b32 _) _ (.param .b64 _) ;
again:
  @!%p1 mov.v4.u32 {%r1, _, %r2, %r3}, %ctaid;
  ld.global.u32 %r1, [%r2+-4];
  { .reg .b32 t; again: add.u32 t, %r1, -1; bra again; }
  setp.lt.and.s32 %p1|%p2, %r1, 0x10U, !%p2;
  call (%r1), %r2, (%r3, %r4), proto;
  brx.idx %r1, table;
a:
b:
  bra again;
}
)"));
  ASSERT_EQ(module.functions.size(), 2U);
  EXPECT_FALSE(module.functions[0].body);
  EXPECT_EQ(module.functions[0].parameters[1].bytes(), 24U);
  const Function& k = module.functions[1];
  EXPECT_EQ(k.parameters[0].alignment, 8U);  // .align 4 is that of what p points to
  EXPECT_EQ(k.parameters[1].bytes(), 8U);
  ASSERT_EQ(k.directives.size(), 2U);
  EXPECT_EQ(k.directives[0].values.size(), 3U);
  ASSERT_EQ(k.instructions.size(), 8U);
  EXPECT_EQ(k.instructions[0].guard, "%p1");
  EXPECT_EQ(k.instructions[0].operands[0].kind, Operand::Kind::vector);
  EXPECT_EQ(k.instructions[0].operands[0].parts.size(), 4U);
  EXPECT_EQ(k.instructions[0].operands[1].name, "%ctaid");
  EXPECT_EQ(k.instructions[1].operands[1].kind, Operand::Kind::address);
  EXPECT_EQ(k.find_label("again", 0), 0U);
  EXPECT_EQ(k.find_label("again", 1), 2U);
  EXPECT_EQ(k.instructions[3].scope, 1U);
  EXPECT_EQ(k.instructions[5].operands[0].kind, Operand::Kind::list);
  EXPECT_EQ(k.instructions[5].operands[1].name, "%r2");
  ASSERT_EQ(k.target_lists.size(), 2U);
  EXPECT_EQ(k.target_lists[0].targets.size(), 2U);
  EXPECT_EQ(k.find_label("b", 0), 7U);
}

TEST(Parser, errors_say_where_and_what) {
  EXPECT_EQ(error_of_body(".visible .entry k(.param .u64 p) {\n  add.u32 %r1 %r2;\n}"),
            "dcgn: ptx: x.ptx:5:15: found '%r2', expected , or ;");
  EXPECT_EQ(error_of_body(".entry k() { ret;"), "dcgn: ptx: x.ptx:4:18: found the end of the file, expected }");
  EXPECT_NE(error_of_body(".global x;").find("found 'x', expected a type such as .u32"), std::string::npos);
  EXPECT_NE(error_of_body(".global .u32 .u32 x;").find("found '.u32', expected a name"), std::string::npos);
  EXPECT_NE(error_of_body(".global .u32 x[99999999999999999999];").find("a number of elements"), std::string::npos);
  EXPECT_NE(error_of_body(".global .u64 x[4294967296][4294967296];").find("fits 64 bits"), std::string::npos);
  EXPECT_NE(error_of_body(".nonsense").find("'.nonsense', expected .entry, .func"), std::string::npos);
  EXPECT_NE(error_of_body(".entry k(int a) {}").find("'int', expected .param, .reg or )"), std::string::npos);
  EXPECT_NE(error_of_body(".func f { .section .x { ").find("expected }"), std::string::npos);
  EXPECT_NE(error_of_body(".func f { @%p; }").find("found ';', expected an instruction"), std::string::npos);
  EXPECT_NE(
      error_of_body(".func f; .func f { } .entry f() { }").find("found a second 'f', expected one function of each"),
      std::string::npos);
}

TEST(Parser, names_versions_that_it_does_not_know) {
  EXPECT_EQ(error_of_module(".version 5.0\n.target sm_60\n"),
            "dcgn: ptx: x.ptx:1:10: found .version 5.0, expected one from 6.0 to 9.5");
  EXPECT_EQ(error_of_module(".version 9.5\n.target sm_90\n"), "");
  EXPECT_NE(error_of_module(".version 9.6\n.target sm_90\n").find("found .version 9.6"), std::string::npos);
  EXPECT_NE(error_of_module(".version 12.3\n.target sm_60\n").find(".version 12.3"), std::string::npos);
  EXPECT_NE(error_of_module(".version 9\n.target sm_60\n").find("found '9', expected a version"), std::string::npos);
  EXPECT_NE(error_of_module("").find("found the end of the file, expected .version"), std::string::npos);
  EXPECT_NE(error_of_module(".version 9.0").find("expected .target"), std::string::npos);
  EXPECT_NE(error_of_module(".version 9.0 .target sm_90 .address_size 16").find("found 16"), std::string::npos);
  EXPECT_TRUE(error_of_module(".version 6.0\n.target sm_60\n").empty());
}

// Damaged files end in an error or a module, never otherwise.
TEST(Parser, survives_damage) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const std::string& name : corpus_names()) {
    const std::string whole = corpus_text(name);
    for (int round = 0; round < 40; ++round) {
      std::string text = whole;
      const std::size_t at = random() % text.size();
      if (round % 3 == 0) text.resize(at);
      if (round % 3 == 1) text.erase(at, random() % 20);
      if (round % 3 == 2) text[at] = static_cast<char>(random());
      const std::string error = error_of_module(text);
      if (!error.empty()) {
        EXPECT_EQ(error.rfind("dcgn: ptx: x.ptx:", 0), 0U) << error;
      }
    }
  }
  EXPECT_NE(error_of_body(".func f { add " + std::string(100000, '[') + "}").find("fewer brackets"), std::string::npos);
  EXPECT_NE(error_of_body(".func f " + std::string(100000, '{')).find("the end of the file"), std::string::npos);
}
