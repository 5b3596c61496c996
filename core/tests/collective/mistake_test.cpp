// What goes wrong: bad arguments, and ranks that do not make the same calls. Each is named, and nothing hangs.
#include "mistakes.hpp"
#include "tests/sanitized.hpp"

#include <dcgn/arch/context.hpp>
#include <dcgn/gpu/comm.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>
#include <dcgn/operation.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

using Longs = std::vector<std::int64_t>;
using Ints = std::vector<int>;

// The error of a call that fails before it sends anything.
std::string refusal(Code code, const std::function<void(Comm&)>& call) {
  std::string what;
  Job job({.nodes = {{.cpus = 1}}});
  job.cpu([&](Comm& comm) {
    try {
      call(comm);
    } catch (const Error& e) {
      EXPECT_EQ(to_string(e.code()), to_string(code)) << e.what();
      what = e.what();
    }
  });
  job.run();
  return what;
}

TEST(Mistake, ABadRootIsNamed) {
  int x = 0;
  expect_text(refusal(Code::invalid_rank, [&](Comm& c) { c.broadcast(x, 1); }),
              "broadcast: root 1 is out of range, expected 0..0 [rank 0: CPU 0, node 0]");
  expect_text(refusal(Code::invalid_rank, [&](Comm& c) { c.reduce(x, x, Sum{}, -1); }),
              "reduce: root -1 is out of range");
}

TEST(Mistake, WrongLengthsAreNamed) {
  Ints five(5), three(3);
  expect_text(refusal(Code::invalid_size, [&](Comm& c) { c.all_reduce(five, three, Sum{}); }),
              "all_reduce: the output has 3 elements, expected at least 5");
  expect_text(refusal(Code::invalid_size, [&](Comm& c) { c.reduce_scatter(five, three, Sum{}); }),
              "reduce_scatter: the input has 5 elements, expected 3");
  expect_text(refusal(Code::invalid_size, [&](Comm& c) { c.gather(five, three, 0); }),
              "gather: the output has 3 elements, expected at least 5");
  expect_text(refusal(Code::invalid_size, [&](Comm& c) { c.scatter(three, five, 0); }),
              "scatter: the input has 3 elements, expected 5");
  expect_text(refusal(Code::null_buffer, [](Comm& c) { c.all_gather(Span<int>(nullptr, 2), Span<int>(nullptr, 2)); }),
              "all_gather: a null buffer with 8 bytes, expected a buffer or 0 bytes");
}

TEST(Mistake, CountsAndPlacesThatMakeNoSenseAreNamed) {
  Ints in(4), out(4);
  const auto gatherv = [&](const Longs& counts, const Longs& places) {
    return refusal(Code::invalid_size, [&](Comm& c) { c.gatherv(in, out, counts, places, 0); });
  };
  expect_text(gatherv({4, 0}, {0}), "gatherv: 2 counts, expected one for each of 1 ranks");
  expect_text(gatherv({4}, {}), "gatherv: 0 displacements, expected one for each of 1 ranks");
  expect_text(gatherv({-2}, {0}), "gatherv: count -2 for rank 0, expected 0 or more");
  expect_text(gatherv({4}, {-1}), "gatherv: displacement -1 for rank 0, expected 0 or more");
  expect_text(gatherv({4}, {1}), "gatherv: the part of rank 0 ends at element 5, expected at most the buffer's 4");
  expect_text(gatherv({3}, {0}), "gatherv: the input has 4 elements, expected 3");
  expect_text(refusal(Code::invalid_size, [&](Comm& c) { c.reduce_scatterv(in, Longs{3}, out, Sum{}); }),
              "reduce_scatterv: the input has 4 elements, expected 3");
}

