// What kernels call of CUDA's runtime, asynchronous copies, and what ends a kernel before its time.
#include "interpreter_harness.hpp"

#include <numeric>
#include <string>

using namespace dcgn::test;
using dcgn::Launch;
using dcgn::virtual_gpu::interpreter::Memory;
using U = std::uint32_t;

namespace {

constexpr Launch one_thread{.grid = 1, .block = 1};

// One allocation.
class Only final : public Memory {
 public:
  Only(const void* begin, std::size_t bytes)
      : extent_{reinterpret_cast<std::uintptr_t>(begin), reinterpret_cast<std::uintptr_t>(begin) + bytes} {}
  Extent at(std::uintptr_t address) const override {
    return address >= extent_.begin && address < extent_.end ? extent_ : Extent{};
  }

 private:
  Extent extent_;
};

// A call of `name` with arguments in registers, given as "type register".
std::string call(const std::string& name, const std::vector<std::pair<std::string, std::string>>& arguments,
                 const std::string& result_type = "", const std::string& result = "") {
  std::string declarations, stores, list;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string parameter = "param" + std::to_string(i);
    declarations += ".param ." + arguments[i].first + " " + parameter + "; ";
    stores += "st.param." + arguments[i].first + " [" + parameter + "], " + arguments[i].second + "; ";
    list += (i != 0 ? ", " : "") + parameter;
  }
  if (result.empty()) return "{ " + declarations + stores + "call.uni " + name + ", (" + list + "); }\n";
  return "{ " + declarations + ".param ." + result_type + " back; " + stores + "call.uni (back), " + name + ", (" +
         list + "); ld.param." + result_type + " " + result + ", [back]; }\n";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string vprintf_declared = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n";
const std::string heap_declared =
    ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n";

// As PTX has texts: bytes, and 0.
std::string text_variable(const std::string& name, const std::string& text) {
  std::string bytes;
  for (const char c : text) bytes += std::to_string(static_cast<int>(c)) + ", ";
  return ".global .align 1 .b8 " + name + "[" + std::to_string(text.size() + 1) + "] = {" + bytes + "0};\n";
}

}  // namespace

// Shared memory that CUDA reserves, for barriers of cooperative groups: behind the block's own.
TEST(InterpreterRuntime, reserved_shared_memory) {
  const auto words = words_after(simple_kernel(R"(
  mov.u32 %r1, %reserved_smem_offset_begin;
  mov.u32 %r2, %reserved_smem_offset_1;
  mov.u32 %r3, %reserved_smem_offset_end;
  mov.u32 %r4, %reserved_smem_offset_cap;
  st.shared.u32 [own+60], 7;
  st.shared.u32 [%r1], 5;
  atom.shared.add.u32 %r6, [%r2+284], 9;
  ld.shared.u32 %r6, [own+60];
  ld.shared.u32 %r7, [%r2+284];
  st.global.u32 [%out], %r4;
  st.global.u32 [%out+4], %r6;
  st.global.u32 [%out+8], %r7;
  sub.u32 %r3, %r3, %r1;
  st.global.u32 [%out+12], %r3;)",
                                               ".shared .align 4 .b8 own[64];"),
                                 one_thread, 4);
  EXPECT_EQ(words, (std::vector<U>{1024, 7, 9, 1024}));
}

TEST(InterpreterRuntime, printf) {
  const std::string kernel = simple_kernel(
      R"(
  .local .align 8 .b8 values[64];
  mov.b32 %r1, -7;
  st.local.u32 [values], %r1;
  mov.b64 %rd1, 0d4004000000000000;
  st.local.b64 [values+8], %rd1;
  mov.u64 %rd2, word;
  st.local.u64 [values+16], %rd2;
  mov.u64 %rd3, -1;
  st.local.u64 [values+24], %rd3;
  mov.u32 %r2, 65;
  st.local.u32 [values+32], %r2;
  st.local.u32 [values+36], 6;
  st.local.u32 [values+40], 255;
  mov.u64 %rd4, format;
  mov.u64 %rd5, values;
  cvta.local.u64 %rd5, %rd5;
)" + call("vprintf", {{"b64", "%rd4"}, {"b64", "%rd5"}}, "b32", "%r3") +
          "st.global.u32 [%mine], %r3;",
      vprintf_declared + text_variable("format", "%d %.2f %s %llu%% %c [%*x]\n") + text_variable("word", "yes"));
  testing::internal::CaptureStdout();
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 2}, 2);
  const std::string line = "-7 2.50 yes 18446744073709551615% A [    ff]\n";
  EXPECT_EQ(testing::internal::GetCapturedStdout(), line + line);
  EXPECT_EQ(found[1], 6U);
}

