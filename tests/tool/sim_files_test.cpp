// The files of `dcgn sim`: none that a run reads is written over, and stdout has one document at a time.
#include "command.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

using dcgn::test::contains, dcgn::test::content_of, dcgn::test::is_one_line, dcgn::test::Result, dcgn::test::run_dcgn,
    dcgn::test::scratch_folder;

namespace {

void write_file(const std::string& name, const std::string& content) {
  std::ofstream(scratch_folder() + "/" + name) << content;
}

class SimFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_dcgn("sim --help").code == 2) GTEST_SKIP() << "built without measurements";
    write_file("mesh.toml", "[topology]\nkind = \"mesh\"\nextents = [4, 4]\n[run]\nmeasure = 2000\n");
    write_file("mesh.cfg", "topology = mesh; k = 4; n = 2; routing_function = dor; sample_period = 1000;\n");
  }
};

TEST_F(SimFiles, NothingThatARunReadsIsWrittenOver) {
  const std::string packets = "10 0 5 0 3\n";
  const std::string routes = "from,to,next\n0,1,1\n1,0,0\n";
  const std::string graph = "router 0 node 0 router 1 3\nrouter 1 node 1 router 0 3\n";
  const std::string pair = "[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [[0, 1]]\nterminals = [[0], [1]]\n";
  const std::string cubes = "[topology]\nkind = \"sFBFLY\"\n[requests]\n";
  write_file("packets.txt", packets);
  write_file("routes.csv", routes);
  write_file("graph.txt", graph);
  write_file("replay.toml", "[topology]\nkind = \"mesh\"\nextents = [4, 4]\n[router]\nmessage_classes = 1\n" +
                                std::string("[replay]\ntrace = \"packets.txt\"\n"));
  write_file("routed.toml", pair + "[routing]\ntable = \"routes.csv\"\n[run]\nmeasure = 2000\n");
  write_file("any.cfg", "topology = anynet; routing_function = min; network_file = graph.txt; sample_period = 500;");
  write_file("record.toml", cubes + "count = 5\nrecord = \"asked.trace\"\n");
  write_file("asked.toml", cubes + "trace = \"asked.trace\"\n");
  ASSERT_EQ(run_dcgn("sim run record.toml").code, 0);
  const std::string accesses = content_of("asked.trace");
  ASSERT_FALSE(accesses.empty());
  const std::string config = content_of("any.cfg");

  const struct {
    const char* command;
    const char* error;
  } refused[] = {
      {"sim run replay.toml --packets packets.txt", "--packets packets.txt: expected another file than replay.trace"},
      {"sim run replay.toml --csv ./packets.txt", "--csv ./packets.txt: expected another file than replay.trace"},
      {"sim run routed.toml --csv routes.csv", "--csv routes.csv: expected another file than routing.table routes.csv"},
      {"sim sweep routed.toml --load 0.1 --json routes.csv", "--json routes.csv: expected another file than routing"},
      {"sim topo routed.toml --csv routes.csv", "--csv routes.csv: expected another file than routing.table"},
      {"sim topo routed.toml --csv routed.toml", "--csv routed.toml: expected another file than CONFIG routed.toml"},
      {"sim run any.cfg --packets graph.txt", "--packets graph.txt: expected another file than network_file graph.txt"},
      {"sim sweep any.cfg --load 0.1 --csv any.cfg", "--csv any.cfg: expected another file than CONFIG any.cfg"},
      {"sim run asked.toml --link-csv asked.trace", "expected another file than requests.trace asked.trace"},
      {"sim run asked.toml --set requests.record=asked.trace", "expected another file than requests.trace asked.trace"},
      {"sim run record.toml --set requests.record=record.toml", "requests.record record.toml: expected another file"},
      {"sim run record.toml --json asked.trace", "--json asked.trace: expected another file than requests.record"},
  };
  for (const auto& one : refused) {
    SCOPED_TRACE(one.command);
    const Result r = run_dcgn(one.command);
    EXPECT_EQ(r.code, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(is_one_line(r.err)) << r.err;
    EXPECT_TRUE(contains(r.err, one.error)) << r.err;
  }
  EXPECT_EQ(content_of("packets.txt"), packets);
  EXPECT_EQ(content_of("routes.csv"), routes);
  EXPECT_EQ(content_of("graph.txt"), graph);
  EXPECT_EQ(content_of("asked.trace"), accesses);
  EXPECT_EQ(content_of("any.cfg"), config);
}

TEST_F(SimFiles, NamesOfOneFileAreFoundThroughLinks) {
  std::filesystem::create_symlink("there.csv", scratch_folder() + "/link.csv");  // to no file yet
  const Result r = run_dcgn("sim run mesh.toml --csv link.csv --packets there.csv");
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(contains(r.err, "--packets there.csv: expected another file than --csv link.csv")) << r.err;
  ASSERT_EQ(run_dcgn("sim run mesh.toml --csv link.csv").code, 0);
  EXPECT_EQ(content_of("there.csv").rfind("load,", 0), 0U);
  std::filesystem::create_symlink("around.csv", scratch_folder() + "/around.csv");
  const Result around = run_dcgn("sim run mesh.toml --csv around.csv");
  EXPECT_EQ(around.code, 3);
  EXPECT_TRUE(contains(around.err, "around.csv: cannot be written")) << around.err;
  // A pipe has no name of its own.
  EXPECT_EQ(run_dcgn("sim run mesh.toml --csv /dev/stdout --json j.json | cat > piped.txt; test -s j.json").code, 0);
  EXPECT_TRUE(contains(content_of("j.json"), "\"rows\""));
}

TEST_F(SimFiles, RowsOnStdoutAreAlone) {
  for (const auto& [option, begin] : {std::pair("--csv", "load,"), std::pair("--packets", "id,"),
                                      std::pair("--link-csv", "start,"), std::pair("--counters", "{")}) {
    SCOPED_TRACE(option);
    const Result r = run_dcgn(std::string("sim run mesh.toml ") + option + " -");
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out.rfind(begin, 0), 0U) << r.out.substr(0, 200);
    EXPECT_FALSE(contains(r.out, "# commit"));
    EXPECT_FALSE(contains(r.out, "throughput    "));
  }
  const Result both = run_dcgn("sim run mesh.toml --packets - --link-csv -");
  EXPECT_EQ(both.code, 2);
  EXPECT_EQ(both.out, "");
  const Result json = run_dcgn("sim run mesh.toml --packets - --json");
  EXPECT_EQ(json.code, 2);
  EXPECT_EQ(json.out, "");
}

