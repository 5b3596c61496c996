// dcgn bench p2p
#include "bench/json.hpp"
#include "bench/machine.hpp"
#include "bench/p2p.hpp"
#include "bench/peer.hpp"
#include "bench/sizes.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace dcgn::tool {

namespace {

using bench::Path, bench::Row, bench::Scope;

struct Arguments {
  std::string begin = "8", end = "4M";
  int factor = 2;
  std::string pairs = "cpu-cpu,cpu-slot,slot-slot", scopes = "block", peers = "none";
  int threads = 128;
  double seconds = 0.2;
  JsonOption json;
};

std::int64_t parse_bytes(const char* option, const std::string& text) {
  const std::optional<std::int64_t> bytes = bench::parse_size(text);
  if (!bytes || *bytes < 1 || *bytes > 1 << 30)
    throw Error(Code::configuration, "bench",
                fmt::format("{} {}: expected a size from 1 to 1G, as in 8, 4K, 1M", option, text));
  return *bytes;
}

std::vector<Path> parse_pairs(const std::string& text) {
  std::vector<Path> paths;
  for (const std::string& name : split(text, ','))
    paths.push_back(name == "cpu-cpu" ? Path::cpu_cpu : name == "cpu-slot" ? Path::cpu_slot : Path::slot_slot);
  return paths;
}

std::vector<Scope> parse_scopes(const std::string& text) {
  std::vector<Scope> scopes;
  for (const std::string& name : split(text, ','))
    scopes.push_back(name == "thread" ? Scope::thread : name == "warp" ? Scope::warp : Scope::block);
  return scopes;
}

// MPI is the only peer so far.
bool asks_for_mpi(const std::string& peers) {
  const std::vector<std::string> names = split(peers, ',');
  const bool none = std::find(names.begin(), names.end(), "none") != names.end();
  if (none && names.size() > 1)
    throw Error(Code::configuration, "bench", fmt::format("--peers {}: expected none alone, or mpi", peers));
  return !none;
}

// A table as it grows: ours, the limit, and the peer where there is one for this pair.
class Printer {
 public:
  explicit Printer(bool quiet) : quiet_(quiet) {}

  void head(const Row& ours, const std::string& limit, const std::string& peer) const {
    if (quiet_) return;
    fmt::print("\n# {}{}: half a round trip\n", ours.path, ours.scope == "-" ? "" : ", " + ours.scope + " scope");
    fmt::print("#{:>7}  {:>46}  {:>15}", "", ours.whose, limit.substr(limit.find(' ') + 1));
    if (!peer.empty()) fmt::print("  {:>36}", peer);
    fmt::print("\n#{:>7}  {:>9} {:>9} {:>9} {:>9} {:>6}  {:>9} {:>5}", "bytes", "rounds", "p50 us", "p99 us", "GB/s",
               "wrong", "GB/s", "ours");
    if (!peer.empty()) fmt::print("  {:>9} {:>9} {:>9} {:>6}", "p50 us", "p99 us", "GB/s", "wrong");
    fmt::print("\n");
  }
  void line(const Row& ours, const Row& limit, const Row* peer) const {
    if (quiet_) return;
    fmt::print("{:>8}  {:>9} {:>9.3f} {:>9.3f} {:>9.3f} {:>6}  {:>9.3f} {:>4.0f}%", bench::size_text(ours.bytes),
               ours.rounds, ours.p50_us, ours.p99_us, ours.gb_per_s, ours.wrong, limit.gb_per_s,
               100 * ours.gb_per_s / limit.gb_per_s);
    if (peer) fmt::print("  {:>9.3f} {:>9.3f} {:>9.3f} {:>6}", peer->p50_us, peer->p99_us, peer->gb_per_s, peer->wrong);
    fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  bool quiet_;
};

int run(Arguments& a) {
  const std::int64_t begin = parse_bytes("-b", a.begin), end = parse_bytes("-e", a.end);
  if (begin > end)
    throw Error(Code::configuration, "bench", fmt::format("-b {}: expected no more than -e {}", a.begin, a.end));
  const std::vector<std::int64_t> sizes = bench::size_range(begin, end, a.factor);
  const std::vector<Path> paths = parse_pairs(a.pairs);
  for (const Path path : paths)
    if (path != Path::cpu_cpu && Device::count() == 0)
      throw Error(Code::configuration, "bench",
                  fmt::format("--pairs {}: this machine has no GPU; DCGN_EMULATED_GPUS=1 gives it an emulated one",
                              bench::name_of(path)));
  const bool mpi = asks_for_mpi(a.peers);
  if (mpi) bench::find_peer("mpi");
  a.json.open();

  const bool quiet = a.json.on_stdout();
  const std::string machine = bench::machine(), commit = bench::commit(), date = bench::date_now(),
                    command = bench::command();
  if (!quiet)
    fmt::print("# machine  {}\n# commit   {}\n# date     {}\n# command  {}\n", machine, commit, date, command);

  std::vector<Row> rows;
  std::uint64_t wrong = 0;
  const Printer printer(quiet);
  for (const Path path : paths) {
    std::vector<Row> peers;
    if (mpi && path == Path::cpu_cpu)
      peers = bench::run_peer("mpi", {.measures = {"latency"}, .sizes = sizes, .seconds = a.seconds});
    std::vector<Row> limits;
    limits.reserve(sizes.size());
    for (const std::int64_t bytes : sizes) limits.push_back(bench::measure_limit(path, bytes, a.seconds / 4));
    for (const Scope scope : path == Path::cpu_cpu ? std::vector{Scope::thread} : parse_scopes(a.scopes)) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Row ours = bench::measure(path, scope, sizes[i], a.threads, a.seconds);
        if (i == 0) printer.head(ours, limits[0].whose, peers.empty() ? "" : peers[0].whose);
        printer.line(ours, limits[i], peers.empty() ? nullptr : &peers[i]);
        wrong += ours.wrong;
        rows.push_back(ours);
      }
    }
    rows.insert(rows.end(), limits.begin(), limits.end());
    for (const Row& peer : peers) wrong += peer.wrong;
    rows.insert(rows.end(), peers.begin(), peers.end());
  }

