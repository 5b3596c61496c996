// Kernels that stay whole because of addresses that differ between GPUs: of functions, constants and strings. The code
// is nvcc's, without what does not matter here.
#include "vgpu/src/ptx/own_addresses.hpp"

#include "corpus.hpp"
#include "vgpu/src/ptx/parser.hpp"
#include "vgpu/src/ptx/rewrite.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

using dcgn::test::assemble, dcgn::test::corpus_text, dcgn::test::find_ptxas, dcgn::test::ptx_module;
using namespace dcgn::virtual_gpu::ptx;

namespace {

KernelReport report_of(const std::string& text, const std::string& kernel) {
  for (const KernelReport& k : rewrite(parse("x.ptx", text), {}).kernels)
    if (k.name == kernel) return k;
  throw std::runtime_error("no kernel " + kernel);
}

// Why `kernel` stays whole, or "split"; checks that ptxas takes what it becomes, split and whole.
std::string why(const std::string& text, const std::string& kernel) {
  if (const auto ptxas = find_ptxas()) {
    Options whole;
    whole.whole = true;
    for (const Options& options : {Options{}, whole})
      EXPECT_EQ(assemble(*ptxas, rewrite(parse("x.ptx", text), options).text, "sm_90"), "");
  }
  const KernelReport report = report_of(text, kernel);
  return report.split() ? "split" : report.reasons.front().construct;
}

// Of a kernel with a pointer to memory in %out (in global space) and a number in %k, which is given its body.
std::string why_body(const std::string& body, const std::string& before = "") {
  return why(ptx_module(before + R"(
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1) {
  .local .align 8 .b8 __local_depot0[16];
  .reg .b64 %SP, %SPL, %out, %rd<20>; .reg .b32 %k, %r<20>; .reg .f32 %f<9>; .reg .pred %p<9>;
  mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL;
  ld.param.u64 %rd1, [k_param_0]; ld.param.u32 %k, [k_param_1]; cvta.to.global.u64 %out, %rd1;
  setp.eq.s32 %p1, %k, 0;
)" + body + "\nret;\n}\n"),
             "k");
}

const std::string by_pointer = "functions: called through a pointer, and each GPU has them at another address";
const std::string function_address = "functions: their addresses differ between GPUs";

const std::string functions = R"(
.func (.param .b32 func_retval0) twice(.param .b32 twice_param_0) {
  .reg .f32 %f<3>; ld.param.f32 %f1, [twice_param_0]; add.f32 %f2, %f1, %f1; st.param.f32 [func_retval0+0], %f2; ret;
}
)";

// coefficients, text: each GPU's own; data, names and so on: shared.
const std::string variables = R"(
.const .align 4 .b8 coefficients[16] = {1, 0, 0, 0, 2};
.global .align 4 .b8 data[16] = {5, 0, 0, 0, 6};
.global .align 1 .b8 $str[6] = {97, 108, 112, 104, 97};
.const .align 8 .u64 to_data = generic(data);
.const .align 8 .u64 to_constant = generic(coefficients);
.global .align 8 .u64 to_coefficients = generic(coefficients);
.global .align 8 .u64 further[2] = {0, generic(to_coefficients)};
.const .align 8 .u64 from_constant = generic(further);
.global .align 8 .u64 names[1] = {generic($str)};
)";
const std::string drivers = R"(
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
)";
const std::string address = "mov.u64 %rd4, coefficients; cvta.const.u64 %rd5, %rd4; ";

std::string stored(const std::string& name) {
  return "addresses: of " + name + ", of which each GPU has its own, stored in memory";
}

// A call of vprintf with the format `$str` and a buffer on the stack, or of `function` with two arguments.
std::string call(const std::string& arguments, const std::string& function) {
  return "{ .reg .b32 temp_param_reg; .param .b64 param0; .param .b64 param1; " + arguments +
         " .param .b32 retval0; call.uni (retval0), " + function +
         ", (param0, param1); ld.param.b32 %r2, [retval0+0]; }\n";
}

}  // namespace

