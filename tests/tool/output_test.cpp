// What the subcommands print: tables and JSON that say the same, and pictures.
#include "command.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

using dcgn::test::document_of, dcgn::test::Result, dcgn::test::run_dcgn, dcgn::test::scratch_folder;
using nlohmann::json;

namespace {

// The document on stdout, where nothing else may be.
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
  const json staged = document_of(run_dcgn("info --json", "DCGN_EMULATED_GPUS=3 DCGN_P2P=off"));
  for (const json& link : staged.at("gpu_links")) EXPECT_EQ(link.at("link"), "staged");
}

TEST(Info, JsonSaysTheSame) {
  std::ofstream(scratch_folder() + "/dcgn.toml") << "requests = 77\n";
  const json d = document_of(run_dcgn("info --json --cpus 1 --gpus 2 --slots 3 --nodes 2",
                                      "DCGN_EMULATED_GPUS=3 DCGN_DEADLINE=7 DCGN_CONFIG=dcgn.toml DCGN_MPI_PATH=/x"));
  EXPECT_EQ(d.at("devices").size(), 3u);
  EXPECT_GT(d.at("devices")[0].at("resident_blocks_of_128_threads"), 0);
  EXPECT_TRUE(d.at("build").at("parts").contains("CUDA"));
  EXPECT_EQ(d.at("placement").at("size"), 14);
  EXPECT_EQ(d.at("placement").at("ranks")[12], (json{{"rank", 12}, {"node", 1}, {"gpu", 1}, {"slot", 1}}));
  std::map<std::string, std::pair<std::string, std::string>> settings;
  for (const json& s : d.at("settings")) settings[s.at("name")] = {s.at("value"), s.at("from")};
  EXPECT_EQ(settings.at("DCGN_DEADLINE"), std::pair(std::string("7 s"), std::string("environment")));
  EXPECT_EQ(settings.at("DCGN_REQUESTS"), std::pair(std::string("77"), std::string("dcgn.toml")));
  EXPECT_EQ(settings.at("DCGN_MPI_PATH"), std::pair(std::string("/x"), std::string("environment")));
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
  EXPECT_EQ(d.at("rows").size(), 2u * (1 + 1 + 2 + 2) + 1) << "ours and a limit for each size, scope and path; a flag";
  for (const json& row : d.at("rows")) {
    EXPECT_EQ(row.at("wrong"), 0);
    EXPECT_EQ(row.at("unit"), "us");
    EXPECT_LE(row.at("p50"), row.at("p99"));
  }
}

TEST(Bench, EveryMeasureIsInTheDocument) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  const json d = document_of(run_dcgn(
      "bench p2p --json --measure latency,bandwidth,bidirectional,rate,any-source,soak --pairs slot-slot "
      "--scope thread,blocks:2 --threads 32 --window 3 --slots 2 --senders 1,4 --messages 5K -b 8 -e 4K -f 512 "
      "--time 0.001",
      "DCGN_EMULATED_GPUS=2"));
  std::map<std::string, int> rows;
  for (const json& row : d.at("rows")) {
    EXPECT_EQ(row.at("wrong"), 0) << row;
    EXPECT_EQ(row.at("path"), "slot-slot") << row;
    const std::string measure = row.at("measure"), whose = row.at("whose");
    ++rows[(whose.rfind("limit: ", 0) == 0 ? whose : "dcgn") + ", " + measure];
    if (row.at("scope") == "-") continue;  // a flag, a copy engine
    const bool several = row.at("scope") == "blocks:2";
    EXPECT_EQ(row.at("blocks"), several ? 2 : 1) << row;
    EXPECT_EQ(row.at("threads"), several || whose.rfind("dcgn", 0) == 0 ? 32 : 1) << row;
    EXPECT_EQ(row.at("unit"), measure == "rate" || measure == "soak" ? "M/s" : "us") << row;
    if (measure == "soak") {
      EXPECT_EQ(row.at("messages"), 5000);
      for (const char* key : {"lost", "duplicates", "reordered", "damaged"}) EXPECT_EQ(row.at(key), 0) << key;
    }
  }
  const std::map<std::string, int> expected = {{"dcgn, latency", 4},
                                               {"dcgn, bandwidth", 4},
                                               {"dcgn, bidirectional", 4},
                                               {"dcgn, rate", 1},
                                               {"dcgn, any-source", 2},
                                               {"dcgn, soak", 1},
                                               {"limit: flag, latency", 1},
                                               {"limit: peer stores, latency", 4},
                                               {"limit: peer stores, bandwidth", 4},
                                               {"limit: peer stores, bidirectional", 4},
                                               {"limit: peer loads, bandwidth", 4},
                                               {"limit: peer loads, bidirectional", 4},
                                               {"limit: copy engine, bandwidth", 2},
                                               {"limit: copy engine, bidirectional", 2}};
  EXPECT_EQ(rows, expected);
}

