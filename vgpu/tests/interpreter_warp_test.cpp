// What the threads of a warp do together, whichever of them are there.
#include "interpreter_harness.hpp"

#include <string>

using namespace dcgn::test;
using dcgn::Launch;
using U = std::uint32_t;

namespace {

constexpr Launch one_warp{.grid = 1, .block = 32};

// As the PTX manual has it: the lane that is read, and whether it is within the segment.
std::pair<U, bool> shuffled(const std::string& mode, U lane, U b, U c) {
  const int segments = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31), own = static_cast<int>(lane),
            by = static_cast<int>(b & 31);
  const int last = (own & segments) | (clamp & ~segments), first = own & segments;
  int from = 0;
  bool within = false;
  if (mode == "up") from = own - by, within = from >= last;
  if (mode == "down") from = own + by, within = from <= last;
  if (mode == "bfly") from = own ^ by, within = from <= last;
  if (mode == "idx") from = first | (by & ~segments), within = from <= last;
  return {within ? static_cast<U>(from) : lane, within};
}

}  // namespace

TEST(InterpreterWarp, shuffles_of_all_modes_and_segments) {
  for (const std::string mode : {"up", "down", "bfly", "idx"})
    for (const U c : {0x1fU, 0x0U, 0x181fU, 0x1807U, 0x1e01U, 0x1000U, 0x100fU})
      for (const U b : {0U, 1U, 2U, 5U, 16U, 31U, 33U}) {
        // By b + lane / 8, so that it differs from thread to thread.
        const std::string kernel = simple_kernel("shr.u32 %r1, %t, 3; add.u32 %r1, %r1, " + std::to_string(b) +
                                                 "; mul.lo.u32 %r2, %t, 7; shfl.sync." + mode +
                                                 ".b32 %r3|%p1, %r2, %r1, " + std::to_string(c) +
                                                 ", -1; selp.u32 %r4, 1000, 0, %p1;"
                                                 "add.u32 %r3, %r3, %r4; st.global.u32 [%mine], %r3;");
        const auto found = words_after(kernel, one_warp, 32);
        for (U lane = 0; lane < 32; ++lane) {
          const auto [from, within] = shuffled(mode, lane, b + lane / 8, c);
          ASSERT_EQ(found[lane], 7 * from + (within ? 1000 : 0))
              << mode << " by " << b << ", c = " << c << ", lane " << lane;
        }
      }
}

TEST(InterpreterWarp, votes_are_of_those_that_are_named) {
  // The lower half votes in one branch, the upper one in the other.
  const std::string vote = R"(
  vote.sync.all.pred %p3, %p2, %r1;
  vote.sync.any.pred %p4, %p2, %r1;
  vote.sync.uni.pred %p5, !%p2, %r1;
  vote.sync.ballot.b32 %r3, %p2, %r1;
  vote.sync.ballot.b32 %r4, !%p2, %r1;)";
  const std::string kernel = simple_kernel(R"(
  setp.lt.u32 %p1, %t, 16;
  and.b32 %r2, %t, 3;
  @%p1 bra lower;
  setp.ne.u32 %p2, %r2, 0;
  mov.u32 %r1, 0xffff0000;)" + vote + R"(
  bra done;
lower:
  setp.lt.u32 %p2, %r2, 4;
  mov.u32 %r1, 0xffff;)" + vote + R"(
done:
  selp.u32 %r5, 1, 0, %p3;
  selp.u32 %r6, 2, 0, %p4;
  selp.u32 %r7, 4, 0, %p5;
  or.b32 %r5, %r5, %r6;
  or.b32 %r5, %r5, %r7;
  mad.wide.u32 %mine, %t, 8, %mine;
  st.global.u32 [%mine], %r5;
  st.global.u32 [%mine+4], %r3;
  st.global.u32 [%mine+8], %r4;)");
  const auto found = words_after(kernel, one_warp, 96);
  for (U lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(found[3 * lane], lane < 16 ? 7U : 2U);
    EXPECT_EQ(found[3 * lane + 1], lane < 16 ? 0xffffU : 0xeeee0000U);
    EXPECT_EQ(found[3 * lane + 2], lane < 16 ? 0U : 0x11110000U);
  }
}

