// MPI's collectives between processes, in host memory.
//   mpirun -n N dcgn_peer_mpi_coll --ranks N --seconds S OP:SIZE...
#include "bench/json.hpp"
#include "bench/memory.hpp"
#include "bench/peers/coll_rounds.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <cstdlib>
#include <limits>
#include <string>

namespace {

using namespace dcgn;
using bench::Collective, bench::peer::CollRound;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  fmt::print(stderr, "dcgn_peer_mpi_coll: {} failed with code {}\n", call, code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

class Process {
 public:
  Process(int rank, std::size_t room) : rank_(rank), in_(room * sizeof(float)), out_(room * sizeof(float)) {}

  // Does so many calls; gives the microseconds that they took the process that took longest.
  double run(const CollRound& round, std::uint64_t calls) const {
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    const double begin = MPI_Wtime();
    for (std::uint64_t i = 0; i < calls; ++i) call(round);
    const double mine = (MPI_Wtime() - begin) * 1e6;
    double most = 0;
    check(MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
    return most;
  }

  // One more call, whose result is looked at. How many elements were wrong in all processes.
  std::uint64_t count_wrong(const CollRound& round) const {
    for (std::int64_t i = 0; i < round.gives(); ++i) in()[i] = bench::given(rank_, i);
    for (std::int64_t i = 0; i < round.gets(); ++i) out()[i] = bench::before(round.op, rank_, i);
    call(round);
    std::uint64_t wrong = 0, sum = 0;
    if (bench::gets(round.op, rank_))
      for (std::int64_t i = 0; i < round.gets(); ++i)
        wrong += out()[i] != bench::expected(round.op, round.ranks, rank_, round.count(), i);
    check(MPI_Allreduce(&wrong, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
    return sum;
  }

 private:
  float* in() const { return reinterpret_cast<float*>(in_.data()); }
  float* out() const { return reinterpret_cast<float*>(out_.data()); }
  void call(const CollRound& round) const {
    const int count = static_cast<int>(round.count());
    const MPI_Comm world = MPI_COMM_WORLD;
    switch (round.op) {
      case Collective::barrier: return check(MPI_Barrier(world), "MPI_Barrier");
      case Collective::broadcast: return check(MPI_Bcast(out(), count, MPI_FLOAT, 0, world), "MPI_Bcast");
      case Collective::reduce: return check(MPI_Reduce(in(), out(), count, MPI_FLOAT, MPI_SUM, 0, world), "MPI_Reduce");
      case Collective::all_reduce:
        return check(MPI_Allreduce(in(), out(), count, MPI_FLOAT, MPI_SUM, world), "MPI_Allreduce");
      case Collective::reduce_scatter:
        return check(MPI_Reduce_scatter_block(in(), out(), count, MPI_FLOAT, MPI_SUM, world),
                     "MPI_Reduce_scatter_block");
      case Collective::all_gather:
        return check(MPI_Allgather(in(), count, MPI_FLOAT, out(), count, MPI_FLOAT, world), "MPI_Allgather");
      case Collective::gather:
        return check(MPI_Gather(in(), count, MPI_FLOAT, out(), count, MPI_FLOAT, 0, world), "MPI_Gather");
      case Collective::scatter:
        return check(MPI_Scatter(in(), count, MPI_FLOAT, out(), count, MPI_FLOAT, 0, world), "MPI_Scatter");
      case Collective::all_to_all:
        return check(MPI_Alltoall(in(), count, MPI_FLOAT, out(), count, MPI_FLOAT, world), "MPI_Alltoall");
      case Collective::scan: return check(MPI_Scan(in(), out(), count, MPI_FLOAT, MPI_SUM, world), "MPI_Scan");
    }
  }

  int rank_;
  bench::Pages in_, out_;
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

void measure_all(const bench::peer::CollArguments& a, int rank) {
  if (a.room() > std::numeric_limits<int>::max())
    throw std::runtime_error(fmt::format("{} elements: expected no more than an int counts", a.room()));
  const Process process(rank, a.room());
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CollRound& round : a.rounds) {
    bench::Row row = bench::peer::time_collective(
        round, a.seconds, [&](std::uint64_t calls) { return process.run(round, calls); }, of_rank_0);
    row.whose = library() + ", host memory";
    row.path = bench::peer::path_of(a.ranks, "CPU");
    row.wrong = process.count_wrong(round);
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
    const bench::peer::CollArguments arguments = bench::peer::parse_coll(argc, argv);
    if (size != arguments.ranks)
      throw std::runtime_error(fmt::format("{} processes: expected {}, as --ranks says", size, arguments.ranks));
    measure_all(arguments, rank);
  } catch (const std::exception& e) {
    fmt::print(stderr, "dcgn_peer_mpi_coll: {}\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  check(MPI_Finalize(), "MPI_Finalize");
}
