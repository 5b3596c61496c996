#include "vgpu/src/interpreter/recorder.hpp"

#include "vgpu/src/interpreter/warp.hpp"
#include "vgpu/src/kernel_name.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

namespace dcgn::virtual_gpu::interpreter {

namespace {

constexpr std::uint64_t page_bytes = 4096, line_bytes = 128, sector_bytes = 32;

std::atomic<Recorder*> active{nullptr};

using Kind = base::WarpEvent::Kind;

bool touches_memory(const Op& op) {
  switch (op.access) {
    case Access::none:
    case Access::commit_copies:
    case Access::wait_for_groups:
    case Access::wait_for_copies: return false;
    case Access::copy:
    case Access::bulk_load:
    case Access::bulk_store: return true;
    case Access::load:
    case Access::store:
    case Access::atomic: return op.addressing == Addressing::absolute;
  }
  return false;
}

}  // namespace

void record_with(Recorder* recorder) { active.store(recorder, std::memory_order_release); }
Recorder* active_recorder() { return active.load(std::memory_order_acquire); }

void Recorder::copied(base::KernelStep::Kind kind, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (bytes != 0) trace_.steps.push_back({kind, bytes, {}});
}

// Kernels that have one plain name, as overloads have, are told apart by numbers.
std::string Recorder::name_of(const std::string& kernel) {
  const auto [found, is_new] = names_.try_emplace(kernel);
  if (!is_new) return found->second;
  const std::string plain = plain_name(kernel);
  const int number = ++of_plain_name_[plain];
  return found->second = number == 1 ? plain : plain + " #" + std::to_string(number);
}

Recorder::Group& Recorder::group_of(const base::LaunchTrace& launch) {
  const Dim3 &grid = launch.grid, &block = launch.block;
  return groups_[{launch.kernel, {grid.x, grid.y, grid.z, block.x, block.y, block.z}, launch.shared_bytes}];
}
std::optional<double> Recorder::begins(const base::LaunchTrace& launch) {
  if (most_launches_ == 0) return 0;
  constexpr double golden = 0.6180339887498949;
  const std::scoped_lock lock(mutex_);
  Group& group = group_of(launch);
  const double turns = static_cast<double>(group.begun++) * golden, fraction = turns - std::floor(turns);
  return fraction < group.share ? std::optional(fraction) : std::nullopt;
}
void Recorder::launched(base::LaunchTrace&& launch, std::optional<double> fraction) {
  const std::scoped_lock lock(mutex_);
  Group* const group = most_launches_ != 0 ? &group_of(launch) : nullptr;
  launch.kernel = name_of(launch.kernel);
  std::sort(launch.blocks.begin(), launch.blocks.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  trace_.steps.push_back({base::KernelStep::Kind::launch, 0, std::move(launch)});
  if (!group || !fraction) return;
  group->kept.emplace_back(trace_.steps.size() - 1, *fraction);
  // Those too that began before the share was as small as it is.
  const auto leave = [&](const auto& one) {
    if (one.second < group->share) return false;
    trace_.steps[one.first].launch.blocks.clear();
    return true;
  };
  std::erase_if(group->kept, leave);
  while (group->kept.size() > most_launches_) {
    group->share /= 2;
    std::erase_if(group->kept, leave);
  }
}
base::KernelTrace Recorder::take() {
  const std::scoped_lock lock(mutex_);
  groups_.clear();
  return std::exchange(trace_, {});
}
std::uint64_t Recorder::number_of_page(std::uint64_t page) {
  const std::scoped_lock lock(mutex_);
  return pages_.try_emplace(page, pages_.size()).first->second;
}

void WarpRecorder::wait_for(std::uint32_t number) {
  writer_.issue(std::exchange(issued_, 0));
  writer_.use(loads_ - number + 1);
  std::erase_if(pending_, [&](const Pending& one) { return one.number == number; });
}
void WarpRecorder::use(const Row& row, unsigned depth) {
  if (row.where != Row::frame || row.number == 0) return;
  for (const Pending& one : pending_)
    if (one.row == row.number && one.depth == depth) {
      wait_for(one.number);
      return;
    }
}
void WarpRecorder::use_all() {
  while (!pending_.empty()) wait_for(pending_.back().number);
}

void WarpRecorder::touch(std::uintptr_t address, std::size_t bytes) {
  for (std::uintptr_t at = address, end = address + bytes; at < end;) {
    const std::uint64_t page = at / page_bytes;
    Page& known = known_[page % known_.size()];
    if (known.page != page) known = {page, recorder_.number_of_page(page)};
    const std::uint64_t line = known.number * (page_bytes / line_bytes) + at % page_bytes / line_bytes;
    const auto sector = static_cast<std::uint8_t>(1U << at % line_bytes / sector_bytes);
    const auto found =
        std::find_if(touches_.rbegin(), touches_.rend(), [&](const auto& one) { return one.line == line; });
    if (found != touches_.rend())
      found->sectors |= sector;
    else
      touches_.push_back({line, sector});
    at = (at / sector_bytes + 1) * sector_bytes;
  }
}

// Shared and local memory are the core's own, and constants have a cache of their own.
void WarpRecorder::touch(Warp& warp, const Op& op, Mask mask) {
  touches_.clear();
  const bool copies = op.access == Access::copy, loads_bulk = op.access == Access::bulk_load;
  const Word* const base = warp.row(copies || loads_bulk ? op.b : op.a);
  const Word* sizes = nullptr;
  if (copies) sizes = warp.row(op.count != 0 ? op.e : op.c);
  if (loads_bulk || op.access == Access::bulk_store) sizes = warp.row(op.c);
  const auto shared = reinterpret_cast<std::uintptr_t>(warp.block.shared());
  for_lanes(mask, [&](int lane) {
    const std::uintptr_t address = base[lane] + (sizes ? 0 : static_cast<Word>(op.offset));
    if (address - shared < warp.block.shared_bytes || warp.is_local(address)) return;
    touch(address, sizes ? static_cast<std::uint32_t>(sizes[lane]) : std::size_t{op.access_bytes} * op.count);
  });
}

void WarpRecorder::step(Warp& warp, const Op& op, Mask mask, unsigned depth) {
  const Program& program = warp.block.grid.program;
  const bool writes_list = op.access == Access::load && op.count > 1,
             reads_list = op.access == Access::store && op.count > 1;
  if (!pending_.empty()) {
    if (op.flow == Flow::call || op.flow == Flow::ret) use_all();
    for (const Row* const row : {&op.guard, &op.a, &op.b, &op.c, &op.e, &op.d, &op.p}) use(*row, depth);
    if (writes_list || reads_list)
      for (std::size_t i = 0; i < op.count; ++i) use(program.rows[op.list + i], depth);
  }
  if (op.access == Access::commit_copies || op.access == Access::wait_for_copies)
    groups_.push_back(std::exchange(copies_, {}));
  if (op.access == Access::wait_for_copies || op.access == Access::wait_for_groups) {
    const std::size_t left = op.access == Access::wait_for_copies ? 0 : static_cast<std::size_t>(op.offset);
    for (; groups_.size() > left; groups_.pop_front())
      for (const std::uint32_t number : groups_.front()) {
        writer_.issue(std::exchange(issued_, 0));
        writer_.use(loads_ - number + 1);
      }
  }
  ++issued_;
  ++work_;
  if (mask == 0 || !touches_memory(op)) return;
  touch(warp, op, mask);
  work_ += touches_.size();
  if (touches_.empty()) return;
  writer_.issue(std::exchange(issued_, 0) - 1);
  const auto count = static_cast<std::uint32_t>(__builtin_popcount(mask));
  switch (op.access) {
    case Access::none:
    case Access::commit_copies:
    case Access::wait_for_groups:
    case Access::wait_for_copies: break;
    case Access::bulk_load:
      writer_.access(Kind::load, 0, touches_);
      ++loads_;
      break;
    case Access::bulk_store:
    case Access::store: writer_.access(Kind::store, 0, touches_); break;
    case Access::copy:
      writer_.access(Kind::load, 0, touches_);
      copies_.push_back(++loads_);
      break;
    case Access::load:
    case Access::atomic: {
      const bool is_load = op.access == Access::load;
      writer_.access(is_load ? Kind::load : Kind::atomic, is_load ? 0 : count, touches_);
      ++loads_;
      if (writes_list) {
        for (std::size_t i = 0; i < op.count; ++i)
          pending_.push_back({program.rows[op.list + i].number, depth, loads_});
      } else if (op.d.where == Row::frame && op.d.number != 0) {
        pending_.push_back({op.d.number, depth, loads_});
      }
      break;
    }
  }
}

void WarpRecorder::barrier() {
  writer_.issue(std::exchange(issued_, 0));
  writer_.barrier();
}

void WarpRecorder::finish(base::BlockTrace& block) {
  writer_.issue(std::exchange(issued_, 0));
  block.work += std::exchange(work_, 0);
  block.bytes.insert(block.bytes.end(), writer_.bytes().begin(), writer_.bytes().end());
  block.ends.push_back(static_cast<std::uint32_t>(block.bytes.size()));
  writer_.clear();
  pending_.clear();
  copies_.clear();
  groups_.clear();
  loads_ = 0;
}

}  // namespace dcgn::virtual_gpu::interpreter
