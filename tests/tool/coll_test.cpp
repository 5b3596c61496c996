// dcgn bench coll: its table and its document, the peers beside ours, mistakes.
#include "command.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

using dcgn::test::document_of, dcgn::test::is_one_line, dcgn::test::Result, dcgn::test::run_dcgn,
    dcgn::test::scratch_folder;
using nlohmann::json;

namespace {

// The document on stdout, where nothing else may be.
class BenchColl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
  }
};

TEST_F(BenchColl, StandsInATableAndADocument) {
  const Result r = run_dcgn(
      "bench coll --op all_reduce,all_gather,barrier --sizes 8,4K --slots 1,3 --scope thread,warp --time 0.0001 "
      "--json coll.json",
      "DCGN_EMULATED_GPUS=2");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  for (const char* part : {"# commit", "# barrier, 2 GPUs: 2 ranks", "# all_reduce, 2 GPUs x 3 slots: 6 ranks", "algbw",
                           "busbw", "redop", " sum "})
    EXPECT_NE(r.out.find(part), std::string::npos) << part;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.size() <= 130 || line.rfind("# command", 0) == 0) << line;

  const json d = json::parse(std::ifstream(scratch_folder() + "/coll.json"));
  EXPECT_EQ(d.at("what"), "coll");
  for (const char* key : {"commit", "machine", "command", "date"}) EXPECT_TRUE(d.contains(key)) << key;
  ASSERT_EQ(d.at("rows").size(), 2u * 2 * (1 + 2 + 2)) << "slots, scopes, collectives' sizes";
  std::set<std::pair<std::string, int>> sizes;
  for (const json& row : d.at("rows")) {
    EXPECT_EQ(row.at("wrong"), 0) << row;
    EXPECT_GT(row.at("p50"), 0) << row;
    EXPECT_EQ(row.at("ranks"), 2 * row.at("slots").get<int>()) << row;
    EXPECT_EQ(row.at("unit"), "us");
    if (row.at("ranks") == 6) sizes.emplace(row.at("measure"), row.at("bytes"));
    if (row.at("measure") == "all_reduce") {
      const double n = row.at("ranks");
      EXPECT_DOUBLE_EQ(row.at("busGBps"), row.at("GBps").get<double>() * (2 * (n - 1) / n));
    }
  }
  EXPECT_EQ(sizes,
            (std::set<std::pair<std::string, int>>{
                {"barrier", 0}, {"all_reduce", 8}, {"all_reduce", 4096}, {"all_gather", 24}, {"all_gather", 4080}}));
}

TEST_F(BenchColl, RunsOnCpuRanksAlone) {
  const json d = document_of(
      run_dcgn("bench coll --op all --cpus 3 -b 64 -e 1K -f 16 --time 0.0001 --json", "DCGN_EMULATED_GPUS=0"));
  EXPECT_EQ(d.at("rows").size(), 9u * 2 + 1);
  for (const json& row : d.at("rows")) {
    EXPECT_EQ(row.at("path"), "3 CPUs");
    EXPECT_EQ(row.at("scope"), "-");
    EXPECT_EQ(row.at("wrong"), 0) << row;
  }
  const json two = document_of(run_dcgn("bench coll --op scan --sizes 8 --time 0.0001 --json", "DCGN_EMULATED_GPUS=0"));
  EXPECT_EQ(two.at("rows")[0].at("path"), "2 CPUs") << "where there is no GPU";
}

TEST_F(BenchColl, CpuRanksAndSlotsTakePartTogether) {
  const json d = document_of(
      run_dcgn("bench coll --op all_to_all,reduce --cpus 1 --gpus 1 --slots 2 --scope warp --sizes 96 --time 0.0001 "
               "--json",
               "DCGN_EMULATED_GPUS=1"));
  ASSERT_EQ(d.at("rows").size(), 2u);
  for (const json& row : d.at("rows")) {
    EXPECT_EQ(row.at("path"), "1 CPU + 1 GPU x 2 slots");
    EXPECT_EQ(row.at("ranks"), 3);
    EXPECT_EQ(row.at("wrong"), 0);
  }
}

TEST_F(BenchColl, PeersStandBesideOursAtTheirSize) {
  json rows = json::array();
  for (const int bytes : {8, 64})
    rows.push_back({{"whose", "Another 1.2"},
                    {"measure", "broadcast"},
                    {"path", "2 CPUs"},
                    {"scope", "-"},
                    {"bytes", bytes},
                    {"rounds", 1},
                    {"p50", bytes + 0.25},
                    {"p99", 77.5},
                    {"GBps", 1},
                    {"wrong", 0},
                    {"ranks", 2}});
  std::ofstream(scratch_folder() + "/rows") << rows << '\n';
  const char* arguments = "bench coll --op broadcast --cpus 2 --sizes 8,64 --peers mpi --time 0.0001";
  const Result r = run_dcgn(arguments, "DCGN_MPIRUN='cat rows #'");
  if (r.err.find("there is no") != std::string::npos) GTEST_SKIP() << r.err;
  EXPECT_EQ(r.code, 0) << r.err;
  std::istringstream lines(r.out);
  std::string before;
  int beside = 0;
  for (std::string line; std::getline(lines, line); before = line) {
    if (line.find("Another 1.2") == std::string::npos) continue;
    ++beside;
    EXPECT_EQ(line.substr(0, 8), before.substr(0, 8)) << "below ours of the same size";
    EXPECT_NE(line.find(line.find(" 8 ") < 9 ? " 8.250 " : " 64.250 "), std::string::npos) << line;
  }
  EXPECT_EQ(beside, 2) << r.out;

  rows[0]["wrong"] = 3;
  std::ofstream(scratch_folder() + "/rows") << rows << '\n';
  const Result wrong = run_dcgn(arguments, "DCGN_MPIRUN='cat rows #'");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("3 elements were wrong"), std::string::npos) << wrong.err;
}

