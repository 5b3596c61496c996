#include "memnet/src/gpu_core.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace dcgn::memnet {

namespace {

using base::Touch;
using Kind = base::WarpEvent::Kind;

constexpr int warp_lanes = 32;
constexpr std::size_t queued_accesses = 8;  // of warps, before a core's L1
constexpr std::int64_t no_event = std::numeric_limits<std::int64_t>::max();

// At least one.
std::int64_t cycles_of(double count) { return std::max<std::int64_t>(1, std::llround(count)); }

}  // namespace

GpuState::GpuState(KernelRun& its_run, std::size_t its_number, const GpuCores& its_model, double network_ghz,
                   KernelResult& its_result)
    : model(its_model),
      run(its_run),
      number(its_number),
      result(its_result),
      work(its_run.work(its_number)),
      slots_a_cycle(model.clock_ghz / network_ghz),
      l1_cycles(cycles_of(model.l1_latency / slots_a_cycle)),
      crossbar_cycles(cycles_of(model.crossbar_ns * network_ghz)),
      issue_cycles(model.issue_gap / slots_a_cycle) {}

GpuCore::GpuCore(GpuState& gpu, int number)
    : gpu_(gpu), number_(number), l1_(gpu.model.l1_bytes, gpu.model.l1_ways, cached_line_bytes) {}

void GpuCore::begin_launch() {
  l1_.clear();
  const base::LaunchTrace& launch = *gpu_.run.launch();
  warps_of_block_ = (launch.block.volume() + warp_lanes - 1) / warp_lanes;
  const auto blocks = static_cast<std::size_t>(gpu_.run.resident());
  blocks_.assign(blocks, {});
  warps_.assign(blocks * warps_of_block_, {});
  ready_.assign((warps_.size() + 63) / 64, 0);
  access_ = ready_;
  next_ = 0;
  room_ = true;
}

void GpuCore::abandon() {
  std::fill(ready_.begin(), ready_.end(), 0);
  std::fill(blocks_.begin(), blocks_.end(), Resident{});
  resident_ = 0;
  room_ = false;
  accesses_.clear();
  misses_.clear();
  missing_ = 0;
  stalled_ = false;
  hits_.clear();
  hits_late_ = {};
  fills_ = {};
  writes_ = 0;
}

// Cores of a GPU get blocks in turns: each call places one.
void GpuCore::place_blocks() {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (blocks_[b].live != 0) continue;
    const base::BlockTrace* const trace = gpu_.run.take(gpu_.number);
    room_ = trace != nullptr;
    if (!trace) return;
    blocks_[b] = {b * warps_of_block_, trace->warps(), trace->warps()};
    ++resident_;
    for (std::size_t w = 0; w < trace->warps(); ++w) {
      Warp& warp = warps_[b * warps_of_block_ + w];
      warp.reader = trace->warp(w);
      warp.block = b;
      warp.ready_at = 0;
      warp.loads.clear();
      warp.left = 0;
      warp.state = Warp::State::ready;
      settle(b * warps_of_block_ + w);
    }
    return;
  }
  room_ = false;
}

// Goes on to the next event that takes an instruction, or to where the warp waits.
void GpuCore::settle(std::size_t index) {
  Warp& warp = warps_[index];
  set_ready(index, false);
  while (warp.reader.next(warp.event)) {
    switch (warp.event.kind) {
      case Kind::issue:
      case Kind::load:
      case Kind::store:
      case Kind::atomic:
        warp.left = warp.event.kind == Kind::issue ? warp.event.count : 1;
        warp.state = Warp::State::ready;
        if (warp.left == 0) continue;
        set_ready(index, true, warp.event.kind != Kind::issue);
        return;
      case Kind::use: {
        if (warp.event.count == 0 || warp.event.count > warp.loads.size()) continue;
        const auto load = static_cast<std::uint32_t>(warp.loads.size() - warp.event.count);
        if (warp.loads[load] == 0) continue;
        warp.needed = load;
        warp.state = Warp::State::waits_for_load;
        return;
      }
      case Kind::barrier: {
        Resident& block = blocks_[warp.block];
        warp.state = Warp::State::at_barrier;
        ++block.waiting;
        if (block.waiting == block.live) open(block);
        return;
      }
    }
  }
  warp.state = Warp::State::ending;
  if (warp.outstanding == 0) end(index);
}

