// What the peers' programs have in common, with rounds that take as long as they are told.
#include "bench/peers/rounds.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

using namespace dcgn::bench;
using peer::Arguments, peer::Measure, peer::Round;

namespace {

Arguments parse(std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  return peer::parse(static_cast<int>(argv.size()), argv.data());
}

TEST(PeerRounds, AreAsTheArgumentsSay) {
  const Arguments a = parse({"--measures", "bandwidth,latency", "--seconds", "0.5", "--window", "7", "8", "4K"});
  EXPECT_EQ(a.measures, (std::vector{Measure::bandwidth, Measure::latency}));
  EXPECT_EQ(a.seconds, 0.5);
  EXPECT_EQ(a.sizes, (std::vector<std::int64_t>{8, 4096}));
  EXPECT_EQ(a.round(Measure::bandwidth, 8), (Round{Measure::bandwidth, 8, 7}));
  EXPECT_EQ(a.round(Measure::latency, 8), (Round{Measure::latency, 8, 1}));
  EXPECT_EQ(peer::room(a), 7u * 4096);
}

TEST(PeerRounds, MistakesNameTheValue) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"--measures", "speed", "--seconds", "1", "8"}, "--measures speed"},
      {{"--measures", "latency", "--seconds", "0", "8"}, "--seconds 0"},
      {{"--measures", "latency", "--seconds", "1", "--window", "0", "8"}, "--window 0"},
      {{"--measures", "latency", "--seconds", "1", "--window", "257", "8"}, "--window 257"},
      {{"--measures", "latency", "--seconds", "1", "8", "--window"}, "--window: expected a value"},
      {{"--measures", "latency", "--seconds", "1", "2G"}, "2G: expected a size"},
      {{"--measures", "latency", "--seconds", "1"}, "expected --measures"},
  };
  for (const auto& [words, said] : mistakes) try {
      parse(words);
      ADD_FAILURE() << said;
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find(said), std::string::npos) << e.what();
    }
}

TEST(PeerRounds, FiguresAreOfAMessageAndOfOneDirection) {
  constexpr double round_us = 100;
  const auto timed = [&](Measure measure) {
    return peer::time_rounds(
        {measure, 1000, measure == Measure::latency ? 1 : 4}, 1e-3,
        [](std::uint64_t rounds) { return round_us * static_cast<double>(rounds); }, [](double us) { return us; });
  };
  EXPECT_DOUBLE_EQ(timed(Measure::latency).p50_us, round_us / 2) << "half a round trip";
  EXPECT_EQ(timed(Measure::latency).window, 0);
  for (const Measure measure : {Measure::bandwidth, Measure::bidirectional}) {
    const Row row = timed(measure);
    EXPECT_EQ(row.measure, peer::name_of(measure));
    EXPECT_EQ(row.window, 4);
    EXPECT_DOUBLE_EQ(row.p50_us, round_us / 4);
    EXPECT_DOUBLE_EQ(row.gb_per_s, 4 * 1000 * 1e-3 / round_us);
  }
}

TEST(Window, HasAsManyMessagesAsFit) {
  EXPECT_EQ(window_of(8, 64), 64);
  EXPECT_EQ(window_of(1 << 20, 64), 64);
  EXPECT_EQ(window_of(64 << 20, 64), 16);
  EXPECT_EQ(window_of(64 << 20, 3), 3);
  EXPECT_EQ(window_of(std::int64_t{1} << 30, 64), 1);
  EXPECT_EQ(window_of(std::int64_t{4} << 30, 64), 1);
}

}  // namespace
