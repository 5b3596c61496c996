// Who tells GPUs the phase holds nobody up, and tells the last one in any case.
#include "message/phase_teller.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <vector>

namespace dcgn::test {
namespace {

TEST(PhaseTeller, GoesOnWhileTheGpuTakesNothing) {
  std::promise<void> begun, free;
  std::shared_future<void> is_free = free.get_future();
  std::vector<std::uint32_t> stored;
  {
    message::PhaseTeller teller([&](std::uint32_t phase) {
      if (stored.empty()) begun.set_value();
      stored.push_back(phase);
      is_free.wait();
    });
    teller.tell(1);
    begun.get_future().wait();
    for (const std::uint32_t phase : {2u, 3u, 4u}) teller.tell(phase);  // would not return, were it held up
    free.set_value();
  }
  EXPECT_EQ(stored, (std::vector<std::uint32_t>{1, 4}));
}

TEST(PhaseTeller, WithoutNewsStoresNothing) {
  bool stored = false;
  {
    const message::PhaseTeller teller([&](std::uint32_t) { stored = true; });
  }
  EXPECT_FALSE(stored);
}

}  // namespace
}  // namespace dcgn::test