TEST(InterpreterRuntime, printf_of_a_long_text) {
  const std::string text(2000, 'x');
  const std::string kernel = simple_kernel(
      "  .local .align 8 .b8 values[8]; mov.u64 %rd1, word; st.local.u64 [values], %rd1;"
      "mov.u64 %rd4, format; mov.u64 %rd5, values; cvta.local.u64 %rd5, %rd5;" +
          call("vprintf", {{"b64", "%rd4"}, {"b64", "%rd5"}}, "b32", "%r3"),
      vprintf_declared + text_variable("format", "<%s>") + text_variable("word", text));
  testing::internal::CaptureStdout();
  words_after(kernel, one_thread, 1);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "<" + text + ">");
}

TEST(InterpreterRuntime, each_thread_has_memory_of_its_own_from_malloc) {
  const std::string kernel =
      simple_kernel("mov.u64 %rd1, 64;" + call("malloc", {{"b64", "%rd1"}}, "b64", "%rd2") +
                        "st.u32 [%rd2+60], %t; bar.sync 0; ld.u32 %r1, [%rd2+60];" + call("free", {{"b64", "%rd2"}}) +
                        "mov.u64 %rd3, 0;" + call("free", {{"b64", "%rd3"}}) + "st.global.u32 [%mine], %r1;",
                    heap_declared);
  std::vector<U> out(64), expected(64);
  std::iota(expected.begin(), expected.end(), 0U);
  const Code code("test.ptx", ptx_module(kernel));
  const Only memory(out.data(), 4 * out.size());
  code.run(0, Launch{.grid = 1, .block = 64}, pack(out.data()).data(), &memory);
  EXPECT_EQ(out, expected);
}

TEST(InterpreterRuntime, memory_is_freed_once) {
  const std::string twice = call("malloc", {{"b64", "32"}}, "b64", "%rd2") + call("free", {{"b64", "%rd2"}}) +
                            call("free", {{"b64", "%rd2"}});
  EXPECT_TRUE(contains(fault_of(simple_kernel(twice, heap_declared), one_thread, Fault::Kind::illegal_address),
                       "free of what malloc has not given"));
}

TEST(InterpreterRuntime, a_failed_assertion_is_told) {
  const std::string declared =
      ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) "
      ".noreturn;\n" +
      text_variable("what", "i < 3") + text_variable("file", "some.cu") + text_variable("function", "f(int)");
  const std::string kernel = simple_kernel(
      "setp.ne.u32 %p1, %t, 3; @%p1 ret; mov.u64 %rd1, what; mov.u64 %rd2, file; mov.u64 %rd3, function;" +
          call("__assertfail", {{"b64", "%rd1"}, {"b64", "%rd2"}, {"b32", "17"}, {"b64", "%rd3"}, {"b64", "1"}}),
      declared);
  const std::string what = fault_of(kernel, Launch{.grid = 1, .block = 8}, Fault::Kind::trap);
  for (const char* part : {"kernel: ", "some.cu:17: f(int): assertion `i < 3` failed", "thread (3,0,0)", "test.ptx:"})
    EXPECT_TRUE(contains(what, part)) << what;
}

TEST(InterpreterFaults, name_kernel_block_thread_and_line) {
  const std::string kernel = simple_kernel(
      "mov.u32 %r1, %ctaid.y; setp.ne.u32 %p1, %r1, 2; @%p1 ret; setp.ne.u32 %p1, %t, 33;"
      "@%p1 ret;\n  trap;");
  const std::string text = ptx_module(kernel);
  const auto line =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("  trap;")), '\n') + 1;
  const std::string what = fault_of(kernel, Launch{.grid = dcgn::Dim3(1, 4), .block = 64}, Fault::Kind::trap);
  for (const std::string& part :
       {std::string("kernel: trap, in block (0,2,0), thread (33,0,0)"), "test.ptx:" + std::to_string(line) + ": trap"})
    EXPECT_TRUE(contains(what, part)) << what;
}

