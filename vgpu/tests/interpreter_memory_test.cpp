// Loads, stores, vectors, variables and atomics.
#include "interpreter_harness.hpp"

#include <string>

using namespace dcgn::test;
using dcgn::Launch;
using U = std::uint32_t;
using U64 = std::uint64_t;

namespace {

// An atomic at %a's place: what it returns, and what it leaves there. Likewise in shared memory, and without a result.
template <class T, class Change>
void check_atomic(const std::string& op, const std::string& type, const std::vector<T>& values, const Change& change) {
  const std::string bits = std::to_string(8 * sizeof(T)), cas = op == "cas" ? ", %c" : "";
  const auto old = [](T a, T, T) { return a; };
  const std::string at_global = ".global." + op + type, at_shared = ".shared." + op + type;
  const std::string reload = " ld.global.b" + bits + " %d, [%in];";
  expect_all<T>("atom" + at_global + " %d, [%in], %b" + cas + ";", values, values, values, old);
  expect_all<T>("atom" + at_global + " %d, [%in], %b" + cas + ";" + reload, values, values, values, change);
  if (op != "cas" && op != "exch")
    expect_all<T>("red" + at_global + " [%in], %b;" + reload, values, values, values, change);
  // Each thread in 8 bytes of its own.
  expect_all<T>(
      ".shared .align 8 .b8 cells[2048]; mov.u32 %r0, cells; mov.u32 %r1, %tid.x; mad.lo.u32 %r0, %r1, 8, %r0;"
      "st.shared.b" +
          bits + " [%r0], %a; atom" + at_shared + " %d, [%r0], %b" + cas + "; ld.shared.b" + bits + " %d, [%r0];",
      values, values, values, change);
}

template <class T>
void check_whole_atomics(const std::string& bits) {
  using S = std::make_signed_t<T>;
  const std::vector<T> all = edges<T>();
  check_atomic<T>("add", ".u" + bits, all, [](T a, T b, T) { return a + b; });
  check_atomic<T>("and", ".b" + bits, all, [](T a, T b, T) { return a & b; });
  check_atomic<T>("or", ".b" + bits, all, [](T a, T b, T) { return a | b; });
  check_atomic<T>("xor", ".b" + bits, all, [](T a, T b, T) { return a ^ b; });
  check_atomic<T>("exch", ".b" + bits, all, [](T, T b, T) { return b; });
  check_atomic<T>("cas", ".b" + bits, all, [](T a, T b, T c) { return a == b ? c : a; });
  check_atomic<T>("min", ".u" + bits, all, [](T a, T b, T) { return std::min(a, b); });
  check_atomic<T>("max", ".u" + bits, all, [](T a, T b, T) { return std::max(a, b); });
  check_atomic<T>("min", ".s" + bits, all, [](T a, T b, T) { return static_cast<S>(a) < static_cast<S>(b) ? a : b; });
  check_atomic<T>("max", ".s" + bits, all, [](T a, T b, T) { return static_cast<S>(a) < static_cast<S>(b) ? b : a; });
}

}  // namespace

TEST(InterpreterMemory, loads_extend_as_their_type_has_it) {
  const auto all = edges<U64>();
  const auto check = [&](const std::string& type, auto example) {
    using T = decltype(example);
    using Extended = std::conditional_t<std::is_signed_v<T>, std::int64_t, U64>;
    expect_unary<U64>("ld.global" + type + " %d, [%in];", all,
                      [](U64 a) { return static_cast<U64>(Extended{static_cast<T>(a)}); });
  };
  check(".s8", std::int8_t{});
  check(".u8", std::uint8_t{});
  check(".s16", std::int16_t{});
  check(".u16", std::uint16_t{});
  check(".s32", std::int32_t{});
  check(".u32", std::uint32_t{});
  check(".b64", U64{});
}

