// Barriers of a block, calls, branches by tables, and threads that wait for others.
#include "interpreter_harness.hpp"

#include <string>

using namespace dcgn::test;
using dcgn::Launch;
using U = std::uint32_t;

TEST(InterpreterFlow, a_barrier_is_of_all_threads_that_have_not_ended) {
  // The second half ends at once; the others exchange over warps.
  const std::string kernel = simple_kernel(R"(
  .shared .align 4 .b8 cells[512];
  setp.ge.u32 %p1, %t, 64;
  @%p1 exit;
  mov.u32 %r1, cells;
  mad.lo.u32 %r2, %t, 4, %r1;
  st.shared.u32 [%r2], %t;
  bar.sync 0;
  sub.u32 %r3, 63, %t;
  mad.lo.u32 %r3, %r3, 4, %r1;
  ld.shared.u32 %r4, [%r3];
  st.global.u32 [%mine], %r4;)");
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 128}, 128);
  for (U t = 0; t < 128; ++t) EXPECT_EQ(found[t], t < 64 ? 63 - t : 0);
}

TEST(InterpreterFlow, barriers_of_some_warps_do_not_wait_for_others) {
  // Warp 0 writes and arrives; warp 1 waits for it; warps 2 and 3 meet at a barrier of their own.
  const std::string kernel = simple_kernel(R"(
  .shared .align 4 .b8 cells[512];
  mov.u32 %r1, cells;
  shr.u32 %r2, %t, 5;
  and.b32 %r3, %t, 31;
  setp.eq.u32 %p1, %r2, 0;
  setp.eq.u32 %p2, %r2, 1;
  @%p1 bra writer;
  @%p2 bra reader;
  mad.lo.u32 %r4, %t, 4, %r1;
  st.shared.u32 [%r4], %t;
  barrier.sync 5, 64;
  xor.b32 %r5, %t, 32;
  mad.lo.u32 %r5, %r5, 4, %r1;
  bra read;
writer:
  mad.lo.u32 %r4, %t, 4, %r1;
  add.u32 %r6, %t, 1000;
  st.shared.u32 [%r4], %r6;
  bar.arrive 3, 64;
  ret;
reader:
  mov.u32 %r7, 3;
  bar.sync %r7, 64;
  mad.lo.u32 %r5, %r3, 4, %r1;
read:
  ld.shared.u32 %r8, [%r5];
  st.global.u32 [%mine], %r8;)");
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 128}, 128);
  for (U t = 32; t < 64; ++t) EXPECT_EQ(found[t], 1000 + t - 32);
  for (U t = 64; t < 128; ++t) EXPECT_EQ(found[t], t ^ 32);
}

// A count of threads is one of whole warps, which a block of 48 threads has two of.
TEST(InterpreterFlow, barriers_count_whole_warps) {
  const std::string kernel = simple_kernel(R"(
  bar.sync 1, 64;
  setp.lt.u32 %p1, %t, 100;
  bar.red.and.pred %p2, 2, 64, %p1;
  selp.u32 %r1, 7, 0, %p2;
  st.global.u32 [%mine], %r1;)");
  EXPECT_EQ(words_after(kernel, Launch{.grid = 1, .block = 48}, 48), std::vector<U>(48, 7));
}

TEST(InterpreterFlow, barriers_reduce) {
  const std::string kernel = simple_kernel(R"(
  setp.lt.u32 %p1, %t, 40;
  bar.red.popc.u32 %r1, 0, %p1;
  bar.red.popc.u32 %r2, 1, 96, !%p1;
  bar.red.and.pred %p2, 0, %p1;
  bar.red.or.pred %p3, 0, %p1;
  setp.lt.u32 %p4, %t, 1000;
  barrier.red.and.pred %p5, 0, %p4;
  bar.red.or.pred %p6, 0, !%p4;
  selp.u32 %r3, 1, 0, %p2;
  selp.u32 %r4, 2, 0, %p3;
  selp.u32 %r5, 4, 0, %p5;
  selp.u32 %r6, 8, 0, %p6;
  or.b32 %r3, %r3, %r4;
  or.b32 %r5, %r5, %r6;
  or.b32 %r3, %r3, %r5;
  mad.wide.u32 %mine, %t, 8, %mine;
  st.global.u32 [%mine], %r1;
  st.global.u32 [%mine+4], %r2;
  st.global.u32 [%mine+8], %r3;)");
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 96}, 3 * 96);
  for (U t = 0; t < 96; ++t) {
    EXPECT_EQ(found[3 * t], 40U);
    EXPECT_EQ(found[3 * t + 1], 56U);
    EXPECT_EQ(found[3 * t + 2], 6U);
  }
}