TEST(OwnAddresses, calls_through_pointers_stay_whole) {
  const std::string call =
      "{ .param .b32 param0; st.param.f32 [param0+0], %f1; .param .b32 retval0;\n"
      "prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);\n"
      "call (retval0), %rd3, (param0), prototype_0; ld.param.f32 %f2, [retval0+0]; }";
  EXPECT_EQ(why_body("ld.global.u64 %rd3, [%out];" + call, functions), by_pointer);
  EXPECT_EQ(why_body("ld.param.u64 %rd3, [k_param_0];" + call, functions), by_pointer);  // cudaMemcpyFromSymbol
  // Virtual ones, of an object that another kernel made.
  EXPECT_EQ(why_body("ld.global.u64 %rd7, [%out]; ld.u64 %rd8, [%rd7]; ld.u64 %rd3, [%rd8];" + call), by_pointer);
  // A list of what it may be makes it no other call.
  const std::string listed = ptx_module(functions + R"(.entry k(.param .u64 p) { .reg .b64 %rd<9>; .reg .f32 %f<3>;
ld.param.u64 %rd3, [p]; { .param .b32 param0; st.param.f32 [param0+0], %f1; .param .b32 retval0;
list : .calltargets twice;
call (retval0), %rd3, (param0), list; ld.param.f32 %f2, [retval0+0]; } ret; })");
  EXPECT_EQ(why(listed, "k"), by_pointer);
  const KernelReport report = report_of(listed, "k");
  EXPECT_EQ(report.reasons[0].line, 11U);
  EXPECT_EQ(report.reasons[0].instruction, "call (retval0), %rd3, (param0), list;");
  for (const char* kernel : {"apply", "areas"})
    EXPECT_EQ(report_of(corpus_text("function_pointer.ptx"), kernel).reasons.back().construct, by_pointer);
}

TEST(OwnAddresses, what_names_a_functions_address_stays_whole) {
  EXPECT_EQ(why_body("mov.u64 %rd3, twice; st.global.u64 [%out], %rd3;", functions), function_address);
  // A direct call is no such use.
  EXPECT_EQ(why_body("{ .param .b32 param0; st.param.f32 [param0+0], %f1; .param .b32 retval0;"
                     "call.uni (retval0), twice, (param0); ld.param.f32 %f2, [retval0+0]; }",
                     functions),
            "split");
  // Tables of them, and of virtual ones, in whatever memory.
  EXPECT_EQ(why_body("mov.u64 %rd4, table; ld.const.u64 %rd6, [%rd4];",
                     functions + ".const .align 8 .u64 table[2] = {twice, 0};"),
            function_address);
  EXPECT_EQ(why_body("ld.global.u64 %rd3, [pointer];", functions + ".global .align 8 .u64 pointer = twice;"),
            function_address);
  EXPECT_EQ(why_body("mov.u64 %rd5, _ZTV2Sq; cvta.global.u64 %rd6, %rd5; add.s64 %rd7, %rd6, 16; st.u64 [%rd1], %rd7;",
                     functions + ".global .align 8 .u64 _ZTV2Sq[3] = {0, 0, twice};"),
            function_address);
  EXPECT_EQ(why_body("mov.u64 %rd5, _ZTV2Sq; st.global.u64 [%out], %rd5;", ".extern .global .align 8 .u64 _ZTV2Sq[3];"),
            function_address);
  // An object that begins with one.
  EXPECT_EQ(why_body("mov.u64 %rd5, square; st.global.u64 [%out], %rd5;",
                     functions + ".global .align 8 .u64 _ZTV2Sq[3] = {0, 0, twice};\n"
                                 ".global .align 8 .u64 square[2] = {generic(_ZTV2Sq)+16, 0};"),
            function_address);
  // What leads to them by way of another variable: a table of tables, an object with virtual functions.
  const std::string led = functions + R"(
.const .align 8 .u64 table[2] = {twice, 0};
.const .align 8 .u64 tables[2] = {generic(table), 0};
.global .align 8 .u64 _ZTV2Sq[3] = {0, 0, twice};
.const .align 8 .u64 object[2] = {generic(_ZTV2Sq)+16, 7};
.global .align 8 .u64 to_object = generic(object);
)";
  EXPECT_EQ(
      why_body("mov.u64 %rd4, tables; ld.const.u64 %rd5, [%rd4]; ld.u64 %rd6, [%rd5]; st.global.u64 [%out], %rd6;",
               led),
      function_address);
  for (const char* load : {"ld.const.u64 %rd3, [object];", "ld.global.u64 %rd3, [to_object];"})
    EXPECT_EQ(why_body(load, led), function_address) << load;
  // A kernel of the module that names none is split.
  EXPECT_EQ(why_body("st.global.f32 [%out], %f1;", functions + ".global .align 8 .u64 pointer = twice;"), "split");
}