TEST(Bench, AblationHasARowWithAndWithoutEachIdea) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  const std::string arguments =
      "bench ablation --pairs cpu-cpu --without checks,quick,p2p --repeat 2 --time 0.001 -e 4K";
  const json d = document_of(run_dcgn(arguments + " --json"));
  EXPECT_EQ(d.at("what"), "ablation");
  std::vector<std::string> without;
  for (const json& row : d.at("rows")) {
    EXPECT_EQ(row.at("wrong"), 0) << row;
    without.push_back(row.value("without", "nothing"));
    EXPECT_EQ(row.contains("factor"), row.contains("without")) << row;
    if (row.contains("factor")) {
      EXPECT_LE(row.at("least"), row.at("factor")) << row;
    }
  }
  // Two CPU ranks have no scopes, and no memory of GPUs to do without.
  EXPECT_EQ(without, (std::vector<std::string>{"nothing", "quick", "checks", "nothing", "quick", "checks"}));
  const Result table = run_dcgn(arguments);
  EXPECT_EQ(table.code, 0) << table.err;
  for (const char* part : {"# ablation, cpu-cpu", "factor", "\n checks ", "latency 4 KiB"})
    EXPECT_NE(table.out.find(part), std::string::npos) << table.out;
  const Result many = run_dcgn("bench ablation --measure rate --without bells --repeat 1 --time 0.001 --json");
  EXPECT_EQ(document_of(many).at("rows").size(), 2u);
}

TEST(Bench, GatesSayWhatIsToBeReachedAndWhetherItIs) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  const Result r = run_dcgn("bench gates -e 8 --time 0.001 --repeat 1 --json gates.json", "DCGN_EMULATED_GPUS=2");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* part : {"latency 8 B, thread, slot-slot", "<= 0.9 us", ">= 300 M/s", "deadlines and abort checks"})
    EXPECT_NE(r.out.find(part), std::string::npos) << r.out;
  const json d = json::parse(std::ifstream(scratch_folder() + "/gates.json"));
  EXPECT_GE(d.at("gates").size(), 6u);
  for (const json& gate : d.at("gates")) EXPECT_TRUE(gate.at("met").is_boolean()) << gate;
  for (const json& row : d.at("rows")) EXPECT_EQ(row.at("wrong"), 0) << row;
}

TEST(Bench, TablesHaveWhatTheyAreAbout) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  const Result r = run_dcgn(
      "bench p2p --measure latency,bandwidth,rate,any-source,soak --pairs cpu-cpu,device-device,slot-slot --slots 2 "
      "--senders 3 --messages 100 --threads 32 -e 8 --time 0.001",
      "DCGN_EMULATED_GPUS=2");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  for (const char* part : {"# latency, cpu-cpu: half a round trip\n", "# latency, slot-slot: half", "limit: flag",
                           "# bandwidth, device-device: windows of at most 64 messages one way", "peer stores",
                           "copy engine", "# emulated GPUs are threads of this host",
                           "# rate, slot-slot: 2 streams of 8 B", "# any-source", "# soak", "reordered"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.size() <= 130 || line.rfind("# command", 0) == 0) << line;
}

