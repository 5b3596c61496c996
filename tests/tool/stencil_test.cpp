// dcgn demo cahn-hilliard, ginzburg-landau and heat: what they write, and that a restart goes on as if nothing had
// happened.
#include "command.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>

using dcgn::test::contains, dcgn::test::content_of, dcgn::test::document_of, dcgn::test::Result, dcgn::test::run_dcgn,
    dcgn::test::scratch_folder;
using nlohmann::json;

namespace {

TEST(DemoStencil, WritesPicturesFieldsAndRecords) {
  const json d = document_of(run_dcgn(
      "demo cahn-hilliard --size 40x30 --steps 40 --ranks 2 --mode borders-first --png every=20 --vti every=40 "
      "--record every=10 --pixels 80 --output a --json"));
  EXPECT_EQ(d.at("what"), "cahn-hilliard");
  EXPECT_EQ(d.at("size"), json({40, 30}));
  EXPECT_EQ(d.at("ranks"), 2);
  EXPECT_EQ(d.at("steps"), 40);
  EXPECT_EQ(d.at("output"),
            json({"a_00000000.png", "a_00000000.vti", "a_00000020.png", "a_00000040.png", "a_00000040.vti"}));
  for (const json& name : d.at("output")) EXPECT_GT(content_of(name).size(), 100u) << name;
  EXPECT_TRUE(contains(content_of("a_00000040.vti"), "WholeExtent=\"0 39 0 29 0 0\""));
  const json& records = d.at("records");
  ASSERT_EQ(records.size(), 5u);
  for (std::size_t i = 1; i < records.size(); ++i) {
    EXPECT_LE(records[i].at("free_energy"), records[i - 1].at("free_energy"));
    EXPECT_NEAR(records[i].at("mass"), records[0].at("mass"), 1e-3);
  }
  const std::string csv = content_of("a.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
}

TEST(DemoStencil, SaysTheSameInATable) {
  const Result r = run_dcgn("demo heat --size 24x24 --steps 10 --ranks 3 --mode borders-first --record every=10");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* part : {"free energy", "domain length", "24x24 cells, 10 steps of", "by 3 ranks", "heat.csv"})
    EXPECT_TRUE(contains(r.out, part));
}

TEST(DemoStencil, AnyRanksAndRestartGiveTheSameBits) {
  const std::string same = " --size 36x28 --mode borders-first --vti every=60 ";
  document_of(run_dcgn("demo ginzburg-landau --steps 60 --ranks 1 --output one --json" + same));
  document_of(run_dcgn("demo ginzburg-landau --steps 60 --ranks 4 --parts 2x2 --output four --json" + same));
  const std::string whole = content_of("one_00000060.vti");
  EXPECT_GT(whole.size(), 36u * 28 * 8);
  EXPECT_TRUE(whole == content_of("four_00000060.vti"));

  const Result first = run_dcgn("demo ginzburg-landau --steps 30 --ranks 3 --checkpoint every=30 --output run" + same);
  if (contains(first.err, "no HDF5")) GTEST_SKIP();
  ASSERT_EQ(first.code, 0) << first.err;
  const json again =
      document_of(run_dcgn("demo ginzburg-landau --steps 60 --ranks 2 --restart run.h5 --output run --json" + same));
  EXPECT_EQ(again.at("steps"), 30);
  EXPECT_EQ(again.at("records").front().at("step"), 0) << "what was recorded before the checkpoint stays";
  EXPECT_EQ(again.at("records").back().at("step"), 60);
  EXPECT_TRUE(whole == content_of("run_00000060.vti"));
}

TEST(DemoStencil, SurfacesAreOfThreeDimensions) {
  const json d = document_of(run_dcgn(
      "demo cahn-hilliard --size 16x16x12 --steps 4 --ranks 2 --mode borders-first --surface every=4 --pixels 64 "
      "--output box --json"));
  EXPECT_EQ(d.at("output"), json({"box_surface_00000000.png", "box_surface_00000004.png"}));
  const Result flat = run_dcgn("demo cahn-hilliard --size 16x16 --surface every=4");
  EXPECT_EQ(flat.code, 2);
  EXPECT_TRUE(contains(flat.err, "--surface of 16x16 cells: expected a field of three dimensions"));
}

TEST(DemoStencil, MistakesAreNamedInOneLine) {
  const auto refused = [](const std::string& options, int code, const std::string& expected) {
    const Result r = run_dcgn("demo cahn-hilliard --mode borders-first " + options);
    EXPECT_EQ(r.code, code) << options;
    EXPECT_TRUE(contains(r.err, expected));
    EXPECT_TRUE(dcgn::test::is_one_line(r.err)) << r.err;
  };
  refused("--size 10", 2, "--size 10: expected two or three numbers");
  refused("--size 10x0", 2, "--size 10x0: '0': expected a whole number from 1 to 1048576");
  refused("--png every=x", 2, "'every=x': expected every=STEPS, as in every=100");
  refused("--size 16x16 --dt 1", 2, "a time step of 1 is too long for midpoint");
  refused("--size 16x16 --parts 3x1 --ranks 2", 2, "3");
  refused("--size 16x16 --parts 2 --ranks 2", 2, "--parts 2: expected two or three numbers, as in 2x2");
  refused("--size 16x16 --M 0", 2, "a time step of inf follows from B 1, K 1, M 0, ");
  refused("--size 16x16 --K -1", 2, "expected other parameters, or a dt");
  refused("--size 16x16 --steps 1 --output none/a", 3, "none/a.csv: cannot be written");
}

// With each checkpoint comes what was recorded until then: a run that stops later goes on with all of it.
TEST(DemoStencil, ARunThatStopsLeavesTheRecordsOfItsCheckpoint) {
  const std::string same = "demo cahn-hilliard --size 16x16 --U -1 --ranks 1 --mode borders-first --record every=10 ";
  const Result stopped = run_dcgn(same + "--steps 2000 --checkpoint every=100 --output s");
  if (contains(stopped.err, "no HDF5")) GTEST_SKIP();
  EXPECT_EQ(stopped.code, 2);
  EXPECT_TRUE(contains(stopped.err, "is not finite any more"));
  const std::string csv = content_of("s.csv");
  EXPECT_TRUE(contains(csv, "\n0,")) << csv;
  EXPECT_TRUE(contains(csv, "\n100,")) << csv;
  const json again = document_of(run_dcgn(same + "--steps 210 --restart s.h5 --output s --json"));
  EXPECT_EQ(again.at("records").size(), 22u);
}

TEST(DemoStencil, CheckpointsOfOtherRunsAreRefused) {
  const Result made =
      run_dcgn("demo heat --size 16x16 --steps 2 --ranks 2 --mode borders-first --checkpoint every=2 --output c");
  if (contains(made.err, "no HDF5")) GTEST_SKIP();
  ASSERT_EQ(made.code, 0) << made.err;
  const auto refused = [](const std::string& command, int code, const std::string& expected) {
    const Result r = run_dcgn("demo " + command + " --mode borders-first --restart c.h5");
    EXPECT_EQ(r.code, code) << command;
    EXPECT_TRUE(contains(r.err, expected));
    EXPECT_TRUE(dcgn::test::is_one_line(r.err)) << r.err;
  };
  refused("cahn-hilliard --size 16x16", 2, "c.h5: it is of equation 'heat', expected 'cahn-hilliard'");
  refused("heat --size 16x18", 2, "c.h5: field 'u' is 16x16 float32, expected 16x18 float32");
  refused("heat --size 16x16 --k 2", 2, "c.h5: parameter dt is 0.2, expected 0.1");
  refused("heat --size 16x16 --spacing 1.00000001 --dt 0.2", 2, "has spacing 1, expected 1.00000001");
  run_dcgn("demo heat --size 16x16 --steps 2 --ranks 1 --mode borders-first --dt 0.1 --output other");
  refused("heat --size 16x16 --steps 4 --output other", 2,
          "other.csv: step 1 is at 0.1, expected 0.2: records of another run");
  refused("heat --size 16x16 --steps 1", 2, "c.h5: it is at step 2, expected one before step 1");
  std::filesystem::resize_file(scratch_folder() + "/c.h5", 700);
  refused("heat --size 16x16", 3, "c.h5: expected a checkpoint that is whole: ");
}

TEST(BenchStencil, ComparesModesAndPeersOnCheckedCells) {
  const json d =
      document_of(run_dcgn("bench stencil --cpus --devices 1,2 --size 24x24 --steps 10 --mode borders-first --json"));
  EXPECT_EQ(d.at("what"), "stencil");
  EXPECT_GT(d.at("copy_GBps"), 0);
  ASSERT_EQ(d.at("rows").size(), 4u);
  for (const json& row : d.at("rows")) {
    EXPECT_EQ(row.at("wrong"), 0);
    EXPECT_GT(row.at("p50"), 0);
  }
  const json modes =
      document_of(run_dcgn("bench stencil jacobi --cpus --devices 1 --size 16x16 --steps 10 --mode auto,all --json"));
  EXPECT_EQ(modes.at("rows").size() + modes.value("left_out", json::array()).size(), 5u) << modes;
  const Result cube = run_dcgn("bench stencil jacobi --cpus --size 8x8x8 --devices 1 --steps 10");
  EXPECT_EQ(cube.code, 2);
  EXPECT_TRUE(contains(cube.err, "--size 8x8x8: expected a plane for jacobi"));
  const Result largest =
      run_dcgn("bench stencil jacobi --cpus --size 8x8 --devices 1 --steps 10 --mode borders-first --largest");
  EXPECT_EQ(largest.code, 2);
  EXPECT_TRUE(contains(largest.err, "expected real GPUs"));
}

}  // namespace
