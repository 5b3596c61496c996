// What a rank that waits tells the watchdog.
#include "message/engine/wait.hpp"
#include "message/memory.hpp"

#include <dcgn/placement.hpp>

#include <gtest/gtest.h>

namespace dcgn::test {
namespace {

using message::Waited;
using message::Waiter;

// The watchdog reads an answer without a lock: what is told once stands, although the rank goes on and waits for
// another message before the survey is over.
TEST(Survey, IsAnsweredOnce) {
  Config config;
  config.nodes = {{.cpus = 2}};
  message::RankMemory memory(config, Placement(config.nodes), {}, nullptr);
  message::Endpoint& me = *memory.endpoint(0);
  const auto wait_for = [&](int tag) {
    Waiter waiter(me);
    for (std::uint32_t i = 0; i < 4 * message::look_every; ++i)
      EXPECT_EQ(waiter.pause([&] { return Waited{.envelope = {.peer = 1, .tag = tag}, .is_receive = true}; }),
                Code::ok);
  };
  const auto survey = static_cast<std::uint32_t>(message::Phase::survey) + 1;
  memory.set_phase(survey);
  wait_for(5);
  EXPECT_EQ(memory.notice(0).survey, survey);
  EXPECT_EQ(memory.notice(0).waits_for.tag, 5);
  wait_for(6);
  EXPECT_EQ(memory.notice(0).waits_for.tag, 5);
  memory.set_phase(survey + 1);
  wait_for(6);
  EXPECT_EQ(memory.notice(0).survey, survey + 1);
  EXPECT_EQ(memory.notice(0).waits_for.tag, 6);
}

}  // namespace
}  // namespace dcgn::test
