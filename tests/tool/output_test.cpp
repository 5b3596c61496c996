// What the subcommands print: tables and JSON that say the same, and pictures.
#include "command.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

using dcgn::test::Result, dcgn::test::run_dcgn, dcgn::test::scratch_folder;
using nlohmann::json;

namespace {

// The document on stdout, where nothing else may be.
json document_of(const Result& r) {
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  return json::parse(r.out);
}

void expect_png(const std::string& name) {
  std::ifstream file(scratch_folder() + "/" + name, std::ios::binary);
  char signature[8] = {};
  file.read(signature, 8);
  EXPECT_EQ(std::string(signature, 8), std::string("\x89PNG\r\n\x1a\n", 8)) << name;
}

TEST(Info, SaysWhatIsHere) {
  const Result r = run_dcgn("info", "DCGN_EMULATED_GPUS=3 DCGN_DEADLINE=7");
  EXPECT_EQ(r.code, 0);
  for (const char* part : {"Decagon", "CUDA", "MPI", "emulated GPU", "Links", "CPU 0, node 0", "DCGN_EAGER_BYTES"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part;
  EXPECT_EQ(r.out.find('\033'), std::string::npos) << "no colours where there is no terminal";
}

TEST(Info, SaysHowGpusReachEachOther) {
  const Result on = run_dcgn("info", "DCGN_EMULATED_GPUS=3");
  EXPECT_NE(on.out.find("0 2     direct  native"), std::string::npos) << on.out;
  EXPECT_EQ(on.out.find("staged"), std::string::npos) << on.out;
  const Result off = run_dcgn("info", "DCGN_EMULATED_GPUS=3 DCGN_P2P=off");
  EXPECT_NE(off.out.find("all staged through host memory, DCGN_P2P=off"), std::string::npos) << off.out;
  EXPECT_EQ(off.out.find("direct  "), std::string::npos) << off.out;
  const json links = document_of(run_dcgn("info --json", "DCGN_EMULATED_GPUS=3")).at("gpu_links");
  ASSERT_EQ(links.size(), 6u);
  EXPECT_EQ(links[3],
            (json{{"from", 1}, {"to", 2}, {"link", "direct"}, {"native_atomics", true}, {"performance_rank", 0}}));
  for (const json& link : document_of(run_dcgn("info --json", "DCGN_EMULATED_GPUS=3 DCGN_P2P=off")).at("gpu_links"))
    EXPECT_EQ(link.at("link"), "staged");
}

TEST(Info, JsonSaysTheSame) {
  std::ofstream(scratch_folder() + "/dcgn.toml") << "requests = 77\n";
  const json d = document_of(run_dcgn("info --json --cpus 1 --gpus 2 --slots 3 --nodes 2",
                                      "DCGN_EMULATED_GPUS=3 DCGN_DEADLINE=7 DCGN_CONFIG=dcgn.toml"));
  EXPECT_EQ(d.at("devices").size(), 3u);
  EXPECT_GT(d.at("devices")[0].at("resident_blocks_of_128_threads"), 0);
  EXPECT_TRUE(d.at("build").at("parts").contains("CUDA"));
  EXPECT_EQ(d.at("placement").at("size"), 14);
  EXPECT_EQ(d.at("placement").at("ranks")[12], (json{{"rank", 12}, {"node", 1}, {"gpu", 1}, {"slot", 1}}));
  std::map<std::string, std::pair<std::string, std::string>> settings;
  for (const json& s : d.at("settings")) settings[s.at("name")] = {s.at("value"), s.at("from")};
  EXPECT_EQ(settings.at("DCGN_DEADLINE"), std::pair(std::string("7 s"), std::string("environment")));
  EXPECT_EQ(settings.at("DCGN_REQUESTS"), std::pair(std::string("77"), std::string("dcgn.toml")));
  EXPECT_EQ(settings.at("DCGN_DIRECT").second, "default");
}

TEST(Mandelbrot, ComputesTheSamePixelsOnAnyRanks) {
  const struct {
    const char* arguments;
    const char* environment;
  } runs[] = {
      {"--cpus 2 --gpus 0", ""},
      {"--cpus 1 --gpus 1 --slots 1 --threads 1", ""},
      {"--cpus 3 --gpus 2 --slots 2 --strip 1", ""},
      {"--cpus 1 --gpus 4 --slots 2 --strip 3", "DCGN_EMULATED_GPUS=4"},
      {"--cpus 1 --gpus 2 --slots 1 --nodes 2", "DCGN_EMULATED_GPUS=4"},
      {"--cpus 1 --gpus 1 --slots 2", "DCGN_DIRECT=off"},
      {"--cpus 2 --gpus 1 --slots 2 --threads 32", "DCGN_SEED=11"},
  };
  for (const auto& run : runs) {
    SCOPED_TRACE(std::string(run.environment) + " " + run.arguments);
    const json d = document_of(run_dcgn(
        std::string("demo mandelbrot --size 80x50 --iterations 200 --check --json ") + run.arguments, run.environment));
    EXPECT_EQ(d.at("wrong"), 0);
    int rows = 0;
    for (const json& rank : d.at("ranks")) rows += rank.at("rows").get<int>();
    EXPECT_EQ(rows, 50);
    for (const json& owner : d.at("owners")) EXPECT_GE(owner, 1);
    expect_png("mandelbrot.png");
    expect_png("mandelbrot_ranks.png");
  }
}

TEST(Mandelbrot, ASeedRepeatsWhoComputedWhat) {
  const auto owners = [](const char* seed) {
    return document_of(
               run_dcgn("demo mandelbrot --size 40x40 --strip 2 --threads 4 --json", std::string("DCGN_SEED=") + seed))
        .at("owners");
  };
  const json first = owners("5");
  EXPECT_EQ(owners("5"), first);
  EXPECT_TRUE(owners("6") != first || owners("7") != first);
}

TEST(Mandelbrot, TableAndJsonFile) {
  const Result r = run_dcgn("demo mandelbrot --size 64x32 --iterations 50 --output a.png --owners b.png --json c.json");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* part : {"master", "slot 0 of GPU 0", "waiting", "million pixels/s", "a.png", "b.png"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part;
  expect_png("a.png");
  expect_png("b.png");
  EXPECT_EQ(json::parse(std::ifstream(scratch_folder() + "/c.json")).at("size"), (json{64, 32}));
}

TEST(Pingpong, EveryPairReturnsWhatWasSent) {
  const json d = document_of(run_dcgn("demo pingpong --rounds 20 --sizes 4,64K --json"));
  EXPECT_EQ(d.at("rows").size(), 6u);
  for (const json& row : d.at("rows")) {
    EXPECT_EQ(row.at("wrong"), 0);
    EXPECT_GT(row.at("half_round_us"), 0);
  }
}

TEST(Bench, RowsHaveWhatResultsAreToHave) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  const json d = document_of(
      run_dcgn("bench p2p --json -b 256K -e 512K --time 0.001 --pairs cpu-cpu,slot-slot --scope warp,block"));
  for (const char* key : {"what", "commit", "machine", "command", "date", "rows"}) EXPECT_TRUE(d.contains(key)) << key;
  EXPECT_EQ(d.at("rows").size(), 2u * (1 + 1 + 2 + 1));
  for (const json& row : d.at("rows")) {
    EXPECT_EQ(row.at("wrong"), 0);
    EXPECT_EQ(row.at("unit"), "us");
    EXPECT_LE(row.at("p50"), row.at("p99"));
  }
}

TEST(Bench, APeerInAListIsAsked) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  // Whether it is not built or cannot be run, its name is in the line.
  const Result r = run_dcgn("bench p2p --peers mpi,mpi --pairs cpu-cpu -e 8 --time 0.001", "DCGN_MPIRUN=false");
  EXPECT_EQ(r.code, 3);
  EXPECT_NE(r.err.find("--peers mpi: "), std::string::npos) << r.err;
}

TEST(Bench, MistakesNameTheValue) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  for (const auto& [arguments, named] :
       {std::pair("-b 0", "-b 0"), std::pair("-b 1M -e 8", "1M"), std::pair("-f 1", "'1'"),
        std::pair("--pairs cpu-gpu", "cpu-gpu"), std::pair("--scope grid", "grid"), std::pair("--time nan", "nan"),
        std::pair("--peers nccl", "nccl"), std::pair("--peers mpi,none", "mpi,none")}) {
    const Result r = run_dcgn(std::string("bench p2p ") + arguments);
    EXPECT_EQ(r.code, 2);
    EXPECT_TRUE(dcgn::test::is_one_line(r.err)) << r.err;
    EXPECT_NE(r.err.find(named), std::string::npos) << r.err;
  }
}

}  // namespace