TEST(InterpreterFaults, addresses_in_no_memory) {
  const auto fails = [](const std::string& instructions, const std::string& part) {
    const std::string what = fault_of(simple_kernel(instructions), one_thread, Fault::Kind::illegal_address);
    EXPECT_TRUE(contains(what, part)) << what;
  };
  fails("mov.u64 %rd1, 0; ld.global.u32 %r1, [%rd1+8];", "address 0x8 is in no memory that the kernel may touch");
  fails(".shared .b32 cell; mov.u32 %r2, 4000; st.shared.u32 [%r2], 1;",
        "address 0xfa0 is behind the block's 16 bytes");
  fails(".shared .align 8 .b8 cells[16]; ld.shared.u64 %rd1, [cells+16];", "of shared memory");
  // With an allocation that ends: what begins inside it must end there, too.
  alignas(16) std::array<U, 8> memory{};
  const Only allocation(memory.data(), 28);
  for (const auto& [instruction, kind] :
       std::vector<std::pair<std::string, bool>>{{"ld.global.u32 %r1, [%out+24];", true},
                                                 {"ld.global.u32 %r1, [%out+28];", false},
                                                 {"ld.global.v2.u32 {%r1, %r2}, [%out+24];", false},
                                                 {"ld.global.u32 %r1, [%out+-4];", false},
                                                 {"atom.global.add.u64 %rd1, [%out+24], 1;", false}}) {
    const Code code("test.ptx", ptx_module(simple_kernel(instruction)));
    const auto run = [&] { code.run(0, one_thread, pack(memory.data()).data(), &allocation); };
    if (kind)
      EXPECT_NO_THROW(run()) << instruction;
    else
      EXPECT_THROW(run(), Fault) << instruction;
  }
}

TEST(InterpreterFaults, addresses_that_are_no_multiples) {
  for (const std::string instruction :
       {"ld.global.u32 %r1, [%out+2];", "st.global.v4.u32 [%out+8], {%r1, %r1, %r1, %r1};",
        "ld.global.u64 %rd1, [%out+4];", "atom.global.add.u32 %r1, [%out+1], 1;",
        ".shared .align 8 .b8 cell[16]; st.shared.u32 [cell+6], 0;"})
    EXPECT_TRUE(contains(fault_of(simple_kernel(instruction), one_thread, Fault::Kind::misaligned_address),
                         "is not a multiple of the bytes that are touched"))
        << instruction;
}

TEST(InterpreterFaults, threads_that_wait_for_each_other_for_ever) {
  const std::string barriers =
      simple_kernel("setp.lt.u32 %p1, %t, 32; @%p1 bra first; bar.sync 1, 64; ret; first: bar.sync 2, 64;");
  const std::string what = fault_of(barriers, Launch{.grid = 1, .block = 64}, Fault::Kind::deadlock);
  for (const char* part : {"all threads of block (0,0,0) wait for each other",
                           "thread (0,0,0) waits at test.ptx:", "bar.sync 2, 64", "thread (32,0,0)", "bar.sync 1, 64"})
    EXPECT_TRUE(contains(what, part)) << what;
  // Half a warp shuffles with all of it, while the other half waits elsewhere.
  const std::string shuffle = simple_kernel(
      "setp.lt.u32 %p1, %t, 16; @%p1 bra first; bar.sync 1, 64; ret;"
      "first: shfl.sync.idx.b32 %r1, %t, 0, 31, -1;");
  EXPECT_TRUE(contains(fault_of(shuffle, Launch{.grid = 1, .block = 32}, Fault::Kind::deadlock), "shfl.sync"));
}

TEST(InterpreterFaults, endless_recursion_ends) {
  const std::string kernel = simple_kernel(
      "call.uni again, ();", ".func again() { .reg .pred %p; setp.eq.u32 %p, 0, 0; @%p call.uni again, (); ret; }\n");
  EXPECT_TRUE(contains(fault_of(kernel, one_thread, Fault::Kind::trap), "calls too deep"));
}

