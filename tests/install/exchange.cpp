// Two CPU ranks exchange an int: for link_line.cmake.
#include <dcgn/job.hpp>

#include <array>
#include <cstdio>

int main() {
  std::array<int, 2> got{};
  dcgn::Job job({.nodes = {{.cpus = 2}}});
  job.cpu([&](dcgn::Comm& comm) {
    const int other = 1 - comm.rank();
    const int mine = 10 + comm.rank();
    comm.sendrecv(mine, other, 0, got[comm.rank()], other, 0);
  });
  job.run();
  std::printf("rank 0 got %d, rank 1 got %d\n", got[0], got[1]);
}
