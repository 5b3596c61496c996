#include "vgpu/src/split_policy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

bool is_power_of_two(std::uint64_t number) { return (number & (number - 1)) == 0; }

constexpr double clearly_faster = 0.8;  // split, of the time on one part: whole on spread buffers is not tried then
constexpr double far_slower = 1.5;      // a trial is broken off
constexpr double grown = 4;             // a launch of a kind takes so many times as long: it is another kind
constexpr double remembered_s = 1;      // of what was launched before
constexpr double least_wall_s = 2e-3, most_overlap = 4;  // where the clock on the wall tells something
constexpr double pace_kept = 0.97;

}  // namespace

void SplitPolicy::Times::add(double per_block) {
  last_[count_++ % kept] = per_block;
  std::array<double, kept> sorted = last_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count_, kept));
  const auto middle = sorted.begin() + (end - sorted.begin() - 1) / 2;
  std::nth_element(sorted.begin(), middle, end);
  middle_ = *middle;
}

// Launches that are timed: the second, since the first loads code, and then ever fewer. To time one costs some
// microseconds, so of those that are short few are, and none while the first time is not known yet.
bool SplitPolicy::is_timed(Kind& kind) const {
  const std::uint64_t number = kind.recent;
  if (number < 2 || (local_ && !is_watched())) return false;
  if (!std::exchange(kind.was_timed, true)) return true;
  if (number < (is_short(kind) ? 64 : kind.of(Form::local).count() == 0 && local_ ? 8 : 3)) return false;
  if (is_short(kind)) return is_power_of_two(number) || number % 512 == 0;
  // A trial is short, as is the time before it, and decides for long: all that takes long is timed.
  const bool decides = begun_ >= 0 && phase_ != Phase::kept;
  if (decides && kind.of(Form::local).middle() * kind.last_blocks >= 4 * settings_.shortest_s) return true;
  const std::uint64_t every = number < 4096 ? 64 : 512;
  return number % every == 0 || (number < 64 && is_power_of_two(number));
}

bool SplitPolicy::may_be_timed(const Kind& kind) {
  const std::uint64_t number = kind.recent + 1;
  return is_power_of_two(number) || number % 64 == 0;
}

bool SplitPolicy::is_short(const Kind& kind) const {
  const Times& local = kind.of(Form::local);
  return local.count() != 0 && local.middle() * kind.last_blocks < settings_.shortest_s;
}

int SplitPolicy::size_class(double threads) { return threads < 1 ? 0 : std::ilogb(threads) / 2; }

bool SplitPolicy::may_gain(const Kind& kind) const { return kind.can_split && !is_short(kind); }

bool SplitPolicy::is_new(const Kind& kind) const {
  return !kind.decided || kind.of(Form::local).middle() >= grown * kind.decided_per_block;
}

SplitPolicy::Choice SplitPolicy::next(Kind& kind, double blocks) {
  ++kind.launches;
  ++kind.recent;
  kind.blocks += blocks;
  kind.last_blocks = blocks;
  const Times &local = kind.of(Form::local), &spread = kind.of(Form::spread), &split = kind.of(Form::split);
  const Times& known = local.count() != 0 ? local : split.count() != 0 ? split : spread;
  const double seconds = known.middle() * blocks;
  if (known.count() == 0) kind.unknown_blocks += blocks;
  count(kind, seconds, seconds);
  ++window_launches_;
  if (local_) {
    if (!wants_idle_) look_locally();
    return {false, is_timed(kind)};
  }
  if (!wants_idle_ && (kind.recent < 8 || kind.recent % 8 == 0)) look_spread();
  const Choice choice = next_spread(kind);
  const Times& made = choice.split ? split : spread;
  if (local.count() != 0 && made.count() != 0) losing_s_ += (made.middle() - local.middle()) * blocks;
  return choice;
}

SplitPolicy::Choice SplitPolicy::next_spread(Kind& kind) const {
  const Times &local = kind.of(Form::local), &spread = kind.of(Form::spread), &split = kind.of(Form::split);
  if (!may_gain(kind)) return {false, is_timed(kind)};
  if (!kind.settled) {
    if (split.count() < tries) return {true, kind.recent > 1};
    const bool clear = local.count() != 0 && split.middle() <= clearly_faster * local.middle();
    if (!clear && spread.count() < tries) return {false, true};
    kind.stays_whole = !clear && spread.middle() < split.middle();
    kind.settled = true;
  }
  return {!kind.stays_whole, is_timed(kind)};
}

