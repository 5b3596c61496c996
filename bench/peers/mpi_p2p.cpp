// MPI between two processes, from host memory to host memory, by MPI_Send and MPI_Recv; windows by MPI_Isend and
// MPI_Irecv, as the OSU benchmarks have them.
//   mpirun -n 2 dcgn_peer_mpi_p2p --measures latency,bandwidth,bidirectional --seconds S [--window N] SIZE...
#include "bench/json.hpp"
#include "bench/memory.hpp"
#include "bench/peers/rounds.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <cstdlib>
#include <string>

namespace {

using namespace dcgn;
using bench::peer::Measure, bench::peer::Round;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  fmt::print(stderr, "dcgn_peer_mpi_p2p: {} failed with code {}\n", call, code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// One of the two processes.
class End {
 public:
  End(int rank, std::size_t room) : rank_(rank), out_(room), in_(room) {}

  // Does these rounds; gives the microseconds that they took.
  double run(const Round& round, std::uint64_t rounds) {
    const double begin = MPI_Wtime();
    for (std::uint64_t i = 0; i < rounds; ++i) switch (round.measure) {
        case Measure::latency: there_and_back(static_cast<int>(round.bytes)); break;
        case Measure::bandwidth:
          windows(round, rank_ == 0, rank_ == 1);
          answer();
          break;
        case Measure::bidirectional: windows(round, true, true); break;
      }
    return (MPI_Wtime() - begin) * 1e6;
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
    std::uint64_t wrong = 0, sum = 0;
    if (rank_ == 1 || round.measure != Measure::bandwidth)
      for (std::int64_t i = 0; i < all; ++i) wrong += in_.data()[i] != bench::pattern(i, 1 - mine);
    check(MPI_Allreduce(&wrong, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
    return sum;
  }

 private:
  void send(const void* data, int bytes) const {
    check(MPI_Send(data, bytes, MPI_BYTE, 1 - rank_, 0, MPI_COMM_WORLD), "MPI_Send");
  }
  void recv(void* data, int bytes) const {
    check(MPI_Recv(data, bytes, MPI_BYTE, 1 - rank_, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
  }
  void there_and_back(int bytes) const {
    if (rank_ == 0) send(out_.data(), bytes);
    recv(in_.data(), bytes);
    if (rank_ == 1) send(out_.data(), bytes);
  }
  void windows(const Round& round, bool sends, bool receives) {
    const std::int64_t bytes = round.bytes;
    requests_.clear();
    for (std::int64_t i = 0; receives && i < round.messages; ++i)
      check(MPI_Irecv(in_.data() + i * bytes, static_cast<int>(bytes), MPI_BYTE, 1 - rank_, 0, MPI_COMM_WORLD,
                      &requests_.emplace_back()),
            "MPI_Irecv");
    for (std::int64_t i = 0; sends && i < round.messages; ++i)
      check(MPI_Isend(out_.data() + i * bytes, static_cast<int>(bytes), MPI_BYTE, 1 - rank_, 0, MPI_COMM_WORLD,
                      &requests_.emplace_back()),
            "MPI_Isend");
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }
  void answer() const {
    if (rank_ == 0)
      recv(nullptr, 0);
    else
      send(nullptr, 0);
  }

  int rank_;
  bench::Pages out_, in_;
  std::vector<MPI_Request> requests_;
};

// "Open MPI 4.1.4" out of "Open MPI v4.1.4, package: ...".
std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  check(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string name(text, static_cast<std::size_t>(length));
  name = name.substr(0, name.find_first_of(",\n"));
  if (const std::size_t v = name.find(" v"); v != std::string::npos) name.erase(v + 1, 1);
  return name;
}

double of_rank_0(double value) {
  check(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return value;
}

void measure_all(const bench::peer::Arguments& a, int rank) {
  End end(rank, bench::peer::room(a));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Measure measure : a.measures)
    for (const std::int64_t bytes : a.sizes) {
      const Round round = a.round(measure, bytes);
      bench::Row row = bench::peer::time_rounds(
          round, a.seconds, [&](std::uint64_t rounds) { return end.run(round, rounds); }, of_rank_0);
      row.whose = library();
      row.path = "cpu-cpu";
      row.scope = "-";
      row.wrong = end.count_wrong(round);
      rows.push_back(bench::to_json(row));
    }
  if (rank == 0) fmt::print("{}\n", rows.dump());
}

}  // namespace

int main(int argc, char** argv) {
  check(MPI_Init(&argc, &argv), "MPI_Init");
  int rank = 0, size = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  try {
    if (size != 2) throw std::runtime_error(fmt::format("{} processes: expected 2, as by mpirun -n 2", size));
    measure_all(bench::peer::parse(argc, argv), rank);
  } catch (const std::exception& e) {
    fmt::print(stderr, "dcgn_peer_mpi_p2p: {}\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  check(MPI_Finalize(), "MPI_Finalize");
}