TEST(OwnAddresses, shared_variables_that_hold_what_is_not_shared_keep_kernels_whole) {
  const std::string holds = " holds the address of coefficients, of which each GPU has its own";
  EXPECT_EQ(why_body("ld.global.u64 %rd3, [to_coefficients];", variables), "variables: to_coefficients" + holds);
  EXPECT_EQ(why_body("ld.global.u64 %rd3, [further+8];", variables), "variables: to_coefficients" + holds);
  EXPECT_EQ(why_body("ld.const.u64 %rd3, [from_constant];", variables), "variables: to_coefficients" + holds);
  EXPECT_EQ(why_body("mov.u64 %rd4, names; add.s64 %rd5, %rd4, 8; ld.global.u64 %rd6, [%rd5];", variables),
            "variables: names holds the address of $str, of which each GPU has its own");
  // Each GPU's own leads to what is shared, or to its own.
  EXPECT_EQ(
      why_body("ld.const.u64 %rd3, [to_data]; cvta.to.global.u64 %rd4, %rd3; ld.global.u32 %r2, [%rd4];", variables),
      "split");
  EXPECT_EQ(why_body("ld.const.u64 %rd3, [to_constant]; ld.u32 %r2, [%rd3];", variables), "split");
}

TEST(OwnAddresses, those_that_are_stored_in_memory_keep_kernels_whole) {
  const auto body = [](const std::string& rest) { return why_body(address + rest, variables); };
  const std::string coefficients = stored("coefficients");
  EXPECT_EQ(body("mul.wide.s32 %rd3, %k, 4; add.s64 %rd6, %rd5, %rd3; st.global.u64 [%out], %rd6;"), coefficients);
  EXPECT_EQ(body("mov.u64 %rd7, data; cvta.global.u64 %rd8, %rd7; selp.b64 %rd9, %rd8, %rd5, %p1;"
                 "st.global.u64 [%out+8], %rd9;"),
            coefficients);
  EXPECT_EQ(body("mad.wide.s32 %rd6, %k, 4, %rd5; st.u64 [%rd1], %rd6;"), coefficients);
  EXPECT_EQ(body("st.global.v2.u64 [%out], {%rd1, %rd5};"), coefficients);
  EXPECT_EQ(body("mov.b64 {%r2, %r3}, %rd5; st.global.v2.u32 [%out], {%r2, %r3};"), coefficients);
  EXPECT_EQ(body("atom.global.exch.b64 %rd6, [%out], %rd5;"), coefficients);
  EXPECT_EQ(body("atom.global.cas.b64 %rd6, [%out], 0, %rd5;"), coefficients);
  EXPECT_EQ(body("red.global.max.u64 [%out], %rd5;"), coefficients);
  EXPECT_EQ(body("st.global.u64 [data], %rd5;"), coefficients);
  EXPECT_EQ(why_body("mov.u64 %rd5, $str; cvta.global.u64 %rd6, %rd5; st.global.u64 [%out], %rd6;", variables),
            stored("$str"));
  EXPECT_EQ(why_body("ld.const.u64 %rd3, [to_constant]; st.global.u64 [%out], %rd3;", variables), coefficients);
  // By either of two tables, and by one that was not followed.
  EXPECT_EQ(why_body("mov.u64 %rd3, to_data; mov.u64 %rd4, to_constant; selp.b64 %rd5, %rd4, %rd3, %p1;"
                     "ld.const.u64 %rd6, [%rd5]; st.global.u64 [%out], %rd6;",
                     variables),
            coefficients);
  EXPECT_EQ(why_body("ld.const.u64 %rd6, [%rd5]; st.global.u64 [%out], %rd6;", variables), coefficients);
  // In pieces, as structs without padding are copied.
  EXPECT_EQ(body("shr.u64 %rd6, %rd5, 40; st.global.u8 [%out+5], %rd6;"), coefficients);
  EXPECT_EQ(body("cvt.u32.u64 %r2, %rd5; st.global.u32 [%out], %r2;"), coefficients);
  EXPECT_EQ(body("shl.b64 %rd6, %rd5, 1; bfi.b64 %rd7, %rd1, %rd6, 0, 1; st.global.u64 [%out], %rd7;"), coefficients);
  EXPECT_EQ(
      why_body("ld.const.u8 %rd3, [to_constant]; ld.const.u8 %rd4, [to_constant+1]; bfi.b64 %rd5, %rd4, %rd3, 8, 8;"
               "st.global.u16 [%out], %rd5;",
               variables),
      coefficients);
  EXPECT_EQ(body(".shared .align 16 .b64 kept[2]; st.shared.u64 [kept], %rd5;"
                 "cp.async.bulk.global.shared::cta.bulk_group [%out], [kept], 16;"),
            coefficients);
  // Whatever comes first in the text.
  EXPECT_EQ(
      why_body("bra $second; $first: st.global.u64 [%out], %rd5; ret; $second: " + address + "bra $first;", variables),
      coefficients);
  // By way of the stack, and of shared memory.
  EXPECT_EQ(body("add.u64 %rd2, %SPL, 0; st.local.u64 [%rd2], %rd5; ld.local.u64 %rd6, [%rd2]; st.u64 [%rd1], %rd6;"),
            coefficients);
  EXPECT_EQ(body("st.u64 [%SP+8], %rd5; ld.u64 %rd6, [%SP+8]; st.u64 [%rd1], %rd6;"), coefficients);
  EXPECT_EQ(body(".shared .align 8 .b64 kept; st.shared.u64 [kept], %rd5; ld.shared.u64 %rd6, [kept];"
                 "st.global.u64 [%out], %rd6;"),
            coefficients);
}