TEST(Bench, WithoutPeerAccessThePathIsTheStagedOne) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  const char* arguments = "bench p2p --json --measure bandwidth --scope warp -b 64K -e 64K --time 0.001 --pairs ";
  const json named = document_of(run_dcgn(std::string(arguments) + "slot-slot-staged", "DCGN_EMULATED_GPUS=2"));
  const json set = document_of(run_dcgn(std::string(arguments) + "slot-slot", "DCGN_EMULATED_GPUS=2 DCGN_P2P=off"));
  for (const json& d : {named, set}) {
    std::vector<std::string> whose;
    for (const json& row : d.at("rows")) {
      EXPECT_EQ(row.at("path"), "slot-slot-staged") << row;
      EXPECT_EQ(row.at("wrong"), 0) << row;
      whose.push_back(row.at("whose"));
    }
    ASSERT_EQ(whose.size(), 4u);
    EXPECT_EQ(std::vector(whose.begin(), whose.end() - 1),
              (std::vector<std::string>{"limit: to pinned", "limit: from pinned", "limit: through pinned"}));
  }
}

TEST(Bench, TwoSlotsOfOneGpuStandInForTwoGpus) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  const json d = document_of(
      run_dcgn("bench p2p --json --pairs slot-slot,slot-slot-local,device-device --scope thread -e 8 --time 0.001",
               "DCGN_EMULATED_GPUS=1"));
  std::map<std::string, int> ours;
  for (const json& row : d.at("rows")) ours[row.at("path")] += row.at("whose").get<std::string>().rfind("dcgn", 0) == 0;
  EXPECT_EQ(ours, (std::map<std::string, int>{{"slot-slot-local", 1}, {"device-device-local", 1}}))
      << "the same path is measured once";
}

TEST(Bench, APeerInAListIsAsked) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  // Whether it is not built or cannot be run, its name is in the line.
  const Result r = run_dcgn("bench p2p --peers mpi,mpi --pairs cpu-cpu -e 8 --time 0.001", "DCGN_MPIRUN=false");
  EXPECT_EQ(r.code, 3);
  EXPECT_NE(r.err.find("--peers mpi: "), std::string::npos) << r.err;
}

TEST(Bench, PeersStandBesideOursOnTheirPath) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  json rows = json::array();
  for (const auto& [measure, bytes] :
       {std::pair("latency", 8), std::pair("bandwidth", 8), std::pair("latency", 16), std::pair("bandwidth", 16)})
    rows.push_back({{"whose", "Another 1.2"},
                    {"measure", measure},
                    {"path", "cpu-cpu"},
                    {"scope", "-"},
                    {"bytes", bytes},
                    {"rounds", 1},
                    {"p50", bytes + 0.25},
                    {"p99", 77.5},
                    {"GBps", 1},
                    {"wrong", 0}});
  std::ofstream(scratch_folder() + "/rows") << rows << '\n';
  const char* arguments =
      "bench p2p --measure latency,bandwidth,rate --pairs cpu-cpu,slot-slot-local --slots 1 --scope thread --peers mpi "
      "-e 16 --time 0.001 --json p2p.json";
  const Result r = run_dcgn(arguments, "DCGN_MPIRUN='cat rows #'");
  if (r.err.find("there is no") != std::string::npos) GTEST_SKIP() << r.err;
  EXPECT_EQ(r.code, 0) << r.err;
  std::istringstream lines(r.out);
  std::string table;
  int beside = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(", cpu-cpu:") != std::string::npos || line.find(", slot-slot") != std::string::npos) table = line;
    if (line.find("77.500") == std::string::npos) continue;
    ++beside;
    EXPECT_NE(table.find("cpu-cpu"), std::string::npos) << table;
    EXPECT_NE(line.find(line.find(" 8 ") < 9 ? " 8.250 " : " 16.250 "), std::string::npos) << line;
  }
  EXPECT_EQ(beside, 4) << r.out;
  int theirs = 0;
  const json document = json::parse(std::ifstream(scratch_folder() + "/p2p.json"));
  for (const json& row : document.at("rows")) theirs += row.at("whose") == "Another 1.2";
  EXPECT_EQ(theirs, 4);
}

