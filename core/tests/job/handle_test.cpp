// The handle way in: a program's own streams and launches, several kernels beside each other and one after the other.
// (handle_cuda_test.cpp has what only CUDA has.)
#include "handle_kernels.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/gpu/launch.hpp>

#include <utility>
#include <vector>

namespace dcgn::test {
namespace {

class Handle : public OnGpus {};
INSTANTIATE_TEST_SUITE_P(Gpus, Handle, ::testing::Values(1, 2), name_of_gpus);

// A stream for each of `count` kernels on every GPU, made before the first of them waits for the last.
std::vector<Stream> streams_for(const World& world, int count) {
  std::vector<Stream> streams;
  for (int g = 0; g < world.gpus(); ++g)
    for (int i = 0; i < count; ++i) streams.emplace_back(world.device(g));
  return streams;
}

TEST_P(Handle, KernelsOnStreamsOfTheirOwnTalkWhateverTheirOrder) {
  constexpr int rounds = 30;
  for (const bool reversed : {false, true}) {
    Conversation c(GetParam(), 2);
    auto cpu = converse_on_the_cpu(c.world, rounds);
    std::vector<Stream> streams = streams_for(c.world, c.slots_of_each());
    for (const int rank : {reversed ? 2 : 1, reversed ? 1 : 2}) {
      const Place place = c.world.placement().place(rank);
      c.world.device(place.device)
          .launch(streams[static_cast<std::size_t>(rank - 1)], {.grid = 1, .block = 32},
                  Converse{.first_slot = static_cast<unsigned>(place.slot), .slots = 2, .rounds = rounds},
                  c.world.handle(place.device), c.notes(place.device));
    }
    EXPECT_EQ(cpu.get(), 0u);
    for (Stream& stream : streams) stream.synchronize();
    c.expect_rounds(rounds);
  }
}

TEST_P(Handle, SeveralKernelsServeTheSlotsOfOneGpuAtOnce) {
  constexpr int rounds = 12;
  constexpr int slots = 8;
  Conversation c(GetParam(), slots);
  auto cpu = converse_on_the_cpu(c.world, rounds);
  const auto half = static_cast<unsigned>(c.slots_of_each() / 2);
  std::vector<Stream> streams = streams_for(c.world, 2);
  for (unsigned k = 0; k < streams.size(); ++k) {
    const int g = static_cast<int>(k / 2);
    c.world.device(g).launch(streams[k], {.grid = half, .block = 64},
                             Converse{.first_slot = k % 2 * half, .slots = slots, .rounds = rounds}, c.world.handle(g),
                             c.notes(g));
  }
  EXPECT_EQ(cpu.get(), 0u);
  for (Stream& stream : streams) stream.synchronize();
  c.expect_rounds(rounds);
}

TEST_P(Handle, AConversationGoesOnFromKernelToKernel) {
  constexpr int kernels = 6;
  constexpr int rounds = 5;
  constexpr int slots = 4;
  Conversation c(GetParam(), slots);
  auto cpu = converse_on_the_cpu(c.world, kernels * rounds);
  std::vector<Stream> streams = streams_for(c.world, 1);
  for (int g = 0; g < c.world.gpus(); ++g)
    for (int k = 0; k < kernels; ++k)
      c.world.device(g).launch(streams[static_cast<std::size_t>(g)],
                               {.grid = static_cast<unsigned>(c.slots_of_each()), .block = 32},
                               Converse{.slots = slots, .rounds = rounds}, c.world.handle(g), c.notes(g));
  EXPECT_EQ(cpu.get(), 0u);
  for (Stream& stream : streams) stream.synchronize();
  c.expect_rounds(kernels * rounds);
}

// ---- what one kernel leaves for the next: requests, kept in device memory, and a message that it did not ask for

constexpr int open_requests = 3;
constexpr int long_words = most_words / 2;
constexpr std::int64_t long_bytes = long_words * static_cast<std::int64_t>(sizeof(std::uint32_t));
enum Tag { from_slot = 1, from_cpu, stored, last };

struct BeginAndEnd {
  DCGN_HOST_DEVICE void operator()(const gpu::Context& context, const gpu::Comm& comm, const Notes& notes,
                                   Request* requests) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    const gpu::BlockScope block = gpu::this_block(context);
    std::uint32_t* const out = notes.out(me.slot());
    std::uint32_t* const in = notes.in(me.slot());
    const int other = 3 - me.rank();
    for (int i = static_cast<int>(block.rank()); i < long_words; i += static_cast<int>(block.size()))
      out[i] = word_of(me.rank(), from_slot, i);
    const Request begun[open_requests] = {me.isend_bytes(block, out, long_bytes, other, from_slot),
                                          me.irecv_bytes(block, in, long_bytes, other, from_slot),
                                          me.irecv_bytes(block, in + long_words, long_bytes, 0, from_cpu)};
    auto* const x = context.shared<std::uint32_t>();
    const Status s = me.recv(block, *x, 0, last);  // the one before it is taken in and kept
    if (!block.leader()) return;
    notes.talks[me.slot()].wrong += s.code != Code::ok || *x != word_of(0, last, me.rank());
    for (int i = 0; i < open_requests; ++i) requests[open_requests * me.slot() + i] = begun[i];
  }
};

struct GoOnAndFinish {
  DCGN_HOST_DEVICE void operator()(const gpu::Context& context, const gpu::Comm& comm, const Notes& notes,
                                   const Request* requests, Status* statuses) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    const gpu::BlockScope block = gpu::this_block(context);
    const std::uint32_t* const in = notes.in(me.slot());
    const int other = 3 - me.rank();
    const Request* const mine = requests + open_requests * me.slot();
    Status* const got = statuses + open_requests * me.slot();
    auto* const x = context.shared<std::uint32_t>();
    const Status s = me.recv(block, *x, any_source, any_tag);
    const Code all = me.wait_all(block, Span<const Request>(mine, open_requests), got);
    const Code again = me.wait(block, mine[1]).code;  // inactive by now
    const Code finished = me.finish(block);
    std::uint64_t wrong = 0;
    for (int i = static_cast<int>(block.rank()); i < long_words; i += static_cast<int>(block.size())) {
      wrong += in[i] != word_of(other, from_slot, i);
      wrong += in[long_words + i] != word_of(0, from_cpu, i);
    }
    if (block.leader()) {
      wrong += s.code != Code::ok || s.source != 0 || s.tag != stored || *x != word_of(0, stored, me.rank());
      wrong += all != Code::ok || again != Code::ok || finished != Code::ok;
      wrong += got[1].source != other || got[1].tag != from_slot || got[1].bytes != long_bytes;
      wrong += got[2].source != 0 || got[2].tag != from_cpu || got[2].bytes != long_bytes;
      notes.talks[me.slot()].next = 1;
    }
    if (wrong) fetch_add(notes.talks[me.slot()].wrong, wrong);
  }
};

