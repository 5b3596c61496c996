// `dcgn sim`: runs, sweeps, topologies and figures as a user types them; short ones.
#include "command.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using dcgn::test::contains, dcgn::test::content_of, dcgn::test::is_one_line, dcgn::test::Result, dcgn::test::run_dcgn,
    dcgn::test::scratch_folder;

namespace {

// The part of a document that runs repeat: from "rows" on.
std::string rows_of(const std::string& document) {
  const std::size_t at = document.find("\"rows\"");
  return at == std::string::npos ? "no rows" : document.substr(at);
}

class Sim : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_dcgn("sim --help").code == 2) GTEST_SKIP() << "built without measurements";
    std::ofstream(scratch_folder() + "/mesh.toml")
        << "title = \"small mesh\"\n[topology]\nkind = \"mesh\"\nextents = [4, 4]\n[run]\nmeasure = 2000\n";
  }
};

TEST_F(Sim, RunPrintsATableAndWritesWhatIsAsked) {
  const Result r = run_dcgn("sim run mesh.toml --load 0.2 --json run.json --csv run.csv --links links.svg");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  for (const char* part : {"small mesh", "latency, cycles", "p99", "throughput", "hops", "channel load", "energy",
                           "saturated     no", "busiest channels", "# commit"})
    EXPECT_TRUE(contains(r.out, part)) << part << "\n" << r.out;
  const std::string json = content_of("run.json");
  for (const char* part : {"\"what\": \"sim run\"", "\"machine\"", "\"commit\"", "\"command\"", "\"date\"", "\"rows\"",
                           "\"latency_p99\"", "\"loads\"", "\"saturated\": false"})
    EXPECT_TRUE(contains(json, part)) << part;
  const std::string csv = content_of("run.csv");
  EXPECT_EQ(csv.rfind("load,offered,throughput,throughput_gbytes,packets,latency_mean,latency_p50,latency_p99,", 0), 0U)
      << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  EXPECT_TRUE(contains(content_of("links.svg"), "</svg>"));
}

TEST_F(Sim, JsonOnStdoutIsAlone) {
  const Result r = run_dcgn("sim run mesh.toml --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out.front(), '{');
  EXPECT_EQ(r.out.substr(r.out.size() - 2), "}\n");
}

TEST_F(Sim, LogsOfARunAreThereWholeOrNotAtAll) {
  const Result r = run_dcgn("sim run mesh.toml --packets p.csv --link-csv l.csv --counters c.json --window 500");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(
      content_of("p.csv").rfind("id,source,destination,class,flits,created,injected,delivered,latency,hops\n0,", 0),
      0U);
  EXPECT_TRUE(contains(content_of("l.csv"), "\n500,1000,router 0,router 1,"));
  EXPECT_TRUE(contains(content_of("c.json"), "\"traceEvents\""));
  const Result failed = run_dcgn("sim run mesh.toml --set run.max=2000 --packets none.csv");
  EXPECT_EQ(failed.code, 2);
  EXPECT_FALSE(std::filesystem::exists(scratch_folder() + "/none.csv"));
  EXPECT_TRUE(contains(run_dcgn("sim run mesh.toml --window 0").err, "--window"));
}

TEST_F(Sim, ConfigurationsOfBooksimRunAndPrint) {
  std::ofstream(scratch_folder() + "/mesh.cfg") << "topology = mesh; k = 4; n = 2; routing_function = dor;\n"
                                                   "alloc_iters = 2; // of its allocators\n"
                                                   "internal_speedup = 2.0;\n";
  const Result refused = run_dcgn("sim run mesh.cfg");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "mesh.cfg:3: internal_speedup = 2.0: expected 1.0")) << refused.err;
  const Result r = run_dcgn("sim run mesh.cfg --set internal_speedup=1 --load 0.2 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(contains(r.err, "mesh.cfg:2: alloc_iters = 2: ignored: "));
  const Result printed = run_dcgn("sim run mesh.cfg --set internal_speedup=1 --print");
  ASSERT_EQ(printed.code, 0) << printed.err;
  EXPECT_TRUE(contains(printed.out, "#   alloc_iters = 2: ignored: "));
  std::ofstream(scratch_folder() + "/printed.toml") << printed.out;
  const Result again = run_dcgn("sim run printed.toml --load 0.2 --json");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(rows_of(r.out).substr(0, 400), rows_of(again.out).substr(0, 400));
  EXPECT_TRUE(contains(run_dcgn("sim run mesh.toml --print").err, "--print mesh.toml: expected a booksim2"));
}

