// When launches are split, by times that are made up: of programs that gain, that lose, that change.
#include "vgpu/src/split_policy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace dcgn::virtual_gpu;
using Form = SplitPolicy::Form;
using Move = SplitPolicy::Move;

namespace {

// A kernel, and what a launch takes in each form.
struct Load {
  double local, spread, split;
  bool can_split = true;
  int launches = 1;  // a step
  SplitPolicy::Kind* kind = nullptr;
};

// A program that launches all of its kernels in each step, waits for them, and copies or thinks for a while.
class Program {
 public:
  explicit Program(std::vector<Load> its_loads, double noise = 0, unsigned seed = 7)
      : loads(std::move(its_loads)), noise_(noise), random_(seed) {
    policy.set_bytes(std::size_t{1} << 30);
    for (Load& load : loads) add(load);
  }

  void add(Load& load) {
    load.kind = &policy.add_kind();
    load.kind->can_split = load.can_split;
  }

  void step() {
    for (Load& load : loads)
      for (int i = 0; i < load.launches; ++i) {
        if (policy.wants_idle() && i == 0) move(policy.at_idle(clock));
        const auto [split, timed] = policy.next(*load.kind, 100);
        EXPECT_FALSE(split && policy.local());
        const Form form = policy.local() ? Form::local : split ? Form::split : Form::spread;
        const double exact = form == Form::local ? load.local : split ? load.split : load.spread;
        const double seconds = exact * std::exp(noise_ * normal_(random_));
        clock += seconds;
        alone += load.local;
        if (timed && !launches_ahead) policy.note_time(*load.kind, form, 100, seconds);
        if (timed && launches_ahead) late_.push_back({&load, form, seconds});
        if (timed) clock += 3e-6;
        ++made[static_cast<int>(form)];
      }
    for (const Late& one : late_) policy.note_time(*one.load->kind, one.form, 100, one.seconds);
    late_.clear();
    const double rest = policy.local() ? rest_local : rest_spread;
    clock += rest;
    alone += rest_local;
  }
  void run(double until) {
    while (alone < until) step();
  }
  double ratio() const { return clock / alone; }

  std::vector<Load> loads;
  SplitPolicy policy;
  double clock = 0, alone = 0;  // seconds; as on one GPU
  double rest_local = 0, rest_spread = 0;
  double move_s = 0.015;
  bool launches_ahead = false;  // times are known when the program waits, at the end of a step
  int made[3] = {}, moves = 0;

 private:
  struct Late {
    Load* load;
    Form form;
    double seconds;
  };
  std::vector<Late> late_;

  void move(Move move) {
    if (move == Move::none) return;
    clock += move_s;
    ++moves;
    policy.moved(move, move_s, clock);
  }