TEST(Bench, NothingIsRunForWhatAPeerHasNot) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  std::string said;
  for (const auto& [peer, pairs] : {std::pair("mpi", "cpu-cpu"), {"nccl", "device-device"}, {"nvshmem", "slot-slot"}})
    said.append("dcgn: bench: --peers ")
        .append(peer)
        .append(": no rows, expected latency, bandwidth or bidirectional among --measure and ")
        .append(pairs)
        .append(" among --pairs\n");
  for (const char* arguments : {"--peers mpi,nccl,nvshmem --pairs cpu-slot -e 8",
                                "--peers mpi,nccl,nvshmem --pairs cpu-cpu,slot-slot --measure any-source"}) {
    const Result r = run_dcgn(std::string("bench p2p --time 0.001 ") + arguments, "DCGN_MPIRUN=false");
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.err, said);
  }
}

TEST(Bench, MistakesNameTheValue) {
  if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  for (const auto& [arguments, named] :
       {std::pair("-b 0", "-b 0"),
        std::pair("-b 1M -e 8", "1M"),
        std::pair("-f 1", "'1'"),
        std::pair("--pairs cpu-gpu", "cpu-gpu"),
        std::pair("--scope lane", "'lane'"),
        std::pair("--scope blocks", "'blocks': expected thread, warp, block, blocks:N or grid"),
        std::pair("--scope blocks:0", "'blocks:0'"),
        std::pair("--scope thread,blocks:2x", "'blocks:2x'"),
        std::pair("--time nan", "nan"),
        std::pair("--peers ucx", "ucx"),
        std::pair("--peers mpi,none", "mpi,none"),
        std::pair("--measure speed", "'speed'"),
        std::pair("--window 0", "'0'"),
        std::pair("--window 257", "'257'"),
        std::pair("--slots 0", "'0'"),
        std::pair("--senders 0", "--senders 0"),
        std::pair("--senders 8,", "--senders :"),
        std::pair("--senders 8,many", "--senders many"),
        std::pair("--messages 1.5M", "--messages 1.5M"),
        std::pair("--measure rate -b 12", "-b 12: expected a multiple of 8"),
        std::pair("--measure soak --pairs cpu-cpu,cpu-slot", "--pairs cpu-cpu,cpu-slot: expected slot-slot"),
        std::pair("--measure rate --scope grid", "--scope grid: expected thread, warp or block"),
        std::pair("--measure any-source --scope blocks:4", "--scope blocks:4: expected thread"),
        std::pair("--split --measure latency,rate", "--split: expected --measure latency instead of latency,rate"),
        std::pair("--split --scope grid", "--scope grid: expected thread, warp or block for --split"),
        std::pair("--scope blocks:999 --pairs slot-slot -e 8", "999 blocks"),
        std::pair("--measure any-source --senders 40", "blocks")}) {
    SCOPED_TRACE(arguments);
    const Result r = run_dcgn(std::string("bench p2p ") + arguments, "DCGN_EMULATED_GPUS=2 DCGN_EMULATED_SMS=2");
    EXPECT_EQ(r.code, 2);
    EXPECT_TRUE(dcgn::test::is_one_line(r.err)) << r.err;
    EXPECT_NE(r.err.find(named), std::string::npos) << r.err;
  }
  const Result one = run_dcgn("bench p2p --pairs slot-slot-staged", "DCGN_EMULATED_GPUS=1");
  EXPECT_EQ(one.code, 2);
  EXPECT_NE(one.err.find("--pairs slot-slot-staged: this machine has 1 GPUs, expected 2"), std::string::npos)
      << one.err;
}

}  // namespace