TEST(InterpreterMemory, values_of_128_bits) {
  const std::string begin =
      ".shared .align 16 .b8 cells[4096]; .reg .b128 %w<3>; .reg .b64 %high; mov.u32 %r0, cells; mov.u32 %r1, %tid.x;"
      "mad.lo.u32 %r0, %r1, 16, %r0; mov.b128 %w0, {%a, %b}; mov.b128 %w1, {%c, %b}; st.shared.b128 [%r0], %w0;";
  const std::string end =
      "ld.shared.b128 %w2, [%r0]; mov.b128 {%d, %high}, %w2; xor.b64 %d, %d, %high; xor.b64 %d, %d, %b;";
  const std::vector<U64> all = edges<U64>();
  expect_all<U64>(begin + end, all, all, all, [](U64 a, U64, U64) { return a; });
  expect_all<U64>(begin + "atom.shared.exch.b128 %w2, [%r0], %w1;" + end, all, all, all,
                  [](U64, U64, U64 c) { return c; });
  expect_all<U64>(begin + "atom.shared.cas.b128 %w2, [%r0], %w0, %w1;" + end, all, all, all,
                  [](U64, U64, U64 c) { return c; });
  expect_all<U64>(begin + "atom.shared.cas.b128 %w2, [%r0], %w1, %w1;" + end, all, all, all,
                  [](U64 a, U64, U64) { return a; });
}

TEST(InterpreterMemory, vectors) {
  const std::string kernel = R"(
.visible .entry kernel(.param .u64 from, .param .u64 to) {
  .reg .b64 %a, %b, %x<4>;
  .reg .b32 %r<8>;
  .reg .b16 %h<8>;
  ld.param.u64 %a, [from];
  ld.param.u64 %b, [to];
  ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%a];
  st.global.v4.b32 [%b], {%r3, %r2, %r1, %r0};
  ld.global.v2.b64 {%x0, %x1}, [%a+16];
  st.global.v2.b64 [%b+16], {%x1, %x0};
  ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%a+32];
  st.global.v4.u8 [%b+32], {%h3, %h2, %h1, %h0};
  ld.global.v2.u16 {%h0, _}, [%a+36];
  st.global.v2.u16 [%b+36], {%h0, 7};
  ld.global.v2.b64 {%a, %x2}, [%a+48];
  st.global.v2.b64 [%b+48], {%a, %x2};
  ret;
})";
  std::array<std::uint8_t, 64> from{}, to{}, expected{};
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(17 * i + 3);
  const auto copy = [&](std::size_t bytes, std::size_t at, std::initializer_list<std::size_t> order) {
    std::size_t done = at;
    for (const std::size_t element : order) {
      std::memcpy(expected.data() + done, from.data() + at + element * bytes, bytes);
      done += bytes;
    }
  };
  copy(4, 0, {3, 2, 1, 0});
  copy(8, 16, {1, 0});
  copy(1, 32, {3, 2, 1, 0});
  copy(2, 36, {0});
  expected[38] = 7;
  copy(8, 48, {0, 1});
  run_kernel(kernel, Launch{.grid = 1, .block = 1}, from.data(), to.data());
  EXPECT_EQ(to, expected);
}

TEST(InterpreterMemory, moves_pack_and_unpack) {
  expect_binary<U64>("mov.b64 %x0, %a; mov.b64 {%r0, %r1}, %x0; mov.b64 %d, {%r1, %r0};", edges<U64>(),
                     std::vector<U>{0}, [](U64 a, U) { return a << 32 | a >> 32; });
  expect_unary<U64>("mov.b64 {%h0, %h1, %h2, %h3}, %a; mov.b64 %d, {%h3, %h2, %h1, %h0};", edges<U64>(),
                    [](U64 a) { return a << 48 | (a >> 16 & 0xffff) << 32 | (a >> 32 & 0xffff) << 16 | a >> 48; });
  expect_unary<U>("mov.b32 {_, %h1}, %a; mov.b32 %d, {%h1, 0x1234};", edges<U>(),
                  [](U a) { return a >> 16 | 0x12340000U; });
}

TEST(InterpreterMemory, atomics_of_whole_numbers) {
  check_whole_atomics<U>("32");
  check_whole_atomics<U64>("64");
  const auto all = edges<U>();
  check_atomic<U>("inc", ".u32", all, [](U a, U b, U) { return a >= b ? 0 : a + 1; });
  check_atomic<U>("dec", ".u32", all, [](U a, U b, U) { return a == 0 || a > b ? b : a - 1; });
  using H = std::uint16_t;
  check_atomic<H>("cas", ".b16", edges<H>(), [](H a, H b, H c) { return a == b ? c : a; });
}