TEST(InterpreterFlow, loops_end_for_each_thread_when_it_is_done) {
  const std::string kernel = simple_kernel(R"(
  mov.u32 %r1, %t;
  mov.u32 %r2, 0;
loop:
  setp.eq.u32 %p1, %r1, 1;
  setp.eq.or.u32 %p1, %r1, 0, %p1;
  @%p1 bra done;
  and.b32 %r3, %r1, 1;
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra even;
  mad.lo.u32 %r1, %r1, 3, 1;
  bra next;
even:
  shr.u32 %r1, %r1, 1;
next:
  add.u32 %r2, %r2, 1;
  bra loop;
done:
  st.global.u32 [%mine], %r2;)");
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 64}, 64);
  for (U t = 0; t < 64; ++t) {
    U steps = 0;
    for (U n = t; n > 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1) ++steps;
    EXPECT_EQ(found[t], steps);
  }
}

TEST(InterpreterFlow, branches_by_a_table) {
  const std::string kernel = simple_kernel(R"(
  and.b32 %r1, %t, 3;
targets: .branchtargets zero, one, two, one;
  mov.u32 %r2, 5;
  brx.idx %r1, targets;
zero:
  mov.u32 %r2, 100;
  bra done;
one:
  mov.u32 %r2, 101;
  bra done;
two:
  mov.u32 %r2, 102;
done:
  st.global.u32 [%mine], %r2;)");
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 32}, 32);
  for (U t = 0; t < 32; ++t) EXPECT_EQ(found[t], t % 4 == 0 ? 100U : t % 4 == 2 ? 102U : 101U);
  EXPECT_NE(fault_of(simple_kernel("targets: .branchtargets a; mov.u32 %r1, 1; brx.idx %r1, targets; a: ret;"),
                     Launch{.grid = 1, .block = 1}, Fault::Kind::trap)
                .find("branch 1 of 1"),
            std::string::npos);
}

TEST(InterpreterFlow, recursion_has_a_frame_for_each_call) {
  // f(n) = n < 2 ? n : f(n - 1) + f(n - 2), to another depth in each thread.
  const std::string function = R"(
.func (.param .b32 result) f(.param .b32 number) {
  .reg .b32 %n, %m, %a, %b;
  .reg .pred %p;
  .local .align 4 .b8 kept[4];
  ld.param.b32 %n, [number];
  st.local.b32 [kept], %n;
  setp.lt.u32 %p, %n, 2;
  @%p bra small;
  sub.u32 %m, %n, 1;
  {
    .param .b32 x;
    .param .b32 y;
    st.param.b32 [x], %m;
    call.uni (y), f, (x);
    ld.param.b32 %a, [y];
  }
  ld.local.b32 %n, [kept];
  sub.u32 %m, %n, 2;
  {
    .param .b32 x;
    .param .b32 y;
    st.param.b32 [x], %m;
    call.uni (y), f, (x);
    ld.param.b32 %b, [y];
  }
  add.u32 %n, %a, %b;
small:
  st.param.b32 [result], %n;
  ret;
}
)";
  const std::string kernel = simple_kernel(R"(
  rem.u32 %r1, %t, 11;
  {
    .param .b32 x;
    .param .b32 y;
    st.param.b32 [x], %r1;
    call.uni (y), f, (x);
    ld.param.b32 %r2, [y];
  }
  st.global.u32 [%mine], %r2;)",
                                           function);
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 40}, 40);
  const U numbers[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55};
  for (U t = 0; t < 40; ++t) EXPECT_EQ(found[t], numbers[t % 11]);
}

TEST(InterpreterFlow, functions_are_called_through_pointers_in_a_table) {
  const std::string functions = R"(
.func (.reg .b32 %out) twice(.reg .b32 %in) {
  shl.b32 %out, %in, 1;
  ret;
}
.func (.reg .b32 %out) squared(.reg .b32 %in) {
  mul.lo.u32 %out, %in, %in;
  ret;
}
.global .u64 table[2] = {twice, squared};
)";
  const std::string kernel = simple_kernel(R"(
  and.b32 %r1, %t, 1;
  mov.u64 %rd1, table;
  mad.wide.u32 %rd1, %r1, 8, %rd1;
  ld.global.u64 %rd2, [%rd1];
  prototype: .callprototype (.reg .b32 _) _ (.reg .b32 _);
  call (%r2), %rd2, (%t), prototype;
  mov.u64 %rd3, twice;
  call (%r3), %rd3, (%r2), prototype;
  st.global.u32 [%mine], %r3;)",
                                           functions);
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 40}, 40);
  for (U t = 0; t < 40; ++t) EXPECT_EQ(found[t], 2 * (t % 2 == 0 ? 2 * t : t * t));
  EXPECT_NE(fault_of(simple_kernel("mov.u64 %rd1, 4096; prototype: .callprototype _; call %rd1, prototype;"),
                     Launch{.grid = 1, .block = 1}, Fault::Kind::illegal_address)
                .find("no function"),
            std::string::npos);
}

