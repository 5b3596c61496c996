// What reports say of collectives that were made long ago, or not yet: nobody is blamed who may be right, and a call's
// number is the whole one.
#include "support.hpp"

#include <dcgn/message/endpoint.hpp>
#include <dcgn/operation.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace dcgn::test {
namespace {

constexpr int turns = 2048;  // a message's tag has its call's number modulo this

bool blames(const Stopped& s) { return s.what.find("mismatch") != std::string::npos; }

// Computes until the others have waited too long for it.
void compute_until(const std::atomic<bool>& stopped) {
  while (!stopped) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

TEST(History, CallsOfDifferentTurnsAreNotHeldAgainstEachOther) {
  static std::atomic<bool> stopped;
  stopped = false;
  Job job(config_of({{.cpus = 4}}, 1.5));
  job.cpu([](Comm& comm) {
    int x = 0, all[4] = {};
    try {
      for (int i = 0; i < turns; ++i) {
        if (i == 20 && comm.rank() == 1) comm.recv(x, 3, 9);
        if (i == 20 && comm.rank() == 3) {
          compute_until(stopped);
          comm.send(x, 1, 9);
        }
        comm.gather(x, comm.rank() == 1 ? Span<int>(all) : Span<int>(), 1);
      }
      comm.broadcast(x, 1);
    } catch (const Error&) {
      stopped = true;
      throw;
    }
  });
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::deadline) << s.what;
  EXPECT_FALSE(blames(s)) << s.what;
  EXPECT_TRUE(contains(s.what, "rank 0 (CPU 0, node 0): broadcast, number 2048, for rank 1"));
  EXPECT_TRUE(contains(s.what, "'s part in gather, number 20, 4 bytes, and "));
  EXPECT_TRUE(contains(s.what, " more messages, parts of collectives among them"));
  EXPECT_EQ(s.what.find("\n      and "), std::string::npos) << s.what;
}

TEST(History, AMismatchLongAfterTheFirstCallHasItsWholeNumber) {
  Job job(config_of({{.cpus = 2}}, 20));
  job.cpu([](Comm& comm) {
    int x = 1;
    for (int i = 0; i < 2 * turns + 5; ++i) comm.barrier();
    if (comm.rank() == 0)
      comm.all_reduce(x, Sum{});
    else
      comm.broadcast(x, 0);
    comm.barrier();
  });
  EXPECT_TRUE(
      contains(run_to_error(job).what,
               "mismatch: rank 0 was or is in all_reduce, number 4101, but rank 1 was or is in broadcast, number "
               "4101"));
}

// Rank 3 waits for rank 2 in the first broadcast, which waits for rank 0, and has sent its part of the second one.
TEST(History, WhoMakesSeveralCallsBesideEachOtherIsNotBlamed) {
  static std::atomic<bool> stopped;
  stopped = false;
  Config config = config_of({{.cpus = 4}}, 1);
  config.without = message::without_rounds;
  Job job(config);
  job.cpu([](Comm& comm) {
    int x = 0, y = 0;
    if (comm.rank() == 0) compute_until(stopped);
    try {
      if (comm.rank() == 2) {
        const Request both[] = {comm.ibroadcast(x, 0), comm.ibroadcast(y, 2)};
        comm.wait_all(both);
      } else {
        comm.broadcast(x, 0);
        comm.broadcast(y, 2);
      }
    } catch (const Error&) {
      stopped = true;
      throw;
    }
  });
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::deadline) << s.what;
  EXPECT_TRUE(contains(s.what, "rank 3 (CPU 3, node 0): broadcast, number 0, for rank 2"));
  EXPECT_FALSE(blames(s)) << s.what;
}

TEST(History, WhatIsLeftOfACallIsNumberedAsFarAsThatIsKnown) {
  for (const bool many : {false, true}) {
    Job job(config_of({{.cpus = 3}}, 20));
    job.cpu([many](Comm& comm) {
      int x = 0;
      comm.broadcast(x, comm.rank() == 1 ? 1 : 0);
      for (int i = 0; i < (many ? turns : turns - 2); ++i) comm.all_reduce(x, Sum{});
    });
    EXPECT_TRUE(contains(run_to_error(job).what, many ? "rank 1's part in broadcast, number 0 modulo 2048, 4 bytes"
                                                      : "rank 1's part in broadcast, number 0, 4 bytes"));
  }
}

TEST(History, MessagesThatAreNotListedAreCounted) {
  Job job(config_of({{.cpus = 2}}, 20));
  job.cpu([](Comm& comm) {
    int x = 0;
    for (int i = 0; comm.rank() == 0 && i < 9; ++i) comm.send(x, 1, i);
    comm.recv(x, 1 - comm.rank(), 99);
  });
  const Stopped s = run_to_error(job);
  EXPECT_TRUE(contains(s.what,
                       "arrived, not received: message of 4 bytes from rank 0 with tag 5\n      and 3 more "
                       "messages\n"));
}

}  // namespace
}  // namespace dcgn::test