  const double noise_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

constexpr double never = 1e9;  // seconds: a form that is not to be seen

}  // namespace

TEST(SplitPolicy, times_nothing_before_the_program_has_been_busy) {
  SplitPolicy policy;
  SplitPolicy::Kind& kind = policy.add_kind();
  kind.can_split = true;
  policy.set_busy(9e-3);
  for (int launch = 0; launch < 100; ++launch) EXPECT_FALSE(policy.next(kind, 100).timed);
  policy.set_busy(11e-3);
  EXPECT_TRUE(policy.next(kind, 100).timed);
  EXPECT_FALSE(policy.next(kind, 100).timed);  // while that time is not known
  SplitPolicy::Kind& later = policy.add_kind();
  EXPECT_FALSE(policy.next(later, 100).timed);  // which loads its code
  EXPECT_TRUE(policy.next(later, 100).timed);
}

TEST(SplitPolicy, middle_of_few_times_is_kept) {
  SplitPolicy::Times times;
  for (const double one : {3.0, 1.0, 100.0}) times.add(one);
  EXPECT_EQ(times.middle(), 3);
  for (int i = 0; i < 7; ++i) times.add(5);
  EXPECT_EQ(times.middle(), 5) << "of the last ones";
  EXPECT_EQ(SplitPolicy::size_class(1024), SplitPolicy::size_class(2048));
  EXPECT_LT(SplitPolicy::size_class(1024), SplitPolicy::size_class(4096));
}

TEST(SplitPolicy, splits_what_gains_and_stays) {
  Program program({{1e-3, 2e-3, 0.55e-3}}, 0.05);
  program.run(5);
  EXPECT_FALSE(program.policy.local());
  EXPECT_EQ(program.moves, 1);
  EXPECT_LT(program.ratio(), 0.7);
  EXPECT_EQ(program.policy.why(*program.loads[0].kind), "");
}

TEST(SplitPolicy, counts_launches_made_before_their_first_time_is_known) {
  Program program({{4e-3, 8e-3, 2.1e-3, true, 100}});
  program.launches_ahead = true;
  program.step();
  EXPECT_NEAR(program.loads[0].kind->seconds, 0.4, 1e-9);
  // Kernels that are launched in one step alone, as in benchmarks that try one after the other.
  Program changing({{4e-3, 8e-3, 2.1e-3, true, 100}});
  changing.launches_ahead = true;
  for (int step = 0; step < 3; ++step) {
    changing.step();
    changing.add(changing.loads[0]);
  }
  EXPECT_TRUE(changing.policy.wants_idle()) << "1.2 s pay for a trial";
  program.run(5);
  EXPECT_FALSE(program.policy.local());
  EXPECT_LT(program.ratio(), 0.75);
}

TEST(SplitPolicy, tries_once_and_goes_back_where_split_is_slower) {
  Program program({{1e-3, 4e-3, 2.1e-3}}, 0.05);
  program.run(20);
  EXPECT_TRUE(program.policy.local());
  EXPECT_EQ(program.policy.trials(), 1U);
  EXPECT_LT(program.ratio(), 1.03);
  const std::string why = program.policy.why(*program.loads[0].kind);
  double times = 0;
  ASSERT_EQ(std::sscanf(why.c_str(), "whole: %lf x faster than split", &times), 1) << why;
  EXPECT_NEAR(times, 2.1, 0.3) << "of times with noise";
}

TEST(SplitPolicy, never_tries_short_launches) {
  Program program({{20e-6, never, never}});
  program.run(20);
  EXPECT_EQ(program.moves, 0);
  EXPECT_LT(program.ratio(), 1.01);
  EXPECT_NE(program.policy.why(*program.loads[0].kind).find("too short to split"), std::string::npos);
}

TEST(SplitPolicy, never_tries_what_cannot_be_split) {
  Program program({{4e-3, never, never, false}, {1e-3, never, never}});
  program.run(20);
  EXPECT_EQ(program.moves, 0) << "four fifths of the time are in a kernel that cannot be split";
}

TEST(SplitPolicy, weighs_kernels_by_their_share) {
  // One gains 1 ms a step, and another, which cannot be split, loses 3.
  Program loses({{2e-3, 4e-3, 1e-3}, {1e-3, 4e-3, never, false}});
  loses.run(20);
  EXPECT_TRUE(loses.policy.local());
  EXPECT_LT(loses.ratio(), 1.03);
  EXPECT_NE(loses.policy.why(*loses.loads[0].kind).find("all launches together gain nothing"), std::string::npos);
  // The same, launched seldom.
  Program gains({{2e-3, 4e-3, 1e-3, true, 10}, {1e-3, 4e-3, never, false}});
  gains.run(20);
  EXPECT_FALSE(gains.policy.local());
  EXPECT_LT(gains.ratio(), 0.75);
}

TEST(SplitPolicy, runs_a_kernel_whole_that_is_faster_so_among_others) {
  Program program({{2e-3, 4e-3, 1e-3}, {0.2e-3, 0.25e-3, 0.6e-3}});
  program.run(20);
  EXPECT_FALSE(program.policy.local());
  EXPECT_EQ(program.policy.why(*program.loads[1].kind), "whole: 2.4 x faster than split");
  EXPECT_LT(program.ratio(), 0.65);
}

TEST(SplitPolicy, counts_what_is_no_launch) {
  // Launches gain 0.4 ms a step, and copies lose 1.
  Program program({{1e-3, 2e-3, 0.6e-3}});
  program.rest_local = 0.5e-3;
  program.rest_spread = 1.5e-3;
  program.run(20);
  EXPECT_TRUE(program.policy.local());
  EXPECT_LT(program.ratio(), 1.03);
}

TEST(SplitPolicy, waits_until_a_move_pays) {
  Program program({{1e-3, 2e-3, 0.55e-3}});
  program.policy.set_bytes(std::size_t{100} << 30);
  program.run(10);
  EXPECT_EQ(program.moves, 0) << "100 GiB take longer";
  Program cheap({{1e-3, 2e-3, 0.55e-3}});
  cheap.run(1);
  EXPECT_EQ(cheap.moves, 1);
  Program with_code({{1e-3, 2e-3, 0.55e-3}});
  with_code.policy.set_once(1);
  with_code.run(1);
  EXPECT_EQ(with_code.moves, 0) << "nor has the code been assembled";
}

TEST(SplitPolicy, looks_again_when_launches_have_grown) {
  Program program({{0.2e-3, 0.3e-3, 0.3e-3}}, 0.05);
  program.run(20);
  EXPECT_TRUE(program.policy.local());
  program.run(40);
  EXPECT_EQ(program.policy.trials(), 1U) << "as long as nothing changes";
  Load& load = program.loads.front();
  load.local = 5e-3, load.spread = 8e-3, load.split = 2.7e-3;
  program.run(80);
  EXPECT_FALSE(program.policy.local());
  EXPECT_EQ(program.policy.trials(), 2U);
}

TEST(SplitPolicy, looks_again_when_another_kernel_takes_over) {
  Program program({{0.2e-3, 0.3e-3, 0.3e-3}}, 0.05);
  program.run(20);
  program.loads = {{3e-3, 5e-3, 1.6e-3}};
  program.add(program.loads.front());
  program.run(60);
  EXPECT_FALSE(program.policy.local());
}

TEST(SplitPolicy, goes_back_when_what_gained_loses) {
  Program program({{1e-3, 2e-3, 0.55e-3}});
  program.run(5);
  EXPECT_FALSE(program.policy.local());
  program.loads.front().split = 1.5e-3;
  program.clock = program.alone = 0;
  program.run(20);
  EXPECT_TRUE(program.policy.local());
  EXPECT_LT(program.ratio(), 1.05);
}

// Each change looks as if it would pay, and never does.
TEST(SplitPolicy, loses_little_where_the_mix_keeps_changing) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Program program({{1e-3, 2e-3, 1.5e-3}}, 0.1, seed);
    for (int change = 1; change <= 40; ++change) {
      program.run(change * 2.0);
      program.loads = {{1e-3 * (1 + change % 3), 4e-3, 3.5e-3}};
      program.add(program.loads.front());
    }
    EXPECT_LT(program.ratio(), 1.03);
    EXPECT_LE(program.policy.trials(), 8U);
  }
}

