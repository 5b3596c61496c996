#include "vgpu/src/measured_launches.hpp"

#include "vgpu/src/gpu.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

double seconds_of_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

bool MeasuredLaunches::begin(Parts& streams, const void* of, double blocks, double threads_of_block, bool can_split) {
  collect();
  policy_.set_bytes(gpu_.buffer_bytes());
  if (policy_.wants_idle() && (std::exchange(waited_, false) || ++asked_ % every_ == 0)) move();
  SplitPolicy::Kind*& kind = kinds_[{of, SplitPolicy::size_class(blocks * threads_of_block)}];
  if (!kind) kind = &policy_.add_kind();
  kind->can_split = can_split;  // of another kernel, where that one is gone
  const auto [asked_to_split, timed] = policy_.next(*kind, blocks);
  const bool split = asked_to_split && can_split && !local();
  if (!timed) return split;
  if (!idle_.empty()) {
    now_ = std::move(idle_.back());
    idle_.pop_back();
  } else {
    now_.begin = gpu_.machine().make_marker(0);
    now_.end = gpu_.machine().make_marker(0);
  }
  now_.kind = kind;
  now_.form = local() ? Form::local : split ? Form::split : Form::spread;
  now_.blocks = blocks;
  streams.gather();
  now_.begin->record(streams.first());
  return split;
}

void MeasuredLaunches::end(Parts& streams) {
  if (!now_.kind) return;
  streams.gather();
  now_.end->record(streams.first());
  under_way_.push_back(std::exchange(now_, {}));
}

// What is known by now, without waiting.
void MeasuredLaunches::collect() {
  while (!under_way_.empty() && under_way_.front().end->done()) {
    Timed timed = std::move(under_way_.front());
    under_way_.pop_front();
    policy_.note_time(*timed.kind, timed.form, timed.blocks, timed.end->seconds_since(*timed.begin));
    idle_.push_back(std::move(timed));
  }
}

// At once where its user has waited for something; else ever more seldom, as asking costs.
void MeasuredLaunches::move() {
  const bool is_idle = gpu_.is_idle();
  every_ = is_idle ? 16 : std::min(2 * every_, 1024U);
  if (!is_idle) return;
  const double begin = seconds_of_clock();
  const SplitPolicy::Move asked = policy_.at_idle(begin);
  if (asked == SplitPolicy::Move::none) return;
  if (!gpu_.place_all(asked == SplitPolicy::Move::spread ? Placement::chunked() : Placement::owner(0)) &&
      asked == SplitPolicy::Move::gather)
    return overflow();
  const double end = seconds_of_clock();
  policy_.moved(asked, end - begin, end);
}

void MeasuredLaunches::overflow() {
  static_cast<void>(gpu_.place_all(Placement::chunked()));
  if (local()) policy_.moved(SplitPolicy::Move::spread, 0, seconds_of_clock());
  policy_.stop();
}

}  // namespace dcgn::virtual_gpu
