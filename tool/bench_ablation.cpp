// dcgn bench ablation
#include "core/bench/ablation.hpp"

#include "tool/bench_document.hpp"
#include "tool/bench_options.hpp"
#include "tool/bench_table.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>

namespace dcgn::tool {

namespace {

using bench::Idea, bench::Path, bench::Scope, bench::ScopeKind, bench::Workload;

struct AblationArguments {
  std::string pairs = "slot-slot", measures = "latency,bandwidth,rate,any-source", ideas, end;
  int repetitions = 5;
  double seconds = 0.05;
  JsonOption json;
};

// What stands for the rest: every protocol, at the scope that suits it.
struct Case {
  const char* measure;
  std::int64_t bytes;
  Scope scope{.kind = ScopeKind::thread};
  int senders = 0;
};

const Case cases[] = {
    {"latency", 8},
    {"latency", 8, {.kind = ScopeKind::warp}},
    {"any-source", 8, {.kind = ScopeKind::warp}, 8},
    {"any-source", 8, {.kind = ScopeKind::warp}, 32},
    {"latency", 4 << 10, {.kind = ScopeKind::block}},
    {"latency", 64 << 10, {.kind = ScopeKind::block}},
    {"bandwidth", 1 << 20, {.kind = ScopeKind::block}},
    {"bandwidth", 64 << 20, {.kind = ScopeKind::blocks, .blocks = 0}},
    {"rate", 8},
};

bool is_on(const Case& c, Path path) { return bench::parse_measure(c.measure) || bench::is_of_slots(path); }

int run(AblationArguments& a) {
  const std::vector<Path> paths = parse_pairs(a.pairs);
  const std::vector<std::string> measures = split(a.measures, ',');
  const std::int64_t largest = largest_message(a.end);
  const std::vector<std::string> words = split(a.ideas, ',');

  BenchDocument document("ablation", a.json);
  for (const Path path : paths) {
    std::vector<Idea> ideas;
    std::ranges::copy_if(bench::all_ideas, std::back_inserter(ideas), [&](Idea idea) {
      const bool asked = a.ideas.empty() || std::ranges::find(words, bench::name_of(idea)) != words.end();
      return asked && (idea != Idea::p2p || bench::gpus_of(path) == 2);
    });
    if (!document.quiet()) ablation_head(path, a.repetitions);
    std::vector<std::tuple<std::string, std::int64_t, std::string>> done;  // CPU ranks know no scope
    for (const Case& c : cases) {
      if (std::ranges::find(measures, c.measure) == measures.end() || c.bytes > largest || !is_on(c, path)) continue;
      const bool scoped = path == Path::cpu_slot || bench::is_of_slots(path);
      const std::tuple what(std::string(c.measure), c.bytes, scoped ? bench::name_of(c.scope) : "");
      if (!scoped && std::ranges::find(done, what) != done.end()) continue;
      done.push_back(what);
      const Workload work{.path = path, .scope = c.scope, .bytes = c.bytes, .seconds = a.seconds, .senders = c.senders};
      bool first = true;
      for (const bench::Effect& effect : bench::ablate(measurement_of(c.measure), work, ideas, a.repetitions)) {
        if (first) document.add(effect.with);
        first = false;
        document.add(effect.without)
            .update({{"factor", effect.factor}, {"least", effect.least}, {"most", effect.most}});
        if (!document.quiet()) ablation_line(effect);
      }
    }
  }
  return document.finish();
}

}  // namespace

void add_bench_ablation(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<AblationArguments>();
  CLI::App* app = parent.add_subcommand(
      "ablation",
      "What each idea of the protocol is worth\n\n"
      "Switches ideas of the protocol off one at a time and measures some rows with and without each, in one run and "
      "in\n"
      "turn. The factor is the time without the idea by the time with it, the median of all repetitions, and their "
      "range\n"
      "beside it: above 1, messages are slower without it. What checks cost is how far its factor is below 1.");
  add_pairs(*app, a->pairs);
  app->add_option(
         "--without", a->ideas,
         "What to do without: quick, calls that find all they need at once and keep no record; checks,\n"
         "deadlines and looks at the abort word; relaxed, headers without release order; bells, doorbells\n"
         "that say who has sent; batches, credit for several messages at once; p2p, GPUs in each other's memory;\n"
         "copy-engine; placing, long messages stored by a sender of many threads [all of them]")
      ->check(words_of(names_of(bench::all_ideas)))
      ->type_name("WORDS");
  app->add_option("--measure", a->measures, "Rows of what: latency, bandwidth, rate, any-source")
      ->check(words_of({"latency", "bandwidth", "rate", "any-source"}))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option("-e,--end", a->end, "The largest message; rows of larger ones are left out [1G; emulated 64K]")
      ->type_name("SIZE");
  app->add_option("--repeat", a->repetitions, "How often each is measured")
      ->type_name("N")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  app->add_option("--time", a->seconds,
                  "Seconds that a measurement should take; never fewer rounds than a median needs")
      ->type_name("S")
      ->check(positive_number())
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench ablation\n"
                          "  dcgn bench ablation --without checks --measure latency --repeat 20\n"
                          "  dcgn bench ablation --pairs cpu-cpu,slot-slot -e 64K --json ablation.json\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
