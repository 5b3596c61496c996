// A program that uses MPI itself, under mpirun -n 3 or more: opens worlds over communicators of its own, and goes on
// using MPI meanwhile.
#include <dcgn/dcgn.hpp>

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "process_handle: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// What the ranks' numbers add up to, by an all-reduce of dcgn; the main thread is the process's one rank.
int sum_over(MPI_Comm processes) {
  dcgn::Config config;
  config.nodes = {{.cpus = 1}};
  config.mpi_communicator = &processes;
  dcgn::World world(config);
  int x = 0, size = 0, rank = 0;
  MPI_Comm_size(processes, &size);
  MPI_Comm_rank(processes, &rank);
  expect(world.size() == size, "as many ranks as processes");
  {
    dcgn::Comm comm = world.attach();
    expect(comm.rank() == rank, "ranks in the communicator's order");
    x = comm.rank() + 1;
    // Beside the library's thread.
    int y = x, total = 0;
    MPI_Allreduce(&y, &total, 1, MPI_INT, MPI_SUM, processes);
    comm.all_reduce(x, dcgn::Sum{});
    expect(x == total, "the same sum as MPI's");
    std::vector<char> message(200000, static_cast<char>(rank)), received(message.size());
    comm.sendrecv(message, (rank + 1) % size, 0, received, (rank + size - 1) % size, 0);
    expect(received.back() == static_cast<char>((rank + size - 1) % size), "the neighbour's message");
  }
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0, size = 0;
  const bool single = argc > 1 && std::string(argv[1]) == "single";
  MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (single) {
    std::string what;
    try {
      sum_over(MPI_COMM_WORLD);
    } catch (const dcgn::Error& e) {
      what = e.what();
    }
    expect(what.find("expected MPI_Init_thread with that") != std::string::npos, "the level is named that is needed");
  } else {
    expect(sum_over(MPI_COMM_WORLD) == size * (size + 1) / 2, "the sum over all");
    // In reverse order, and without the first process.
    MPI_Comm others = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank ? 0 : MPI_UNDEFINED, -rank, &others);
    if (others != MPI_COMM_NULL) {
      expect(sum_over(others) == (size - 1) * size / 2, "the sum over the others");
      MPI_Comm_free(&others);
    }
  }
  MPI_Finalize();
}