// Time of launches, and as much of it as the window has.
void SplitPolicy::count(Kind& kind, double seconds, double window_seconds) {
  kind.seconds += seconds;
  total_s_ += seconds;
  window_s_ += window_seconds;
  trial_s_ += window_seconds;
  if (!local_) {
    if (kind.of(Form::local).count() == 0) unknown_s_ += window_seconds;
    return;
  }
  since_s_ += seconds;
  if (may_gain(kind)) candidates_s_ += seconds;
  if (is_new(kind)) new_s_ += seconds;
}

void SplitPolicy::note_time(Kind& kind, Form form, double blocks, double seconds) {
  if (blocks <= 0 || !(seconds >= 0)) return;
  if ((form == Form::local) != local_) return;  // of before the buffers were moved
  Times& times = kind.times[static_cast<std::size_t>(form)];
  // Short kernels are timed too seldom for the middle to tell soon that they have grown.
  if (form == Form::local && is_short(kind) && seconds >= grown * times.middle() * blocks) times.clear();
  times.add(seconds / blocks);
  if (const double before = std::exchange(kind.unknown_blocks, 0.0); before > 0)
    count(kind, times.middle() * before, times.middle() * std::min(before, kind.blocks));
  if (!local_ && !wants_idle_) look_spread();
}

void SplitPolicy::look_locally() {
  if (since_s_ > remembered_s)
    for (double* one : {&since_s_, &candidates_s_, &new_s_}) *one /= 2;
  if (stopped_ || since_s_ <= 0 || candidates_s_ < settings_.least_share * since_s_) return;
  if (failures_ != 0 && new_s_ < since_s_ / 2) return;
  const double price = std::ldexp(cost() + once_s_, static_cast<int>(std::min<std::uint64_t>(failures_, 20)));
  const double may_be_lost = (trials_ == 0 ? settings_.first_budget : settings_.later_budget) * total_s_ - lost_s_;
  // The mix as it is now, from a moment on at which nothing is under way.
  ends_window_ = begun_ >= 0 && price <= may_be_lost && window_s_ >= 2 * settings_.window_s;
  wants_idle_ = ends_window_ || (begun_ < 0 && price <= 2 * may_be_lost);
}

SplitPolicy::Sums SplitPolicy::sums() const {
  Sums all;
  for (const Kind& kind : kinds_) {
    // What it is weighed by while it is tried is how often it ran before: that is a longer time.
    const double blocks = phase_ == Phase::kept ? kind.blocks : kind.weight;
    if (blocks <= 0) continue;
    const Times &local = kind.of(Form::local), &spread = kind.of(Form::spread), &split = kind.of(Form::split);
    const bool is_split = may_gain(kind) && !kind.stays_whole;
    const Times& used = is_split ? split : spread;
    const bool is_known = used.count() != 0;
    const double now = (is_known ? used : local).middle() * blocks;
    const double before = local.count() != 0 ? local.middle() * blocks : now;
    all.now += now;
    all.before += before;
    if (local.count() != 0) all.known += before;
    if (is_known && (kind.settled || !is_split)) all.settled += before;
  }
  return all;
}

bool SplitPolicy::pays(const Sums& sums, double limit, double now) const {
  if (sums.now > limit * sums.before) return false;
  // All else that the program waits for: copies, allocations, the host itself.
  const double wall = now - begun_;
  if (begun_ < 0 || wall < least_wall_s || pace_before_ <= 0) return true;
  const double pace = window_s_ / wall;
  return pace_before_ > most_overlap || pace > most_overlap || pace >= pace_kept * pace_before_;
}

void SplitPolicy::begin_window() {
  window_s_ = 0;
  window_launches_ = 0;
  ends_window_ = goes_back_ = false;
  for (Kind& kind : kinds_) {
    kind.blocks = 0;
    kind.recent = std::min<std::uint64_t>(kind.recent, 4);  // its first launches are behind it
  }
}

void SplitPolicy::look_spread() {
  if (stopped_) return;
  const Sums all = sums();
  const double settled = all.before > 0 ? all.settled / all.before : 0;
  // What is launched now was not before: of a trial, nothing is learnt then.
  const bool changed = unknown_s_ > trial_s_ / 2 && trial_s_ >= 2 * settings_.window_s;
  // What the trial has cost so far, whatever the mix was before it. As much as another move is granted to each.
  const bool loses = (settled >= 0.5 && all.now > far_slower * all.before) ||
                     losing_s_ > std::max(cost(), settings_.later_budget * total_s_ - lost_s_);
  switch (phase_) {
    case Phase::watching: return;
    case Phase::warming:
      learns_ = changed;
      goes_back_ = changed || loses;
      wants_idle_ = goes_back_ || (window_s_ >= settings_.window_s / 4 && window_launches_ >= 4);
      return;
    case Phase::trying:
      learns_ = changed;
      goes_back_ = changed || loses;
      ends_window_ = (window_s_ >= settings_.window_s && settled >= 0.7) || window_s_ >= settings_.longest_s;
      wants_idle_ = goes_back_ || ends_window_;
      return;
    case Phase::kept: {
      if (window_s_ < settings_.review_s) return;
      learns_ = all.known < all.before / 2;
      const bool bad =
          learns_ ? lost_s_ + cost() <= settings_.later_budget * total_s_ : all.now > settings_.keep * all.before;
      begin_window();
      bad_reviews_ = bad ? bad_reviews_ + 1 : 0;
      goes_back_ = wants_idle_ = bad_reviews_ > 1;
      return;
    }
  }
}