TEST(OwnAddresses, those_that_stay_with_their_gpu_do_not) {
  const auto body = [](const std::string& rest) { return why_body(address + rest, variables); };
  EXPECT_EQ(body("ld.const.u32 %r2, [%rd4+4]; st.global.u32 [%out], %r2;"), "split");
  EXPECT_EQ(body("ld.u32 %r2, [%rd5]; st.global.u32 [%out], %r2;"), "split");
  EXPECT_EQ(body("st.local.u64 [%SPL], %rd5; add.u64 %rd6, %SP, 8; st.u64 [%rd6], %rd5;"), "split");
  EXPECT_EQ(body(".shared .align 8 .b64 kept; st.shared.u64 [kept], %rd5; atom.shared.exch.b64 %rd6, [kept], %rd5;"),
            "split");
  // Which one it was, and how far from another one.
  EXPECT_EQ(body("setp.eq.u64 %p2, %rd5, %rd1; selp.b32 %r2, 1, 0, %p2; st.global.u32 [%out], %r2;"), "split");
  EXPECT_EQ(body("sub.s64 %rd6, %rd1, %rd5; st.global.u64 [%out], %rd6;"), "split");
  EXPECT_EQ(body("add.s64 %rd6, %rd5, 8; sub.s64 %rd7, %rd6, %rd5; shr.u64 %rd8, %rd7, 2; st.global.u64 [%out], %rd8;"),
            "split");
  // A shared variable is at one address.
  EXPECT_EQ(why_body("mov.u64 %rd4, data; cvta.global.u64 %rd5, %rd4; st.global.u64 [%out], %rd5;", variables),
            "split");
}

TEST(OwnAddresses, printf_and_assertions_do_not_keep_kernels_whole) {
  const std::string text = "mov.u64 %rd3, $str; cvta.global.u64 %rd4, %rd3; ";
  const std::string arguments = "st.param.b64 [param0+0], %rd4; st.param.b64 [param1+0], %rd5;";
  // A literal for %s is in the buffer on the stack.
  EXPECT_EQ(why_body(text + "add.u64 %rd5, %SP, 0; add.u64 %rd6, %SPL, 0; st.local.u64 [%rd6], %rd4;" +
                         call(arguments, "vprintf") + "st.global.u32 [%out], %r2;",
                     variables + drivers),
            "split");
  EXPECT_EQ(why_body(text + "{ .param .b64 param0; st.param.b64 [param0+0], %rd4; .param .b64 param1;"
                            "st.param.b64 [param1+0], %rd4; .param .b32 param2; st.param.b32 [param2+0], 12;"
                            ".param .b64 param3; st.param.b64 [param3+0], %rd4; .param .b64 param4;"
                            "st.param.b64 [param4+0], 1;"
                            "call.uni __assertfail, (param0, param1, param2, param3, param4); }",
                     variables + ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, "
                                 ".param .b64 d, .param .b64 e);"),
            "split");
  // Parameters of the next call have the same names.
  const std::string keep = R"(
.func (.param .b32 r) keep(.param .b64 a, .param .b64 b) {
  .reg .b64 %rd<9>; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; st.u64 [%rd2], %rd1; st.param.b32 [r], 0; ret;
}
)";
  EXPECT_EQ(why_body(text + "mov.u64 %rd5, %SP;" + call(arguments, "vprintf") +
                         call("st.param.b64 [param0+0], %out; st.param.b64 [param1+0], %rd1;", "keep"),
                     variables + drivers + keep),
            "split");
  EXPECT_EQ(why_body(text + "mov.u64 %rd5, %rd1;" + call(arguments, "keep"), variables + keep), stored("$str"));
}

