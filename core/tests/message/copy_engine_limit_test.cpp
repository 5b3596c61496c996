// Who moves a message: the threads of the call, or a copy engine.
#include <dcgn/message/endpoint.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace dcgn::test {
namespace {

TEST(CopyEngineLimit, GrowsWithTheThreadsOfACallThatWaits) {
  message::InFifo fifo{};
  fifo.engine_from = 0;
  fifo.engine_each = 3 << 10;
  fifo.engine_beside = 1 << 20;
  EXPECT_EQ(copy_engine_limit(fifo, 1, true), 3u << 10);
  EXPECT_EQ(copy_engine_limit(fifo, 512, true), 1536u << 10);
  EXPECT_EQ(copy_engine_limit(fifo, 16384, true), 96u << 20);
  EXPECT_EQ(copy_engine_limit(fifo, 1, false), 3u << 10);
  EXPECT_EQ(copy_engine_limit(fifo, 512, false), 1u << 20);
  EXPECT_EQ(copy_engine_limit(fifo, 16384, false), 1u << 20);
  fifo.engine_from = message::engine_never;
  EXPECT_EQ(copy_engine_limit(fifo, 1, false), ~std::uint64_t{0});
}

TEST(CopyEngineLimit, FlagsOfARecordAreDistinct) {
  using message::Record;
  std::uint32_t seen = 0;
  for (const std::uint32_t flag : {Record::is_receive, Record::synchronous, Record::buffered, Record::on_device,
                                   Record::readable, Record::waited}) {
    EXPECT_EQ(seen & flag, 0u);
    seen |= flag;
  }
}

}  // namespace
}  // namespace dcgn::test