TEST(InterpreterFlow, structures_go_into_functions_and_out_of_them) {
  const std::string function = R"(
.func (.param .align 8 .b8 result[16]) turn(.param .align 8 .b8 given[16], .param .b32 more) {
  .reg .b32 %a, %b, %m;
  .reg .b64 %x;
  ld.param.v2.b32 {%a, %b}, [given];
  ld.param.b64 %x, [given+8];
  ld.param.b32 %m, [more];
  add.u32 %a, %a, %m;
  st.param.b64 [result], %x;
  st.param.v2.b32 [result+8], {%b, %a};
  ret;
}
)";
  const std::string kernel = simple_kernel(R"(
  {
    .param .align 8 .b8 in[16];
    .param .b32 more;
    .param .align 8 .b8 back[16];
    st.param.v2.b32 [in], {%t, 7};
    cvt.u64.u32 %rd1, %t;
    shl.b64 %rd1, %rd1, 33;
    st.param.b64 [in+8], %rd1;
    st.param.b32 [more], 100;
    call.uni (back), turn, (in, more);
    ld.param.v4.b32 {%r1, %r2, %r3, %r4}, [back];
  }
  mad.wide.u32 %mine, %t, 12, %mine;
  st.global.v4.u32 [%mine], {%r1, %r2, %r3, %r4};)",
                                           function);
  alignas(16) std::array<U, 32 * 4> found{};
  run_kernel(kernel, Launch{.grid = 1, .block = 32}, found.data());
  for (U t = 0; t < 32; ++t) {
    EXPECT_EQ(found[4 * t], 0U);
    EXPECT_EQ(found[4 * t + 1], 2 * t);
    EXPECT_EQ(found[4 * t + 2], 7U);
    EXPECT_EQ(found[4 * t + 3], t + 100);
  }
}

TEST(InterpreterFlow, threads_end_inside_functions_and_meet_at_barriers_there) {
  const std::string function = R"(
.func meet(.param .b32 number) {
  .reg .b32 %n;
  .reg .pred %p;
  ld.param.b32 %n, [number];
  setp.ge.u32 %p, %n, 48;
  @%p exit;
  bar.sync 0;
  ret;
}
)";
  const std::string kernel = simple_kernel(R"(
  .shared .align 4 .b8 cell[4];
  setp.eq.u32 %p1, %t, 40;
  @%p1 st.shared.u32 [cell], 9;
  {
    .param .b32 x;
    st.param.b32 [x], %t;
    call.uni meet, (x);
  }
  ld.shared.u32 %r1, [cell];
  st.global.u32 [%mine], %r1;)",
                                           function);
  const auto found = words_after(kernel, Launch{.grid = 1, .block = 64}, 64);
  for (U t = 0; t < 64; ++t) EXPECT_EQ(found[t], t < 48 ? 9U : 0U);
}

TEST(InterpreterFlow, blocks_wait_for_each_other) {
  // Each block waits for the next one, and the last for none.
  const std::string kernel = simple_kernel(R"(
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %nctaid.x;
  add.u32 %r3, %r1, 1;
  mad.wide.u32 %rd1, %r1, 4, %out;
  setp.eq.u32 %p1, %r3, %r2;
  @%p1 bra last;
wait:
  ld.acquire.gpu.global.u32 %r4, [%rd1+4];
  setp.eq.u32 %p2, %r4, 0;
  @%p2 bra wait;
  add.u32 %r4, %r4, 1;
  bra write;
last:
  mov.u32 %r4, 1;
write:
  st.release.gpu.global.u32 [%rd1], %r4;)");
  const auto found = words_after(kernel, Launch{.grid = 50, .block = 1}, 50);
  for (U b = 0; b < 50; ++b) EXPECT_EQ(found[b], 50 - b);
}

TEST(InterpreterFlow, a_grid_of_three_dimensions) {
  const std::string kernel = simple_kernel(R"(
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ctaid.y;
  mov.u32 %r3, %ctaid.z;
  mov.u32 %r4, %nctaid.x;
  mov.u32 %r5, %nctaid.y;
  mad.lo.u32 %r6, %r3, %r5, %r2;
  mad.lo.u32 %r6, %r6, %r4, %r1;
  mad.wide.u32 %rd1, %r6, 4, %out;
  mad.lo.u32 %r7, %r3, 10, %r2;
  mad.lo.u32 %r7, %r7, 10, %r1;
  red.global.add.u32 [%rd1], %r7;)");
  const auto found = words_after(kernel, Launch{.grid = dcgn::Dim3(3, 4, 5), .block = 1}, 60);
  for (U b = 0; b < 60; ++b) EXPECT_EQ(found[b], b / 12 * 100 + b / 3 % 4 * 10 + b % 3);
}
