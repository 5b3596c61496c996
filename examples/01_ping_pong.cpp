// Step 1: two ranks on the CPU play ping-pong. A job says which ranks there are, a kernel what each of them does. It is
// figure 3 of the paper that the model comes from (Stuart and Owens 2009).
#include <dcgn/dcgn.hpp>

#include <cstdio>

// The same function runs on every CPU rank, each on a thread of its own. What tells them apart is comm.rank().
void ping_pong(dcgn::Comm& comm, int rounds) {
  const int other = 1 - comm.rank();
  int x = 0;
  for (int i = 0; i < rounds; ++i) {
    if (comm.rank() == 0) {
      comm.send(x, other);  // returns when x may be used again
      comm.recv(x, other);  // returns when the answer is in x
    } else {
      const dcgn::Status status = comm.recv(x, other);
      if (i == 0) std::printf("rank 1 got %lld bytes from rank %d\n", (long long)status.bytes, status.source);
      x += 1;
      comm.send(x, other);
    }
  }
  if (comm.rank() == 0) std::printf("after %d rounds: %d\n", rounds, x);
  // What leaves a kernel stops all of the job and comes out of run().
  if (x != rounds) throw dcgn::Error(dcgn::Code::kernel_failed, "ping-pong", "lost count");
}

int main() {
  dcgn::Job job({.nodes = {{.cpus = 2}}});
  job.cpu(ping_pong, 1000);  // arguments that follow a kernel are what it gets after its Comm
  job.run();
}
