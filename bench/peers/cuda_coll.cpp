// The all_reduce that inference servers make for themselves, between GPUs of one process that reach each other's
// memory: vLLM, TensorRT-LLM, FlashInfer and PyTorch's symmetric memory have it. A kernel a call, captured in CUDA
// graphs. Three forms, of which the fastest is printed:
//   one-shot  after a barrier each GPU reads all inputs, and sums them up for itself
//   two-shot  after a barrier each GPU sums up its part of the words; after another one it reads the others' parts
//   LL        each GPU stores its input into all others' inboxes, in packets of 16 bytes that carry their own flags
// A barrier is one of a block and the blocks of its number on the other GPUs, by a flag from each to each.
//   dcgn_peer_cuda_coll --ranks N --seconds S all_reduce:SIZE...
#include "bench/peers/coll_direct_kernel.hpp"
#include "bench/peers/coll_gpus_kernel.hpp"

#include <cuda_runtime.h>
#include <cuda/atomic>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace dcgn;
using namespace dcgn::bench::peer;
using bench::Collective, bench::Row;

constexpr unsigned most_blocks = 128;  // of block_counts()

// A GPU's own flags, which the others write into.
struct Flags {
  unsigned arrived[most_blocks][most_gpus];  // the last barrier that a GPU's block of this number has come to
  unsigned barriers[most_blocks];            // that this GPU's blocks have passed
  unsigned calls[most_blocks];               // by packets, that they have made
  unsigned gave_up;
};

// Packets are two floats, each with the number of the call that it is of: as each 8 bytes are stored at once, no fence
// is needed. A place belongs to one block, which numbers its calls, however many blocks a call has. Inboxes take turns:
// a GPU stores into one again two calls later, when it has the packets of the call between, which the others send after
// they have read this one.
constexpr unsigned inboxes = 2, most_packet_blocks = 16, packets_of_block = 2048;
struct Inbox {
  uint4 packets[most_gpus][most_packet_blocks][packets_of_block];
};

struct Buffers {
  DirectBuffers direct;
  float* scratch[most_gpus];  // of a part's sums
  Flags* flags[most_gpus];
  Inbox* inbox[most_gpus];  // `inboxes` of them
  std::int64_t count;
};

// Polls for a few seconds; then, and whenever a poll has failed before, it gives up, so that no kernel waits for ever.
template <class Ready>
__device__ bool wait_until(Flags& mine, const Ready& ready) {
  constexpr unsigned most_polls = 1u << 24, look_every = 1024;
  for (unsigned polls = 1; !ready(); ++polls) {
    if (polls % look_every) continue;
    if (polls < most_polls && !*static_cast<volatile unsigned*>(&mine.gave_up)) continue;
    mine.gave_up = 1;
    return false;
  }
  return true;
}

using SystemFlag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

// What the GPUs' blocks of this number have written before, all of them see after. `number` counts the block's
// barriers.
__device__ void block_barrier(const Buffers& b, unsigned& number) {
  ++number;
  __syncthreads();
  const unsigned rank = static_cast<unsigned>(b.direct.rank), peer = threadIdx.x, block = blockIdx.x;
  if (peer < static_cast<unsigned>(b.direct.ranks) && peer != rank) {
    Flags& mine = *b.flags[rank];
    SystemFlag(b.flags[peer]->arrived[block][rank]).store(number, cuda::memory_order_release);
    const SystemFlag theirs(mine.arrived[block][peer]);
    // The difference is right where numbers wrap around, too.
    wait_until(mine, [&] { return static_cast<int>(theirs.load(cuda::memory_order_acquire) - number) >= 0; });
  }
  __syncthreads();
}

// Barriers of this launch go on from those of the last one.
__device__ unsigned barriers_before(const Buffers& b) { return b.flags[b.direct.rank]->barriers[blockIdx.x]; }
__device__ void keep_barriers(const Buffers& b, unsigned number) {
  if (threadIdx.x == 0) b.flags[b.direct.rank]->barriers[blockIdx.x] = number;
}

template <class Word>
__global__ void __launch_bounds__(most_block_threads) one_shot(const __grid_constant__ Buffers b) {
  unsigned number = barriers_before(b);
  block_barrier(b, number);
  reduce_one_shot<Word>(b.direct, b.count / static_cast<std::int64_t>(sizeof(Word) / sizeof(float)));
  block_barrier(b, number);  // the others have read this input
  keep_barriers(b, number);
}