TEST(OwnAddresses, are_followed_through_calls) {
  const std::string head =
                        ".func (.param .b32 r) f(.param .b64 a, .param .b64 b) { .reg .b64 %rd<9>; .reg .b32 %r<9>;"
                        "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ",
                    tail = " st.param.b32 [r], %r1; ret; }\n";
  const auto with = [&](const std::string& inside, const std::string& first = "%rd5") {
    return why_body(address + call("st.param.b64 [param0+0], " + first + "; st.param.b64 [param1+0], %rd1;", "f"),
                    variables + head + inside + tail);
  };
  EXPECT_EQ(with("ld.u32 %r1, [%rd1]; st.u32 [%rd2], %r1;"), "split");  // what is there, not where
  EXPECT_EQ(with("add.s64 %rd3, %rd1, 4; st.u64 [%rd2], %rd3;"), stored("coefficients"));
  EXPECT_EQ(with("mov.u64 %rd3, coefficients; cvta.const.u64 %rd4, %rd3; st.u64 [%rd2], %rd4;", "%out"),
            stored("coefficients"));
  // A pointer to the stack, where the caller has left one.
  EXPECT_EQ(why_body(address + "st.local.u64 [%SPL], %rd5; mov.u64 %rd6, %SP;" +
                         call("st.param.b64 [param0+0], %rd6; st.param.b64 [param1+0], %rd1;", "f"),
                     variables + head + "ld.u64 %rd3, [%rd1]; st.u64 [%rd2], %rd3;" + tail),
            stored("coefficients"));
  // Shared memory is the block's, whichever function uses it.
  EXPECT_EQ(why_body(address + "st.shared.u64 [kept], %rd5;" +
                         call("st.param.b64 [param0+0], 0; st.param.b64 [param1+0], %rd1;", "f"),
                     variables + ".shared .align 8 .b64 kept;\n" + head +
                         "ld.shared.u64 %rd3, [kept]; st.u64 [%rd2], %rd3;" + tail),
            stored("coefficients"));
  // A result, and another module.
  const std::string where =
      ".func (.param .b64 r) where() { .reg .b64 %rd<9>; " + address + "st.param.b64 [r], %rd5; ret; }\n";
  EXPECT_EQ(why_body("{ .param .b64 retval0; call.uni (retval0), where, (); ld.param.b64 %rd3, [retval0+0]; }"
                     "st.global.u64 [%out], %rd3;",
                     variables + where),
            stored("coefficients"));
  EXPECT_EQ(why_body("{ .param .b64 retval0; call.uni (retval0), where, (); ld.param.b64 %rd3, [retval0+0]; }"
                     "ld.u32 %r2, [%rd3]; st.global.u32 [%out], %r2;",
                     variables + where),
            "split");
  EXPECT_EQ(why_body(address + call("st.param.b64 [param0+0], %rd5; st.param.b64 [param1+0], %rd1;", "stranger"),
                     variables + ".extern .func (.param .b32 r) stranger(.param .b64 a, .param .b64 b);\n"),
            stored("coefficients"));
}

TEST(OwnAddresses, the_heap_has_a_remark) {
  const KernelReport report = report_of(
      ptx_module(
          ".extern .func (.param .b64 r) malloc (.param .b64 a);\n.extern .func free (.param .b64 a);\n"
          ".entry k() { .reg .b64 %rd<3>; { .param .b64 param0; st.param.b64 [param0+0], 16; .param .b64 retval0;"
          "call.uni (retval0), malloc, (param0); ld.param.b64 %rd1, [retval0+0]; }"
          "{ .param .b64 param0; st.param.b64 [param0+0], %rd1; call.uni free, (param0); } ret; }"),
      "k");
  EXPECT_TRUE(report.split());
  ASSERT_EQ(report.remarks.size(), 2U);
  EXPECT_EQ(report.remarks[0], "free: each GPU has a heap of its own");
  EXPECT_EQ(report.remarks[1], "malloc: each GPU has a heap of its own");
}
