// Blocks of a launch, which take turns.
#include "vgpu/src/interpreter/warp.hpp"
#include "vgpu/src/ptx/block_index.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace dcgn::virtual_gpu::interpreter {

namespace {

constexpr unsigned steps_of_a_turn = 4096, steps_of_a_warp = 1024;

std::atomic<std::uint64_t> launches{0};

std::size_t volume(Dim3 shape) { return std::size_t{shape.x} * shape.y * shape.z; }

// What is dynamic begins where 128 bytes do.
std::size_t static_bytes(const Grid& grid) {
  const std::size_t alignment = grid.launch.shared_bytes != 0 ? 128 : 16;
  return (grid.details.shared_bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

Grid::Grid(const Program& its_program, std::uint32_t kernel_number, const Launch& its_launch,
           const std::byte* its_parameters, const Memory* its_memory)
    : program(its_program),
      kernel(its_program.functions[its_program.kernel_functions[kernel_number]]),
      details(its_program.kernels[kernel_number]),
      launch(its_launch),
      parameters(its_parameters),
      memory(its_memory),
      number(++launches) {
  if (!details.unsupported.empty()) throw Fault(Fault::Kind::unsupported, details.name + ": " + details.unsupported);
}

Dim3 Grid::index_of(std::uint64_t block) const {
  const Dim3 shape = launch.grid;
  return {static_cast<unsigned>(block % shape.x), static_cast<unsigned>(block / shape.x % shape.y),
          static_cast<unsigned>(block / shape.x / shape.y)};
}

Dim3 Grid::index_in_whole(Dim3 index) const {
  if (!details.split_arguments) return index;
  ptx::SplitArguments arguments{};
  std::memcpy(&arguments, parameters + *details.split_arguments, sizeof arguments);
  const ptx::BlockIndex whole = ptx::split_index(arguments, {index.x, index.y, index.z});
  return {whole.x, whole.y, whole.z};
}

// As many blocks at a time as the emulated GPU has room for; the next begins where one has ended.
void Grid::run() {
  const std::uint64_t blocks = volume(launch.grid);
  const std::size_t threads = volume(launch.block),
                    shared = std::max<std::size_t>(details.shared_bytes + launch.shared_bytes, 1);
  const std::size_t each =
      std::clamp<std::size_t>(std::min({threads_per_multiprocessor / threads, std::size_t{blocks_per_multiprocessor},
                                        shared_bytes_per_block / shared}),
                              1, blocks_per_multiprocessor);
  std::vector<std::unique_ptr<Block>> resident(std::min<std::uint64_t>(blocks, each * multiprocessors));
  std::uint64_t begun = 0;
  Recorder* const recorder = active_recorder();
  base::LaunchTrace trace{details.name, launch.grid, launch.block, details.shared_bytes + launch.shared_bytes, {}};
  std::vector<std::uint64_t> numbers(resident.size());  // of blocks, for the recorder
  const std::optional<double> kept = recorder ? recorder->begins(trace) : std::nullopt;
  const auto begin = [&](std::size_t place) {
    numbers[place] = begun;
    resident[place]->record_with(kept && recorder->keeps(begun, blocks) ? recorder : nullptr);
    resident[place]->begin(index_of(begun++));
  };
  for (std::size_t i = 0; i < resident.size(); ++i) {
    resident[i] = std::make_unique<Block>(*this, static_cast<unsigned>(begun % multiprocessors));
    begin(i);
  }
  while (!resident.empty()) {
    bool waits = true;
    for (std::size_t i = 0; i < resident.size();) {
      if (resident[i]->run(steps_of_a_turn)) {
        ++i;
        continue;
      }
      waits = false;
      if (kept && recorder->keeps(numbers[i], blocks)) {
        trace.blocks.push_back(resident[i]->take_trace());
        trace.blocks.back().number = numbers[i];
      }
      if (begun < blocks) {
        begin(i);
      } else {
        resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(i));
        numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (waits) std::this_thread::yield();  // they may wait for another launch, or for the host
  }
  if (recorder) recorder->launched(std::move(trace), kept);
}

Block::Block(const Grid& its_grid, unsigned its_multiprocessor)
    : grid(its_grid),
      multiprocessor(its_multiprocessor),
      threads(static_cast<unsigned>(volume(grid.launch.block))),
      own_shared_bytes(static_bytes(grid) + grid.launch.shared_bytes),
      shared_bytes(grid.program.uses_reserved_shared ? (own_shared_bytes + 15) / 16 * 16 + reserved_shared_bytes
                                                     : own_shared_bytes),
      shared_(new (shared_alignment) std::byte[shared_bytes + 1]) {
  for (unsigned warp = 0; warp * lanes < threads; ++warp) warps_.push_back(std::make_unique<Warp>(*this, warp));
}
Block::~Block() = default;

void Block::begin(Dim3 index) {
  index_ = index;
  live_ = threads;
  barriers_ = {};
  std::fill_n(shared_.get(), shared_bytes, std::byte{});
  for (const auto& warp : warps_) warp->begin();
}

bool Block::run(unsigned steps) {
  for (unsigned done = 0; live_ != 0 && done < steps;) {
    unsigned round = 0;
    for (const auto& warp : warps_)
      if (!warp->ended()) round += warp->run(steps_of_a_warp);
    if (round == 0 && live_ != 0) stuck();
    done += round;
  }
  return live_ != 0;
}

void Block::record_with(Recorder* recorder) {
  for (const auto& warp : warps_)
    if (!recorder)
      warp->recorder.reset();
    else if (!warp->recorder)
      warp->recorder = std::make_unique<WarpRecorder>(*recorder);
}

base::BlockTrace Block::take_trace() {
  base::BlockTrace trace;
  for (const auto& warp : warps_) warp->recorder->finish(trace);
  return trace;
}

void Block::arrive(Warp& warp, const Op& op, Mask mask) {
  const int lane = __builtin_ctz(mask);
  const auto which = static_cast<unsigned>(warp.row(op.a)[lane]);
  if (which >= barriers_.size())
    warp.fail(op, lane, Fault::Kind::trap, "barrier " + std::to_string(which) + ", expected one from 0 to 15");
  Barrier& barrier = barriers_[which];
  if (const auto expected = static_cast<unsigned>(warp.row(op.b)[lane])) barrier.expected = expected;
  barrier.arrived += static_cast<unsigned>(__builtin_popcount(mask));
  // Warps are counted whole, so the threads that the last one lacks come with its last thread.
  const unsigned after = threads % lanes == 0 || warp.number != threads / lanes ? 0 : lanes - threads % lanes;
  if (barrier.expected != 0 && after != 0 && (mask >> (threads % lanes - 1) & 1) != 0) barrier.arrived += after;
  if (op.d.number != 0) {
    const Word* const predicate = warp.row(op.c);
    for_lanes(mask, [&](int one) {
      ++(((predicate[one] & 1) != 0) != op.negated_predicate ? barrier.trues : barrier.falses);
    });
  }
  if (op.count != 0) warp.wait(mask, which, barrier.expected == 0 || barrier.expected >= threads);
  open_if_full(which);
}

void Block::open_if_full(unsigned which) {
  Barrier& barrier = barriers_[which];
  if (barrier.arrived == 0 || barrier.arrived < (barrier.expected != 0 ? barrier.expected : live_)) return;
  const Barrier opened = std::exchange(barrier, {});
  for (const auto& warp : warps_) warp->release(which, opened);
}

void Block::ended(unsigned count) {
  live_ -= count;
  if (live_ == 0) return;
  for (unsigned which = 0; which < barriers_.size(); ++which)
    if (barriers_[which].expected == 0) open_if_full(which);
}

void Block::stuck() const {
  std::string who;
  for (const auto& warp : warps_)
    if (const std::string one = warp->describe(); !one.empty() && who.size() < 500)
      who += (who.empty() ? "" : "; ") + one;
  const Dim3 index = grid.index_in_whole(index_);
  throw Fault(Fault::Kind::deadlock, grid.details.name + ": all threads of block (" + std::to_string(index.x) + "," +
                                         std::to_string(index.y) + "," + std::to_string(index.z) +
                                         ") wait for each other: " + who);
}

void Code::run(std::size_t kernel, const Launch& launch, const std::byte* parameters, const Memory* memory) const {
  Grid(*program_, static_cast<std::uint32_t>(kernel), launch, parameters, memory).run();
}

}  // namespace dcgn::virtual_gpu::interpreter
