// dcgn bench p2p
#include "bench/sizes.hpp"
#include "tool/bench_options.hpp"
#include "tool/bench_p2p_run.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace dcgn::tool {

namespace {

using bench::Scope, bench::ScopeKind;

struct P2pArguments {
  std::string measures = "latency", pairs = "cpu-cpu,cpu-slot,slot-slot", scopes, peers = "none";
  std::string begin = "8", end = "4M", senders = "8", messages = "100M";
  int factor = 2, window = bench::usual_window, slots = 0;
  unsigned threads = 0;
  bool split = false;
  double seconds = 0.2;
  JsonOption json;
};

P2pPlan plan_of(const P2pArguments& a) {
  const std::int64_t begin = parse_message_bytes("-b", a.begin), end = parse_message_bytes("-e", a.end);
  const auto asks = [&, measures = split(a.measures, ',')](const char* measure) {
    return std::ranges::find(measures, measure) != measures.end();
  };
  const bool streams = asks("rate") || asks("soak");
  const bool pairs = asks("latency") || asks("bandwidth") || asks("bidirectional");
  if (pairs && begin > end) refuse(fmt::format("-b {}: expected no more than -e {}", a.begin, a.end));
  if (streams && begin % 8) refuse(fmt::format("-b {}: expected a multiple of 8 for --measure rate and soak", a.begin));
  P2pPlan plan;
  for (const char* measure : {"latency", "bandwidth", "bidirectional", "rate", "any-source", "soak"})
    if (asks(measure)) plan.measures.emplace_back(measure);
  plan.paths = parse_pairs(a.pairs);
  plan.scopes = parse_scopes(a.scopes.empty() ? "block" : a.scopes, a.threads);
  plan.stream_scopes = parse_scopes(a.scopes.empty() ? "warp" : a.scopes, a.threads);
  std::erase_if(plan.stream_scopes, [](const Scope& s) { return s.kind == ScopeKind::blocks; });
  plan.sizes = begin <= end ? bench::size_range(begin, end, a.factor) : std::vector{begin};
  plan.senders = parse_numbers("--senders", a.senders, 1, 1 << 20);
  plan.peers = parse_peers(a.peers, {"mpi", "nccl", "nvshmem"});
  plan.window = a.window;
  plan.slots = a.slots;
  plan.split = a.split;
  plan.seconds = a.seconds;
  const std::optional<std::uint64_t> messages = bench::parse_count(a.messages);
  if (!messages) refuse(fmt::format("--messages {}: expected a number from 1 to 1000G, as in 5000, 100M", a.messages));
  plan.messages = *messages;

  if (a.split && a.measures != "latency")
    refuse(fmt::format("--split: expected --measure latency instead of {}", a.measures));
  if (a.split && std::ranges::any_of(plan.scopes, [](const Scope& s) { return s.kind == ScopeKind::blocks; }))
    refuse(fmt::format("--scope {}: expected thread, warp or block for --split", a.scopes));
  if (streams && std::ranges::none_of(plan.paths, bench::is_of_slots))
    refuse(fmt::format("--pairs {}: expected slot-slot or slot-slot-local for --measure rate and soak", a.pairs));
  if ((streams || asks("any-source")) && plan.stream_scopes.empty())
    refuse(fmt::format("--scope {}: expected thread, warp or block for --measure rate, any-source and soak", a.scopes));
  if (asks("any-source") && Device::count() == 0)
    refuse("--measure any-source: this machine has no GPU; DCGN_EMULATED_GPUS=1 gives it an emulated one");
  return plan;
}

constexpr const char* p2p_description =
    "Messages between ranks, beside the machine's limits and other systems\n\n"
    "Each measure is a table, a line a size:\n"
    "  latency        to and fro, in blocks of rounds: half a round trip\n"
    "  bandwidth      a window of messages under way from the first rank to the second, then a short answer\n"
    "  bidirectional  a window each way at once; GB/s is of each way, not of both\n"
    "  rate           streams of messages of -b bytes, from --slots slots of a GPU to as many of the next, or of the\n"
    "                 same: millions of messages a second over all, from the first that any receiver got to the last, "
    "by\n"
    "                 the receiving GPU's clock; and what it would be, were all streams as slow as the slowest\n"
    "  any-source     one slot receives from any source; --senders slots, over all GPUs, answer when it is their "
    "turn:\n"
    "                 half a round trip of 8 bytes\n"
    "  soak           streams as for the rate, of --messages in all\n"
    "p50 and p99 are over blocks of rounds, for one message; bandwidth is its bytes by the median. After each row of "
    "two\n"
    "ranks both check messages byte by byte, and streams are checked whole, for content and order: `wrong` counts "
    "what\n"
    "differs. Limits stand beside them: between slots kernels of plain stores and of plain loads with the same blocks "
    "and\n"
    "threads, the copy engine and, for what is small, a flag with four bytes in one store; on the staged path copies "
    "to\n"
    "pinned memory, from it and through it; elsewhere memcpy or the copy engine. `ours` is our share of the first.";

}  // namespace

