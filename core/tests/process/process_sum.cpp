// A program with a handle to a world of all processes that a launcher has started: says what their ranks add up to.
#include <dcgn/dcgn.hpp>

#include <cstdio>
#include <exception>

int main() {
  try {
    dcgn::World world({.nodes = {{.cpus = 1}}});
    dcgn::Comm comm = world.attach();
    int sum = comm.rank();
    comm.all_reduce(sum, dcgn::Sum{});
    std::printf("rank %d of %d: the sum is %d\n", comm.rank(), comm.size(), sum);
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}
