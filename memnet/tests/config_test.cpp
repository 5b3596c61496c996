// Configurations: what a file means, and that every mistake is named by file, line and key.
#include "memnet/src/config.hpp"
#include "memnet/src/config_keys.hpp"
#include "memnet/src/config_values.hpp"
#include "memnet/src/network.hpp"

#include <dcgn/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace dcgn;
using namespace dcgn::memnet;

namespace {

const std::string mesh_text = "[topology]\nkind = \"mesh\"\nextents = [2, 2]\n";

const std::string cubes_text = "[topology]\nkind = \"sFBFLY\"\n[requests]\n";

Configuration parse(const std::string& content, const std::vector<std::string>& settings = {}) {
  return parse_configuration(content, "net.toml", settings);
}

std::string mistake_in(const std::string& content, const std::vector<std::string>& settings = {}) {
  try {
    parse(content, settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::configuration);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Config, DefaultsAreThoseOfTheParameters) {
  const Configuration c = parse(mesh_text);
  const Parameters expected;
  EXPECT_EQ(c.kind, RunKind::open_loop);
  EXPECT_EQ(c.parameters.clock_ghz, expected.clock_ghz);
  EXPECT_EQ(c.parameters.flit_bytes, expected.flit_bytes);
  EXPECT_EQ(c.parameters.serdes_ns, expected.serdes_ns);
  EXPECT_EQ(c.parameters.pass_through_stages, expected.pass_through_stages);
  EXPECT_EQ(c.parameters.active_pj_per_bit, expected.active_pj_per_bit);
  EXPECT_EQ(c.parameters.idle_pj_per_bit, expected.idle_pj_per_bit);
  EXPECT_EQ(c.parameters.stages, expected.stages);
  EXPECT_EQ(c.parameters.message_classes, expected.message_classes);
  EXPECT_EQ(c.parameters.vcs_per_class, expected.vcs_per_class);
  EXPECT_EQ(c.parameters.vc_buffer_bytes, expected.vc_buffer_bytes);
  EXPECT_EQ(c.parameters.credit_delay, expected.credit_delay);
  EXPECT_EQ(c.parameters.routing, expected.routing);
  EXPECT_EQ(c.parameters.source_queue_flits, expected.source_queue_flits);
  EXPECT_EQ(c.parameters.seed, expected.seed);
  EXPECT_EQ(c.parameters.warmup_cycles, expected.warmup_cycles);
  EXPECT_EQ(c.parameters.measure_cycles, expected.measure_cycles);
  EXPECT_EQ(c.parameters.max_cycles, expected.max_cycles);
  EXPECT_EQ(c.parameters.latency_limit, expected.latency_limit);
  EXPECT_EQ(c.title, c.topology.name());
  EXPECT_EQ(c.topology.routers().size(), 4U);
}

TEST(Config, DefaultsOfMemoryAndSystemsAreTheirs) {
  const Configuration closed = parse("[topology]\nkind = \"sFBFLY\"\n[requests]\ncount = 5\n");
  const DramTiming dram;
  EXPECT_EQ(closed.kind, RunKind::closed_loop);
  EXPECT_EQ(closed.memory.timing.tck_ps, dram.tck_ps);
  EXPECT_EQ(closed.memory.timing.trp, dram.trp);
  EXPECT_EQ(closed.memory.timing.tras, dram.tras);
  EXPECT_EQ(closed.plan.window, Requester().window);
  EXPECT_EQ(closed.plan.terminals, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(closed.parameters.replies);
  const MemoryNetwork network;
  const Topology expected = memory_network(network);
  EXPECT_EQ(closed.topology.channel_count(), expected.channel_count());
  EXPECT_EQ(closed.topology.terminal_channel_count(), expected.terminal_channel_count());

  const Configuration system = parse("[system]\norganisation = \"UMN\"\nworkload = \"BP\"\n");
  const SystemModel model;
  EXPECT_EQ(system.kind, RunKind::system);
  EXPECT_EQ(system.system.workload.name, "BP");
  EXPECT_EQ(system.system.model.gpus, model.gpus);
  EXPECT_EQ(system.system.model.network, model.network);
  EXPECT_EQ(system.system.model.routing, model.routing);
  EXPECT_EQ(system.system.model.pcie_gbytes, model.pcie_gbytes);
  EXPECT_EQ(system.system.model.pcie_latency_ns, model.pcie_latency_ns);
  EXPECT_EQ(system.system.model.cmn_channels, model.cmn_channels);
  EXPECT_EQ(system.system.model.sample_requests, model.sample_requests);
}

TEST(Config, AnEmptySectionSaysWhatIsSimulated) {
  EXPECT_EQ(parse(cubes_text).kind, RunKind::closed_loop);
  EXPECT_EQ(parse(cubes_text).plan.window, Requester().window);
}

TEST(Config, SystemsAreAdaptiveWithTheThresholdGiven) {
  const Configuration c = parse("[system]\norganisation = \"GMN\"\nworkload = \"BP\"\n[routing]\nugal_threshold = 7\n");
  EXPECT_EQ(c.system.model.routing, SystemModel().routing);
  EXPECT_EQ(c.system.model.ugal_threshold, 7);
}

TEST(Config, WorkloadsOfTheUsersOwn) {
  const Configuration c = parse(
      "[system]\norganisation = \"GMN\"\n[workload]\nread = \"1 MiB\"\nwritten = \"512 KiB\"\nwrite = 32\n"
      "copied_in = \"2 MiB\"\nlaunches = 3\nimbalance = 2\n");
  const Workload& w = c.system.workload;
  EXPECT_EQ(w.read, 1 << 20);
  EXPECT_EQ(w.written, 1 << 19);
  EXPECT_EQ(w.copied_in, 1 << 21);
  EXPECT_EQ(w.launches, 3);
  EXPECT_EQ(w.imbalance, 2);
  EXPECT_EQ(request_count(w), (1 << 20) / 128 + (1 << 19) / 32);
  EXPECT_NE(mistake_in("[system]\norganisation = \"GMN\"\nworkload = \"BP\"\n[workload]\nread = 1\n")
                .find("net.toml:3: system.workload"),
            std::string::npos);
}

TEST(Config, QuantitiesAreNumbersOrTextsWithUnits) {
  const Configuration c = parse(mesh_text +
                                "[network]\nclock = \"2000 MHz\"\nchannel_bandwidth = \"64 GB/s\"\nserdes = \"2 ns\"\n"
                                "[router]\nvc_buffer = \"1 KiB\"\ncredit_delay = \"1 ns\"\n"
                                "[traffic]\nload = \"16 GB/s\"\n[run]\nmeasure = \"1 us\"\n"
                                "[energy]\nactive = \"2500 fJ/bit\"\nidle = 1\n");
  EXPECT_DOUBLE_EQ(c.parameters.clock_ghz, 2);
  EXPECT_EQ(c.parameters.flit_bytes, 32);
  EXPECT_EQ(c.parameters.serdes_cycles(), 4);
  EXPECT_EQ(c.parameters.vc_buffer_bytes, 1024);
  EXPECT_EQ(c.parameters.credit_delay, 2);
  EXPECT_DOUBLE_EQ(c.load, 0.25);
  EXPECT_EQ(c.parameters.measure_cycles, 2000);
  EXPECT_DOUBLE_EQ(c.parameters.active_pj_per_bit, 2.5);
  EXPECT_DOUBLE_EQ(c.parameters.idle_pj_per_bit, 1);
}

TEST(Config, SettingsComeBeforeTheFile) {
  const Configuration c =
      parse(mesh_text + "[router]\nstages = 2\n", {"router.stages=3", "traffic.pattern=transpose",
                                                   "topology.extents=[3, 3]", "traffic.load=4 GB/s", "title=\"mine\""});
  EXPECT_EQ(c.parameters.stages, 3);
  EXPECT_EQ(c.traffic.pattern, Pattern::transpose);
  EXPECT_EQ(c.topology.routers().size(), 9U);
  EXPECT_DOUBLE_EQ(c.load, 0.2);
  EXPECT_EQ(c.title, "mine");
}

TEST(Config, MistakesNameFileLineAndKey) {
  const struct {
    std::string content;
    const char* place;
    const char* expected;
  } mistakes[] = {
      {mesh_text + "[router]\nvcs_per_class = 0\n", "net.toml:5: router.vcs_per_class = 0", "from 1 to 64"},
      {mesh_text + "[router]\nvcs = 2\n", "net.toml:5: unknown key router.vcs", "router.vcs_per_class"},
      {mesh_text + "[routers]\nstages = 2\n", "net.toml:4: unknown section [routers]", "sections"},
      {"seed = 3\n" + mesh_text, "net.toml:1: unknown key seed", "sections"},
      {mesh_text + "[router]\nstages = \"four\"\n", "net.toml:5: router.stages = 'four'", "a whole number"},
      {mesh_text + "[router]\nstages = 2.5\n", "net.toml:5: router.stages = 2.5", "a whole number"},
      {mesh_text + "[network]\nclock = \"1.25 ns\"\n", "net.toml:5: network.clock = '1.25 ns'", "GHz, MHz"},
      {mesh_text + "[network]\nserdes = -1\n", "net.toml:5: network.serdes = -1", "a number of ns from 0"},
      {mesh_text + "[network]\nserdes = nan\n", "net.toml:5: network.serdes = nan", "a number of ns"},
      {mesh_text + "[network]\nchannel_bandwidth = \"21.3 GB/s\"\n", "net.toml:5: network.channel_bandwidth",
       "a whole number of bytes"},
      {mesh_text + "[router]\nvc_buffer = \"8 B\"\n", "net.toml:5: router.vc_buffer", "at least a flit"},
      {mesh_text + "[router]\nmessage_classes = 2\nvcs_per_class = 40\n", "net.toml:6: router.vcs_per_class = 40",
       "at most 64 VCs"},
      {"[topology]\nkind = \"ring\"\n", "net.toml:2: topology.kind = 'ring'", "one of mesh, torus"},
      {"[topology]\nkind = \"mesh\"\n", "net.toml: topology.extents is missing", "a list of whole numbers"},
      {"[topology]\nkind = \"mesh\"\nextents = [8, 1]\n", "net.toml:3: topology.extents = [ 8, 1 ]", "from 2"},
      {mesh_text + "[traffic]\npattern = \"transposed\"\n", "net.toml:5: traffic.pattern = 'transposed'", "transpose"},
      {mesh_text + "[traffic]\npattern = \"hotspot\"\nhotspots = [9]\n", "net.toml:6: traffic.hotspots = [ 9 ]",
       "there is no 9"},
      {mesh_text + "[traffic]\nsources = \"gpu\"\n", "net.toml:5: traffic.sources = 'gpu'", "terminals that"},
      {mesh_text + "[traffic]\nmessage_class = 2\n", "net.toml:5: traffic.message_class = 2", "less than"},
      {mesh_text + "gpus = 4\n", "net.toml:4: topology.gpus = 4", "means nothing with topology.kind = mesh"},
      {mesh_text + "[traffic]\nhotspots = [1]\n", "net.toml:5: traffic.hotspots", "means nothing"},
      {mesh_text + "[requests]\ncount = 1\n", "net.toml: requests.from is \"gpu\" by default", "terminals that"},
      {mesh_text + "[requests]\ncount = 1\n[traffic]\nload = 1\n",
       "net.toml:4: [requests] beside [traffic] of net.toml:6", "one of"},
      {cubes_text + "[traffic]\n", "net.toml:3: [requests] beside [traffic] of net.toml:4", "one of"},
      {mesh_text + "[requests]\n", "net.toml: requests.from is \"gpu\" by default", "terminals that"},
      {mesh_text + "[replay]\n", "net.toml: replay.trace is missing", "a text"},
      {"[system]\n", "net.toml: system.organisation is missing", "PCIe"},
      {"[system]\norganisation = \"UMN\"\n[workload]\n", "net.toml: workload.read is missing", "a number of B"},
      {mesh_text + "[routing]\nugal_threshold = 3\n", "net.toml:5: routing.ugal_threshold = 3",
       "means nothing with routing.algorithm = minimal"},
      {"[system]\norganisation = \"PCIe\"\nworkload = \"BP\"\nnetwork = \"sMESH\"\n", "net.toml:4: system.network",
       "means nothing with system.organisation = PCIe"},
      {"[system]\norganisation = \"UMN\"\nworkload = \"BP\"\n[workload]\nread = 1\n", "net.toml:3: system.workload",
       "means nothing beside [workload]"},
      {"[topology]\nkind = \"dFBFLY\"\ngpus = 8\n", "net.toml: topology.channels_per_hmc", "at most channels_per_hmc"},
      {"[topology]\nkind = \"overlay\"\n", "net.toml:2: topology.kind", "a CPU"},
      {"[topology]\nkind = \"graph\"\nrouters = 4\nchannels = [[0, 1], [2, 3]]\nterminals = [[0], [1], [2]]\n",
       "net.toml:4: topology.channels: node 2 cannot be reached from node 0", "a path of channels"},
      {"[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [[0, 2]]\nterminals = [[0], [1]]\n",
       "net.toml:4: topology.channels", "0..1"},
      {"[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [[0, 1, 1]]\nterminals = [[0], [1]]\n",
       "net.toml:4: topology.channels", "two routers"},
      {"[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [{from = 0}]\nterminals = [[0], [1]]\n",
       "net.toml:4: topology.channels: number 0 is { from = 0 }", "{from, to, latency, bandwidth}"},
      {"[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [{from = 0, to = 1, delay = 1}]\nterminals = [[0]]\n",
       "net.toml:4: topology.channels: number 0 is", "no delay is known"},
      {"[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [{from = 0, to = 1, latency = \"1 m\"}]\n",
       "net.toml:4: topology.channels: number 0 is", "latency to be a number of ns"},
      {"[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [{from = 0, to = 1, bandwidth = 21}]\n",
       "net.toml:4: topology.channels", "at most network.channel_bandwidth"},
      {mesh_text + "failed = [[0, 1], [2, 0]]\n", "net.toml:4: topology.failed: node 1 cannot be reached from node 0",
       "from router 0 to router 1"},
      {mesh_text + "failed = [[0, 3]]\n", "net.toml:4: topology.failed: no channel between router 0 and router 3",
       "expected one"},
      {mesh_text + "failed = [[0]]\n", "net.toml:4: topology.failed", "two routers"},
      {"[system]\norganisation = \"UMN\"\nworkload = \"BFG\"\n", "net.toml:3: system.workload = 'BFG'", "BFS"},
      {"[system]\norganisation = \"UMN\"\nworkload = \"BP\"\n[router]\nstages = 3\n", "net.toml:5: router.stages",
       "means nothing where [system]"},
      {"[topology\n", "net.toml:1: ", ""},
      {"topology = 3\n", "net.toml:1: topology is no table", "a section [topology]"},
      {"", "net.toml: topology.kind is missing", "one of mesh"},
      {mesh_text + "[network]\nclock = \"1.3 GHz\"\n", "net.toml:5: network.clock = '1.3 GHz'",
       "a whole number of bytes"},
      {mesh_text + "[traffic]\nsources = [99]\n", "net.toml:5: traffic.sources = [ 99 ]", "from 0 to 3"},
      {mesh_text + "[traffic]\nsources = [0, 0]\n", "net.toml:5: traffic.sources = [ 0, 0 ]", "each terminal once"},
      {mesh_text + "[traffic]\nsources = []\n", "net.toml:5: traffic.sources = []", "at least one"},
      {mesh_text + "[traffic]\npattern = \"hotspot\"\n", "net.toml: traffic.hotspots is [] by default", "at least one"},
      {mesh_text + "[traffic]\npattern = \"matrix\"\nweights = [1, 2]\n", "net.toml:6: traffic.weights = [ 1, 2 ]",
       "16 numbers"},
      {mesh_text + "[traffic]\npattern = \"matrix\"\nsources = [1]\nweights = [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, "
                   "1, 1, 1]\n",
       "net.toml:7: traffic.weights", "one above 0"},
      {"[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [[0, 1]]\nterminals = [[0], []]\n",
       "net.toml:5: topology.terminals", "number 1 has none"},
      {"[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [[0, 1]]\nterminals = []\n",
       "net.toml:5: topology.terminals", "at least one"},
      {cubes_text + "line = 2048\n", "net.toml:4: requests.line = 2048", "from 32 to 128"},
      {cubes_text + "line = 100\n", "net.toml:4: requests.line = 100", "32, 64 or 128"},
      {cubes_text + "write = 2048\n", "net.toml:4: requests.write = 2048", "from 1 to 128"},
      {cubes_text + "line = 32\nwrite = 64\n", "net.toml:5: requests.write = 64", "which is 32"},
      {mesh_text + "extents = [3]\n", "net.toml:4: ", "extents"},
  };
  for (const auto& mistake : mistakes) {
    SCOPED_TRACE(mistake.content);
    const std::string error = mistake_in(mistake.content);
    EXPECT_EQ(error.rfind(std::string("dcgn: configuration: ") + mistake.place, 0), 0U) << error;
    EXPECT_NE(error.find(mistake.expected), std::string::npos) << error;
  }
}

TEST(Config, MistakesInSettingsNameThem) {
  EXPECT_NE(mistake_in(mesh_text, {"router.vcs=1"}).find("--set: unknown key router.vcs"), std::string::npos);
  EXPECT_NE(mistake_in(mesh_text, {"router.stages=0"}).find("--set: router.stages = 0: expected"), std::string::npos);
  EXPECT_NE(mistake_in(cubes_text, {"traffic.load=1"}).find("net.toml:3: [requests] beside [traffic] of --set"),
            std::string::npos);
  EXPECT_NE(mistake_in(mesh_text, {"stages"}).find("--set stages: expected key=value"), std::string::npos);
}

// At 1.25 GHz, 8 ns are ten cycles; 10 GB/s are half a flit a cycle.
TEST(Config, ChannelsOfGraphsMayBeUnlike) {
  for (const char* latency : {"\"8 ns\"", "\"10 cycles\"", "8"}) {
    const Configuration c = parse(
        "[topology]\nkind = \"graph\"\nrouters = 3\nterminals = [[0], [1], [2]]\nlatency = \"2 cycles\"\n"
        "channels = [[0, 1], {from = 1, to = 2, latency = " +
        std::string(latency) + ", bandwidth = \"10 GB/s\"}]\n");
    const Network network(c.topology, c.parameters);
    EXPECT_EQ(network.zero_load_latency(0, 1, 1), 2 + 5 * 2 + 2);
    EXPECT_EQ(network.zero_load_latency(0, 2, 1), 2 + 5 * 3 + 2 + 10);
    EXPECT_EQ(network.zero_load_latency(2, 0, 4), 2 + 5 * 3 + 2 + 10 + 3 * 2);
  }
}

TEST(Config, LatenciesOfGeneratedTopologies) {
  const Configuration c = parse("[topology]\nkind = \"dragonfly\"\nlocal_latency = 9\nglobal_latency = \"80 ns\"\n");
  for (const Channel& channel : c.topology.channels()) {
    const bool local = c.topology.routers()[channel.from].cluster == c.topology.routers()[channel.to].cluster;
    EXPECT_EQ(channel.link.extra_latency, local ? 9 : 100);
  }
  for (const char* kind : {"mesh", "torus", "flattened_butterfly"}) {
    const Configuration grid =
        parse("[topology]\nkind = \"" + std::string(kind) + "\"\nextents = [3, 3]\nextra_latency = \"4 ns\"\n");
    EXPECT_EQ(grid.topology.channels()[0].link.extra_latency, 5) << kind;
  }
  EXPECT_EQ(parse("[topology]\nkind = \"fat_tree\"\narity = 2\nlevels = 3\n").topology.terminals().size(), 8U);
}

TEST(Config, ChannelsFail) {
  EXPECT_EQ(parse(mesh_text + "failed = [[1, 0]]\n").topology.channel_count(), 3);
  EXPECT_EQ(parse(mesh_text, {"topology.failed=[[2, 3]]"}).topology.channel_count(), 3);
}

TEST(Config, MistakesInSettingsSayWhatIsMeant) {
  const struct {
    const char* setting;
    const char* error;
  } mistakes[] = {
      {"requests.trace=x.trace", "expected terminals that 2x2 mesh has; [requests], of --set, are those of processors"},
      {"topology=mesh", "--set topology=mesh: topology is a section, expected one of its keys, as in topology.kind="},
      {"router={stages=3}", "--set router={stages=3}: router is a section, expected one of its keys"},
      {"run.seed=1e3", "--set: run.seed = 1000.0: expected a whole number"},
      {"topology.channels=[[0, 1]]", "topology.channels = [ [ 0, 1 ] ]: means nothing with topology.kind = mesh"},
  };
  for (const auto& mistake : mistakes) {
    const std::string error = mistake_in(mesh_text, {mistake.setting});
    EXPECT_NE(error.find(mistake.error), std::string::npos) << error;
  }
  EXPECT_EQ(parse(mesh_text, {" router.stages = 3"}).parameters.stages, 3);
}

TEST(Config, AFileThatIsNotThereIsNamed) {
  try {
    load_configuration("/nonexistent/net.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::io);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/net.toml"), std::string::npos);
  }
}

// Of each key, a value that is out of range or of another type is refused by the key's name.
TEST(Config, EveryKeyHasItsDefaultAndItsLimits) {
  std::set<std::string_view> names;
  for (const Key& key : config_keys()) {
    const std::string name(key.name);
    SCOPED_TRACE(name);
    EXPECT_TRUE(names.insert(key.name).second);
    EXPECT_FALSE(key.meaning.empty());
    if (!key.section().empty()) {
      EXPECT_FALSE(describe_section(key.section()).empty());
    }
    ConfigValues values("", "x", {name + "=true"});
    const auto read = [&key](ConfigValues& from) {
      std::vector<int> numbers;
      switch (key.type) {
        case KeyType::text:
        case KeyType::word: from.word(key.name); break;
        case KeyType::flag: from.flag(key.name); break;
        case KeyType::count: from.wide(key.name); break;
        case KeyType::cycles:
        case KeyType::real:
        case KeyType::load:
        case KeyType::bandwidth:
        case KeyType::time:
        case KeyType::latency:
        case KeyType::bytes:
        case KeyType::frequency:
        case KeyType::energy: from.number(key.name); break;
        case KeyType::counts: from.counts(key.name); break;
        case KeyType::lists: from.lists(key.name); break;
        case KeyType::links: from.links(key.name); break;
        case KeyType::reals: from.reals(key.name); break;
        case KeyType::words: from.words(key.name); break;
        case KeyType::terminals: from.terminals(key.name, numbers); break;
      }
    };
    if (key.type != KeyType::flag) {
      EXPECT_THROW(read(values), Error);
    }
    ConfigValues defaults("", "x", {});
    if (key.fallback.empty()) {
      EXPECT_THROW(read(defaults), Error);
    } else {
      EXPECT_NO_THROW(read(defaults));
    }
    if (key.most > key.least) {
      for (const double outside : {key.least - 1, key.most * 2 + 1}) {
        const std::int64_t number = std::llround(outside);
        std::ostringstream setting;
        setting << name << '=';
        switch (key.type) {
          case KeyType::counts:
          case KeyType::reals:
          case KeyType::terminals: setting << '[' << number << ']'; break;
          case KeyType::lists:
          case KeyType::links: setting << "[[0, " << number << "]]"; break;
          case KeyType::text:
          case KeyType::word:
          case KeyType::flag:
          case KeyType::count:
          case KeyType::real:
          case KeyType::load:
          case KeyType::bandwidth:
          case KeyType::time:
          case KeyType::latency:
          case KeyType::cycles:
          case KeyType::bytes:
          case KeyType::frequency:
          case KeyType::energy:
          case KeyType::words: setting << number; break;
        }
        ConfigValues wrong("", "x", {setting.str()});
        EXPECT_THROW(read(wrong), Error) << setting.str();
      }
    }
  }
}

TEST(Config, ShortFormsAreTopologies) {
  const struct {
    const char* text;
    std::size_t routers, terminals;
  } forms[] = {{"mesh:8x8", 64, 64},          {"torus:4x4x2", 32, 32},   {"flattened_butterfly:4x4:4", 16, 64},
               {"dragonfly:2,4,2", 36, 72},   {"sFBFLY:4", 16, 4 + 16},  {"overlay:3,1", 16, 4 + 16},
               {"sMESH-2x:8", 32, 8 + 32},    {"dDFLY:4,0,2", 8, 4 + 8}, {"pcie_tree:8,4", 3, 9},
               {"nvlink_switch:8,4,4", 4, 8}, {"fat_tree:4,3", 48, 64}};
  for (const auto& form : forms) {
    SCOPED_TRACE(form.text);
    const Configuration c = parse_configuration(configuration_of(form.text), form.text);
    EXPECT_EQ(c.topology.routers().size(), form.routers);
    EXPECT_EQ(c.topology.terminals().size(), form.terminals);
  }
  for (const char* text :
       {"mesh", "mesh:8y8", "dragonfly:1,2,3,4", "graph:4", "mesh.toml", "sFBFLY:4:4", "mesh:8x8:2:3"})
    EXPECT_EQ(configuration_of(text), "") << text;
  EXPECT_EQ(short_form_of("dragonfly"), "dragonfly:P,A,H, as dragonfly:2,4,2");
  EXPECT_EQ(short_form_of("sMESH-2x"), "sMESH-2x:GPUS,CPUS,HMCS (of a cluster), as sMESH-2x:4,1");
  EXPECT_EQ(short_form_of("graph"), "");
}

TEST(Config, ErrorsOfShortFormsNameNoLine) {
  try {
    parse_configuration(configuration_of("dFBFLY:8"), "dFBFLY:8", {}, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("dcgn: configuration: dFBFLY:8: topology.channels_per_hmc: ", 0), 0U)
        << error.what();
  }
}

// What only the whole network shows.
TEST(Config, ErrorsOfNetworksGetTheKeyThatDecides) {
  const struct {
    std::string content;
    std::vector<std::string> settings;
    const char* place;
  } mistakes[] = {
      {mesh_text, {"topology.concentration=64"}, "--set: topology.concentration: "},
      {mesh_text + "concentration = 64\n", {}, "net.toml:4: topology.concentration: "},
      {"[topology]\nkind = \"torus\"\nextents = [8]\n", {"router.vcs_per_class=1"}, "--set: router.vcs_per_class: "},
      {"[topology]\nkind = \"torus\"\nextents = [8]\n[router]\nvcs_per_class = 1\n",
       {},
       "net.toml:5: router.vcs_per_class: "},
  };
  for (const auto& mistake : mistakes) {
    SCOPED_TRACE(mistake.place);
    const Configuration c = parse(mistake.content, mistake.settings);
    try {
      run_open_loop(c.topology, c.parameters, c.traffic, c.load);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(c.explain(error).what()).find(mistake.place), std::string::npos) << c.explain(error).what();
    }
  }
}

TEST(Config, WritesAreNoLongerThanLines) {
  EXPECT_EQ(parse(cubes_text + "line = 32\n").plan.pattern.write_bytes, 32U);
  EXPECT_EQ(parse(cubes_text + "line = 64\nwrite = 8\n").plan.pattern.write_bytes, 8U);
}

TEST(Config, ErrorsOfRunsGetTheirPlace) {
  const Configuration c = parse(mesh_text + "[traffic]\nload = 9\n");
  try {
    run_open_loop(c.topology, c.parameters, c.traffic, c.load);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(c.explain(error).what()).find("net.toml:5: traffic.load: rate"), std::string::npos)
        << c.explain(error).what();
  }
}

}  // namespace