SplitPolicy::Move SplitPolicy::at_idle(double now) {
  if (!wants_idle_) return Move::none;
  wants_idle_ = false;
  switch (phase_) {
    case Phase::watching:
      if (ends_window_) {
        const double wall = now - begun_;
        pace_before_ = begun_ >= 0 && wall >= least_wall_s ? window_s_ / wall : 0;
        return Move::spread;
      }
      begin_window();
      begun_ = now;
      return Move::none;
    case Phase::warming:
      if (goes_back_) break;
      begin_window();
      begun_ = now;
      phase_ = Phase::trying;
      return Move::none;
    case Phase::trying: {
      const Sums all = sums();
      if (!goes_back_ && pays(all, settings_.gain, now)) {
        phase_ = Phase::kept;
        unknown_s_ = 0;
        bad_reviews_ = 0;
        begin_window();
        return Move::none;
      }
      break;
    }
    case Phase::kept:
      if (!goes_back_) return Move::none;
      break;
  }
  if (phase_ != Phase::kept) {
    lost_s_ += unknown_s_ / 2 + std::max(0.0, losing_s_);
  } else if (const Sums all = sums(); all.before > 0) {
    lost_s_ += std::max(0.0, all.now / all.before - 1) * window_s_;
  }
  return Move::gather;
}

void SplitPolicy::moved(Move move, double seconds, double now) {
  if (move == Move::none) return;
  lost_s_ += seconds;
  const bool to_spread = move == Move::spread;
  if (to_spread) {
    ++trials_;
    once_s_ = 0;
    const double expected = settings_.fixed_cost_s + settings_.cost_per_byte * static_cast<double>(bytes_);
    scale_ = std::clamp(2 * seconds / expected, 0.25, 20.0);
  } else if (!learns_) {
    ++failures_;
  }
  trial_s_ = unknown_s_ = losing_s_ = 0;
  for (Kind& kind : kinds_) {
    if (to_spread) {
      kind.weight = kind.blocks;
      kind.times[static_cast<std::size_t>(Form::spread)].clear();
      kind.times[static_cast<std::size_t>(Form::split)].clear();
      kind.settled = kind.stays_whole = false;
    } else {
      kind.decided = !learns_ && (kind.decided || kind.of(Form::local).count() != 0);
      kind.decided_per_block = kind.of(Form::local).middle();
    }
    kind.recent = 0;
    kind.was_timed = false;
  }
  begin_window();
  local_ = !to_spread;
  phase_ = to_spread ? Phase::warming : Phase::watching;
  learns_ = wants_idle_ = false;
  since_s_ = candidates_s_ = new_s_ = 0;
  begun_ = to_spread ? now : -1;
}

std::string SplitPolicy::why(const Kind& kind) const {
  const Times &local = kind.of(Form::local), &spread = kind.of(Form::spread), &split = kind.of(Form::split);
  char text[160] = "";
  const auto say = [&](const char* form, double value) {
    std::snprintf(text, sizeof text, form, value);
    return std::string(text);
  };
  if (split.count() != 0) {
    const Times& whole = local_ || spread.count() == 0 ? local : spread;
    if (!local_ && !kind.stays_whole) return {};
    if (whole.count() == 0) return {};
    const double ratio = split.middle() / whole.middle();
    if (ratio >= 1) return say("whole: %.1f x faster than split", ratio);
    return say("whole: %.1f x slower than split, but all launches together gain nothing", 1 / ratio);
  }
  const double launch_s = kind.seconds_of(Form::local, kind.last_blocks);
  if (local.count() != 0 && launch_s < settings_.shortest_s)
    return say("whole: %.1f us a launch, too short to split", 1e6 * launch_s);
  if (!local_) return {};
  if (failures_ != 0 && kind.decided) return "whole: all launches together are not faster with buffers on all GPUs";
  return "whole: too little time was spent in it to pay for moving the buffers";
}

}  // namespace dcgn::virtual_gpu