// A block reads of the others' parts what their blocks of its number have summed up: part and share are the same. The
// next call's first barrier keeps these sums until all have read them.
template <class Word>
__global__ void __launch_bounds__(most_block_threads) two_shot(const __grid_constant__ Buffers b) {
  const std::int64_t words = b.count / static_cast<std::int64_t>(sizeof(Word) / sizeof(float));
  const auto [begin, end] = part_of(words, b.direct.rank, b.direct.ranks);
  unsigned number = barriers_before(b);
  block_barrier(b, number);
  sum_words<Word>(b.direct, begin, end, [&, begin = begin](std::int64_t i, const Word& sum) {
    store(b.scratch[b.direct.rank], i - begin, sum);
    store(b.direct.out[b.direct.rank], i, sum);
  });
  block_barrier(b, number);
  for (int k = 1; k < b.direct.ranks; ++k) {
    const int from = rank_after(b.direct, k);
    const auto [first, last] = part_of(words, from, b.direct.ranks);
    copy_words<Word>(b.scratch[from], last - first, [&, first = first](std::int64_t i, const Word& word) {
      store(b.direct.out[b.direct.rank], first + i, word);
    });
  }
  keep_barriers(b, number);
}

__device__ void store_packet(uint4* to, const float2& data, unsigned number) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(__float_as_uint(data.x)), "r"(number),
               "r"(__float_as_uint(data.y)), "r"(number)
               : "memory");
}
__device__ uint4 load_packet(const uint4* from) {
  uint4 packet;
  asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(packet.x), "=r"(packet.y), "=r"(packet.z), "=r"(packet.w)
               : "l"(from)
               : "memory");
  return packet;
}

// Up to packets_of_block packets a block.
__global__ void __launch_bounds__(most_block_threads) ll(const __grid_constant__ Buffers b) {
  const DirectBuffers& d = b.direct;
  Flags& mine = *b.flags[d.rank];
  const unsigned number = mine.calls[blockIdx.x] + 1, turn = number % inboxes;
  const auto place = [&](int at, int from, unsigned i) { return &b.inbox[at][turn].packets[from][blockIdx.x][i]; };
  const auto [first, step] = share_of_thread();
  const std::int64_t packets = (b.count + 1) / 2;
  const auto input = [&](std::int64_t i) {
    return float2{d.in[d.rank][2 * i], 2 * i + 1 < b.count ? d.in[d.rank][2 * i + 1] : 0};
  };
  unsigned at = threadIdx.x;
  for (std::int64_t i = first; i < packets; i += step, at += blockDim.x) {
    const float2 data = input(i);
    for (int k = 1; k < d.ranks; ++k) store_packet(place(rank_after(d, k), d.rank, at), data, number);
  }
  at = threadIdx.x;
  for (std::int64_t i = first; i < packets; i += step, at += blockDim.x) {
    float2 sum{};
    for (int from = 0; from < d.ranks; ++from) {
      float2 data = input(i);
      if (from != d.rank) {
        const uint4* packet = place(d.rank, from, at);
        wait_until(mine, [&] {
          const uint4 got = load_packet(packet);
          data = {__uint_as_float(got.x), __uint_as_float(got.z)};
          return got.y == number && got.w == number;
        });
      }
      sum = {sum.x + data.x, sum.y + data.y};
    }
    d.out[d.rank][2 * i] = sum.x;
    if (2 * i + 1 < b.count) d.out[d.rank][2 * i + 1] = sum.y;
  }
  __syncthreads();
  if (threadIdx.x == 0) mine.calls[blockIdx.x] = number;
}

enum class Form { one_shot, two_shot, ll };
constexpr const char* name_of(Form form) {
  switch (form) {
    case Form::one_shot: return "one-shot";
    case Form::two_shot: return "two-shot";
    case Form::ll: return "LL";
  }
  return "";
}

// How a call is made.
struct Way {
  Form form;
  unsigned blocks, threads;
};

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  check(cudaMemset(memory, 0, bytes), "cudaMemset");
  return memory;
}

