// The measurement itself: two ends that are threads with a mailbox between them, so that the checks are checked without
// the library that they are to check.
#include "bench/row.hpp"  // and with it the rounds, apart from kernels: the host alone compiles this

#include "mailbox.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

using namespace dcgn::bench;
using dcgn::test::Mailbox;

namespace {
struct PingEnd {
  Mailbox& to;
  Mailbox& from;
  std::int64_t corrupt = -1;  // a byte of large messages that arrives wrong

  unsigned rank() const { return 0; }
  unsigned size() const { return 1; }
  bool leader() const { return true; }
  void sync() const {}
  bool send(const void* data, std::int64_t bytes) const {
    to.put(data, static_cast<std::size_t>(bytes));
    return true;
  }
  bool recv(void* data, std::int64_t bytes) const {
    from.take(data, static_cast<std::size_t>(bytes));
    if (corrupt >= 0 && corrupt < bytes && bytes > 16) static_cast<unsigned char*>(data)[corrupt] ^= 0x10;
    return true;
  }
};

Samples measure_with(std::int64_t corrupt_first, std::int64_t corrupt_second) {
  constexpr std::int64_t bytes = 200 << 10;  // large: few rounds
  Mailbox there, back;
  std::vector<unsigned char> memory(4 * bytes);
  std::uint64_t control[2][2] = {};
  Samples samples{};
  const Plan plan{bytes, 1'000'000};
  std::thread second([&] {
    follow(PingEnd{back, there, corrupt_second}, {memory.data() + 2 * bytes, memory.data() + 3 * bytes, control[1]},
           plan);
  });
  lead(PingEnd{there, back, corrupt_first}, {memory.data(), memory.data() + bytes, control[0]}, plan, samples);
  second.join();
  return samples;
}

TEST(Ping, CountsRoundsAndFindsNothingWrong) {
  const Samples s = measure_with(-1, -1);
  EXPECT_EQ(s.wrong, 0u);
  EXPECT_GE(s.blocks * s.rounds, 50u);
  EXPECT_LE(s.blocks, Samples::most_blocks);
  for (std::uint64_t k = 0; k < s.blocks; ++k) EXPECT_GT(s.ns[k], 0u);
}

TEST(Ping, CountsWrongBytesOfBothEnds) {
  EXPECT_EQ(measure_with(70'000, -1).wrong, 1u);
  EXPECT_EQ(measure_with(-1, 0).wrong, 1u);
  EXPECT_EQ(measure_with(5, 9).wrong, 2u);
}

}  // namespace
