// Messages between CPU ranks of two processes, in the rounds of bench/peers/mpi_p2p.cpp, and beside what that has
// written; or between slots of two; or with datatypes; or collectives of CPU ranks, in the rounds of mpi_coll.cpp:
//   mpirun -n 2 dcgn_peer_mpi_p2p ... >peer.json
//   mpirun -n 2 dcgn_bench_processes [--beside peer.json] --measures latency,bandwidth --seconds S [--window N] SIZE...
// Writes its own rows and the peer's as JSON, and a table to stderr.
#include "bench/json.hpp"
#include "bench/memory.hpp"
#include "bench/peers/coll_rounds.hpp"
#include "bench/peers/rounds.hpp"
#include "bench/processes/collectives.hpp"
#include "bench/processes/slots.hpp"
#include "core/bench/ddt_messages.hpp"

#include <dcgn/dcgn.hpp>

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace {

using namespace dcgn;
using bench::peer::Measure, bench::peer::Round;

// One of the two processes.
class End {
 public:
  End(Comm& comm, std::size_t room) : comm_(comm), rank_(comm.rank()), out_(room), in_(room) {}

  // Does these rounds; gives the microseconds that they took.
  double run(const Round& round, std::uint64_t rounds) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < rounds; ++i) switch (round.measure) {
        case Measure::latency: there_and_back(round.bytes); break;
        case Measure::bandwidth:
          windows(round, rank_ == 0, rank_ == 1);
          answer();
          break;
        case Measure::bidirectional: windows(round, true, true); break;
      }
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }

  // One more round, whose messages are compared. How many bytes were wrong at both ends; both call it.
  std::uint64_t count_wrong(const Round& round) {
    const std::int64_t all = round.extent();
    const auto mine = static_cast<unsigned>(rank_);
    for (std::int64_t i = 0; i < all; ++i) {
      out_.data()[i] = bench::pattern(i, mine);
      in_.data()[i] = static_cast<unsigned char>(~bench::pattern(i, 1 - mine));  // differs everywhere from what comes
    }
    run(round, 1);
    std::uint64_t wrong = 0;
    if (rank_ == 1 || round.measure != Measure::bandwidth)
      for (std::int64_t i = 0; i < all; ++i) wrong += in_.data()[i] != bench::pattern(i, 1 - mine);
    comm_.all_reduce(wrong, Sum{});
    return wrong;
  }

 private:
  void there_and_back(std::int64_t bytes) {
    if (rank_ == 0) comm_.send_bytes(out_.data(), bytes, 1);
    comm_.recv_bytes(in_.data(), bytes, 1 - rank_);
    if (rank_ == 1) comm_.send_bytes(out_.data(), bytes, 0);
  }
  void windows(const Round& round, bool sends, bool receives) {
    const std::int64_t bytes = round.bytes;
    requests_.clear();
    for (std::int64_t i = 0; receives && i < round.messages; ++i)
      requests_.push_back(comm_.irecv_bytes(in_.data() + i * bytes, bytes, 1 - rank_));
    for (std::int64_t i = 0; sends && i < round.messages; ++i)
      requests_.push_back(comm_.isend_bytes(out_.data() + i * bytes, bytes, 1 - rank_));
    comm_.wait_all(requests_);
  }
  void answer() {
    if (rank_ == 0)
      comm_.recv_bytes(nullptr, 0, 1);
    else
      comm_.send_bytes(nullptr, 0, 0);
  }

  Comm& comm_;
  int rank_;
  bench::Pages out_, in_;
  std::vector<Request> requests_;
};

using Rows = std::map<std::pair<std::string, std::int64_t>, bench::Row>;

Rows read_peer(const char* path) {
  Rows rows;
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("--beside {}: cannot be read", path));
  for (const auto& j : nlohmann::ordered_json::parse(file)) {
    const bench::Row row = bench::row_from(j);
    rows[{row.measure, row.bytes}] = row;
  }
  return rows;
}

// What issue 4 asks: latency of 8 B at most 1.5 x the peer's and 5 us, large messages at 85 % of its bandwidth.
void print(const bench::Row& ours, const bench::Row* peer) {
  fmt::print(stderr, "{:>14} {:>10} B {:>10.2f} us {:>10.2f} us {:>8.2f} GB/s {:>3} wrong", ours.measure, ours.bytes,
             ours.p50_us, ours.p99_us, ours.gb_per_s, ours.wrong);
  if (peer)
    fmt::print(stderr, "   {}: {:.2f} us {:.2f} us {:.2f} GB/s, {:.2f} x the time", peer->whose, peer->p50_us,
               peer->p99_us, peer->gb_per_s, ours.p50_us / peer->p50_us);
  fmt::print(stderr, "\n");
}

void measure_all(const bench::peer::Arguments& a, const Rows& peers, Comm& comm) {
  End end(comm, bench::peer::room(a));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto of_rank_0 = [&](double value) {
    comm.broadcast(value, 0);
    return value;
  };
  if (comm.rank() == 0) fmt::print(stderr, "{:>14} {:>12} {:>13} {:>13} {:>13}\n", "", "", "p50", "p99", "");
  for (const Measure measure : a.measures)
    for (const std::int64_t bytes : a.sizes) {
      const Round round = a.round(measure, bytes);
      bench::Row row = bench::peer::time_rounds(
          round, a.seconds, [&](std::uint64_t rounds) { return end.run(round, rounds); }, of_rank_0);
      row.whose = fmt::format("dcgn {}", version);
      row.path = "cpu-cpu";
      row.scope = "-";
      row.wrong = end.count_wrong(round);
      const auto peer = peers.find({row.measure, row.bytes});
      rows.push_back(bench::to_json(row));
      if (peer != peers.end()) rows.push_back(bench::to_json(peer->second));
      if (comm.rank() == 0) print(row, peer == peers.end() ? nullptr : &peer->second);
    }
  if (comm.rank() == 0) fmt::print("{}\n", rows.dump());
}

