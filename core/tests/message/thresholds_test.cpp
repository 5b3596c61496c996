// The guide's table of thresholds says what the code has.
#include "message/thresholds.hpp"
#include <dcgn/message/packet.hpp>
#include "message/describe.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

namespace dcgn::test {
namespace {

TEST(Thresholds, AreThoseOfTheGuide) {
  const std::map<std::string, std::int64_t> all = {
      {"small_bytes", message::small_bytes},
      {"small_tags", message::small_tags},
      {"eager_of_gpu", message::eager_of_gpu},
      {"eager_each_thread", message::eager_each_thread},
      {"most_eager", message::most_eager},
      {"eager_of_host", message::eager_of_host},
      {"eager_of_processes", message::eager_of_processes},
      {"gateway_eager", message::gateway_eager},
      {"gateway_eager_of_host", message::gateway_eager_of_host},
      {"gateway_most_eager", message::gateway_most_eager},
      {"gateway_copied", message::gateway_copied},
      {"gateway_unasked", message::gateway_unasked},
      {"gateway_packed", message::gateway_packed},
      {"engine_each_of_two", message::engine_each_of_two},
      {"engine_each_of_one", message::engine_each_of_one},
      {"engine_beside_of_two", message::engine_beside_of_two},
      {"engine_beside_of_one", message::engine_beside_of_one},
      {"engine_from_fifo", message::engine_from_fifo},
  };
  std::ifstream guide(DCGN_GUIDE_TO_MESSAGES);
  ASSERT_TRUE(guide) << DCGN_GUIDE_TO_MESSAGES;
  std::map<std::string, std::int64_t> found;
  for (std::string line; std::getline(guide, line);) {
    std::istringstream text(line);
    std::string bar, name, next;
    std::int64_t value = 0;
    if (text >> bar >> name >> next >> value && bar == "|" && next == "|" && name.front() == '`')
      found[name.substr(1, name.size() - 2)] = value;
  }
  EXPECT_EQ(found, all);
}

TEST(Reasons, AreThoseOfTheGuide) {
  std::ifstream guide(DCGN_GUIDE_TO_MESSAGES);
  const std::string text{std::istreambuf_iterator<char>(guide), {}};
  for (std::uint32_t i = static_cast<std::uint32_t>(message::Reason::tag); i < message::reasons; ++i) {
    const auto why = static_cast<message::Reason>(i);
    EXPECT_NE(text.find(std::string("\n| ") + message::to_string(why) + " |"), std::string::npos)
        << message::to_string(why);
    EXPECT_EQ(message::reason_of(message::to_string(why)), why);
  }
}

}  // namespace
}  // namespace dcgn::test