TEST(InterpreterWarp, matches) {
  const std::string kernel = simple_kernel(R"(
  rem.u32 %r1, %t, 5;
  match.any.sync.b32 %r2, %r1, -1;
  cvt.u64.u32 %rd1, %r1;
  shl.b64 %rd1, %rd1, 40;
  match.any.sync.b64 %r3, %rd1, -1;
  match.all.sync.b32 %r4|%p1, %r1, -1;
  match.all.sync.b32 %r5|%p2, 9, -1;
  selp.u32 %r6, 1, 0, %p1;
  selp.u32 %r7, 2, 0, %p2;
  add.u32 %r6, %r6, %r7;
  add.u32 %r6, %r6, %r4;
  setp.ne.u32 %p3, %r2, %r3;
  setp.ne.or.u32 %p3, %r5, -1, %p3;
  @%p3 mov.u32 %r2, 0;
  mad.wide.u32 %mine, %t, 4, %mine;
  st.global.v2.u32 [%mine], {%r2, %r6};)");
  const auto found = words_after(kernel, one_warp, 64);
  for (U lane = 0; lane < 32; ++lane) {
    U expected = 0;
    for (U other = 0; other < 32; ++other) expected |= U{other % 5 == lane % 5} << other;
    EXPECT_EQ(found[2 * lane], expected);
    EXPECT_EQ(found[2 * lane + 1], 2U);
  }
}

TEST(InterpreterWarp, reductions) {
  // Of -5 * lane: the odd threads by themselves.
  for (const auto& [op, expected] : std::vector<std::pair<std::string, U>>{{"add.u32", U(-5 * 256)},
                                                                           {"add.s32", U(-5 * 256)},
                                                                           {"min.s32", U(-155)},
                                                                           {"max.s32", U(-5)},
                                                                           {"min.u32", U(-155)},
                                                                           {"max.u32", U(-5)}}) {
    const std::string kernel = simple_kernel(
        "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; @%p1 ret; mul.lo.s32 %r2, %t, -5;"
        "redux.sync." +
        op + " %r3, %r2, 0xaaaaaaaa; st.global.u32 [%mine], %r3;");
    const auto found = words_after(kernel, one_warp, 32);
    for (U lane = 0; lane < 32; ++lane) EXPECT_EQ(found[lane], lane % 2 == 0 ? 0 : expected) << op;
  }
  for (const auto& [op, expected] :
       std::vector<std::pair<std::string, U>>{{"and.b32", 0x40}, {"or.b32", 0x5f}, {"xor.b32", 0}}) {
    const std::string kernel =
        simple_kernel("or.b32 %r2, %t, 0x40; redux.sync." + op + " %r3, %r2, -1; st.global.u32 [%mine], %r3;");
    EXPECT_EQ(words_after(kernel, one_warp, 32), std::vector<U>(32, expected)) << op;
  }
}

TEST(InterpreterWarp, one_is_elected) {
  const std::string kernel = simple_kernel(R"(
  setp.lt.u32 %p1, %t, 5;
  @%p1 ret;
  elect.sync %r1|%p2, 0xffffffe0;
  selp.u32 %r2, 100, 0, %p2;
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%mine], %r1;)");
  const auto found = words_after(kernel, one_warp, 32);
  for (U lane = 0; lane < 32; ++lane) EXPECT_EQ(found[lane], lane < 5 ? 0U : lane == 5 ? 105U : 5U);
}

TEST(InterpreterWarp, threads_meet_again_behind_a_branch) {
  const std::string kernel = simple_kernel(R"(
  and.b32 %r1, %t, 3;
  mov.u32 %r2, 0;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra behind;
loop:
  add.u32 %r2, %r2, %t;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra loop;
behind:
  activemask.b32 %r3;
  shfl.sync.bfly.b32 %r4, %r2, 1, 0x1f, -1;
  mad.wide.u32 %mine, %t, 4, %mine;
  st.global.v2.u32 [%mine], {%r3, %r4};)");
  const auto found = words_after(kernel, one_warp, 64);
  for (U lane = 0; lane < 32; ++lane) {
    const U other = lane ^ 1;
    EXPECT_EQ(found[2 * lane], ~0U);
    EXPECT_EQ(found[2 * lane + 1], other * (other % 4));
  }
}