TEST_F(Sim, RowsDoNotDependOnThreads) {
  const Result one = run_dcgn("sim sweep mesh.toml --load 0.1:0.4:0.1 --threads 1 --json");
  const Result four = run_dcgn("sim sweep mesh.toml --load 0.1:0.4:0.1 --threads 4 --json");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(rows_of(one.out), rows_of(four.out));
  EXPECT_TRUE(contains(one.out, "\"load\": 0.3"));
  const Result other = run_dcgn("sim sweep mesh.toml --load 0.1:0.4:0.1 --set run.seed=2 --json");
  EXPECT_NE(rows_of(one.out), rows_of(other.out));
  // A point is what a run gives.
  run_dcgn("sim sweep mesh.toml --load 0.1,0.3 --csv sweep.csv");
  run_dcgn("sim run mesh.toml --load 0.3 --csv run.csv");
  const std::string sweep = content_of("sweep.csv"), run = content_of("run.csv");
  EXPECT_EQ(sweep.substr(sweep.rfind("\n0.3,")), run.substr(run.rfind("\n0.3,")));
}

TEST_F(Sim, SaturationIsFlaggedAndFound) {
  const Result r = run_dcgn(
      "sim sweep mesh.toml --load 0.2,1 --saturation --resolution 0.05 --set traffic.pattern=bit_complement --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(contains(r.out, "\"saturated\": true"));
  EXPECT_TRUE(contains(r.out, "\"saturated\": false"));
  // Each half's eight nodes send all over the four channels between the halves.
  const std::size_t at = r.out.find("\"saturation\": {\n  \"found\": true,\n  \"load\": ");
  ASSERT_NE(at, std::string::npos) << r.out;
  const double load = std::stod(r.out.substr(at + 43));
  EXPECT_GT(load, 0.2);
  EXPECT_LE(load, 0.5);
}

TEST_F(Sim, WithoutSaturationNoneIsSaid) {
  const Result r = run_dcgn(
      "sim sweep mesh.toml --load 0.2 --saturation --resolution 0.3 --set traffic.pattern=neighbour --set "
      "topology.kind=torus --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(contains(r.out, "\"found\": false")) << r.out;
  const Result refused = run_dcgn("sim sweep mesh.toml --saturation --resolution 1");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(contains(refused.err, "--resolution 1: expected")) << refused.err;
  const Result alone = run_dcgn("sim sweep mesh.toml --load 0.2 --resolution 0.1");
  EXPECT_EQ(alone.code, 2);
  EXPECT_TRUE(contains(alone.err, "--saturation")) << alone.err;
}

