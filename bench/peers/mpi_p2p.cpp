// The peer of `dcgn bench p2p`: the same rounds and the same checks between two processes, by MPI_Send and MPI_Recv.
//   mpirun -n 2 dcgn_peer_mpi_p2p SECONDS SIZE...
#include "bench/json.hpp"
#include "bench/memory.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <cstdlib>
#include <string>

namespace {

using namespace dcgn;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  fmt::print(stderr, "dcgn_peer_mpi_p2p: {} failed with code {}\n", call, code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

class MpiEnd {
 public:
  explicit MpiEnd(int peer) : peer_(peer) {}
  unsigned rank() const { return 0; }
  unsigned size() const { return 1; }
  bool leader() const { return true; }
  void sync() const {}
  bool send(const void* data, std::int64_t bytes) const {
    check(MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, peer_, 0, MPI_COMM_WORLD), "MPI_Send");
    return true;
  }
  bool recv(void* data, std::int64_t bytes) const {
    check(MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, peer_, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
    return true;
  }

 private:
  int peer_;
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

}  // namespace

int main(int argc, char** argv) {
  check(MPI_Init(&argc, &argv), "MPI_Init");
  int rank = 0, size = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (size != 2 || argc < 3) {
    if (rank == 0) fmt::print(stderr, "use: mpirun -n 2 dcgn_peer_mpi_p2p SECONDS SIZE...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const MpiEnd end(1 - rank);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (int i = 2; i < argc; ++i) {
    const bench::Plan plan{std::atoll(argv[i]), static_cast<std::uint64_t>(std::atof(argv[1]) * 1e9)};
    const auto room = static_cast<std::size_t>(plan.bytes) + 1;
    const bench::Pages out(room), in(room), control(16);
    const bench::Buffers buffers{out.data(), in.data(), reinterpret_cast<std::uint64_t*>(control.data())};
    bench::Samples samples{};
    if (rank == 0)
      bench::lead(end, buffers, plan, samples);
    else
      bench::follow(end, buffers, plan);
    bench::Row row{.whose = library(), .path = "cpu-cpu", .scope = "-", .bytes = plan.bytes};
    if (rank == 0) {
      set_figures(row, samples);
      rows.push_back(bench::to_json(row));
    }
  }
  if (rank == 0) fmt::print("{}\n", rows.dump());
  check(MPI_Finalize(), "MPI_Finalize");
}