// In the output alone: what is sent may be sent twice.
TEST(Mistake, PartsThatOverlapAreNamed) {
  const auto gathers = [](const Longs& counts, const Longs& places) {
    return failure(std::nullopt, 3, [&](Comm& c) {
      Ints in(static_cast<std::size_t>(counts[static_cast<std::size_t>(c.rank())])), out(40);
      c.all_gatherv(in, out, counts, places);
    });
  };
  expect_text(gathers({10, 10, 10}, {0, 5, 20}),
              "all_gatherv: the parts of ranks 0 and 1 overlap in the output, expected a place for each");
  expect_text(gathers({10, 10, 10}, {20, 10, 29}), "the parts of ranks 0 and 2 overlap");
  expect_text(gathers({10, 0, 10}, {20, 25, 0}), "no error");
  expect_text(failure(std::nullopt, 2,
                      [](Comm& c) {
                        Ints in(5, 1), out(8);
                        c.scatterv(in, Longs{4, 4}, Longs{0, 1}, Span<int>(out.data(), 4), 0);
                        c.all_to_allv(in, Longs{3, 3}, Longs{0, 1}, out, Longs{3, 3}, Longs{2, 0});
                      }),
              "all_to_allv: the parts of ranks 0 and 1 overlap");
}

TEST(Mistake, BuffersThatOverlapAreNamed) {
  Ints x(10);
  const auto part = [&](std::size_t at) { return Span<int>(x.data() + at, 5); };
  expect_text(
      refusal(Code::invalid_size, [&](Comm& c) { c.all_reduce(part(0), part(1), Sum{}); }),
      "all_reduce: input and output overlap, 4 bytes from one to the other; expected 0, which is in place, or no");
  expect_text(refusal(Code::invalid_size, [&](Comm& c) { c.scatter(part(2), part(0), 0); }),
              "scatter: input and output");
  EXPECT_EQ(refusal(Code::ok, [&](Comm& c) { c.all_reduce(part(0), part(5), Sum{}); }), "");
  EXPECT_EQ(refusal(Code::ok, [&](Comm& c) { c.all_gather(part(3), part(3)); }), "");
}

TEST(Mistake, DifferentCollectivesAreToldApart) {
  const std::string report = failure(Code::deadlock, 3, [](Comm& comm) {
    int x = 1;
    comm.barrier();
    if (comm.rank() == 2)
      comm.broadcast(x, 2);
    else
      comm.all_reduce(x, Sum{});
    comm.barrier();
  });
  expect_text(report, "all_reduce, number 1, for rank ");
  expect_text(report, "barrier, number 2, for rank ");
  expect_text(report, "mismatch: rank ");
  expect_text(report, "but rank 2 was or is in broadcast, number 1");
}

// Rank 2 remembers calls of a communicator whose number another one has by now, of ranks that were in both.
TEST(Mistake, CommunicatorsThatHadTheSameNumberAreToldApart) {
  const std::string report = failure(Code::deadlock, 4, [](Comm& comm) {
    int x = 1, y = 0;
    Comm half = comm.split(comm.rank() / 2, 0);
    {
      Comm three = comm.split(comm.rank() < 3 ? 0 : -1, 0);
      if (comm.rank() < 3) three.barrier();
      if (comm.rank() < 3) three.broadcast(x, 0);
    }
    if (comm.rank() < 2) {
      Comm two = half.dup();
      two.broadcast(x, 1);
      two.reduce(x, y, Sum{}, 0);
      two.recv(x, 1 - two.rank(), 7);
    }
    comm.barrier();
  });
  expect_text(report, "recv from rank 1, tag 7 in communicator 2");
  EXPECT_EQ(report.find("mismatch"), std::string::npos) << report;
}

TEST(Mistake, WhatARankThatHasEndedWasInIsNamed) {
  const std::string report = failure(Code::rank_ended, 3, [](Comm& comm) {
    int x = 1;
    Ints in(1000), out(1000);  // too long to be sent to one that does not take it
    if (comm.rank() == 0)
      comm.broadcast(x, 0);
    else
      comm.reduce(in, out, Sum{}, 0);
  });
  expect_text(report, " has ended");
  expect_text(report, "mismatch: rank 0 was or is in broadcast, number 0, but rank ");
  expect_text(report, " was or is in reduce, number 0");
}

TEST(Mistake, TheSameCallsInAnotherOrderAreADeadlock) {
  const std::string report = failure(Code::deadlock, 2, [](Comm& comm) {
    int x = 0;
    // Without the number each would take the other's first message for that of its second call.
    comm.broadcast(x, comm.rank());
    comm.broadcast(x, 1 - comm.rank());
  });
  expect_text(report, "mismatch: rank 0 gave root 0 in broadcast, number 0, but rank 1 gave root 1");
}

