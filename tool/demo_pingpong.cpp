// dcgn demo pingpong
#include "apps/pingpong/pingpong.hpp"
#include "bench/sizes.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/processes.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace dcgn::tool {

namespace {

using pingpong::Between;

struct PingpongArguments {
  std::string between = "cpu,cpu|cpu,slot|slot,slot";
  std::string sizes = "4,1K,64K,1M";
  int rounds = 1000;
  int threads = 32;
  JsonOption json;
};

Between parse_between(const std::string& text) {
  if (text == "cpu,cpu") return Between::cpu_cpu;
  if (text == "cpu,slot" || text == "slot,cpu") return Between::cpu_slot;
  if (text == "slot,slot") return Between::slot_slot;
  throw Error(Code::configuration, "pingpong", "--between " + text + ": expected cpu,cpu, cpu,slot or slot,slot");
}

std::int64_t parse_bytes(const std::string& text) {
  const std::optional<std::int64_t> bytes = bench::parse_size(text);
  if (!bytes || *bytes < 4 || *bytes % 4 || *bytes > 1 << 30)
    throw Error(Code::configuration, "pingpong", "--sizes " + text + ": expected a multiple of 4 bytes, 4 to 1G");
  return *bytes;
}

struct PingpongPlan {
  std::vector<std::pair<std::string, Between>> pairs;
  std::vector<std::int64_t> sizes;
};

PingpongPlan plan_of(const PingpongArguments& a, int processes) {
  PingpongPlan plan;
  if (processes > 2)
    throw Error(Code::configuration, "pingpong",
                fmt::format("{} processes: expected 1, or 2 for a rank each", processes));
  for (const std::string& text : split(a.between, '|')) plan.pairs.emplace_back(text, parse_between(text));
  for (const std::string& text : split(a.sizes, ',')) plan.sizes.push_back(parse_bytes(text));
  return plan;
}

int run(PingpongArguments& a) {
  const Process here = this_process();
  PingpongPlan plan;
  const int began = begin_together([&] {
    plan = plan_of(a, here.count);
    if (here.first()) a.json.open();
    return NodeShape();
  });
  if (began != exit_ok) return began;

  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  using enum Table::Align;
  Table table({{"between", left}, {"bytes"}, {"rounds"}, {"half round us"}, {"wrong"}});
  bool good = true;
  for (const auto& [name, between] : plan.pairs)
    for (const std::int64_t bytes : plan.sizes) {
      const pingpong::Result r = pingpong::run(between, bytes, a.rounds, a.threads, here.count);
      good = good && r.wrong == 0;
      table.add({name, bench::size_text(bytes), fmt::to_string(a.rounds), fmt::format("{:.3f}", r.half_round_us),
                 fmt::to_string(r.wrong)});
      rows.push_back({{"between", name},
                      {"bytes", bytes},
                      {"rounds", a.rounds},
                      {"half_round_us", r.half_round_us},
                      {"wrong", r.wrong}});
    }
  if (!here.first()) return exit_ok;
  a.json.write(nlohmann::ordered_json{{"what", "pingpong"}, {"rows", rows}}.dump(2));
  if (!a.json.on_stdout()) fmt::print("{}", table.text());
  return good ? exit_ok : exit_job_failed;
}

}  // namespace

void add_demo_pingpong(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<PingpongArguments>();
  CLI::App* app = parent.add_subcommand(
      "pingpong",
      "Two ranks of any kinds send a message to and fro\n\n"
      "Two ranks send a message to and fro: two CPU ranks, a CPU rank and a slot of a GPU, or two slots of a GPU.\n"
      "Every hop adds one to it, and what both ends hold in the end is checked. (For measurements: dcgn bench p2p.)\n"
      "In two processes (mpirun -n 2 dcgn demo pingpong) each has one of the two, and process 0 tells.");
  app->add_option("--between", a->between, "Which kinds; several, separated by |")
      ->type_name("cpu,cpu|cpu,slot|slot,slot")
      ->capture_default_str();
  app->add_option("--sizes", a->sizes, "Bytes of a message, multiples of 4; K, M and G are powers of 1024")
      ->type_name("SIZE,...")
      ->capture_default_str();
  app->add_option("--rounds", a->rounds, "To and fro so many times")
      ->type_name("N")
      ->check(whole_number(1, 100'000'000))
      ->capture_default_str();
  app->add_option("--threads", a->threads, "Threads of a slot's block")
      ->type_name("N")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  a->json.add_to(*app, "The table");
  add_trace_option(*app);
  app->footer(std::string("Examples:\n"
                          "  dcgn demo pingpong\n"
                          "  dcgn demo pingpong --between cpu,slot --sizes 4 --rounds 10000\n"
                          "  DCGN_SEED=3 dcgn demo pingpong --rounds 10\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