TEST_F(Sim, ClosedLoopsAndSystemsRun) {
  std::ofstream(scratch_folder() + "/gmn.toml")
      << "[topology]\nkind = \"sFBFLY\"\n[requests]\ncount = 50\nrecord = \"asked.trace\"\n";
  const Result r = run_dcgn("sim run gmn.toml --json gmn.json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(contains(r.out, "request to reply")) << r.out;
  EXPECT_TRUE(contains(content_of("gmn.json"), "\"requests\": 200,"));
  EXPECT_TRUE(std::filesystem::exists(scratch_folder() + "/asked.trace"));
  const Result again =
      run_dcgn("sim run gmn.toml --set requests.trace=asked.trace --set requests.record=x --set requests.window=64");
  EXPECT_EQ(again.code, 2) << again.out;  // requests.count means nothing beside a trace
  EXPECT_TRUE(contains(again.err, "requests.count")) << again.err;
  std::ofstream(scratch_folder() + "/replay.toml")
      << "[topology]\nkind = \"sFBFLY\"\n[requests]\ntrace = \"asked.trace\"\n";
  const Result replayed = run_dcgn("sim run replay.toml --json");
  ASSERT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_TRUE(contains(replayed.out, "\"requests\": 200,"));
  std::ofstream(scratch_folder() + "/umn.toml")
      << "[system]\norganisation = \"GMN\"\nworkload = \"BP\"\nsample_requests = 50\n";
  const Result system = run_dcgn("sim run umn.toml --csv umn.csv");
  ASSERT_EQ(system.code, 0) << system.err;
  EXPECT_TRUE(contains(system.out, "assumed")) << system.out;
  EXPECT_TRUE(contains(content_of("umn.csv"), "\nGMN,BP,total,"));
}

TEST_F(Sim, RecordedKernelsRun) {
  if (!contains(run_dcgn("sim --help").out, "  record ")) GTEST_SKIP() << "built without a virtual GPU";
  const Result recorded = run_dcgn("sim record walsh walsh.kernels --scale 0 --json walsh.json");
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_TRUE(contains(recorded.out, "walsh_step")) << recorded.out;
  EXPECT_TRUE(contains(content_of("walsh.json"), "\"step\": \"copy to the GPU\""));
  std::ofstream(scratch_folder() + "/kernels.toml")
      << "[topology]\nkind = \"sFBFLY\"\n[kernels]\ntrace = \"walsh.kernels\"\n";
  const Result r = run_dcgn("sim run kernels.toml --json kernels.json --csv kernels.csv");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(contains(r.out, "walsh_step        13")) << r.out;  // of 2^13 numbers
  EXPECT_TRUE(contains(content_of("kernels.json"), "\"launches\": 13,"));
  EXPECT_TRUE(contains(content_of("kernels.csv"), "launches,blocks,"));
  const Result one = run_dcgn("sim run kernels.toml --json --set topology.gpus=1 --set gpu.cores=2");
  EXPECT_TRUE(contains(one.out, "\"warp_instructions\"")) << one.err;
  const Result none = run_dcgn("sim run kernels.toml --set kernels.trace=none.kernels");
  EXPECT_EQ(none.code, 3) << none.out;
  EXPECT_TRUE(contains(none.err, "kernels.trace: none.kernels: cannot be read")) << none.err;
  const Result cache = run_dcgn("sim run kernels.toml --set gpu.l1=100");
  EXPECT_TRUE(contains(cache.err, "gpu.l1")) << cache.err;
  const Result system = run_dcgn("sim run kernels.toml --set system.organisation=UMN");
  EXPECT_TRUE(contains(system.err, "[system] beside [kernels]")) << system.err;
  std::ofstream(scratch_folder() + "/system.toml") << "[system]\norganisation = \"GMN\"\ntrace = \"walsh.kernels\"\n";
  const Result copies = run_dcgn("sim run system.toml");
  ASSERT_EQ(copies.code, 0) << copies.err;
  EXPECT_TRUE(contains(copies.out, "walsh on GMN")) << copies.out;
  EXPECT_EQ(run_dcgn("sim record nothing x").code, 2);
}

TEST_F(Sim, TracesOfPacketsAreReplayed) {
  // One record: terminal 0 sends 3 flits of class 0 to terminal 5 at cycle 10. See memnet/src/trace.hpp.
  std::string bytes = "DCGNTRAC";
  const auto add = [&bytes](std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  };
  add(1, 4), add(16, 4), add(1, 8);
  add(10, 8), add(5, 8), add(0, 4), add(3, 2), add(2, 1), add(0, 1);
  std::ofstream(scratch_folder() + "/packets.trace", std::ios::binary) << bytes;
  std::ofstream(scratch_folder() + "/packets.toml")
      << "[topology]\nkind = \"mesh\"\nextents = [4, 4]\n[replay]\ntrace = \"packets.trace\"\n";
  const Result r = run_dcgn("sim run packets.toml --json");
  ASSERT_EQ(r.code, 0) << r.err;
  // Three routers of four stages, three flits: 2 + 5 * 3 + 2 cycles.
  EXPECT_TRUE(contains(r.out, "\"latency_mean\": 19.0")) << r.out;
  EXPECT_TRUE(contains(r.out, "\"cycles\": 29,")) << r.out;
  EXPECT_TRUE(contains(run_dcgn("sim run packets.toml").out, "packets.trace"));
}

// Before the header and the work, by the configuration's file, line and key.
TEST_F(Sim, TracesThatDoNotFitAreRefused) {
  const std::string cubes = "[topology]\nkind = \"sFBFLY\"\n[requests]\n";
  std::ofstream(scratch_folder() + "/four.toml") << cubes << "count = 5\nrecord = \"four.trace\"\n";
  ASSERT_EQ(run_dcgn("sim run four.toml").code, 0);
  const struct {
    std::string content;
    const char* error;
  } refused[] = {
      {"[topology]\nkind = \"sFBFLY\"\ngpus = 2\n[requests]\ntrace = \"four.trace\"\n",
       "two.toml:5: requests.trace: a trace of 4 sources, expected at most 2"},
      {cubes + "trace = \"none.trace\"\n", "two.toml:4: requests.trace: none.trace: cannot be read"},
      {cubes + "record = \"nowhere/x\"\n", "two.toml:4: requests.record: nowhere/x: "},
      {"[topology]\nkind = \"sFBFLY\"\n[replay]\ntrace = \"four.trace\"\n",
       "two.toml:4: replay.trace: record 0 is a read or write"},
  };
  for (const auto& one : refused) {
    SCOPED_TRACE(one.content);
    std::ofstream(scratch_folder() + "/two.toml") << one.content;
    const Result r = run_dcgn("sim run two.toml");
    EXPECT_NE(r.code, 0);
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(is_one_line(r.err)) << r.err;
    EXPECT_TRUE(contains(r.err, one.error)) << r.err;
  }
}

TEST_F(Sim, TheHostIsPredicted) {
  const Result r = run_dcgn("sim host --csv host.csv");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(contains(r.out, "predicted")) << r.out;
  EXPECT_EQ(content_of("host.csv").rfind("what,measured,model,unit,deviation,calibrates\n", 0), 0U);
}

TEST_F(Sim, TopologiesAreSummedUpAndDrawn) {
  const Result r = run_dcgn("sim topo sFBFLY:4 --svg sfbfly.svg --json topo.json");
  ASSERT_EQ(r.code, 0) << r.err;
  for (const char* part : {"routers              16", "channels             24", "bisection            16 channels",
                           "routes               dimension order"})
    EXPECT_TRUE(contains(r.out, part)) << r.out;
  EXPECT_TRUE(contains(run_dcgn("sim topo dragonfly:2,4,2").out, "bisection            at most 20 channels"));
  EXPECT_TRUE(contains(content_of("sfbfly.svg"), "gpu 3"));
  EXPECT_TRUE(contains(content_of("topo.json"), "\"graph\""));
  EXPECT_EQ(run_dcgn("sim topo mesh.toml --csv topo.csv").code, 0);
  EXPECT_TRUE(contains(content_of("topo.csv"), "\n4x4 mesh,16,24,0,16,16,5,6,"));
  EXPECT_EQ(run_dcgn("sim topo dFBFLY:8").code, 2);
  EXPECT_EQ(run_dcgn("sim topo dFBFLY:8 --set topology.channels_per_hmc=0").code, 0);
}

TEST_F(Sim, FiguresStandBesideThePaper) {
  const Result r = run_dcgn("sim figure 12 --csv f.csv --json f.json");
  ASSERT_EQ(r.code, 0) << r.err;
  for (const char* part : {"Figure 12", "saving", "holds", "Assumed", "deviation"})
    EXPECT_TRUE(contains(r.out, part)) << r.out;
  EXPECT_EQ(content_of("f.csv").rfind("figure,series,label,ours,paper,deviation,spread\n", 0), 0U);
  EXPECT_TRUE(contains(content_of("f.json"), "\"claims\""));
}

TEST_F(Sim, KeysAreExplained) {
  const Result r = run_dcgn("sim keys router");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(contains(r.out, "router.vcs_per_class"));
  EXPECT_FALSE(contains(r.out, "traffic.load"));
  EXPECT_EQ(run_dcgn("sim keys rooter").code, 2);
  EXPECT_TRUE(contains(run_dcgn("sim keys --json").out, "\"key\": \"traffic.load\""));
}

TEST_F(Sim, MistakesAreOneLineThatNamesThem) {
  std::ofstream(scratch_folder() + "/zero.toml")
      << "[topology]\nkind = \"mesh\"\nextents = [2, 2]\n[router]\nvcs_per_class = 0\n";
  std::ofstream(scratch_folder() + "/apart.toml") << "[topology]\nkind = \"graph\"\nrouters = 2\nchannels = []\n"
                                                  << "terminals = [[0], [1]]\n";
  // A ring of one VC: packets wait for each other all round it.
  std::ofstream(scratch_folder() + "/ring.toml")
      << "[topology]\nkind = \"torus\"\nextents = [5]\n[router]\nmessage_classes = 1\nvcs_per_class = 1\n";
  const struct {
    const char* arguments;
    int code;
    const char* named;
  } mistakes[] = {
      {"run zero.toml", 2, "zero.toml:5: router.vcs_per_class = 0: expected a whole number from 1 to 64"},
      {"run apart.toml", 2, "apart.toml:4: topology.channels"},
      {"run ring.toml", 2, "router 0 -> router 1"},
      {"run ring.toml", 2, "ring.toml"},
      {"run none.toml", 3, "none.toml"},
      {"run", 2, "CONFIG"},
      {"run mesh.toml --set router.stage=3", 2, "--set: unknown key router.stage"},
      {"run mesh.toml --load 2", 2, "simulate: --load 2: rate is 2.000000"},
      {"run mesh.toml --load \"2 GHz\"", 2, "configuration: --load 2 GHz: expected"},
      {"run mesh.toml --set router.vc_buffer=512.5", 2, "router.vc_buffer = 512.5: expected whole bytes"},
      {"run mesh.toml --set traffic.load=-0.1", 2, "traffic.load = -0.1: expected"},
      {"run mesh.toml --csv - --json", 2, "--json -: expected another file than --csv -"},
      {"run mesh.toml --csv /nonexistent/x.csv", 3, "/nonexistent/x.csv"},
      {"sweep mesh.toml --load 0.1:0.5", 2, "--load 0.1:0.5: expected FIRST:LAST:STEP"},
      {"sweep mesh.toml --load 0.1:0.5:0", 2, "--load"},
      {"sweep mesh.toml --threads -1", 2, "--threads"},
      {"run mesh.toml --links loads.png", 2, "'loads.png': expected a name that ends in .svg"},
      {"topo ring:4", 2, "ring"},
      {"topo dragonfly", 2, "sim: dragonfly: expected dragonfly:P,A,H, as dragonfly:2,4,2; or a TOML file"},
      {"topo graph:3", 2, "sim: graph:3: a graph has no short form, expected a TOML file"},
      {"topo mesh:8x8:2:3", 2, "sim: mesh:8x8:2:3: expected mesh:8x8, or"},
      {"run mesh.toml --set run.max=100", 2, "--set: run.max: warmup_cycles + measure_cycles is"},
      {"run mesh.toml --csv ./mesh.toml", 2, "--csv ./mesh.toml: expected another file than CONFIG mesh.toml"},
      {"run mesh.toml --csv x.out --json x.out", 2, "--json x.out: expected another file than --csv x.out"},
      {"sweep mesh.toml --load 0.1 --csv mesh.toml", 2, "expected another file than CONFIG mesh.toml"},
      {"topo mesh:1x1", 2, "mesh:1x1: topology.extents = [ 1, 1 ]: expected"},
      {"figure 13", 2, "'13': expected 12, 14"},
      {"draw", 2, "draw"},
  };
  for (const auto& m : mistakes) {
    SCOPED_TRACE(m.arguments);
    const Result r = run_dcgn(std::string("sim ") + m.arguments);
    EXPECT_EQ(r.code, m.code) << r.out << r.err;
    EXPECT_TRUE(is_one_line(r.err)) << r.err;
    EXPECT_TRUE(contains(r.err, m.named)) << r.err;
  }
}

TEST_F(Sim, PlotsOrSaysWhatIsMissing) {
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "no python3";
  const Result r = run_dcgn("sim sweep mesh.toml --load 0.1,0.2 --plot sweep.svg");
  if (std::system("python3 -c 'import matplotlib' 2>/dev/null") == 0) {
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(contains(content_of("sweep.svg"), "</svg>"));
    const Result wrong = run_dcgn("sim figure 12 --plot figure.nothing");
    EXPECT_EQ(wrong.code, 2);
    EXPECT_TRUE(is_one_line(wrong.err)) << wrong.err;
  } else {
    EXPECT_EQ(r.code, 3);
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(is_one_line(r.err)) << r.err;
    EXPECT_TRUE(contains(r.err, "matplotlib")) << r.err;
  }
}

TEST_F(Sim, SpeedStandsBesideTheOtherSimulator) {
  const std::string fake = scratch_folder() + "/booksim";
  // Prints what it is given for the load of its configuration.
  const auto make = [&](const std::string& at_tenth, const std::string& at_fifth) {
    std::ofstream(fake) << "#!/bin/sh\ngrep -q 'injection_rate = 0.1;' \"$1\" && printf '" << at_tenth
                        << "'\ngrep -q 'injection_rate = 0.2;' \"$1\" && printf '" << at_fifth << "'\nexit 255\n";
    std::filesystem::permissions(fake, std::filesystem::perms::owner_all);
  };
  const auto result = [](const std::string& latency, const std::string& rate) {
    return "Time taken is 30043 cycles\\nPacket latency average = " + latency +
           " (1 samples)\\nAccepted flit rate average = " + rate + " (1 samples)\\nHops average = 3.3 (1 samples)\\n";
  };
  make(result("15.6", "0.1"), result("16.3", "0.2"));
  const std::string arguments = "bench sim --networks dragonfly --rounds 1 --booksim " + fake;
  const Result both = run_dcgn(arguments + " --json speed.json");
  EXPECT_EQ(both.code, 0) << both.out << both.err;
  const std::string document = content_of("speed.json");
  for (const char* part : {"\"booksim2\"", "\"ratio\"", "\"flit_hops\"", "\"million_flit_hops_per_s\""})
    EXPECT_TRUE(contains(document, part)) << part << document;
  make(result("17.1", "0.1"), result("16.3", "0.2"));
  EXPECT_EQ(run_dcgn(arguments).code, 1) << "latencies that differ";
  make("Unknown topology\\n", "");
  const Result none = run_dcgn(arguments);
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.err, "printed no \"Time taken is \"")) << none.err;
  const Result missing = run_dcgn("bench sim --booksim /not/there");
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(contains(missing.err, "--booksim '/not/there'")) << missing.err;
}

}  // namespace