// Each row is a job; only the first process knows its figures.
void measure_all_slots(const bench::peer::Arguments& a, bool by_block) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Measure measure : a.measures)
    for (const std::int64_t bytes : a.sizes) {
      const bench::Row row = bench::measure_slots(measure, bytes, a.window, a.seconds, by_block);
      if (row.p50_us <= 0) continue;
      rows.push_back(bench::to_json(row));
      print(row, nullptr);
    }
  if (!rows.empty()) fmt::print("{}\n", rows.dump());
}

void measure_all_collectives(const bench::peer::CollArguments& a, const Rows& peers) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const bench::peer::CollRound& round : a.rounds) {
    const bench::Row row = bench::measure_between_processes(
        {.op = round.op, .ranks = {.cpus = a.ranks}, .bytes = round.bytes, .seconds = a.seconds});
    if (row.p50_us <= 0) continue;
    const auto peer = peers.find({row.measure, row.bytes});
    rows.push_back(bench::to_json(row));
    if (peer != peers.end()) rows.push_back(bench::to_json(peer->second));
    print(row, peer == peers.end() ? nullptr : &peer->second);
  }
  if (!rows.empty()) fmt::print("{}\n", rows.dump());
}

// SHAPE OTHER BYTES SECONDS OCCUPIED, as `dcgn bench ddt --messages two-processes` gives them.
void measure_datatypes(int argc, char** argv) {
  if (argc != 5) throw std::runtime_error(fmt::format("--ddt: {} arguments, expected 5", argc));
  const auto shape = bench::parse_ddt_shape(argv[0]), other = bench::parse_ddt_shape(argv[1]);
  if (!shape || !other) throw std::runtime_error(fmt::format("--ddt {} {}: expected two shapes", argv[0], argv[1]));
  const bench::DdtMessage message{.shape = *shape,
                                  .other = *other,
                                  .bytes = std::stoll(argv[2]),
                                  .path = bench::DdtPath::two_processes,
                                  .seconds = std::stod(argv[3]),
                                  .occupied = std::stoi(argv[4])};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const bench::DdtRow& row : bench::measure_ddt_message_here(message))
    if (row.rounds) rows.push_back(bench::to_json(row));
  if (!rows.empty()) fmt::print("{}\n", rows.dump());
}

constexpr const char* help =
    R"(Messages between CPU ranks of two processes, as MPI's users write them, beside plain MPI's; or between slots;
or collectives of CPU ranks.

  mpirun -n 2 dcgn_peer_mpi_p2p --measures latency --seconds 0.5 8 4K >peer.json
  mpirun -n 2 dcgn_bench_processes --beside peer.json --measures latency --seconds 0.5 8 4K
  mpirun -n 2 dcgn_bench_processes --slots block --measures latency,bandwidth --seconds 0.2 8 64K

  mpirun -n 4 dcgn_peer_mpi_coll --ranks 4 --seconds 0.2 all_reduce:8 broadcast:1M >peer.json
  mpirun -n 2 dcgn_bench_processes --beside peer.json --collectives --ranks 4 --seconds 0.2 all_reduce:8 broadcast:1M

  --beside FILE     what the peer wrote, for the same measures and sizes; first of all options
  --slots SCOPE     between a slot of each process, by a thread or a block; next
  --ddt SHAPE OTHER BYTES SECONDS OCCUPIED
                    instead of all else: messages between layouts, as dcgn bench ddt --messages two-processes has them
  --collectives     next, and then --ranks N, of all processes together and as many in each, --seconds S and OP:SIZE...
  --measures LIST   latency (half a round trip), bandwidth (windows of messages one way), bidirectional
  --seconds S       to measure each for, about
  --window N        messages under way at once
  SIZE...           bytes of a message, as in 8, 4K, 1M

DCGN_SHARE=off sends all through MPI on one host, too. Each row's data is compared. A table goes to stderr, rows as JSON to stdout. Exit code 2: bad arguments, or it failed.
)";

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::string(argv[1]) == "--help") {
      fmt::print("{}", help);
      return 0;
    }
    Rows peers;
    if (argc > 2 && std::string(argv[1]) == "--beside") {
      peers = read_peer(argv[2]);
      argv += 2;
      argc -= 2;
    }
    std::string slots;
    if (argc > 2 && std::string(argv[1]) == "--slots") {
      slots = argv[2];
      if (slots != "thread" && slots != "block")
        throw std::runtime_error("--slots " + slots + ": expected thread or block");
      argv += 2;
      argc -= 2;
    }
    if (argc > 1 && std::string(argv[1]) == "--ddt") {
      measure_datatypes(argc - 2, argv + 2);
      return 0;
    }
    if (argc > 1 && std::string(argv[1]) == "--collectives") {
      measure_all_collectives(bench::peer::parse_coll(argc - 1, argv + 1), peers);
      return 0;
    }
    const bench::peer::Arguments arguments = bench::peer::parse(argc, argv);
    if (!slots.empty()) {
      measure_all_slots(arguments, slots == "block");
      return 0;
    }
    World world({.nodes = {{.cpus = 1}}});
    if (world.size() != 2)
      throw std::runtime_error(fmt::format("{} processes: expected 2, as by mpirun -n 2", world.size()));
    Comm comm = world.attach();
    measure_all(arguments, peers, comm);
  } catch (const std::exception& e) {
    fmt::print(stderr, "dcgn_bench_processes: {}\n", e.what());
    return 2;
  }
}
