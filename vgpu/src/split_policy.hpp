// Whether a program's launches are to be split: by what they took whole and split, what moves of buffers cost counted.
//
// A program begins local: all buffers lie on the first part and launches are whole, as on one GPU. When the time spent
// in kernels that could be split would pay for it, the buffers are spread over all parts, and launches are tried both
// ways. Where the whole mix gains, that stays; where it does not, the buffers go back, until the mix has changed.
// Decisions alone, by times that others measure; what moves pages asks for them while all streams are idle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>

namespace dcgn::virtual_gpu {

class SplitPolicy {
 public:
  // How a launch was made.
  enum class Form { local, spread, split };  // whole on local buffers, whole on spread ones, split on spread ones
  // What is to be done with all buffers, while no work is under way.
  enum class Move { none, spread, gather };

  struct Settings {
    double least_busy_s = 10e-3;   // before a program has been busy as long, nothing is timed: no trial could pay yet
    double shortest_s = 50e-6;     // a launch that takes less is not worth splitting
    double least_share = 0.3;      // of the time, that has to be in kernels that may be split
    double gain = 0.95;            // split, the mix takes this much of its time or less, to begin with
    double keep = 0.98;            // the same, to stay so
    double first_budget = 0.04;    // of the time so far, what a first trial may cost
    double later_budget = 0.015;   // the same, of all trials together
    double window_s = 10e-3;       // a trial is as long at least, in time on one part,
    double longest_s = 0.5;        // and no longer than that
    double review_s = 0.25;        // how often a mix that is split is looked at again, likewise
    double fixed_cost_s = 2e-3;    // of moving all buffers there and back,
    double cost_per_byte = 3e-11;  // and of each byte of them
  };

  // Seconds that a block takes, of few launches: the middle one, which a launch that had to wait for others does not
  // change.
  class Times {
   public:
    void add(double per_block);
    void clear() { count_ = 0; }
    std::uint64_t count() const { return count_; }
    double middle() const { return middle_; }

   private:
    static constexpr std::size_t kept = 15;
    std::array<double, kept> last_{};
    std::uint64_t count_ = 0;
    double middle_ = 0;
  };

  // Launches of one kernel with grids of about one size, a factor of four.
  struct Kind {
    bool can_split = false;  // as far as is known before the buffers are spread
    std::array<Times, 3> times;
    std::uint64_t launches = 0;
    double seconds = 0;         // on one part, of all launches whose time is known
    double unknown_blocks = 0;  // of the others: programs launch ahead of their GPU
    // Of the window that is looked at.
    double blocks = 0, last_blocks = 0, weight = 0;  // weight: the blocks before it was tried
    std::uint64_t recent = 0;                        // launches since the buffers were moved last
    bool was_timed = false;                          // one of them, at least
    bool stays_whole = false;                        // on spread buffers, this form is faster
    bool settled = false;                            // and that is known
    bool decided = false;                            // was there when it was decided to be local
    double decided_per_block = 0;

    const Times& of(Form form) const { return times[static_cast<std::size_t>(form)]; }
    double seconds_of(Form form, double its_blocks) const { return of(form).middle() * its_blocks; }
  };

  struct Choice {
    bool split;
    bool timed;
  };

  SplitPolicy() = default;
  explicit SplitPolicy(const Settings& settings) : settings_(settings) {}

  Kind& add_kind() { return kinds_.emplace_back(); }
  const std::deque<Kind>& kinds() const { return kinds_; }
  // The same number for grids that belong together.
  static int size_class(double threads);

  // Whether next() may ask for a time; what is known by then of earlier launches should have been noted.
  static bool may_be_timed(const Kind& kind);
  // A launch that is about to be made, and what it took once it is known.
  Choice next(Kind& kind, double blocks);
  void note_time(Kind& kind, Form form, double blocks, double seconds);
  // It could not be split after all.
  void note_whole(Kind& kind) { kind.can_split = false; }

  // How long the program has made launches and waited for them. Need not be told any more once is_watched().
  void set_busy(double seconds) { busy_s_ = seconds; }
  bool is_watched() const { return busy_s_ >= settings_.least_busy_s; }
  // All buffers together; and what a trial costs once, besides.
  void set_bytes(std::size_t bytes) { bytes_ = bytes; }
  void set_once(double seconds) { once_s_ = seconds; }
  // Known to take so little that it is not worth splitting.
  bool is_short(const Kind& kind) const;
  // No trials any more.
  void stop() { stopped_ = true, wants_idle_ = false; }
  bool stopped() const { return stopped_; }

  // Whether at_idle() is to be called, at the next moment at which nothing is under way. It may be called later.
  bool wants_idle() const { return wants_idle_; }
  // `now` in seconds of any clock. What it asks for is to be done at once, and moved() then called.
  Move at_idle(double now);
  void moved(Move move, double seconds, double now);

  bool local() const { return local_; }
  double total() const { return total_s_; }  // seconds on one part, of all launches whose time is known
  double lost() const { return lost_s_; }    // seconds: by moves, and by trials that were slower
  std::uint64_t trials() const { return trials_; }

  // Why launches of this kind are whole, or were, in a line; empty where they are split.
  std::string why(const Kind& kind) const;

 private:
  static constexpr std::uint64_t tries = 3;  // launches of each form that are timed before one is chosen

  double cost() const {
    return scale_ * (settings_.fixed_cost_s + settings_.cost_per_byte * static_cast<double>(bytes_));
  }
  bool may_gain(const Kind& kind) const;
  bool is_timed(Kind& kind) const;
  Choice next_spread(Kind& kind) const;
  void count(Kind& kind, double seconds, double window_seconds);
  bool is_new(const Kind& kind) const;
  void look_locally();
  void look_spread();
  // On one part, and as it is now, of the launches of a window; of that, what is known on one part, and what is
  // known to be as it is going to be.
  struct Sums {
    double before = 0, now = 0, known = 0, settled = 0;
  };
  Sums sums() const;
  bool pays(const Sums& sums, double limit, double now) const;
  void begin_window();

  const Settings settings_{};
  std::deque<Kind> kinds_;
  bool local_ = true, stopped_ = false, wants_idle_ = false;
  enum class Phase { watching, warming, trying, kept } phase_ = Phase::watching;
  std::size_t bytes_ = 0;
  double busy_s_ = std::numeric_limits<double>::infinity();  // so where nobody tells
  double scale_ = 1, once_s_ = 0;
  double total_s_ = 0;  // on one part, of all launches so far
  double lost_s_ = 0;
  double candidates_s_ = 0, since_s_ = 0, new_s_ = 0;  // since the last decision: that may gain, all, and new ones
  double window_s_ = 0, trial_s_ = 0;                  // of the window; since the buffers were moved,
  double unknown_s_ = 0;                               // of that, by what has not run on one part
  double losing_s_ = 0;                                // and what all the rest has taken beyond its time there
  std::uint64_t window_launches_ = 0;
  // Work on one part a second of the clock: before the buffers were spread, and the window's begin.
  double pace_before_ = 0, begun_ = -1;
  bool ends_window_ = false, goes_back_ = false, learns_ = false;
  std::uint64_t trials_ = 0, failures_ = 0;
  int bad_reviews_ = 0;
};

}  // namespace dcgn::virtual_gpu
