// The demonstrations nbody and cannon, and their measurements: documents, tables, pictures, mistakes.
#include "command.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>

using dcgn::test::document_of, dcgn::test::is_one_line, dcgn::test::Result, dcgn::test::run_dcgn,
    dcgn::test::scratch_folder;
using nlohmann::json;

namespace {

// The document on stdout, where nothing else may be.
TEST(Nbody, MovesTheSameBodiesOnAnyRanks) {
  const struct {
    const char* arguments;
    const char* environment;
  } runs[] = {
      {"--cpus 2 --gpus 0", ""},
      {"--cpus 1 --gpus 2 --slots 2 --start plummer", ""},
      {"--cpus 0 --gpus 1 --slots 2 --blocks 2 --exchange broadcast", ""},
      {"--cpus 1 --gpus 1 --slots 1 --nodes 2 --exchange all-gather --balance measured", ""},
      {"--cpus 1 --gpus 2 --slots 2", "DCGN_P2P=off"},
      {"--cpus 1 --gpus 1 --slots 2", "DCGN_SEED=3"},
      {"--cpus 0 --gpus 2 --slots 4", "DCGN_EAGER_BYTES=64"},
      {"--cpus 1 --gpus 2 --slots 4", "DCGN_LANE_BYTES=256"},
  };
  for (const auto& run : runs) {
    SCOPED_TRACE(std::string(run.environment) + " " + run.arguments);
    const json d = document_of(
        run_dcgn(std::string("demo nbody --bodies 100 --steps 4 --threads 32 --frames 2 --size 90x60 --check --json ") +
                     run.arguments,
                 run.environment));
    EXPECT_EQ(d.at("wrong"), 0);
    EXPECT_LT(d.at("drift"), 1e-3);
    int bodies = 0;
    for (const json& rank : d.at("ranks")) bodies += rank.at("bodies").get<int>();
    EXPECT_EQ(bodies, 100);
    ASSERT_EQ(d.at("output"), (json{"nbody_000.png", "nbody_001.png"}));
    EXPECT_GT(std::filesystem::file_size(scratch_folder() + "/nbody_001.png"), 100u);
  }
}

TEST(Nbody, TableAndJsonFile) {
  const Result r = run_dcgn("demo nbody --bodies 64 --steps 2 --frames 1 --size 60x40 --output x --json n.json");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* part : {"slot 0 of GPU 0", "waiting", "interactions/s", "energy: ", "drift at most", "x_000.png"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part;
  EXPECT_EQ(json::parse(std::ifstream(scratch_folder() + "/n.json")).at("bodies"), 64);
}

TEST(Cannon, IsRightOnAnyGrid) {
  for (const char* arguments : {"--cpus 4 --gpus 0", "--cpus 1 --gpus 1 --slots 3", "--cpus 0 --gpus 2 --slots 2",
                                "--cpus 0 --gpus 1 --slots 1 --blocks 2"}) {
    const json d = document_of(run_dcgn(std::string("demo cannon --size 50 --repeat 2 --check --json ") + arguments));
    EXPECT_EQ(d.at("wrong"), 0) << arguments;
    EXPECT_EQ(d.at("product_s").size(), 2u);
  }
  const Result r = run_dcgn("demo cannon --size 33 --repeat 1 --check");
  for (const char* part : {"0, 1", "none", "GFLOP/s", "check: 0 of 33 rows are wrong"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part;
}

TEST(BenchApps, StandInATableAndADocument) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  const Result r = run_dcgn("bench apps nbody mandelbrot --size 48 --gpus 1,2 --steps 2 --json apps.json");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* part : {"# commit", "# nbody: a step", "# mandelbrot: a picture", "efficiency", "lines", "100.0 %"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part;
  const json d = json::parse(std::ifstream(scratch_folder() + "/apps.json"));
  EXPECT_EQ(d.at("what"), "apps");
  ASSERT_EQ(d.at("rows").size(), 4u);
  for (const json& row : d.at("rows")) {
    EXPECT_EQ(row.at("wrong"), 0);
    EXPECT_EQ(row.at("size"), 48);
    EXPECT_GT(row.at("p50"), 0);
  }
}

TEST(BenchApps, PeersStandBesideOurs) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  const Result r = run_dcgn("bench apps --size 36 --gpus 1 --steps 1 --peers mpi --json", "DCGN_EMULATED_GPUS=1");
  if (r.code == 3 && r.err.find("there is no ") != std::string::npos) GTEST_SKIP() << r.err;
  const json d = document_of(r);
  ASSERT_EQ(d.at("rows").size(), 6u);
  for (std::size_t i = 0; i < 6; i += 2) {
    EXPECT_EQ(d.at("rows")[i].at("app"), d.at("rows")[i + 1].at("app"));
    EXPECT_NE(d.at("rows")[i + 1].at("whose").get<std::string>().find(", GPU as slave"), std::string::npos);
    EXPECT_EQ(d.at("rows")[i + 1].at("wrong"), 0);
    EXPECT_EQ(d.at("rows")[i + 1].at("efficiency"), 1);
  }
}

TEST(AppMistakes, GetOneLineThatNamesTheValue) {
  const struct {
    const char* arguments;
    int code;
    const char* named;
    const char* environment = "";
  } mistakes[] = {
      {"demo nbody --bodies 0", 2, "'0'"},
      {"demo nbody --bodies 3", 2, "3 bodies for 8 ranks"},
      {"demo nbody --threads 48", 2, "48 threads"},
      {"demo nbody --blocks 0", 2, "'0'"},
      {"demo nbody --exchange direct", 2, "'direct'"},
      {"demo nbody --dt 0", 2, "'0'"},
      {"demo nbody --size 5", 2, "--size 5"},
      {"demo nbody --output /nonexistent/x", 3, "/nonexistent/x_000.png"},
      {"demo nbody --gpus 9", 2, "9 GPUs"},
      {"demo cannon --size 0", 2, "'0'"},
      {"demo cannon --size 1 --cpus 4", 2, "size 1 for a grid of 3 x 3 ranks"},
      {"demo cannon --cpus 0 --gpus 0", 2, "0 CPU kernels"},
      {"bench apps chess", 2, "'chess'"},
      {"bench apps --gpus 3", 2, "--gpus 3: expected whole numbers from 1 to 2"},
      {"bench apps --size none", 2, "--size none"},
      {"bench apps --peers ucx", 2, "'ucx'"},
      {"bench apps", 2, "no GPU", "DCGN_EMULATED_GPUS=0"},
  };
  const bool measures = run_dcgn("bench --help").code == 0;
  for (const auto& m : mistakes) {
    if (!measures && std::string(m.arguments).rfind("bench", 0) == 0) continue;
    SCOPED_TRACE(m.arguments);
    const Result r = run_dcgn(m.arguments, m.environment);
    EXPECT_EQ(r.code, m.code) << r.err;
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(is_one_line(r.err)) << r.err;
    EXPECT_NE(r.err.find(m.named), std::string::npos) << r.err;
  }
}

}  // namespace