TEST(Mistake, DifferentSizesAreNamed) {
  expect_text(failure(Code::truncated, 2,
                      [](Comm& comm) {
                        Ints x(comm.rank() ? 2 : 4);
                        comm.broadcast(x, 0);
                      }),
              "broadcast: rank 0 gave 16 bytes where this one expects 8; all ranks give sizes that fit each other");
  expect_text(failure(Code::mismatch, 2,
                      [](Comm& comm) {
                        Ints x(comm.rank() ? 4 : 2);
                        comm.broadcast(x, 0);
                      }),
              "broadcast: rank 0 gave 8 bytes where this one expects 16");
}

// One who gives nothing takes part, too, so that the others find out.
TEST(Mistake, OneWhoGivesNothingIsNamed) {
  using Call = std::function<void(Comm&, Ints&, Ints&)>;
  const Call calls[] = {
      [](Comm& c, Ints& in, Ints& out) { c.all_reduce(in, out, Sum{}); },
      [](Comm& c, Ints& in, Ints& out) { c.reduce(in, out, Sum{}, 0); },
      [](Comm& c, Ints& in, Ints& out) { c.scan(in, out, Sum{}); },
      [](Comm& c, Ints& in, Ints& out) { c.exclusive_scan(in, out, Sum{}); },
      [](Comm& c, Ints& in, Ints& out) {
        const std::size_t each = in.size() / static_cast<std::size_t>(c.size());
        c.reduce_scatter(Span<int>(in.data(), each * static_cast<std::size_t>(c.size())), Span<int>(out.data(), each),
                         Sum{});
      },
  };
  for (const int ranks : {2, 3, 20})
    for (const std::size_t count : {std::size_t{20}, std::size_t{100000}})
      for (std::size_t which = 0; which < std::size(calls); ++which) {
        SCOPED_TRACE("call " + std::to_string(which) + " of " + std::to_string(ranks) + " ranks, " +
                     std::to_string(count) + " elements");
        const std::string what = failure(std::nullopt, ranks, [&](Comm& comm) {
          Ints in(comm.rank() == 1 ? 0 : count), out(in.size());
          calls[which](comm, in, out);
        });
        const auto says = [&](const char* text) { return what.find(text) != std::string::npos; };
        EXPECT_TRUE(says("rank 1 gave 0 bytes where this one expects ") || says("bytes where this one expects 0;") ||
                    says(", but rank 1 gave 0") || says("rank 1 gave 0 bytes in "))
            << what;
      }
}
TEST(Mistake, NothingAtAllIsNoMistake) {
  for (const int ranks : {1, 3, 20})
    EXPECT_EQ(failure(std::nullopt, ranks,
                      [&](Comm& comm) {
                        Ints none;
                        comm.all_reduce(none, Sum{});
                        comm.reduce(none, none, Sum{}, comm.size() - 1);
                        comm.reduce_scatter(none, none, Sum{});
                        comm.scan(none, none, Sum{});
                        comm.exclusive_scan(none, none, Sum{});
                        comm.broadcast(none, 0);
                      }),
              "no error");
}

// Where those who give more go another way, and all wait, or some have ended.
TEST(Mistake, DifferentSizesAreInReports) {
  const auto said = [](int ranks, const std::function<void(Comm&, int)>& call, int some, int other) {
    return failure(std::nullopt, ranks, [&](Comm& comm) {
      comm.barrier();
      call(comm, comm.rank() == ranks / 2 ? other : some);
    });
  };
  const auto ints = [](int count) { return Ints(static_cast<std::size_t>(count)); };
  expect_text(said(
                  20,
                  [&](Comm& c, int each) {
                    Ints in = ints(20 * each), out = ints(each);
                    c.reduce_scatter(in, out, Sum{});
                  },
                  100, 307),
              "mismatch: rank 0 gave 400 bytes in reduce_scatter, number 1, but rank 10 gave 1228");
  expect_text(said(
                  20,
                  [&](Comm& c, int count) {
                    Ints x = ints(count);
                    c.broadcast(x, 0);
                  },
                  100, 3000),
              "mismatch: rank 0 gave 400 bytes in broadcast, number 1, but rank 10 gave 12000");
  expect_text(said(
                  20,
                  [&](Comm& c, int each) {
                    Ints in = ints(each), out = ints(20 * each);
                    c.all_gather(in, out);
                  },
                  300, 3000),
              "mismatch: rank 0 gave 1200 bytes in all_gather, number 1, but rank 10 gave 12000");
}