class Ranks {
 public:
  Ranks(int count, std::size_t room) : gpus_(count, room, allocate), buffers_(static_cast<std::size_t>(count)) {
    if (count > most_gpus)
      throw std::runtime_error(std::to_string(count) + " ranks: expected " + std::to_string(most_gpus) + " at most");
    Buffers all{};
    all.direct.ranks = count;
    gpus_.each([&](const Gpu& gpu) {
      for (int peer = 0; peer < count; ++peer)
        if (peer != gpu.device) enable_access(gpu.device, peer);
      const int g = gpu.device;
      all.direct.in[g] = gpu.in;
      all.direct.out[g] = gpu.out;
      all.scratch[g] = static_cast<float*>(allocate(room * sizeof(float)));
      all.flags[g] = static_cast<Flags*>(allocate(sizeof(Flags)));
      all.inbox[g] = static_cast<Inbox*>(allocate(inboxes * sizeof(Inbox)));
      cudaFuncAttributes attributes{};  // their code is there before anything waits
      for (const Form form : {Form::one_shot, Form::two_shot, Form::ll})
        for (const std::int64_t floats : {1, 4})
          check(cudaFuncGetAttributes(&attributes, kernel_of(form, floats)), "cudaFuncGetAttributes");
      check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, g), "cudaDeviceGetAttribute");
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    });
    for (int g = 0; g < count; ++g) {
      all.direct.rank = g;
      buffers_[static_cast<std::size_t>(g)] = all;
    }
  }

  // By the fastest way.
  Row measure(const CollRound& round, double seconds) {
    const Way way = fastest_of(ways_of(round), round.bytes, [&](const Way& w, std::uint64_t calls) {
      return GraphedCalls(gpus_, [&] { enqueue(round, w); }).run(calls);
    });
    const auto enqueue_round = [&] { enqueue(round, way); };
    GraphedCalls calls(gpus_, enqueue_round);
    Row row = row_of_gpus(round, seconds, std::string("custom all-reduce, ") + name_of(way.form),
                          [&](std::uint64_t count) { return calls.run(count); });
    row.blocks = way.blocks;
    row.threads = way.threads;
    row.wrong = gpus_.count_wrong(round, enqueue_round);
    check_waits();
    return row;
  }

 private:
  static void enable_access(int device, int peer) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, device, peer), "cudaDeviceCanAccessPeer");
    if (!can)
      throw std::runtime_error("GPU " + std::to_string(device) + " does not reach the memory of GPU " +
                               std::to_string(peer) + ": expected GPUs with peer access");
    const cudaError_t code = cudaDeviceEnablePeerAccess(peer, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled)
      static_cast<void>(cudaGetLastError());
    else
      check(code, "cudaDeviceEnablePeerAccess");
  }

  // Of so many floats: of words of four where they are whole.
  static const void* kernel_of(Form form, std::int64_t floats) {
    const bool whole = floats % 4 == 0;
    switch (form) {
      case Form::one_shot: return reinterpret_cast<const void*>(whole ? one_shot<float4> : one_shot<float>);
      case Form::two_shot: return reinterpret_cast<const void*>(whole ? two_shot<float4> : two_shot<float>);
      case Form::ll: break;
    }
    return reinterpret_cast<const void*>(ll);
  }

  std::vector<Way> ways_of(const CollRound& round) const {
    const std::int64_t count = round.count(), words = count % 4 ? count : count / 4;
    std::vector<Way> ways;
    for (const unsigned blocks : block_counts(words, multiprocessors_)) {
      const unsigned threads = block_threads(words, blocks);
      ways.push_back({Form::one_shot, blocks, threads});
      ways.push_back({Form::two_shot, blocks, threads});
    }
    const std::int64_t packets = (count + 1) / 2;
    for (const unsigned blocks : {1u, 4u, most_packet_blocks})
      if (packets <= static_cast<std::int64_t>(blocks) * packets_of_block)
        ways.push_back({Form::ll, blocks, block_threads(packets, blocks)});
    return ways;
  }

  void enqueue(const CollRound& round, const Way& way) {
    gpus_.each([&](const Gpu& gpu) {
      Buffers& b = buffers_[static_cast<std::size_t>(gpu.device)];
      b.count = round.count();
      void* arguments[] = {&b};
      check(
          cudaLaunchKernel(kernel_of(way.form, b.count), dim3(way.blocks), dim3(way.threads), arguments, 0, gpu.stream),
          "cudaLaunchKernel");
    });
  }

  // Whether no kernel has given up a wait: then figures and data are worth nothing.
  void check_waits() {
    gpus_.each([&](const Gpu& gpu) {
      const std::size_t g = static_cast<std::size_t>(gpu.device);
      unsigned gave_up = 0;
      check(cudaMemcpy(&gave_up, &buffers_[g].flags[g]->gave_up, sizeof gave_up, cudaMemcpyDeviceToHost), "cudaMemcpy");
      if (gave_up)
        throw std::runtime_error("GPU " + std::to_string(gpu.device) + " gave up waiting for another's flag");
    });
  }

  Gpus gpus_;
  std::vector<Buffers> buffers_;  // as each GPU has them
  int multiprocessors_ = 0;
};

std::vector<Row> measure_all(const CollArguments& a) {
  for (const CollRound& round : a.rounds)
    if (round.op != Collective::all_reduce)
      throw std::runtime_error(std::string(bench::name_of(round.op)) + ": expected all_reduce");
  Ranks ranks(a.ranks, a.room());
  std::vector<Row> rows;
  for (const CollRound& round : a.rounds) rows.push_back(ranks.measure(round, a.seconds));
  return rows;
}

}  // namespace

int main(int argc, char** argv) { run_coll_program("dcgn_peer_cuda_coll", argc, argv, measure_all); }
