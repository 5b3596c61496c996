// What traces say, on traces whose answers are known.
#include "trace/analysis.hpp"
#include "documents.hpp"
#include "tests/sanitized.hpp"
#include "trace/words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <tuple>
#include <vector>

namespace dcgn::trace::analysed {

using enum message::Call;  // in no namespace of others: POSIX has a wait and a dup, too

namespace {

Document of(std::size_t ranks) {
  Document d;
  d.program = "test";
  d.ranks.resize(ranks);
  for (std::size_t r = 0; r < ranks; ++r) d.ranks[r].rank = d.ranks[r].cpu = static_cast<std::int32_t>(r);
  return d;
}

Event event(std::uint64_t begin, std::uint64_t end, message::Call call, int peer = -1, int tag = 0,
            std::uint64_t request = 0, int communicator = 0) {
  return {begin, end, call, peer, tag, communicator, 8, request};
}

using Pair = std::tuple<int, std::size_t, int, std::size_t>;

std::vector<Pair> pairs_of(const Document& d) {
  std::vector<Pair> all;
  for (const Message& m : matched_messages(d)) all.emplace_back(m.sender, m.send, m.receiver, m.receive);
  return all;
}

std::uint64_t waiting(const Document& d, std::size_t rank) { return analyse(d).times[rank].waiting_ns; }

}  // namespace

TEST(Match, MessagesOfOneTagAndCommunicatorInOrder) {
  Document d = of(2);
  d.ranks[0].events = {event(10, 20, send, 1, 5), event(30, 40, send, 1, 6), event(50, 60, send, 1, 5),
                       event(70, 80, send, 1, 5, 0, 3)};
  d.ranks[1].events = {event(5, 85, recv, 0, 5, 0, 3), event(86, 90, recv, 0, 5), event(91, 95, recv, 0, 5),
                       event(96, 99, recv, 0, 6)};
  EXPECT_EQ(pairs_of(d), (std::vector<Pair>{{0, 0, 1, 1}, {0, 1, 1, 3}, {0, 2, 1, 2}, {0, 3, 1, 0}}));
}

TEST(Match, WhatWasPostedFirstGetsWhatWasSentFirst) {
  Document d = of(2);
  d.ranks[0].events = {event(10, 20, isend, 1, 5, 1), event(30, 40, send, 1, 5), event(50, 60, wait, -1, -1, 1)};
  d.ranks[1].events = {event(0, 1, irecv, 0, 5, 9), event(2, 50, recv, 0, 5), event(51, 52, wait, -1, -1, 9)};
  EXPECT_EQ(pairs_of(d), (std::vector<Pair>{{0, 0, 1, 0}, {0, 1, 1, 1}}));
}

TEST(Match, AReceiveOfAnySourceByTheCallThatWaitedForIt) {
  Document d = of(3);
  d.ranks[0].events = {event(10, 20, send, 2, 5)};
  d.ranks[1].events = {event(10, 20, send, 2, 6)};
  d.ranks[2].events = {event(0, 1, irecv, -1, -1, 1), event(2, 3, irecv, -1, -1, 2), event(4, 30, wait, 1, 6, 1),
                       event(31, 40, wait, 0, 5, 2)};
  EXPECT_EQ(pairs_of(d), (std::vector<Pair>{{0, 0, 2, 1}, {1, 0, 2, 0}}));
  d.ranks[2].events[2] = event(4, 30, wait_all);  // of several: whose was whose is not known
  d.ranks[2].events.pop_back();
  EXPECT_TRUE(pairs_of(d).empty());
}

TEST(Match, SendrecvIsBoth) {
  Document d = of(2);
  for (int r = 0; r < 2; ++r) {
    Event e = event(10, 20, r ? sendrecv_replace : sendrecv, 1 - r, 1 + r);
    e.from = 1 - r;
    e.from_tag = 2 - r;
    d.ranks[static_cast<std::size_t>(r)].events = {e};
  }
  EXPECT_EQ(pairs_of(d), (std::vector<Pair>{{0, 0, 1, 0}, {1, 0, 0, 0}}));
}

TEST(Match, RequestsWhoseNumbersComeAgain) {
  Document d = of(2);
  d.ranks[0].events = {event(10, 20, send, 1, 5), event(30, 40, send, 1, 6)};
  d.ranks[1].events = {event(0, 1, irecv, -1, -1, 7), event(2, 25, wait, 0, 5, 7), event(26, 27, irecv, -1, -1, 7),
                       event(28, 45, wait, 0, 6, 7)};
  EXPECT_EQ(pairs_of(d), (std::vector<Pair>{{0, 0, 1, 0}, {0, 1, 1, 2}}));
  EXPECT_EQ(analyse(d).received_by, (std::vector<std::size_t>{1, 3}));
}

TEST(Waiting, AReceiveUntilItsMessageIsSent) {
  Document d = of(2);
  d.ranks[0].events = {event(70, 80, send, 1)};
  d.ranks[1].events = {event(10, 90, recv, 0)};
  const Analysis a = analyse(d);
  EXPECT_EQ(a.waits[1][0].until_ns, 70U);
  EXPECT_EQ(a.waits[1][0].rank, 0);
  EXPECT_EQ(a.times[1].waiting_ns, 60U);
  EXPECT_EQ(a.times[1].in_calls_ns, 80U);
  EXPECT_EQ(a.times[0].waiting_ns, 0U);
  EXPECT_EQ(a.duration_ns(), 80U);
}

TEST(Waiting, ASendUntilItsReceiverComesIfItEndsLater) {
  Document d = of(2);
  d.ranks[0].events = {event(10, 90, ssend, 1)};
  d.ranks[1].events = {event(70, 95, recv, 0)};
  EXPECT_EQ(waiting(d, 0), 60U);
  EXPECT_EQ(waiting(d, 1), 0U);
  d.ranks[0].events[0].end_ns = 20;  // it had gone
  EXPECT_EQ(waiting(d, 0), 0U);
}

TEST(Waiting, AWaitForWhatItsRequestIsOf) {
  Document d = of(2);
  d.ranks[0].events = {event(70, 80, send, 1)};
  d.ranks[1].events = {event(0, 1, irecv, 0, 0, 4), event(20, 90, wait, 0, 0, 4)};
  EXPECT_EQ(waiting(d, 1), 50U);
  d.ranks[1].events[1] = event(20, 90, wait_all);
  EXPECT_EQ(waiting(d, 1), 50U);
  d.ranks[1].events[1] = event(20, 90, test, 0, 0, 4);
  EXPECT_EQ(waiting(d, 1), 0U);
}

TEST(Waiting, AProbeForTheMessageThatIsReceivedNext) {
  Document d = of(2);
  d.ranks[0].events = {event(70, 80, send, 1)};
  d.ranks[1].events = {event(20, 75, probe, 0), event(76, 90, recv, 0)};
  EXPECT_EQ(waiting(d, 1), 50U);
}

TEST(Waiting, ACollectiveUntilItsLastRankComes) {
  Document d = of(3);
  for (std::size_t r = 0; r < 3; ++r)
    d.ranks[r].events = {event(10 + 10 * r, 50, barrier), event(60, 70, barrier, -1, 0, 0, 1 + static_cast<int>(r)),
                         event(100 - 10 * r, 120, all_reduce)};
  const Analysis a = analyse(d);
  EXPECT_EQ(a.times[0].waiting_ns, 20U);       // the first one
  EXPECT_EQ(a.times[1].waiting_ns, 10U + 10);  // both
  EXPECT_EQ(a.times[2].waiting_ns, 20U);
  EXPECT_EQ(a.waits[2][2].rank, 0);
  ASSERT_EQ(a.collectives.size(), 5U);  // each communicator's barrier apart
  EXPECT_EQ(a.collectives[0].call, barrier);
  EXPECT_EQ(a.collectives[0].count, 1U);
  EXPECT_EQ(a.collectives[0].in_calls_ns, 90U);
  EXPECT_EQ(a.collectives[0].waiting_ns, 30U);
}

TEST(Waiting, InABroadcastForTheRootAlone) {
  Document d = of(3);
  d.ranks[0].events = {event(50, 60, broadcast, 0)};
  d.ranks[1].events = {event(10, 65, broadcast, 0)};
  d.ranks[2].events = {event(90, 99, broadcast, 0)};
  const Analysis a = analyse(d);
  EXPECT_EQ(a.times[1].waiting_ns, 40U);
  EXPECT_EQ(a.times[0].waiting_ns, 0U);  // gone before the last one came
  EXPECT_EQ(a.times[2].waiting_ns, 0U);
}

TEST(Matrix, CountsMessagesAndBytesByTheirSends) {
  const Analysis a = analyse(dcgn::test::ping_pong(3));
  ASSERT_EQ(a.flows.size(), 2U);
  EXPECT_EQ(a.flows[0].sender, 0);
  EXPECT_EQ(a.flows[0].receiver, 1);
  EXPECT_EQ(a.flows[0].messages, 3U);
  EXPECT_EQ(a.flows[1].bytes, 8U + 16 + 32);
}

TEST(Path, GoesOnAtTheRankThatCameLast) {
  Document d = of(2);
  // Rank 1 waits for rank 0, which computes until 70; then rank 0 waits for the answer.
  d.ranks[0].events = {event(10, 20, barrier, -1, 0, 0, 9), event(70, 80, send, 1), event(81, 200, recv, 1)};
  d.ranks[1].events = {event(10, 90, recv, 0), event(150, 160, send, 0)};
  const Analysis a = analyse(d);
  std::vector<std::tuple<int, Step::Kind, std::uint64_t, std::uint64_t>> found;
  for (const Step& s : a.path) found.emplace_back(s.rank, s.kind, s.begin_ns, s.end_ns);
  using enum Step::Kind;
  EXPECT_EQ(found, (decltype(found){{0, call, 10, 20},
                                    {0, computing, 20, 70},
                                    {1, transfer, 70, 90},
                                    {1, computing, 90, 150},
                                    {0, transfer, 150, 200}}));
  const std::vector<PathShare> shares = path_shares(a);
  EXPECT_EQ(shares[0].ns, 60U);
  EXPECT_EQ(shares[0].rank, 1);
}

TEST(Path, HasNoGapsAndNamesTheSlowRank) {
  const Document d = dcgn::test::stencil({.steps = 50, .slow_rank = 5});
  const Analysis a = analyse(d);
  ASSERT_FALSE(a.path.empty());
  std::uint64_t now = a.begin_ns;
  std::vector<std::uint64_t> computing(d.ranks.size());
  for (const Step& s : a.path) {
    EXPECT_EQ(s.begin_ns, now);
    now = s.end_ns;
    if (s.kind == Step::Kind::computing) computing[static_cast<std::size_t>(s.rank)] += s.end_ns - s.begin_ns;
  }
  EXPECT_EQ(
      now, d.ranks[0].events.empty() ? 0 : [&] {
        std::uint64_t last = 0;
        for (const Rank& r : d.ranks) last = std::max(last, r.events.back().end_ns);
        return last;
      }());
  EXPECT_EQ(path_shares(a)[0].rank, 5);
  // All others compute less of it by far, and wait longer.
  for (std::size_t r = 0; r < d.ranks.size(); ++r) {
    if (r == 5) continue;
    EXPECT_LT(10 * computing[r], computing[5]) << r;
    EXPECT_GT(a.times[r].waiting_ns, 20 * a.times[5].waiting_ns) << r;
  }
}

// Calls of no length at one time wait for each other in no order.
TEST(Path, EndsWhereTimesAreEqual) {
  Document d = of(2);
  for (std::size_t r = 0; r < 2; ++r)
    for (int i = 0; i < 4; ++i) {
      Event e = event(10, 10, sendrecv, 1 - static_cast<int>(r));
      e.from = 1 - static_cast<int>(r);
      e.from_tag = 0;
      d.ranks[r].events.push_back(e);
    }
  d.ranks[0].events.push_back(event(10, 11, barrier));
  EXPECT_EQ(analyse(d).path.size(), 1U);
}

TEST(Analysis, OfNothing) {
  EXPECT_EQ(analyse({}).duration_ns(), 0U);
  EXPECT_TRUE(analyse(of(2)).path.empty());
  EXPECT_NE(summary_of(of(1), analyse(of(1))).find("1 rank, 0 calls"), std::string::npos);
}

TEST(Analysis, OfRanksThatHaveNoPartner) {
  Document d = of(2);
  d.ranks[0].events = {event(10, 20, send, 1), event(30, 40, isend, 1, 3, 8), event(41, 50, wait, -1, -1, 77)};
  const Analysis a = analyse(d);
  EXPECT_TRUE(a.messages.empty());
  EXPECT_EQ(a.flows[0].messages, 2U);
  EXPECT_EQ(a.times[0].waiting_ns, 0U);
}

TEST(Analysis, Of200000CallsIsQuick) {
  const int steps = 600 / dcgn::test::fewer;
  const Document d = dcgn::test::stencil({.gpus = 4, .slots = 8, .nodes = 2, .steps = steps});
  const auto began = std::chrono::steady_clock::now();
  const Analysis a = analyse(d);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));  // on a busy machine
  EXPECT_EQ(a.messages.size(), 2U * 64 * static_cast<unsigned>(steps));
}

TEST(Words, TimesBytesAndShares) {
  EXPECT_EQ(time_text(0), "0 ns");
  EXPECT_EQ(time_text(999), "999 ns");
  EXPECT_EQ(time_text(999.6), "1 us");
  EXPECT_EQ(time_text(12'345'678), "12.3 ms");
  EXPECT_EQ(time_text(2e12), "2000 s");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(share_text(1, 10000), "< 0.1 %");
  EXPECT_EQ(share_text(0, 0), "0 %");
  EXPECT_EQ(share_text(41, 100), "41 %");
}

TEST(Words, SayWhoIsSlow) {
  const Document d = dcgn::test::stencil({.steps = 50, .slow_rank = 5});
  const std::string text = summary_of(d, analyse(d));
  EXPECT_NE(text.find("8 ranks, 2080 calls"), std::string::npos) << text;
  EXPECT_NE(text.find("most for rank 5"), std::string::npos) << text;
  EXPECT_NE(text.find("of it is on rank 5."), std::string::npos) << text;
}

}  // namespace dcgn::trace::analysed