TEST_F(BenchColl, NothingIsRunForWhatAPeerHasNot) {
  const Result r =
      run_dcgn("bench coll --op barrier,scan --slots 2 --peers nccl,custom,torch,nvshmem,mpi --time 0.0001",
               "DCGN_MPIRUN=false DCGN_EMULATED_GPUS=1");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
}

TEST_F(BenchColl, GatesSayWhatIsToBeReachedAndWhatIs) {
  const Result r =
      run_dcgn("bench gates coll -e 8 --time 0.0001 --json gates.json", "DCGN_EMULATED_GPUS=2 DCGN_EMULATED_SMS=2");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  const json d = json::parse(std::ifstream(scratch_folder() + "/gates.json"));
  ASSERT_EQ(d.at("gates").size(), 6u);
  EXPECT_EQ(d.at("rows").size(), 6u);
  EXPECT_EQ(d.at("gates")[1].at("what"), "barrier, warp, 2 GPUs x 2 slots");
  EXPECT_EQ(d.at("gates")[1].at("reach"), "<= 3 us");
  EXPECT_EQ(d.at("gates")[2].at("what"), "all_reduce 8 B, warp, 2 GPUs");
  EXPECT_NE(r.out.find(d.at("gates")[2].at("measured").get<std::string>()), std::string::npos) << r.out;
  for (const std::size_t gate : {0, 1, 2}) EXPECT_TRUE(d.at("gates")[gate].at("met").is_boolean());
  for (const std::size_t gate : {3, 4, 5}) {
    EXPECT_EQ(d.at("gates")[gate].at("reach"), "< best peer");
    EXPECT_TRUE(d.at("gates")[gate].at("met").is_null()) << "without a peer it is neither met nor missed";
    EXPECT_NE(r.out.find("# " + d.at("gates")[gate].at("what").get<std::string>()), std::string::npos) << r.out;
  }
  const Result none = run_dcgn("bench gates coll", "DCGN_EMULATED_GPUS=0");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("gates coll: this machine has no GPU"), std::string::npos) << none.err;
  EXPECT_EQ(run_dcgn("bench gates chess").code, 2);
}

TEST_F(BenchColl, MistakesNameTheValue) {
  for (const auto& [arguments, named] :
       {std::pair("--op allreduce", "'allreduce'"),
        std::pair("--op all_reduce,", "'': expected"),
        std::pair("--sizes 8,x", "--sizes x: expected a size"),
        std::pair("--sizes 0", "--sizes 0"),
        std::pair("--sizes 2G", "--sizes 2G"),
        std::pair("--sizes 8,7", "--sizes 7: expected multiples of 4"),
        std::pair("--sizes 8 -b 8", "--sizes 8: expected either this, or -b and -e"),
        std::pair("-b 1M", "-b 1M: expected no more than -e 64K"),
        std::pair("-f 1", "'1'"),
        std::pair("--gpus 3", "--gpus 3: this machine has 2 GPUs"),
        std::pair("--gpus 0 --cpus 0", "0 ranks"),
        std::pair("--cpus 4097", "'4097'"),
        std::pair("--slots 0", "--slots 0"),
        std::pair("--slots 1,", "--slots "),
        std::pair("--slots 5000", "10000 ranks: expected 1 to 4096"),
        std::pair("--scope lane", "'lane': expected thread, warp, block, blocks:N or grid, or by-size, all"),
        std::pair("--scope block --threads 600", "--threads 600: expected at most 512"),
        std::pair("--slots 40 --op barrier", "blocks"),
        std::pair("--time 0", "'0'"),
        std::pair("--peers ucx", "'ucx'"),
        std::pair("--peers none,mpi", "none,mpi")}) {
    SCOPED_TRACE(arguments);
    const Result r = run_dcgn(std::string("bench coll ") + arguments, "DCGN_EMULATED_GPUS=2 DCGN_EMULATED_SMS=2");
    EXPECT_EQ(r.code, 2);
    EXPECT_TRUE(is_one_line(r.err)) << r.err;
    EXPECT_NE(r.err.find(named), std::string::npos) << r.err;
  }
}

}  // namespace