TEST_F(SimFiles, OptionsThatWouldDoNothingAreRefused) {
  EXPECT_TRUE(contains(run_dcgn("sim run mesh.toml --window 5").err, "--window 5: expected --link-csv or --counters"));
  EXPECT_EQ(run_dcgn("sim run mesh.toml --window 5 --packets p.csv").code, 2);
  for (const char* option : {"--load 0.3", "--json", "--csv x", "--links x.svg", "--packets x", "--link-csv x",
                             "--counters x", "--window 5"}) {
    SCOPED_TRACE(option);
    const Result r = run_dcgn(std::string("sim run mesh.cfg --print ") + option);
    EXPECT_EQ(r.code, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(contains(r.err, "excludes --print")) << r.err;
  }
  EXPECT_FALSE(std::filesystem::exists(scratch_folder() + "/x"));
  const Result own = run_dcgn("sim run mesh.cfg --print --set num_vcs=4 --set router.stages=2");
  EXPECT_EQ(own.code, 2);
  EXPECT_TRUE(contains(own.err, "--print --set router.stages=2: expected a key of booksim2")) << own.err;
  // Nothing is printed that would not run.
  const Result none = run_dcgn("sim run mesh.cfg --print --set 'traffic=tornado' --set k=1");
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.out, "");
}

TEST_F(SimFiles, TopologiesOfBooksimAreSummedUp) {
  const Result r = run_dcgn("sim topo mesh.cfg --set alloc_iters=2 --csv -");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(contains(r.out, "\n4x4 mesh,16,24,0,16,16,5,6,")) << r.out;
  EXPECT_TRUE(contains(r.err, "dcgn: --set: alloc_iters = 2: ignored: ")) << r.err;
}

}  // namespace