TEST(InterpreterFaults, what_is_not_interpreted_keeps_only_its_kernels_from_running) {
  const Code code("test.ptx", ptx_module(simple_kernel("st.global.u32 [%mine], 5;") +
                                         ".entry other() { .reg .b64 %rd1; stacksave.u64 %rd1; }\n"));
  std::vector<U> out(1);
  code.run(0, one_thread, pack(out.data()).data());
  EXPECT_EQ(out[0], 5U);
  EXPECT_TRUE(contains(code.kernels()[1].unsupported, "stacksave"));
  EXPECT_THROW(code.run(1, one_thread, nullptr), Fault);
  // No instruction is taken for another that is like it.
  for (const std::string instruction :
       {"mov.b128 %rd1, {%rd2, %rd3};", "cvt.rn.satfinite.e2m1x2.f32 %r1, %f1, %f2;",
        "min.xorsign.abs.f32 %f1, %f2, %f3;", "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x3f, %p2;",
        "redux.sync.min.f32 %f1, %f2, -1;", "cvt.rna.tf32.f32 %r1, %f1;", "mul.s16x2 %r1, %r2, %r3;",
        ".local .b8 a[16]; ld.local.u32 %r1, [a+16];", "ld.param.u32 %r1, [kernel_out+8];",
        "atom.global.min.f32 %f1, [%out], %f2;", "vadd.u32.u32.u32 %r1, %r2, %r3;", "mul.f32x2 %rd1, %rd2, %rd3;",
        "min.f32 %f1, %f2, %f3, %f4;", "isspacep.local %p1, %out;", "add.f32.f16 %f1, %r1, %f2;",
        "cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;", "bar.cluster.arrive;"})
    EXPECT_FALSE(Code("test.ptx", ptx_module(simple_kernel(instruction))).kernels()[0].unsupported.empty())
        << instruction;
}

TEST(InterpreterAsynchronous, copies_by_threads_and_in_bulk) {
  const Code code("bulk_copy.ptx", corpus_text("bulk_copy.ptx"));
  const auto run = [&](const std::string& name, unsigned blocks, unsigned threads, const void* in, void* out) {
    for (std::size_t i = 0; i < code.kernels().size(); ++i)
      if (code.kernels()[i].name == name) code.run(i, Launch{.grid = blocks, .block = threads}, pack(in, out).data());
  };
  alignas(16) std::array<U, 2048> in{}, out{};
  std::iota(in.begin(), in.end(), 1U);
  run("staged", 4, 128, in.data(), out.data());
  for (U i = 0; i < 2048; ++i) ASSERT_EQ(out[i], i / 512 * 512 + (127 - i / 4 % 128) * 4 + i % 4 + 1);
  run("bulk", 8, 256, in.data(), out.data());
  for (U i = 0; i < 2048; ++i) ASSERT_EQ(out[i], i + 2);
}

TEST(InterpreterAsynchronous, memory_barriers_count_phases) {
  // 64 threads arrive twice; each phase is over when all have, and bytes that were announced have come.
  const std::string kernel = simple_kernel(R"(
  .shared .align 16 .b8 tile[32];
  .shared .align 8 .b8 barrier[8];
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra ready;
  mbarrier.init.shared.b64 [barrier], 64;
ready:
  bar.sync 0;
  @%p1 bra plain;
  mov.u32 %r1, tile;
  mov.u32 %r2, barrier;
  mbarrier.arrive.expect_tx.shared.b64 %rd1, [barrier], 32;
  mbarrier.test_wait.shared.b64 %p2, [barrier], %rd1;
  selp.u32 %r3, 1, 0, %p2;
  st.global.u32 [%out+256], %r3;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%out], 32, [%r2];
  bra wait;
plain:
  mbarrier.arrive.shared.b64 %rd1, [barrier];
wait:
  mbarrier.try_wait.shared.b64 %p3, [barrier], %rd1;
  @!%p3 bra wait;
  ld.shared.u32 %r4, [tile+28];
  mbarrier.arrive.shared.b64 _, [barrier];
again:
  mbarrier.try_wait.parity.shared.b64 %p4, [barrier], 1;
  @!%p4 bra again;
  st.global.u32 [%mine], %r4;)");
  alignas(16) std::array<U, 80> memory{};
  memory[7] = 99;
  run_kernel(kernel, Launch{.grid = 1, .block = 64}, memory.data());
  for (U t = 0; t < 64; ++t) EXPECT_EQ(memory[t], 99U);
  EXPECT_EQ(memory[64], 0U);
}
