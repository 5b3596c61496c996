// Shapes by name, and their measurement on an emulated GPU and the host.
#include "core/bench/ddt.hpp"
#include "bench/program.hpp"
#include "core/bench/ddt_messages.hpp"
#include "core/bench/ddt_sweep.hpp"
#include "tests/sanitized.hpp"

#include <dcgn/device.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace dcgn::bench;
namespace test = dcgn::test;

namespace {

TEST(Ddt, ShapesByName) {
  const auto rows = parse_ddt_shape("rows:40/64");
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->first, 40);
  EXPECT_EQ(rows->second, 64);
  for (const char* good :
       {"contiguous", "triangle", "stair:32", "transpose:8", "random:8-4096", "scatter:4", "rows:8/8"})
    EXPECT_TRUE(parse_ddt_shape(good)) << good;
  for (const char* bad : {"", "row:4/8", "rows", "rows:8", "rows:8/4", "rows:0/4", "rows:8-16", "stair", "stair:0",
                          "random:9-8", "scatter:4x", "transpose:-8", "triangle:5", "rows:8/1048577"})
    EXPECT_FALSE(parse_ddt_shape(bad)) << bad;
}

TEST(Ddt, ShapesHaveTheirBytes) {
  const auto size = [](const char* name, std::int64_t bytes) {
    return datatype_of(*parse_ddt_shape(name), bytes).size();
  };
  EXPECT_EQ(size("contiguous", 1000), 1000);
  EXPECT_EQ(size("rows:40/64", 4000), 4000);
  EXPECT_EQ(size("triangle", 256 << 20), 8192ll * 8193 / 2 * 8);  // the order that 2016's figures end with
  EXPECT_EQ(size("transpose:8", 512 << 20), 512 << 20);
  EXPECT_EQ(size("random:8-4096", 100000), 100000);
  EXPECT_EQ(size("scatter:4", 100000), 100000);
}

// Each takes seconds under the thread sanitizer.
std::vector<const char*> few_or(std::vector<const char*> all) {
  if (test::sanitized) all.resize(2);
  return all;
}

TEST(Ddt, IsMeasuredAndChecked) {
  for (const char* place : {"device", "host"})
    for (const char* name :
         few_or({"random:8-512", "transpose:4", "contiguous", "rows:12/24", "triangle", "stair:16", "scatter:4"})) {
      SCOPED_TRACE(std::string(place) + " " + name);
      const std::vector<DdtRow> rows = measure_ddt(
          {.shape = *parse_ddt_shape(name), .bytes = test::sanitized ? 2000 : 20000, .place = place, .seconds = 0.002});
      const bool on_device = std::string(place) == "device";
      ASSERT_EQ(rows.size(), on_device ? 4u : 3u);
      for (const DdtRow& row : rows) {
        EXPECT_EQ(row.wrong, 0u) << row.action;
        EXPECT_EQ(row.gb_per_s > 0, row.action != "launch");
        EXPECT_EQ(row.moved > 0, on_device && row.action != "launch") << row.action;
        EXPECT_GE(row.rounds, 10u);
        const DdtRow again = ddt_row_from(to_json(row));
        EXPECT_EQ(again.p50_us, row.p50_us);
        EXPECT_EQ(again.shape, name);
      }
    }
}

TEST(Ddt, CountsWhatTheMemoryMoves) {
  const auto traffic = [](const char* name, std::int64_t bytes, std::int64_t extent) {
    const DdtTraffic t = traffic_of(*parse_ddt_shape(name), bytes, extent);
    return std::pair(t.to_read, t.to_write);
  };
  EXPECT_EQ(traffic("contiguous", 6400, 6400), std::pair(6400l, 6400l));
  EXPECT_EQ(traffic("rows:8/256", 800, 100 * 256),
            std::pair(6400l, 6400l));                                     // 64 bytes fetched for 8; 32 read, 32 written
  EXPECT_EQ(traffic("rows:32/64", 3200, 6400), std::pair(6400l, 3200l));  // whole sectors
  EXPECT_EQ(traffic("rows:40/64", 4000, 6400), std::pair(6400l, 100 * 96l));  // one whole, one in part
  EXPECT_EQ(traffic("rows:16/32", 1600, 3200), std::pair(3200l, 6400l));
}

