// Step 3: CPU ranks and slots in one job, all alike, and scopes: who of a block makes a call. Each slot adds up what it
// gets from rank 0, by a thread, by a warp and by all of its block.
#include <dcgn/dcgn.hpp>

#include <array>
#include <cstdio>

constexpr int n = 256;

struct Adder {
  // By all threads of `scope`, all with the same arguments. `numbers` is where all of them can read it.
  template <class Scope>
  DCGN_HOST_DEVICE static void add_up(const dcgn::gpu::Slot& me, const Scope& scope, int* numbers) {
    me.recv(scope, dcgn::Span<int>(numbers, n), 0);
    // What was received is visible to each thread of the scope. The first one adds up; all get what it returns.
    const int sum = scope.lead([&] {
      int result = 0;
      for (int i = 0; i < n; ++i) result += numbers[i];
      return result;
    });
    const int answer[] = {sum, static_cast<int>(scope.size())};  // each thread has one, all alike
    me.send(scope, answer, 0);
  }

  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    int* numbers = ctx.shared<int>();  // of this block
    // A slot is one rank, and makes one call at a time: barriers keep these three apart.
    if (ctx.thread_rank() == 0) add_up(me, dcgn::gpu::this_thread(), numbers);
    ctx.sync_block();
    if (ctx.warp() == 0) add_up(me, dcgn::gpu::this_warp(ctx), numbers);
    ctx.sync_block();
    add_up(me, dcgn::gpu::this_block(ctx), numbers);
  }
};

int main() {
  // Ranks 0 and 1: CPU kernels. 2 to 5: the slots of GPU 0, then those of GPU 1 if there is one.
  const int gpus = dcgn::Device::count() > 1 ? 2 : 1;
  dcgn::Job job({.nodes = {{.cpus = 2, .gpus = gpus, .slots = 4 / gpus}}});
  job.cpu([](dcgn::Comm& comm) {
    if (comm.rank() == 1) return;  // nobody wants anything of it
    std::array<int, n> numbers;
    for (int i = 0; i < n; ++i) numbers[static_cast<std::size_t>(i)] = i;
    for (int rank = 2; rank < comm.size(); ++rank) {
      for (int scope = 0; scope < 3; ++scope) {
        int answer[2] = {};
        comm.send(numbers, rank);
        comm.recv(answer, rank);
        if (rank == 2) std::printf("%2d threads of rank %d: the sum is %d\n", answer[1], rank, answer[0]);
        if (answer[0] != n * (n - 1) / 2) throw dcgn::Error(dcgn::Code::kernel_failed, "scopes", "a wrong sum");
      }
    }
  });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 64, .shared_bytes = n * sizeof(int)}, Adder{});
  std::printf("%s", to_string(job.run()).c_str());  // what each rank sent and received, and how long it waited
}