TEST_P(Handle, AKernelWaitsForTheRequestsOfTheOneBeforeIt) {
  Conversation c(GetParam(), 2);
  const Launch launch{
      .grid = static_cast<unsigned>(c.slots_of_each()), .block = 32, .shared_bytes = sizeof(std::uint32_t)};
  std::vector<Stream> streams = streams_for(c.world, 1);
  std::vector<DeviceBuffer<Request>> requests;
  std::vector<DeviceBuffer<Status>> statuses;
  for (int g = 0; g < c.world.gpus(); ++g) {
    requests.emplace_back(c.world.device(g), 2 * open_requests);
    statuses.emplace_back(c.world.device(g), 2 * open_requests);
  }
  Comm me = c.world.attach(0);
  const auto each_gpu = [&](const auto& action) {
    for (int g = 0; g < c.world.gpus(); ++g) action(g, static_cast<std::size_t>(g));
  };
  each_gpu([&](int g, std::size_t i) {
    c.world.device(g).launch(streams[i], launch, BeginAndEnd{}, c.world.handle(g), c.notes(g), requests[i].data());
  });
  for (const int slot : {1, 2})
    for (const Tag tag : {stored, last}) me.send(word_of(0, tag, slot), slot, tag);
  for (Stream& stream : streams) stream.synchronize();  // the first kernels have ended
  each_gpu([&](int g, std::size_t i) {
    c.world.device(g).launch(streams[i], launch, GoOnAndFinish{}, c.world.handle(g), c.notes(g), requests[i].data(),
                             statuses[i].data());
  });
  std::vector<std::uint32_t> words(long_words);
  for (int i = 0; i < long_words; ++i) words[static_cast<std::size_t>(i)] = word_of(0, from_cpu, i);
  for (const int slot : {1, 2}) me.send(words, slot, from_cpu);
  for (Stream& stream : streams) stream.synchronize();
  c.expect_rounds(1);
}