// Those of large ones, before anybody reads or writes another's buffer.
TEST(Mistake, DifferentArgumentsOfLargeCallsAreNamedAndNothingIsOverwritten) {
  constexpr std::size_t guard = 20000;
  const auto names = [&](const std::string& text, const std::function<void(Comm&, Longs&, Longs&)>& call) {
    SCOPED_TRACE(text);
    std::string said;
    for (int rank = 0; rank < 2; ++rank) {  // whoever is asked
      const std::string error = failure(Code::mismatch, 3, [&](Comm& comm) {
        const std::size_t mine = comm.rank() == 1 ? 99000 : 100000;
        Longs in(mine + guard, comm.rank()), out(3 * mine + guard, -1);
        const auto whole = [&] {
          for (std::size_t i = mine; i < in.size(); ++i) EXPECT_EQ(in[i], comm.rank());
          for (std::size_t i = 3 * mine; i < out.size(); ++i) EXPECT_EQ(out[i], -1);
        };
        try {
          call(comm, in, out);
        } catch (const Error&) {
          whole();
          throw;
        }
        whole();
        comm.barrier();
      });
      said += error;
    }
    expect_text(said, text);
  };
  const auto size = [](const Comm& comm) { return comm.rank() == 1 ? 99000 : 100000; };
  const auto part = [](Longs& x, int count) { return Span<std::int64_t>(x.data(), static_cast<std::size_t>(count)); };
  names("all_reduce: rank ",
        [&](Comm& c, Longs& in, Longs& out) { c.all_reduce(part(in, size(c)), part(out, size(c)), Sum{}); });
  names("broadcast: rank ", [&](Comm& c, Longs& in, Longs&) { c.broadcast(part(in, size(c)), 0); });
  names("all_gather: rank ",
        [&](Comm& c, Longs& in, Longs& out) { c.all_gather(part(in, size(c)), part(out, 3 * size(c))); });
  names("all_to_all: rank ",
        [&](Comm& c, Longs& in, Longs& out) { c.all_to_all(part(in, size(c) / 3 * 3), part(out, size(c) / 3 * 3)); });
  names("reduce_scatter: rank ", [&](Comm& c, Longs& in, Longs& out) {
    c.reduce_scatter(part(in, size(c) / 3 * 3), part(out, size(c) / 3), Sum{});
  });
  names("gave root ", [&](Comm& c, Longs& in, Longs&) { c.broadcast(part(in, 99000), c.rank() == 1 ? 1 : 0); });
  names("gave elements of ", [&](Comm& c, Longs& in, Longs&) {
    if (c.rank() == 1)
      c.all_reduce(Span<int>(reinterpret_cast<int*>(in.data()), 2 * 90000), Sum{});
    else
      c.all_reduce(part(in, 90000), Sum{});
  });
}

// In kernels: the code comes back, and the job is stopped with the same words.
struct BadRoot {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* codes) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::BlockScope block = gpu::this_block(ctx);
    const Code code = me.reduce(block, Span<const int>(), Span<int>(), Sum{}, 7);
    codes[ctx.thread_rank()] = static_cast<int>(code);
  }
};