// Warps that come to the next barrier meanwhile, and are the last there, open it after this one.
void GpuCore::open(Resident& block) {
  block.again = true;
  if (std::exchange(block.opening, true)) return;
  while (std::exchange(block.again, false)) {
    block.waiting = 0;
    for (std::size_t w = block.first; w < block.first + block.warps; ++w)
      if (warps_[w].state == Warp::State::at_barrier) warps_[w].state = Warp::State::ready, warps_[w].left = 0;
    for (std::size_t w = block.first; w < block.first + block.warps; ++w)
      if (warps_[w].state == Warp::State::ready && warps_[w].left == 0) settle(w);
  }
  block.opening = false;
}

void GpuCore::end(std::size_t index) {
  Warp& warp = warps_[index];
  Resident& block = blocks_[warp.block];
  warp.state = Warp::State::none;
  if (--block.live != 0) {
    if (block.waiting == block.live) open(block);
    return;
  }
  --resident_;
  room_ = true;
  gpu_.run.ended(now_);
}

void GpuCore::arrived(Waiter waiter) {
  Warp& warp = warps_[waiter.warp];
  --warp.outstanding;
  const bool complete = --warp.loads[waiter.load] == 0;
  if (warp.state == Warp::State::ending && warp.outstanding == 0) {
    end(waiter.warp);
  } else if (complete && warp.state == Warp::State::waits_for_load && warp.needed == waiter.load) {
    settle(waiter.warp);
  }
}

// One line of the access that came first.
void GpuCore::access_cache(std::int64_t now) {
  if (accesses_.empty() || stalled_) return;
  AccessOfWarp& access = accesses_.front();
  const Touch touch = access.touches[access.at];
  L2Request request{
      now + gpu_.crossbar_cycles, access.kind, touch.line, touch.sectors, number_, access.warp, access.load};
  switch (access.kind) {
    case Kind::load: {
      ++gpu_.result.l1_reads;
      const Waiter waiter{access.warp, access.load};
      if (l1_.touch(touch.line)) {
        ++gpu_.result.l1_hits;
        hits_.push_back({now + gpu_.l1_cycles, waiter});
        break;
      }
      std::size_t miss = 0;
      while (miss < missing_ && misses_[miss].line != touch.line) ++miss;
      if (miss == missing_) {
        if (missing_ == static_cast<std::size_t>(gpu_.model.l1_misses)) {
          --gpu_.result.l1_reads;  // it tries again
          stalled_ = true;
          return;
        }
        if (missing_++ == misses_.size()) misses_.emplace_back();
        misses_[miss].line = touch.line;
        gpu_.send(request);
      }
      misses_[miss].waiters.push_back(waiter);
      break;
    }
    case Kind::store:
      stalled_ = writes_ >= gpu_.model.l1_misses;
      if (stalled_) return;
      ++writes_;
      static_cast<void>(l1_.touch(touch.line));
      gpu_.send(request);
      break;
    default:  // atomics: a request for each sector
      l1_.remove(touch.line);
      for (unsigned sectors = touch.sectors; sectors != 0; sectors &= sectors - 1) {
        request.sectors = static_cast<std::uint8_t>(sectors & (0 - sectors));
        gpu_.send(request);
      }
      break;
  }
  ++gpu_.work;
  if (++access.at == access.touches.size()) accesses_.pop_front();
}

bool GpuCore::full() const { return accesses_.size() >= queued_accesses; }

void GpuCore::begin_access(Warp& warp, std::size_t index) {
  AccessOfWarp access{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(warp.loads.size()), warp.event.kind,
                      std::move(warp.event.touches), 0};
  if (access.kind != Kind::store) {
    std::size_t parts = access.touches.size();
    if (access.kind == Kind::atomic) {
      parts = 0;
      for (const Touch& touch : access.touches) parts += static_cast<std::size_t>(std::popcount(touch.sectors));
    }
    warp.loads.push_back(static_cast<std::uint32_t>(parts));
    warp.outstanding += static_cast<std::uint32_t>(parts);
  }
  if (!access.touches.empty()) accesses_.push_back(std::move(access));
}