TEST(InterpreterMemory, atomics_of_points) {
  const std::vector<float> floats{0, -0.0F, 1, 1e30F, -1e30F, 1e-3F, 3, INFINITY};
  check_atomic<float>("add", ".f32", floats, [](float a, float b, float) { return a + b; });
  // Of 32 bits they know subnormals in shared memory alone, also by an address that may be of either.
  const auto all = edges<float>();
  const auto flush = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.F, x) : x; };
  const auto flushed = [&](float a, float b) { return flush(flush(a) + flush(b)); };
  for (const std::string space : {"", ".global"})
    expect_binary<float>("red" + space + ".add.f32 [%in], %b; ld.global.f32 %d, [%in];", all, all, flushed);
  const std::string cell =
      ".shared .align 4 .b8 cells[1024]; mov.u32 %r0, cells; mov.u32 %r1, %tid.x;"
      "mad.lo.u32 %r0, %r1, 4, %r0; st.shared.f32 [%r0], %a;";
  const auto sum = [](float a, float b) { return a + b; };
  expect_binary<float>(cell + "red.shared.add.f32 [%r0], %b; ld.shared.f32 %d, [%r0];", all, all, sum);
  expect_binary<float>(cell +
                           "cvt.u64.u32 %x0, %r0; cvta.shared.u64 %x0, %x0; red.add.f32 [%x0], %b;"
                           "ld.shared.f32 %d, [%r0];",
                       all, all, sum);
  check_atomic<double>("add", ".f64", {0, 1, 1e300, -1e-3, 3}, [](double a, double b, double) { return a + b; });
  const std::vector<std::uint16_t> halves{0, 0x3c00, 0xbc00, 0x0001, 0x7bff, 0x4248};
  for (const bool bfloat : {false, true}) {
    const SmallFloats small(bfloat);
    const auto sum_of = [&](U a, U b) {
      return small.nearest(small.value(static_cast<std::uint16_t>(a)) + small.value(static_cast<std::uint16_t>(b)));
    };
    const std::string type = bfloat ? "bf16" : "f16";
    check_atomic<std::uint16_t>("add.noftz", "." + type, halves, [&](auto a, auto b, auto) { return sum_of(a, b); });
    check_atomic<U>("add.noftz", "." + type + "x2", {0x3c000001, 0x4248bc00, 0x00013c00},
                    [&](U a, U b, U) { return sum_of(a, b) | U{sum_of(a >> 16, b >> 16)} << 16; });
  }
}

TEST(InterpreterMemory, atomics_of_vectors) {
  const std::string kernel = simple_kernel(R"(
  mov.f32 %f0, 0f3F800000;
  mov.f32 %f1, 0f40000000;
  atom.global.v2.f32.add {%f2, %f3}, [%out], {%f0, %f1};
  red.global.add.v4.f32 [%out+16], {%f0, %f1, %f1, %f0};
  mad.wide.u32 %rd1, %t, 4, %out;
  add.f32 %f2, %f2, %f3;
  st.global.f32 [%rd1+64], %f2;)");
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 8}, 32);
  const auto value = [&](std::size_t i) { return std::bit_cast<float>(found[i]); };
  EXPECT_EQ(value(0), 8);
  EXPECT_EQ(value(1), 16);
  EXPECT_EQ(value(4), 8);
  EXPECT_EQ(value(6), 16);
  for (std::size_t lane = 0; lane < 8; ++lane) EXPECT_EQ(value(16 + lane), 3 * static_cast<float>(lane));
}

TEST(InterpreterMemory, all_threads_add_to_one_place) {
  const std::string kernel = simple_kernel("atom.global.add.u32 %r1, [%out], 3; red.global.inc.u32 [%out+4], 99;");
  const auto found = words_after(kernel, Launch{.grid = 7, .block = 100}, 2);
  EXPECT_EQ(found[0], 2100U);
  EXPECT_EQ(found[1], 0U);
}