  nlohmann::ordered_json document = {{"what", "p2p"},      {"commit", commit},
                                     {"machine", machine}, {"command", command},
                                     {"date", date},       {"rows", nlohmann::ordered_json::array()}};
  for (const Row& row : rows) document["rows"].push_back(bench::to_json(row));
  a.json.write(document.dump(1));
  if (wrong) fmt::print(stderr, "dcgn: bench: {} bytes were wrong\n", wrong);
  return wrong ? exit_job_failed : exit_ok;
}

}  // namespace

void add_bench_p2p(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* app = parent.add_subcommand(
      "p2p",
      "Latency and bandwidth between two ranks, beside memcpy and MPI\n\n"
      "Latency and bandwidth of point-to-point messages. Two ranks send to and fro in blocks of rounds; p50 and p99 "
      "are\n"
      "over blocks, of half a round trip; bandwidth is a message's bytes by the median. After each row both ends check "
      "a\n"
      "message byte by byte: `wrong` counts what differs. Beside it stands a plain copy of that size, and its share.");
  app->add_option("-b,--begin", a->begin, "The smallest message; K, M and G are powers of 1024")->capture_default_str();
  app->add_option("-e,--end", a->end, "The largest")->type_name("SIZE")->capture_default_str();
  app->add_option("-f,--factor", a->factor, "From one size to the next")
      ->type_name("N")
      ->check(whole_number(2, 1024))
      ->capture_default_str();
  app->add_option("--pairs", a->pairs, "Kinds of the two ranks; slots are on one GPU")
      ->check(words_of({"cpu-cpu", "cpu-slot", "slot-slot"}))
      ->type_name("cpu-cpu,cpu-slot,slot-slot")
      ->capture_default_str();
  app->add_option("--scope", a->scopes, "Who takes part in a slot's calls")
      ->check(words_of({"thread", "warp", "block"}))
      ->type_name("thread,warp,block")
      ->capture_default_str();
  app->add_option("--threads", a->threads, "Threads of a slot's block")
      ->type_name("N")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  app->add_option("--time", a->seconds, "Seconds that a row should take; never fewer rounds than a median needs")
      ->type_name("S")
      ->check(positive_number())
      ->capture_default_str();
  app->add_option("--peers", a->peers, "Measure others beside it: MPI between two processes, for cpu-cpu")
      ->check(words_of({"none", "mpi"}))
      ->type_name("none|mpi")
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench p2p\n"
                          "  dcgn bench p2p --pairs cpu-cpu --peers mpi -b 8 -e 1M -f 8\n"
                          "  dcgn bench p2p --pairs slot-slot --scope thread,warp,block --json p2p.json\n"
                          "With --json alone, stdout has the document and nothing else.\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