// ---- residency

// All blocks wait until all are there; then block 0 answers the CPU with how many it has seen.
struct Assemble {
  DCGN_HOST_DEVICE void operator()(const gpu::Context& context, const gpu::Comm& comm, std::uint32_t* arrived) const {
    if (context.thread_rank() != 0) return;
    const std::uint64_t start = now_ns();
    fetch_add(*arrived, 1u);
    // Not for ever, should one not come.
    while (load_acquire(*arrived) != context.num_blocks() && now_ns() - start < 20'000'000'000) relax();
    if (context.block_rank() != 0) return;
    comm.slot(0).send(gpu::this_thread(), load_acquire(*arrived), 0);
  }
};

TEST(HandleComm, SaysWhichDevicesAndRanksAreOfItsWorld) {
  if (Device::count() < 2) GTEST_SKIP() << "fewer than two devices";
  World world({.nodes = {{.cpus = 1, .gpus = 1, .slots = 2}}});
  Comm comm = world.attach();
  EXPECT_TRUE(comm.reaches(Device(0)));
  EXPECT_FALSE(comm.reaches(Device(1)));
  for (int r = 0; r < comm.size(); ++r) EXPECT_TRUE(comm.is_here(r));
  Comm moved = std::move(comm);
  EXPECT_FALSE(comm.reaches(Device(0)));  // NOLINT(bugprone-use-after-move): what it says then
  EXPECT_FALSE(comm.is_here(0));          // NOLINT(bugprone-use-after-move)
}

TEST(HandleResidency, AsManyBlocksAsFitRunAndOneMoreIsRefused) {
  Conversation c(1, 1);
  Comm me = c.world.attach(0);
  const Device device = c.world.device(0);
  const DeviceBuffer<std::uint32_t> arrived(device, 1);
  device.fill(arrived.data(), 0, arrived.size_bytes());
  Stream stream(device);
  const auto most = static_cast<unsigned>(
      device.max_resident_blocks({.grid = 1, .block = 32}, Assemble{}, c.world.handle(0), arrived.data()));
  const Error error = error_of(
      [&] { device.launch(stream, {.grid = most + 1, .block = 32}, Assemble{}, c.world.handle(0), arrived.data()); });
  EXPECT_EQ(error.code(), Code::too_many_blocks);
  EXPECT_TRUE(contains(error.what(), std::to_string(most + 1) + " blocks of 32 threads"));
  EXPECT_TRUE(contains(error.what(), "expected at most " + std::to_string(most) + " "));

  device.launch(stream, {.grid = most, .block = 32}, Assemble{}, c.world.handle(0), arrived.data());
  std::uint32_t seen = 0;
  me.recv(seen, 1);
  EXPECT_EQ(seen, most);
  stream.synchronize();
  EXPECT_FALSE(c.world.aborted()) << c.world.report();
}

}  // namespace
}  // namespace dcgn::test