TEST(InterpreterMemory, shared_variables_static_and_dynamic) {
  const std::string kernel = simple_kernel(R"(
  .shared .align 4 .b8 a[128];
  .shared .align 8 .b8 b[256];
  mov.u32 %r1, a;
  mov.u32 %r2, b;
  mov.u32 %r3, dynamic;
  mad.lo.u32 %r4, %t, 4, %r1;
  mad.lo.u32 %r5, %t, 8, %r2;
  mad.lo.u32 %r6, %t, 4, %r3;
  st.shared.u32 [%r4], %t;
  cvt.u64.u32 %rd1, %t;
  shl.b64 %rd1, %rd1, 8;
  st.shared.u64 [%r5], %rd1;
  shl.b32 %r7, %t, 16;
  st.shared.u32 [%r6], %r7;
  bar.sync 0;
  sub.u32 %r8, 31, %t;
  shl.b32 %r9, %r8, 2;
  add.u32 %r4, %r1, %r9;
  ld.shared.u32 %r10, [%r4];
  shl.b32 %r9, %r8, 3;
  add.u32 %r5, %r2, %r9;
  ld.shared.u32 %r11, [%r5];
  shl.b32 %r9, %r8, 2;
  add.u32 %r6, %r3, %r9;
  cvt.u64.u32 %rd2, %r6;
  cvta.shared.u64 %rd2, %rd2;
  ld.u32 %r12, [%rd2];
  or.b32 %r10, %r10, %r11;
  or.b32 %r10, %r10, %r12;
  st.global.u32 [%mine], %r10;)",
                                           ".extern .shared .align 16 .b8 dynamic[];\n");
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 32, .shared_bytes = 128}, 32);
  for (U t = 0; t < 32; ++t) EXPECT_EQ(found[t], (31 - t) * 0x10101);
}

TEST(InterpreterMemory, addresses_of_shared_memory_are_told_from_others) {
  const std::string kernel = simple_kernel(R"(
  .shared .align 8 .b8 cell[8];
  mov.u64 %rd1, cell;
  cvta.shared.u64 %rd2, %rd1;
  isspacep.shared %p1, %rd2;
  isspacep.shared::cluster %p2, %out;
  isspacep.global %p3, %out;
  isspacep.global %p4, %rd2;
  selp.u32 %r1, 1, 0, %p1;
  selp.u32 %r2, 2, 0, %p2;
  selp.u32 %r3, 4, 0, %p3;
  selp.u32 %r4, 8, 0, %p4;
  add.u32 %r1, %r1, %r2;
  add.u32 %r1, %r1, %r3;
  add.u32 %r1, %r1, %r4;
  st.u64 [%rd2], 77;
  cvta.to.shared.u64 %rd3, %rd2;
  ld.shared.u32 %r5, [%rd3];
  st.global.u32 [%out], %r1;
  st.global.u32 [%out+4], %r5;)");
  EXPECT_EQ(words_after(kernel, Launch{.grid = 1, .block = 1}, 2), (std::vector<U>{5, 77}));
}

// Kernels check that their pointers into it are aligned.
TEST(InterpreterMemory, dynamic_shared_memory_is_aligned) {
  const std::string kernel = simple_kernel(R"(
  .shared .align 4 .b8 cell[4];
  mov.u64 %rd1, dynamic;
  cvta.shared.u64 %rd2, %rd1;
  st.shared.u32 [cell], 1;
  and.b64 %rd2, %rd2, 127;
  cvt.u32.u64 %r1, %rd2;
  add.u32 %r1, %r1, 5;
  st.global.u32 [%out], %r1;)",
                                           ".extern .shared .align 128 .b8 dynamic[];\n");
  EXPECT_EQ(words_after(kernel, Launch{.grid = 1, .block = 1, .shared_bytes = 8}, 1), std::vector<U>{5});
}

