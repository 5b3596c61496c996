// Step 5: a work queue. Nobody knows who is ready next, nor how long an answer is: wildcards, tags and probes say it.
// Workers are CPU threads and slots; rank 0 cannot tell one from the other.
#include <dcgn/dcgn.hpp>

#include <cstdio>
#include <vector>

constexpr int first = 2, last = 500;  // the numbers to factor: those of the tasks, and the tags of their answers
constexpr int ready = 0, stop = 0;    // of the tag of what is no answer, and of a task that is none
constexpr int most = 16;              // prime factors of a number

DCGN_HOST_DEVICE inline int factor(int number, int* factors) {
  int count = 0;
  for (int p = 2; number > 1; ++p)
    for (; number % p == 0; number /= p) factors[count++] = p;
  return count;
}

void cpu_worker(dcgn::Comm& comm) {
  int factors[most], number = 0;
  comm.send(number, 0, ready);
  while (comm.recv(number, 0), number != stop) {
    const int count = factor(number, factors);
    comm.send(dcgn::Span<int>(factors, static_cast<std::size_t>(count)), 0, number);
  }
}

struct Worker {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    if (ctx.thread_rank() != 0) return;
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::ThreadScope thread = dcgn::gpu::this_thread();
    int factors[most], number = 0;
    me.send(thread, number, 0, ready);
    while (me.recv(thread, number, 0) && number != stop) {  // a Status is true unless something went wrong
      const int count = factor(number, factors);
      me.send(thread, dcgn::Span<int>(factors, static_cast<std::size_t>(count)), 0, number);
    }
  }
};

void master(dcgn::Comm& comm) {
  int next = first, primes = 0, answers = 0;
  for (int working = comm.size() - 1; working > 0;) {
    // Whoever comes first, with whatever. The message stays until it is received: by its source and tag, with room.
    const dcgn::Status status = comm.probe(dcgn::any_source, dcgn::any_tag);
    std::vector<int> came(static_cast<std::size_t>(status.count<int>()));
    comm.recv(came, status.source, status.tag);
    if (status.tag != ready) {
      int product = 1;
      for (const int p : came) product *= p;
      if (product != status.tag) throw dcgn::Error(dcgn::Code::kernel_failed, "factor", "a wrong answer");
      primes += came.size() == 1;
      ++answers;
    }
    const int task = next <= last ? next++ : stop;
    comm.send(task, status.source);
    working -= task == stop;
  }
  std::printf("%d answers: %d of the numbers from %d to %d are prime\n", answers, primes, first, last);
  if (primes != 95) throw dcgn::Error(dcgn::Code::kernel_failed, "factor", "expected 95 primes");
}

int main() {
  dcgn::Job job({.nodes = {{.cpus = 3, .gpus = 1, .slots = 2}}});
  job.cpu(cpu_worker);      // on every CPU rank that has no kernel of its own
  job.cpu_rank(0, master);  // as this one has
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32}, Worker{});
  job.run();
}