TEST(SplitPolicy, is_steady_under_noise) {
  for (const double noise : {0.1, 0.3, 0.6}) {
    SCOPED_TRACE(noise);
    Program gains({{1e-3, 2e-3, 0.55e-3}, {0.3e-3, 0.5e-3, 0.25e-3}}, noise);
    gains.run(20);
    // Times that vary by the half and more tell little within the hundredths that a trial may cost.
    EXPECT_FALSE(noise < 0.5 && gains.policy.local());
    EXPECT_LE(gains.moves, 3);
    EXPECT_LT(gains.ratio(), 1.04 * std::exp(noise * noise / 2));
    // Neither gains: it is tried, and not again.
    Program same({{1e-3, 1.4e-3, 1e-3}}, noise);
    same.run(20);
    EXPECT_LE(same.policy.trials(), 3U);
    EXPECT_LT(same.ratio(), 1.25 * std::exp(noise * noise / 2)) << "noise adds to the middle";
  }
}

TEST(SplitPolicy, does_nothing_while_work_is_always_under_way) {
  SplitPolicy policy;
  SplitPolicy::Kind& kind = policy.add_kind();
  kind.can_split = true;
  for (int i = 0; i < 10000; ++i) {
    EXPECT_FALSE(policy.next(kind, 100).split);
    policy.note_time(kind, Form::local, 100, 1e-3);
  }
  EXPECT_TRUE(policy.wants_idle());
  EXPECT_TRUE(policy.local());
}

TEST(SplitPolicy, notices_soon_that_short_launches_have_grown) {
  for (const int launches : {100, 1000, 20000}) {
    SplitPolicy policy;
    SplitPolicy::Kind& kind = policy.add_kind();
    kind.can_split = true;
    const auto launch = [&](double seconds) {
      if (policy.next(kind, 100).timed) policy.note_time(kind, Form::local, 100, seconds);
    };
    for (int i = 0; i < launches; ++i) launch(10e-6);
    EXPECT_TRUE(policy.is_short(kind));
    int more = 0;
    for (; more < 5000 && policy.is_short(kind); ++more) launch(2e-3);
    EXPECT_LE(more, 512) << launches;
  }
}

TEST(SplitPolicy, stops_for_good) {
  Program program({{1e-3, 2e-3, 0.55e-3}});
  program.policy.stop();
  program.run(10);
  EXPECT_EQ(program.moves, 0);
}