TEST(InterpreterMemory, variables_begin_as_they_are_initialised) {
  const std::string variables = R"(
.global .align 4 .u32 table[5] = {1, 0x20, -3, 4U};
.const .align 4 .b32 square[2][2] = {{5, 6}, {7}};
.global .align 8 .u64 pointer = table+4;
.global .align 8 .u64 pointers[2] = {generic(table)+8, pointer};
.global .align 1 .b8 bytes[8] = {0xFF(table), 0xFF00(table), 0xFF0000(table), 0xFF000000(table), 0xFF00000000(table),
  0xFF0000000000(table), 0xFF000000000000(table), 0xFF00000000000000(table)};
.global .align 1 .b8 text[4] = {104, 105, 33};
.global .f32 point = 0f3FC00000;
.global .f64 points[2] = {0d4004000000000000, -1.5};
.global .align 2 .s16 small[2] = {-1, 2};
)";
  const std::string kernel = simple_kernel(R"(
  ld.global.u32 %r1, [table+8];
  st.global.u32 [%out], %r1;
  ld.global.u32 %r1, [table+16];
  st.global.u32 [%out+4], %r1;
  ld.const.u32 %r1, [square+8];
  st.global.u32 [%out+8], %r1;
  ld.global.u64 %rd1, [pointer];
  ld.global.u32 %r1, [%rd1];
  st.global.u32 [%out+12], %r1;
  ld.global.u64 %rd1, [pointers+8];
  ld.u64 %rd1, [%rd1];
  ld.u32 %r1, [%rd1+8];
  st.global.u32 [%out+16], %r1;
  mov.u64 %rd2, bytes;
  mov.u64 %rd3, 0;
  mov.u32 %r2, 0;
loop:
  cvt.u64.u32 %rd4, %r2;
  add.u64 %rd4, %rd2, %rd4;
  ld.global.u8 %rd5, [%rd4];
  shl.b32 %r3, %r2, 3;
  shl.b64 %rd5, %rd5, %r3;
  or.b64 %rd3, %rd3, %rd5;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 8;
  @%p1 bra loop;
  ld.u32 %r1, [%rd3];
  st.global.u32 [%out+20], %r1;
  ld.global.u8 %r1, [text+1];
  st.global.u32 [%out+24], %r1;
  ld.global.f32 %f1, [point];
  st.global.f32 [%out+28], %f1;
  ld.global.b64 %rd6, [points+8];
  st.global.b64 [%out+32], %rd6;
  ld.global.s16 %r1, [small];
  st.global.u32 [%out+40], %r1;
  ld.global.u64 %rd1, [pointers];
  ld.u32 %r1, [%rd1];
  st.global.u32 [%out+44], %r1;)",
                                           variables);
  const auto minus_one_and_a_half = bits_of(-1.5);
  EXPECT_EQ(words_after(kernel, Launch{.grid = 1, .block = 1}, 12),
            (std::vector<U>{U(-3), 0, 7, 0x20, 4, 1, 'i', std::bit_cast<U>(1.5F), U(minus_one_and_a_half),
                            U(minus_one_and_a_half >> 32), ~0U, U(-3)}));
}

TEST(InterpreterMemory, each_thread_has_its_own_local_array) {
  const std::string kernel = simple_kernel(R"(
  .local .align 8 .b8 stack[64];
  mov.u64 %rd1, stack;
  cvta.local.u64 %rd2, %rd1;
  mov.u32 %r1, 0;
fill:
  mad.wide.u32 %rd3, %r1, 4, %rd1;
  mad.lo.u32 %r2, %t, 100, %r1;
  st.local.u32 [%rd3], %r2;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra fill;
  and.b32 %r3, %t, 15;
  mad.wide.u32 %rd4, %r3, 4, %rd2;
  ld.u32 %r4, [%rd4];
  ld.local.u32 %r5, [stack+60];
  add.u32 %r4, %r4, %r5;
  st.global.u32 [%mine], %r4;)");
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 40}, 40);
  for (U t = 0; t < 40; ++t) EXPECT_EQ(found[t], 200 * t + t % 16 + 15);
}

TEST(InterpreterMemory, small_copies_to_shared_memory_fill_up_with_zeros) {
  const std::string kernel = simple_kernel(R"(
  .shared .align 16 .b8 tile[64];
  mov.u32 %r1, tile;
  st.shared.u64 [tile+8], -1;
  cp.async.ca.shared.global [%r1], [%out], 16, 4;
  cp.async.cg.shared.global [%r1+16], [%out], 16;
  cp.async.ca.shared.global [%r1+32], [%out+4], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  ld.shared.u32 %r2, [tile];
  ld.shared.u32 %r3, [tile+8];
  ld.shared.u32 %r4, [tile+28];
  ld.shared.u32 %r5, [tile+32];
  st.global.v4.u32 [%out+16], {%r2, %r3, %r4, %r5};)");
  alignas(16) std::array<U, 8> memory{10, 11, 12, 13};
  run_kernel(kernel, Launch{.grid = 1, .block = 1}, memory.data());
  EXPECT_EQ(memory, (std::array<U, 8>{10, 11, 12, 13, 10, 0, 13, 11}));
}
