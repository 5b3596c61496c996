// Conversations whose every word is known beforehand, for kernels that take a world's handle, and the CPU's side of
// them.
#pragma once

#include "support.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/gpu/comm.hpp>
#include <dcgn/world.hpp>

#include <cstdint>
#include <future>
#include <string>
#include <vector>

namespace dcgn::test {

inline constexpr int most_words = 20000;

// Message `n` of a rank: small, eager and beyond every eager threshold, in turns.
DCGN_HOST_DEVICE inline int words_of(std::uint64_t n) { return n % 3 == 0 ? 1 : n % 3 == 1 ? 30 : most_words; }
DCGN_HOST_DEVICE inline std::uint32_t word_of(int rank, std::uint64_t n, int at) {
  return static_cast<std::uint32_t>(n * 2654435761u) + static_cast<std::uint32_t>(rank * 40503 + at);
}

// What a slot remembers from kernel to kernel, in device memory.
struct Talk {
  std::uint64_t next = 0;  // the number of the next exchange
  std::uint64_t wrong = 0;
};

// Where a kernel's slots, from 0 on, keep it.
struct Notes {
  Talk* talks = nullptr;           // one for each slot
  std::uint32_t* words = nullptr;  // 2 x most_words for each slot: what goes out, what comes in

  DCGN_HOST_DEVICE std::uint32_t* out(int slot) const { return words + 2 * most_words * slot; }
  DCGN_HOST_DEVICE std::uint32_t* in(int slot) const { return out(slot) + most_words; }
};

// A ping and a pong by a block: the lower rank sends first. Counts in the slot's Talk what is not as it should be.
DCGN_HOST_DEVICE inline void exchange(const gpu::Context& context, const gpu::Slot& me, const Notes& notes, int other,
                                      std::uint64_t n) {
  const gpu::BlockScope block = gpu::this_block(context);
  std::uint32_t* const out = notes.out(me.slot());
  std::uint32_t* const in = notes.in(me.slot());
  const int words = words_of(n);
  const std::int64_t bytes = words * static_cast<std::int64_t>(sizeof(std::uint32_t));
  const int tag = static_cast<int>(n % 1000);
  for (int i = static_cast<int>(block.rank()); i < words; i += static_cast<int>(block.size()))
    out[i] = word_of(me.rank(), n, i);
  Code sent = Code::ok;
  if (me.rank() < other) sent = me.send_bytes(block, out, bytes, other, tag);
  const Status s = me.recv_bytes(block, in, bytes, other, tag);
  if (me.rank() > other) sent = me.send_bytes(block, out, bytes, other, tag);
  std::uint64_t wrong = block.leader() && (sent != Code::ok || s.code != Code::ok || s.bytes != bytes) ? 1 : 0;
  for (int i = static_cast<int>(block.rank()); i < words; i += static_cast<int>(block.size()))
    wrong += in[i] != word_of(other, n, i);
  if (wrong) fetch_add(notes.talks[me.slot()].wrong, wrong);
}

// The same by a CPU rank. Returns how much was wrong.
inline std::uint64_t exchange(Comm& me, int other, std::uint64_t n) {
  const int words = words_of(n);
  const int tag = static_cast<int>(n % 1000);
  std::vector<std::uint32_t> out(static_cast<std::size_t>(words)), in(out.size());
  for (int i = 0; i < words; ++i) out[static_cast<std::size_t>(i)] = word_of(me.rank(), n, i);
  if (me.rank() < other) me.send(out, other, tag);
  const Status s = me.recv(in, other, tag);
  if (me.rank() > other) me.send(out, other, tag);
  std::uint64_t wrong = s.count<std::uint32_t>() != words;
  for (int i = 0; i < words; ++i) wrong += in[static_cast<std::size_t>(i)] != word_of(other, n, i);
  return wrong;
}

// Block b serves slot first_slot + b of its GPU, in a world of CPU rank 0 and `slots` slots in all. In each round it
// talks to rank 0, then to the slot half-way around.
struct Converse {
  unsigned first_slot = 0;
  int slots = 0;
  int rounds = 0;

  DCGN_HOST_DEVICE void operator()(const gpu::Context& context, const gpu::Comm& comm, const Notes& notes) const {
    const gpu::Slot me = comm.slot(first_slot + context.block_rank());
    const gpu::BlockScope block = gpu::this_block(context);
    Talk& talk = notes.talks[me.slot()];
    const int other = 1 + (me.rank() - 1 + slots / 2) % slots;
    std::uint64_t n = talk.next;
    for (int i = 0; i < rounds; ++i, ++n) {
      exchange(context, me, notes, 0, n);
      exchange(context, me, notes, other, n);
    }
    me.finish(block);
    if (block.leader()) talk.next = n;
  }
};

// Rank 0's side of that many rounds, on a thread of its own: attaches, and tells how much was wrong.
inline std::future<std::uint64_t> converse_on_the_cpu(World& world, int rounds) {
  return std::async(std::launch::async, [&world, rounds] {
    Comm me = world.attach(0);
    std::uint64_t wrong = 0;
    for (int n = 0; n < rounds; ++n)
      for (int slot = 1; slot < me.size(); ++slot) wrong += exchange(me, slot, static_cast<std::uint64_t>(n));
    return wrong;
  });
}

// A world of one CPU rank and `slots` slots spread over `gpus` GPUs, and what its slots need.
class Conversation {
 public:
  Conversation(int gpus, int slots, double deadline_s = 20)
      : world(config_of({{.cpus = 1, .gpus = gpus, .slots = slots / gpus}}, deadline_s)) {
    const auto each = static_cast<std::size_t>(slots / gpus);
    for (int g = 0; g < gpus; ++g) {
      talks_.emplace_back(world.device(g), each);
      words_.emplace_back(world.device(g), each * 2 * most_words);
      talks_.back().upload(std::vector<Talk>(each).data());
    }
  }

  Notes notes(int gpu) const {
    return {talks_[static_cast<std::size_t>(gpu)].data(), words_[static_cast<std::size_t>(gpu)].data()};
  }
  int slots_of_each() const { return world.handle(0).slots(); }

  // Every slot has had that many rounds, with nothing wrong. Its kernels must have ended.
  void expect_rounds(std::uint64_t rounds) const {
    EXPECT_FALSE(world.aborted()) << world.report();
    for (std::size_t g = 0; g < talks_.size(); ++g) {
      std::vector<Talk> seen(talks_[g].size());
      talks_[g].download(seen.data());
      for (std::size_t s = 0; s < seen.size(); ++s) {
        EXPECT_EQ(seen[s].next, rounds) << "slot " << s << " of GPU " << g;
        EXPECT_EQ(seen[s].wrong, 0u) << "slot " << s << " of GPU " << g;
      }
    }
  }

  World world;

 private:
  std::vector<DeviceBuffer<Talk>> talks_;
  std::vector<DeviceBuffer<std::uint32_t>> words_;
};

// Tests whose slots are on one GPU, or spread over two where there are two.
class OnGpus : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (Device::count() < GetParam()) GTEST_SKIP() << "this machine has " << Device::count() << " GPU";
  }
};
inline std::string name_of_gpus(const ::testing::TestParamInfo<int>& info) {
  return info.param == 1 ? "OneGpu" : "TwoGpus";
}

}  // namespace dcgn::test
