// Rows as documents have them.
#include "bench/json.hpp"

#include <gtest/gtest.h>

using namespace dcgn::bench;
using nlohmann::ordered_json;

namespace {

TEST(Json, ReturnsARowAsItWas) {
  const Row row{.whose = "a",
                .measure = "bandwidth",
                .path = "slot-slot",
                .scope = "grid",
                .bytes = 4096,
                .rounds = 7,
                .p50_us = 1.5,
                .p99_us = 2.5,
                .gb_per_s = 3.5,
                .wrong = 9,
                .blocks = 132,
                .threads = 1024,
                .window = 16};
  const ordered_json j = to_json(row);
  EXPECT_EQ(j.at("p50"), 1.5);
  EXPECT_EQ(j.at("blocks"), 132u);
  EXPECT_EQ(j.at("window"), 16);
  EXPECT_FALSE(j.contains("senders"));
  EXPECT_EQ(to_json(row_from(j)), j);
}

TEST(Json, ARateIsMessagesASecond) {
  const Row row{.p50_us = 0.004, .p99_us = 0.005, .unit = "M/s"};
  const ordered_json j = to_json(row);
  EXPECT_DOUBLE_EQ(j.at("p50"), 250);
  EXPECT_DOUBLE_EQ(j.at("p99"), 200);
  EXPECT_DOUBLE_EQ(row_from(j).p50_us, 0.004);
}

TEST(Json, WhatNamesNoMeasureIsALatency) {
  ordered_json j = to_json(Row{.path = "cpu-cpu"});
  j.erase("measure");
  j.erase("unit");
  EXPECT_EQ(row_from(j).measure, "latency");
  EXPECT_EQ(row_from(j).unit, "us");
}

TEST(Json, SlotsSayTheirBlocksAndOthersNothing) {
  EXPECT_FALSE(to_json(Row{}).contains("blocks"));
  EXPECT_TRUE(to_json(Row{.blocks = 1, .threads = 32}).contains("threads"));
}

}  // namespace