TEST(InterpreterWarp, threads_that_went_apart_wait_where_they_are_named) {
  // Even threads come to the barrier by another way; then each reads what its neighbour has written.
  const std::string kernel = simple_kernel(R"(
  .shared .align 4 .b8 cells[128];
  mov.u32 %r1, cells;
  mad.lo.u32 %r2, %t, 4, %r1;
  xor.b32 %r3, %r2, 4;
  and.b32 %r4, %t, 1;
  setp.eq.u32 %p1, %r4, 0;
  @%p1 bra even;
  st.shared.u32 [%r2], %t;
  bar.warp.sync -1;
  bra behind;
even:
  mul.lo.u32 %r5, %t, 10;
  st.shared.u32 [%r2], %r5;
  bar.warp.sync -1;
behind:
  ld.shared.u32 %r6, [%r3];
  st.global.u32 [%mine], %r6;)");
  const auto found = words_after(kernel, one_warp, 32);
  for (U lane = 0; lane < 32; ++lane) EXPECT_EQ(found[lane], lane % 2 == 0 ? lane + 1 : 10 * (lane - 1));
}

TEST(InterpreterWarp, a_lock_goes_from_thread_to_thread) {
  const std::string kernel = simple_kernel(R"(
again:
  atom.global.cas.b32 %r1, [%out], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra again;
  ld.volatile.global.u32 %r2, [%out+4];
  add.u32 %r2, %r2, 1;
  st.volatile.global.u32 [%out+4], %r2;
  membar.gl;
  atom.global.exch.b32 %r3, [%out], 0;)");
  EXPECT_EQ(words_after(kernel, Launch{.grid = 3, .block = 64}, 2), (std::vector<U>{0, 192}));
}

TEST(InterpreterWarp, one_thread_waits_for_another_in_a_loop) {
  // Thread 0 spins until thread 31, which is behind it in the program, has written.
  const std::string kernel = simple_kernel(R"(
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra writer;
spin:
  ld.volatile.global.u32 %r1, [%out+4];
  setp.eq.u32 %p2, %r1, 0;
  @%p2 bra spin;
  st.global.u32 [%out], %r1;
  ret;
writer:
  setp.ne.u32 %p3, %t, 31;
  @%p3 ret;
  st.volatile.global.u32 [%out+4], 5;)");
  EXPECT_EQ(words_after(kernel, one_warp, 2), (std::vector<U>{5, 5}));
}

TEST(InterpreterWarp, special_registers) {
  const std::string kernel = simple_kernel(R"(
  mov.u32 %r1, %laneid;
  mov.u32 %r2, %warpid;
  mov.u32 %r3, %lanemask_lt;
  mov.u32 %r4, %lanemask_ge;
  mov.u32 %r5, %tid.y;
  mov.u32 %r6, %ntid.x;
  mad.lo.u32 %t, %r5, %r6, %t;
  mad.wide.u32 %mine, %t, 16, %out;
  shl.b32 %r2, %r2, 8;
  or.b32 %r1, %r1, %r2;
  mov.u32 %r7, %nwarpid;
  st.global.v4.u32 [%mine], {%r1, %r3, %r4, %r7};)");
  const auto found = words_after(kernel, Launch{.grid = 1, .block = dcgn::Dim3(8, 6)}, 192);
  for (U thread = 0; thread < 48; ++thread) {
    const U lane = thread % 32;
    EXPECT_EQ(found[4 * thread], lane | thread / 32 << 8);
    EXPECT_EQ(found[4 * thread + 1], (1U << lane) - 1);
    EXPECT_EQ(found[4 * thread + 2], ~((1U << lane) - 1));
    EXPECT_EQ(found[4 * thread + 3], 2U);
  }
}
