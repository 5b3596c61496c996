// Step 5: what a mistake looks like. Three ranks each wait for the next one; the job stops and says so.
#include <dcgn/dcgn.hpp>

#include <cstdio>

int main() {
  dcgn::Job job({.nodes = {{.cpus = 3}}});
  job.cpu([](dcgn::Comm& comm) {
    int x = 0;
    comm.recv(x, (comm.rank() + 1) % comm.size());
  });
  try {
    job.run();
  } catch (const dcgn::Error& error) {
    std::printf("%s\n", error.what());
    return error.code() == dcgn::Code::deadlock ? 0 : 1;
  }
  return 1;
}