// Rank 1 gives less than the others, or another root. Two roots wait for nobody, and learn of it when the job ends.
struct OnesThatDiffer {
  int which;
  bool all;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, float* memory) const {
    const gpu::Slot me = comm.slot(0);
    if (all)
      call(gpu::these_blocks(ctx, me, 0, ctx.num_blocks()), me, memory);
    else if (ctx.block_rank() == 0)
      call(gpu::this_block(ctx), me, memory);
  }

 private:
  template <class Scope>
  DCGN_HOST_DEVICE void call(const Scope& scope, const gpu::Slot& me, float* memory) const {
    const std::size_t mine = me.rank() == 1 ? 20004 : 20008, size = static_cast<std::size_t>(me.size());
    const Span<float> in(memory, mine), out(memory + 4 * mine, mine);
    switch (which) {
      case 0: me.all_reduce(scope, in, out, Sum{}); break;
      case 1: me.broadcast(scope, in, 0); break;
      case 2: me.all_gather(scope, in, Span<float>(out.data(), size * mine)); break;
      case 3: me.all_to_all(scope, Span<float>(memory, size * mine), Span<float>(out.data(), size * mine)); break;
      case 4: me.broadcast(scope, Span<float>(memory, 20000), me.rank() == 1 ? 1 : 0); break;
      case 5: me.broadcast(scope, Span<float>(memory, 2), me.rank() == 1 ? 1 : 0); break;
    }
  }
};

TEST(Mistake, DifferentArgumentsOfALastCallOfSlotsAreNamed) {
  if (Device::count() < 2) GTEST_SKIP() << "needs two GPUs";
  const char* const said[] = {"all_reduce: rank ", "broadcast: rank ", "all_gather: rank ",
                              "all_to_all: rank ", "gave root ",       "gave root "};
  for (const bool all : {false, true})
    for (int which = 0; which < 6; ++which) {
      SCOPED_TRACE(said[which]);
      Config config{.nodes = {{.gpus = 2, .slots = 1}}};
      config.deadline_s = 20 * fewer;
      Job job(config);
      std::vector<DeviceBuffer<float>> memory;
      for (int g = 0; g < 2; ++g) {
        memory.emplace_back(job.world().device(g), 200000);
        job.gpu_on(g, {.grid = 2, .block = 64}, OnesThatDiffer{which, all}, memory.back().data());
      }
      std::string what;
      try {
        job.run();
      } catch (const Error& e) {
        EXPECT_EQ(to_string(e.code()), "mismatch");
        what = e.what();
      }
      expect_text(what, said[which]);
    }
}

// A root may end before the others take its call, however late they do.
struct TakenLate {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* memory) const {
    const gpu::Slot me = comm.slot(0);
    for (const std::uint64_t since = now_ns(); me.rank() == 1 && now_ns() - since < 800'000'000;) relax();
    me.broadcast(gpu::this_block(ctx), Span<int>(memory, 2), 0);
  }
};
TEST(Mistake, IsNotThatARootEndsBeforeItsCallIsTaken) {
  if (Device::count() < 2) GTEST_SKIP() << "needs two GPUs";
  Config config{.nodes = {{.gpus = 2, .slots = 1}}};
  config.deadline_s = 0.5;
  Job job(config);
  std::vector<DeviceBuffer<int>> memory;
  for (int g = 0; g < 2; ++g) {
    memory.emplace_back(job.world().device(g), std::vector<int>{10 * g + 1, 10 * g + 2});
    job.gpu_on(g, {.grid = 1, .block = 32}, TakenLate{}, memory.back().data());
  }
  ASSERT_NO_THROW(job.run());
  int got[2];
  memory[1].download(got);
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[1], 2);
}

TEST(Mistake, InAKernelEveryThreadGetsTheCode) {
  Job job({.nodes = {{.gpus = 1, .slots = 1}}});
  DeviceBuffer<int> codes(job.world().device(0), 40);
  job.gpu({.grid = 1, .block = 40}, BadRoot{}, codes.data());
  std::string what;
  try {
    job.run();
  } catch (const Error& e) {
    EXPECT_EQ(to_string(e.code()), "invalid_rank");
    what = e.what();
  }
  expect_text(what, "reduce: root 7 is out of range, expected 0..0");
  Ints found(40);
  codes.download(found.data());
  EXPECT_EQ(found, Ints(40, static_cast<int>(Code::invalid_rank)));
}

TEST(Mistake, TooLittleScratchIsRefused) {
  try {
    Config config;
    config.nodes = {{.cpus = 1}};
    config.collective_bytes = 4095;
    const World world(config);
    ADD_FAILURE() << "not refused";
  } catch (const Error& e) {
    EXPECT_EQ(to_string(e.code()), "configuration");
    expect_text(e.what(), "Config::collective_bytes=4095: expected 4096 to 1073741824");
  }
}

}  // namespace
}  // namespace dcgn::test
