// Windows of messages between two threads with mailboxes between them: the checks are checked.
#include "core/bench/cpu_end.hpp"  // and with it the windows, apart from kernels: the host alone compiles this

#include "mailbox.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

using namespace dcgn::bench;
using dcgn::test::Mailbox;

namespace {

constexpr std::int64_t bytes = 40'000;
constexpr int in_window = 5;

struct WindowEnd {
  Mailbox& to;
  Mailbox& from;
  int damaged = -1;        // message of each window that arrives wrong
  bool exchanged = false;  // whether the third and the fourth of a window change places

  unsigned rank() const { return 0; }
  unsigned size() const { return 1; }
  bool leader() const { return true; }
  void sync() const {}
  bool send(const void* data, std::int64_t count) const {
    to.put(data, static_cast<std::size_t>(count));
    return true;
  }
  bool recv(void* data, std::int64_t count) const {
    from.take(data, static_cast<std::size_t>(count));
    return true;
  }
  bool window(const unsigned char* out, int sends, unsigned char* in, int receives, std::int64_t each) const {
    for (int i = 0; i < sends; ++i) send(out + i * each, each);
    for (int i = 0; i < receives; ++i) {
      const int k = exchanged && (i == 2 || i == 3) ? 5 - i : i;
      recv(in + k * each, each);
      if (i == damaged) in[k * each + 7] ^= 1;
    }
    return true;
  }
};

struct Fault {
  int damaged = -1;
  bool exchanged = false;
};

Samples measure_with(bool both_ways, Fault first, Fault second) {
  Mailbox there, back;
  const WindowPlan plan{bytes, 1'000'000, in_window, both_ways};
  const auto extent = static_cast<std::size_t>(plan.extent());
  std::vector<unsigned char> memory(4 * extent);
  std::uint64_t control[2][2] = {};
  Samples samples{};
  std::thread other([&] {
    follow(WindowEnd{back, there, second.damaged, second.exchanged},
           Buffers{memory.data() + 2 * extent, memory.data() + 3 * extent, control[1]}, plan);
  });
  lead(WindowEnd{there, back, first.damaged, first.exchanged},
       Buffers{memory.data(), memory.data() + extent, control[0]}, plan, samples);
  other.join();
  return samples;
}

TEST(Windows, CountRoundsAndFindNothingWrong) {
  for (const bool both_ways : {false, true}) {
    const Samples s = measure_with(both_ways, {}, {});
    EXPECT_EQ(s.wrong, 0u);
    EXPECT_GE(s.blocks * s.rounds, 20u);
    EXPECT_LE(s.blocks, Samples::most_blocks);
    for (std::uint64_t k = 0; k < s.blocks; ++k) EXPECT_GT(s.ns[k], 0u);
  }
}

TEST(Windows, CountWrongBytesWhereverTheyArrive) {
  EXPECT_EQ(measure_with(false, {}, {.damaged = 4}).wrong, 1u);
  EXPECT_EQ(measure_with(true, {}, {.damaged = 2}).wrong, 1u);
  EXPECT_EQ(measure_with(true, {.damaged = 2}, {}).wrong, 1u);
  EXPECT_EQ(measure_with(true, {.damaged = 2}, {.damaged = 4}).wrong, 2u);
}

TEST(Windows, AMessageInThePlaceOfAnotherIsWrong) {
  EXPECT_GT(measure_with(false, {}, {.exchanged = true}).wrong, bytes);
  EXPECT_GT(measure_with(true, {.exchanged = true}, {}).wrong, bytes);
}

}  // namespace