// One instruction of the next warp in turn that has one.
void GpuCore::issue(std::int64_t now) {
  for (std::size_t i = 0; i <= ready_.size(); ++i) {
    const std::size_t word = (next_ / 64 + i) % ready_.size();
    std::uint64_t warps = issuable(word);
    if (i == 0) warps &= ~std::uint64_t{0} << next_ % 64;
    if (i == ready_.size()) warps &= ~(~std::uint64_t{0} << next_ % 64);
    if (warps != 0 && issue_from(warps, word * 64, now)) return;
  }
}

bool GpuCore::issue_from(std::uint64_t warps, std::size_t first, std::int64_t now) {
  for (; warps != 0; warps &= warps - 1) {
    const std::size_t index = first + static_cast<std::size_t>(std::countr_zero(warps));
    Warp& warp = warps_[index];
    if (warp.ready_at > static_cast<double>(now)) continue;
    if (warp.event.kind != Kind::issue) begin_access(warp, index);
    ++gpu_.result.instructions;
    ++gpu_.work;
    warp.ready_at = std::max(warp.ready_at, static_cast<double>(now) - 1) + gpu_.issue_cycles;
    next_ = (index + 1) % warps_.size();
    if (--warp.left == 0) settle(index);
    return true;
  }
  return false;
}

void GpuCore::fill_line(std::uint64_t line) {
  stalled_ = false;
  l1_.insert(line);
  for (std::size_t i = 0; i < missing_; ++i) {
    if (misses_[i].line != line) continue;
    --missing_;
    std::swap(misses_[i], misses_[missing_]);
    std::vector<Waiter>& waiters = misses_[missing_].waiters;
    for (const Waiter& waiter : waiters) arrived(waiter);
    waiters.clear();
    return;
  }
}

std::int64_t GpuCore::cycle(std::int64_t now) {
  now_ = now;
  while (!hits_.empty() && hits_.front().cycle <= now) {
    const Waiter waiter = hits_.front().waiter;
    hits_.pop_front();
    arrived(waiter);
  }
  while (!hits_late_.empty() && hits_late_.top().cycle <= now) {
    const Waiter waiter = hits_late_.top().waiter;
    hits_late_.pop();
    arrived(waiter);
  }
  while (!fills_.empty() && fills_.top().cycle <= now) {
    const std::uint64_t line = fills_.top().line;
    fills_.pop();
    fill_line(line);
  }
  if (room_) place_blocks();
  if (resident_ == 0 && accesses_.empty()) return next_cycle(now);
  slots_ = std::min(slots_ + gpu_.slots_a_cycle, 1 + gpu_.slots_a_cycle);
  for (; slots_ >= 1; slots_ -= 1) {
    access_cache(now);
    issue(now);
  }
  return next_cycle(now);
}

std::int64_t GpuCore::next_cycle(std::int64_t now) const {
  if (room_ || (!accesses_.empty() && !stalled_)) return now + 1;
  std::int64_t next = no_event;
  for (std::size_t word = 0; word < ready_.size(); ++word)
    for (std::uint64_t warps = issuable(word); warps != 0; warps &= warps - 1) {
      const Warp& warp = warps_[word * 64 + static_cast<std::size_t>(std::countr_zero(warps))];
      next = std::min(next, static_cast<std::int64_t>(std::ceil(warp.ready_at)));
      if (next <= now + 1) return now + 1;
    }
  if (!hits_.empty()) next = std::min(next, std::max(now + 1, hits_.front().cycle));
  if (!hits_late_.empty()) next = std::min(next, std::max(now + 1, hits_late_.top().cycle));
  if (!fills_.empty()) next = std::min(next, std::max(now + 1, fills_.top().cycle));
  return next;
}

}  // namespace dcgn::memnet
