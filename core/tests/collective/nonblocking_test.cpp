// Collectives that go on beside their caller: in any order, beside messages, forgotten, and gone wrong. That each form
// gives the right result everywhere, slots among the ranks, the other tests of this folder show (message/begun.hpp).
#include "tests/expect.hpp"
#include "tests/sanitized.hpp"

#include <dcgn/arch/relax.hpp>
#include <dcgn/job.hpp>
#include <dcgn/operation.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dcgn::test {
namespace nonblocking {
namespace {

using Longs = std::vector<std::int64_t>;

Config ranks(int count) {
  Config config;
  config.nodes = {{.cpus = count}};
  config.deadline_s = 20 * fewer;
  return config;
}

// On threads of their own, then deterministically with several seeds. The error, or nothing.
std::string run(Config config, const std::function<void(Comm&)>& kernel, int seeds = 10) {
  std::string error;
  for (int seed = 0; seed <= seeds && error.empty(); ++seed) {
    if (seed) config.seed = static_cast<std::uint64_t>(seed);
    Job job(config);
    job.cpu([&](Comm& comm) { kernel(comm); });
    try {
      job.run();
    } catch (const std::exception& e) {
      error = e.what();
      if (seed) error += " [seed " + std::to_string(seed) + "]";
    }
  }
  return error;
}

TEST(NonBlocking, CommunicatorsMayBeUsedInDifferentOrders) {
  EXPECT_EQ(run(ranks(3),
                [](Comm& world) {
                  Comm other = world.dup();
                  const bool turned = world.rank() == 1;
                  Comm &first = turned ? other : world, &second = turned ? world : other;
                  std::int64_t a = world.rank(), b = 10 + world.rank();
                  const Request one = first.iall_reduce(turned ? b : a, Sum{});
                  const Request two = second.iall_reduce(turned ? a : b, Sum{});
                  world.wait(turned ? one : two);
                  EXPECT_EQ(b, 33);
                  world.wait(turned ? two : one);
                  EXPECT_EQ(a, 3);
                }),
            "");
}

TEST(NonBlocking, ABlockingCallOfAnotherCommunicatorComesBetween) {
  EXPECT_EQ(run(ranks(2),
                [](Comm& world) {
                  Comm other = world.dup();
                  std::int64_t x = world.rank() ? 0 : 5;
                  Request barrier;
                  if (world.rank() == 0) barrier = world.ibarrier();
                  other.broadcast(x, 0);
                  if (world.rank() == 1) barrier = world.ibarrier();
                  EXPECT_EQ(x, 5);
                  world.wait(barrier);
                }),
            "");
}

TEST(NonBlocking, ManyAreUnderWayAtOnce) {
  constexpr int count = 40;
  EXPECT_EQ(run(
                ranks(4),
                [](Comm& comm) {
                  std::vector<Longs> sums(count), mine(count), all(count);
                  std::vector<Request> requests;
                  for (int i = 0; i < count; ++i) {
                    const std::size_t k = static_cast<std::size_t>(i);
                    sums[k].assign(static_cast<std::size_t>(i * 37 % 600), comm.rank() + i);
                    mine[k] = {comm.rank() * 100 + i};
                    all[k].resize(4);
                    requests.push_back(comm.iall_reduce(sums[k], Sum{}));
                    requests.push_back(comm.iall_gather(mine[k], all[k]));
                    if (i % 8 == 3) requests.push_back(comm.ibarrier());
                  }
                  if (comm.rank() % 2) std::swap(requests.front(), requests.back());
                  comm.wait_all(requests);
                  for (int i = 0; i < count; ++i) {
                    for (const std::int64_t s : sums[static_cast<std::size_t>(i)]) EXPECT_EQ(s, 6 + 4 * i);
                    for (int r = 0; r < 4; ++r)
                      EXPECT_EQ(all[static_cast<std::size_t>(i)][static_cast<std::size_t>(r)], r * 100 + i);
                  }
                },
                4),
            "");
}

TEST(NonBlocking, TheyGoOnWhileTheRankWaitsForAMessage) {
  EXPECT_EQ(run(ranks(3),
                [](Comm& comm) {
                  std::int64_t sum = 1, word = 0;
                  const Request request = comm.iall_reduce(sum, Sum{});
                  // Rank 0 is sent its message by one that has the sum, to which rank 0 has contributed.
                  if (comm.rank() == 0) {
                    EXPECT_EQ(comm.recv(word, 1, 7).source, 1);
                    EXPECT_EQ(word, 3);
                  }
                  comm.wait(request);
                  EXPECT_EQ(sum, 3);
                  if (comm.rank() == 1) comm.send(sum, 0, 7);
                }),
            "");
}

TEST(NonBlocking, RequestsOfMessagesAndCollectivesAreWaitedForTogether) {
  EXPECT_EQ(run(ranks(2),
                [](Comm& comm) {
                  const int other = 1 - comm.rank();
                  std::int64_t got = 0, sum = comm.rank() + 1;
                  const Longs sent(100, comm.rank());
                  Longs received(100);
                  std::vector<Request> requests{comm.irecv(got, other, 3), comm.iall_reduce(sum, Sum{}),
                                                comm.irecv(received, other, 4), comm.ibarrier()};
                  comm.send(sent, other, 4);
                  comm.send(Longs{other}, other, 3);
                  std::vector<bool> seen(requests.size());
                  for (std::size_t i = 0; i < requests.size(); ++i) {
                    const auto [index, status] = comm.wait_any(requests);
                    ASSERT_GE(index, 0);
                    EXPECT_FALSE(seen[static_cast<std::size_t>(index)]);
                    seen[static_cast<std::size_t>(index)] = true;
                    EXPECT_EQ(status.source, index % 2 ? any_source : other) << index;
                    EXPECT_EQ(status.bytes, index == 0 ? 8 : index == 2 ? 800 : 0) << index;
                  }
                  EXPECT_EQ(comm.wait_any(requests).first, -1);
                  EXPECT_EQ(sum, 3);
                  EXPECT_EQ(got, comm.rank());
                  EXPECT_EQ(received, Longs(100, other));
                  EXPECT_TRUE(comm.test(requests[1]));  // inactive
                }),
            "");
}

TEST(NonBlocking, ListsAndOperationsMayGoAtOnce) {
  EXPECT_EQ(run(ranks(3),
                [](Comm& comm) {
                  const int p = comm.size();
                  Longs in(static_cast<std::size_t>(comm.rank() + 1), comm.rank()), out(6, -1), sum(2, comm.rank());
                  Request gather, reduce;
                  {
                    Longs counts{1, 2, 3}, places{0, 1, 3};
                    gather = comm.iall_gatherv(in, out, counts, places);
                    counts.assign(3, 999);
                    places.assign(3, -999);
                    const std::vector<std::int64_t> bias{100};
                    reduce = comm.iall_reduce(sum, [bias](std::int64_t a, std::int64_t b) { return a + b + bias[0]; });
                  }
                  comm.wait(gather);
                  comm.wait(reduce);
                  EXPECT_EQ(out, (Longs{0, 1, 1, 2, 2, 2}));
                  EXPECT_EQ(sum, Longs(2, 3 + 100 * (p - 1)));
                }),
            "");
}

// Nobody waits for it: the rank does when it ends, and a communicator when it goes.
TEST(NonBlocking, OneThatIsForgottenIsDoneAllTheSame) {
  Longs sums(3);
  EXPECT_EQ(run(ranks(3),
                [&](Comm& comm) {
                  std::int64_t& own = sums[static_cast<std::size_t>(comm.rank())];
                  own = 2;
                  std::int64_t part = 1;
                  {
                    Comm two = comm.split(comm.rank() < 2, 0);
                    two.iall_reduce(part, Sum{});
                  }
                  EXPECT_EQ(part, comm.rank() < 2 ? 2 : 1);
                  comm.iall_reduce(own, Sum{});
                }),
            "");
  EXPECT_EQ(sums, Longs(3, 6));
}

TEST(NonBlocking, WhatIsWrongAtOnceIsThrownAtOnce) {
  const std::string error = run(ranks(1), [](Comm& comm) {
    Longs five(5), three(3);
    comm.iall_reduce(five, three, Sum{});
  });
  EXPECT_TRUE(contains(error, "all_reduce: the output has 3 elements, expected at least 5")) << error;
}

TEST(NonBlocking, WhoWaitsHearsWhichCollectiveFailed) {
  Config config = ranks(2);
  config.eager_bytes = 512;
  const std::string error = run(config, [](Comm& comm) {
    Longs x(comm.rank() ? 4u : 2u);
    const Request barrier = comm.ibarrier(), request = comm.ibroadcast(x, 0);
    comm.wait(barrier);
    comm.wait(request);
  });
  EXPECT_TRUE(contains(error, "broadcast: rank 0 gave 16 bytes where this one expects 32")) << error;
}

TEST(NonBlocking, AnOperationThatThrowsIsHeardOfByWhoWaits) {
  std::atomic<int> heard{0};
  const std::string error = run(ranks(2), [&](Comm& comm) {
    std::int64_t x = 1;
    const Request request = comm.iall_reduce(x, [](std::int64_t a, std::int64_t b) {
      if (a + b == 2) throw std::runtime_error("two is too much");
      return a;
    });
    try {
      comm.wait(request);
    } catch (const std::runtime_error& e) {
      heard += std::string(e.what()) == "two is too much";
    }
    comm.barrier();
  });
  EXPECT_EQ(error, "");
  EXPECT_EQ(heard, 2 * 11);
}

TEST(NonBlocking, WhatGoesWrongInOneThatIsForgottenEndsTheJob) {
  // Their buffers last as long as the jobs.
  std::int64_t numbers[2] = {1, 1};
  const std::string thrown = run(ranks(2), [&](Comm& comm) {
    comm.iall_reduce(numbers[comm.rank()],
                     [](std::int64_t, std::int64_t) -> std::int64_t { throw std::runtime_error("no sum"); });
  });
  EXPECT_TRUE(contains(thrown, "no sum"));
  Longs lists[2] = {Longs(2), Longs(4)};
  const std::string mismatch = run(ranks(2), [&](Comm& comm) { comm.ibroadcast(lists[comm.rank()], 0); });
  EXPECT_TRUE(contains(mismatch, "broadcast: rank 0 gave 16 bytes where this one expects 32"));
}

// However early it is found.
TEST(NonBlocking, WhatOthersHaveAPartInComesOutOfTheWait) {
  EXPECT_EQ(run(
                ranks(2),
                [](Comm& comm) {
                  Longs x(comm.rank() ? 4u : 2u);
                  std::int64_t go = 0;
                  if (comm.rank() == 1) comm.recv(go, 0, 9);
                  const Request request = comm.ibroadcast(x, 0);  // rank 0's part is here
                  if (comm.rank() == 0) comm.send(go, 1, 9);
                  bool heard = false;
                  try {
                    comm.wait(request);
                  } catch (const Error& e) {
                    heard = e.code() == Code::mismatch;
                  }
                  EXPECT_EQ(heard, comm.rank() == 1);
                  comm.wait(request);  // inactive
                },
                3),
            "");
}

// Whoever has waited for all of them has heard of all: the first is thrown, and the job goes on.
TEST(NonBlocking, OfSeveralThatFailedWaitAllThrowsTheFirst) {
  std::atomic<int> heard{0};
  const std::string error = run(ranks(2), [&](Comm& comm) {
    Longs x(comm.rank() ? 4u : 2u), y(comm.rank() ? 8u : 2u);
    const std::vector<Request> requests{comm.ibroadcast(x, 0), comm.ibroadcast(y, 0), comm.ibarrier()};
    try {
      comm.wait_all(requests);
    } catch (const Error& e) {
      heard += contains(e.what(), "broadcast: rank 0 gave 16 bytes where this one expects 32") ? 1 : 0;
    }
    comm.barrier();
  });
  EXPECT_EQ(error, "");
  EXPECT_EQ(heard, 11);
}

TEST(NonBlocking, AnOperationMakesNoCalls) {
  const std::string error = run(ranks(2), [](Comm& comm) {
    std::int64_t x = 1;
    comm.wait(comm.iall_reduce(x, [&](std::int64_t a, std::int64_t b) {
      comm.ibarrier();
      return a + b;
    }));
  });
  EXPECT_TRUE(contains(error, "barrier: called by the operation of a collective that is under way"));
}

TEST(NonBlocking, NoMoreThanCanBeAreUnderWay) {
  const std::string error = run(
      ranks(2),
      [](Comm& comm) {
        std::int64_t go = 0;
        if (comm.rank() == 1) comm.recv(go, 0, 1);
        std::vector<Longs> x(5000, Longs(1));
        for (Longs& one : x) comm.iall_reduce(one, Sum{});
      },
      0);
  EXPECT_TRUE(contains(error, " collectives are under way already"));
}

TEST(NonBlocking, OneThatCannotBeDoneIsReported) {
  const std::string error = run(ranks(3), [](Comm& comm) {
    if (comm.rank() == 2) return;
    std::int64_t x = 0;
    const Request request = comm.iall_reduce(x, Sum{});
    comm.wait(request);
  });
  // In the report, or where rank 2 has gone before the others begin, at once.
  EXPECT_TRUE(contains(error, "rank 2")) << error;
  EXPECT_TRUE(contains(error, "all_reduce")) << error;
}

TEST(NonBlocking, MessagesAndCollectivesThatWaitForEachOtherAreADeadlock) {
  const std::string error = run(ranks(2), [](Comm& comm) {
    std::int64_t x = 0;
    if (comm.rank() == 0) {
      comm.wait(comm.ibarrier());
    } else {
      comm.recv(x, 0, 5);
      comm.ibarrier();
    }
  });
  EXPECT_TRUE(contains(error, "barrier, number 0")) << error;
  EXPECT_TRUE(contains(error, "recv")) << error;
}

// Others are in the middle of a collective with it: its buffers, which they read, are there until the job has ended.
TEST(NonBlocking, AnExceptionThatLeavesTheKernelStopsTheJob) {
  std::array<std::array<Longs, 2>, 3> buffers;
  const std::string error = run(ranks(3), [&](Comm& world) {
    Comm comm = world.dup();
    auto& [x, y] = buffers[static_cast<std::size_t>(world.rank())];
    x.assign(100000, 1), y.assign(100000, 1);
    const Request one = comm.iall_reduce(x, Sum{}), two = world.iall_reduce(y, Sum{});
    if (world.rank() == 1) throw std::runtime_error("no more");
    world.wait(one);
    world.wait(two);
    std::int64_t more = 0;
    world.recv(more, 1, 1);
  });
  EXPECT_TRUE(contains(error, "no more")) << error;
}

TEST(NonBlocking, RecordsRunOut) {
  Config config = ranks(2);
  config.requests = 16;
  const std::string error = run(config, [](Comm& comm) {
    Longs x(1000);
    std::vector<Request> requests;
    for (std::int64_t& e : x) requests.push_back(comm.iall_reduce(e, Sum{}));
    comm.wait_all(requests);
  });
  EXPECT_TRUE(contains(error, "too many requests and unexpected messages at once")) << error;
}

}  // namespace
}  // namespace nonblocking
}  // namespace dcgn::test