TEST(Ddt, UnitsOfThePaperMoveTheSame) {
  for (const bool cached : {false, true})
    for (const char* name :
         few_or({"random:8-4096", "rows:12/24", "rows:3000/3001", "triangle", "contiguous", "random:1-99"})) {
      SCOPED_TRACE(std::string(cached ? "cached " : "") + name);
      const std::vector<DdtRow> rows = measure_ddt({.shape = *parse_ddt_shape(name),
                                                    .bytes = test::sanitized ? 9000 : 300000,
                                                    .place = "device",
                                                    .seconds = 0.002,
                                                    .unit_bytes = 1024,
                                                    .cached = cached});
      ASSERT_EQ(rows.size(), 2u);
      for (const DdtRow& row : rows) EXPECT_EQ(row.wrong, 0u) << row.action;
      EXPECT_EQ(rows[0].whose, cached ? "units of 1K, cached" : "units of 1K");
    }
}

TEST(Ddt, KernelsOfFewBlocksMoveTheSame) {
  for (const char* name : few_or({"triangle", "transpose:8", "rows:12/24", "random:1-99", "contiguous"}))
    for (const int blocks : {1, 3}) {
      SCOPED_TRACE(name);
      const std::vector<DdtRow> rows = measure_ddt({.shape = *parse_ddt_shape(name),
                                                    .bytes = test::sanitized ? 9000 : 100000,
                                                    .place = "device",
                                                    .seconds = 0.002,
                                                    .blocks = blocks});
      ASSERT_EQ(rows.size(), 2u);
      for (const DdtRow& row : rows) EXPECT_EQ(row.wrong, 0u) << row.action;
      EXPECT_NE(rows[0].whose.find(blocks == 1 ? ", 1 block" : ", 3 blocks"), std::string::npos);
    }
}

TEST(Ddt, MessagesBringEveryByteToItsPlace) {
  struct Ends {
    const char *shape, *other;
  };
  for (const DdtPath path : all_ddt_paths) {
    if (gpus_of(path) > dcgn::Device::count()) continue;
    if (path == DdtPath::two_processes &&
        (test::sanitized || !std::filesystem::exists(beside_this("dcgn_bench_processes"))))
      continue;
    for (const Ends ends : {Ends{"rows:40/64", "rows:40/64"}, Ends{"triangle", "contiguous"},
                            Ends{"contiguous", "transpose:8"}, Ends{"contiguous", "contiguous"}}) {
      SCOPED_TRACE(std::string(name_of(path)) + " " + ends.shape + " " + ends.other);
      const DdtMessage message{.shape = *parse_ddt_shape(ends.shape),
                               .other = *parse_ddt_shape(ends.other),
                               .bytes = test::sanitized ? 3000 : 200000,
                               .path = path,
                               .seconds = 0.002};
      ASSERT_TRUE(fit(message));
      const std::vector<DdtRow> rows = measure_ddt_message(message);
      int messages = 0;
      for (const DdtRow& row : rows) {
        EXPECT_EQ(row.wrong, 0u) << row.whose;
        EXPECT_GT(row.gb_per_s, 0) << row.whose;
        messages += row.action == "message";
        EXPECT_EQ(ddt_row_from(to_json(row)).other, row.other);
      }
      EXPECT_EQ(messages, std::string(ends.shape) == ends.other && ends.other[0] == 'c' ? 1 : 2);
      EXPECT_EQ(rows.back().shape, ends.shape);
      EXPECT_EQ(rows.back().other, ends.other);
    }
  }
  EXPECT_FALSE(fit({.shape = *parse_ddt_shape("triangle"), .other = *parse_ddt_shape("transpose:8"), .bytes = 99999}));
}

TEST(Ddt, MessagesBesideOthersKernels) {
  const std::vector<DdtRow> rows = measure_ddt_message({.shape = *parse_ddt_shape("rows:40/64"),
                                                        .other = *parse_ddt_shape("rows:40/64"),
                                                        .bytes = 3000,
                                                        .path = DdtPath::one_gpu,
                                                        .seconds = 0.002,
                                                        .occupied = 50});
  ASSERT_EQ(rows.size(), 2u);
  for (const DdtRow& row : rows) EXPECT_EQ(row.wrong, 0u) << row.whose;
  EXPECT_NE(rows[0].whose.find("50 % occupied"), std::string::npos);
}

TEST(Ddt, ASweepHasShapesThatAreSo) {
  const std::vector<DdtShape> shapes = ddt_sweep(200);
  ASSERT_EQ(shapes.size(), 200u);
  int transposes = 0;
  std::set<std::string> names;
  for (const DdtShape& shape : shapes) {
    transposes += shape.kind == DdtShape::Kind::transpose;
    names.insert(shape.name);
  }
  EXPECT_EQ(transposes, 2);
  EXPECT_EQ(names.size(), shapes.size());
  EXPECT_EQ(ddt_sweep(3)[2].name, shapes[2].name);
}

}  // namespace