void add_bench_p2p(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<P2pArguments>();
  CLI::App* app = parent.add_subcommand("p2p", p2p_description);
  app->add_option("--measure", a->measures,
                  "What to measure: latency, bandwidth, bidirectional, rate, any-source, soak")
      ->check(words_of({"latency", "bandwidth", "bidirectional", "rate", "any-source", "soak"}))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option("-b,--begin", a->begin, "The smallest message; K, M and G are powers of 1024")
      ->type_name("SIZE")
      ->capture_default_str();
  app->add_option("-e,--end", a->end, "The largest")->type_name("SIZE")->capture_default_str();
  app->add_option("-f,--factor", a->factor, "From one size to the next")
      ->type_name("N")
      ->check(whole_number(2, 1024))
      ->capture_default_str();
  add_pairs(*app, a->pairs);
  app->add_option("--scope", a->scopes,
                  "Who takes part in a slot's calls: thread, warp, block, blocks:N, or grid, a block for each\n"
                  "multiprocessor [block; warp for rate, any-source and soak]")
      ->check(scopes_of_slots())
      ->type_name("WORDS");
  app->add_option(
         "--threads", a->threads,
         "Threads of a block, where all of them take part; 32 elsewhere [512; 1024 of several blocks; emulated 128]")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  app->add_option("--window", a->window,
                  "Messages under way, for bandwidth and bidirectional; fewer where they would be more than 1 GiB")
      ->type_name("N")
      ->check(whole_number(1, bench::most_window))
      ->capture_default_str();
  app->add_flag("--split", a->split,
                "The latency in a communicator that split() makes of the two, and not in the world");
  app->add_option("--slots", a->slots, "Streams of rate and soak [the number of multiprocessors]")
      ->type_name("N")
      ->check(whole_number(1, 1 << 20));
  app->add_option("--senders", a->senders, "Senders of any-source, one or several numbers")
      ->type_name("N,...")
      ->capture_default_str();
  app->add_option("--messages", a->messages, "Messages of soak; K, M and G are powers of 1000")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--time", a->seconds, "Seconds that a row should take; never fewer rounds than a median needs")
      ->type_name("S")
      ->check(positive_number())
      ->capture_default_str();
  app->add_option("--peers", a->peers,
                  "The same by others, beside ours: mpi for cpu-cpu, nccl for device-device, nvshmem for slot-slot\n"
                  "(block scope; thread too for 8 bytes). Nothing else is run by them; stderr names one without a row")
      ->check(words_of({"none", "mpi", "nccl", "nvshmem"}))
      ->type_name("WORDS")
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench p2p\n"
                          "  dcgn bench p2p --pairs cpu-cpu --peers mpi -b 8 -e 1M -f 8\n"
                          "  dcgn bench p2p --measure latency,bandwidth,bidirectional --pairs slot-slot\n"
                          "    --scope block,blocks:8,grid -e 1G -f 4 --peers nvshmem --json p2p.json\n"
                          "  dcgn bench p2p --measure rate,any-source --scope thread,warp --senders 8,64,1055\n"
                          "  dcgn bench p2p --measure soak --messages 100M\n"
                          "With --json alone, stdout has the document and nothing else.\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run_p2p(plan_of(*a), a->json); }; });
}

}  // namespace dcgn::tool
