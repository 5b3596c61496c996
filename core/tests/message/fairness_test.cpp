// wait_any and any_source give everybody a turn.
#include "emulated_gpus.hpp"
#include "script_kernels.hpp"

namespace dcgn::test {
namespace {

constexpr int kinds = 5;  // of requests
constexpr int rounds = 40 / fewer;

// Role 1 has a receive for each of five tags, and all messages for them are there already. Whenever one completes it is
// begun again. Role 0 sends them in the order that is least fair: all of tag 0 first.
struct ReplaceCompleted {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    if (m.role == 0) {
      for (int tag = 0; tag < kinds; ++tag)
        for (int i = 0; i < rounds; ++i) m.add(me, 0, me.send(m.bytes, 8, m.rank_of(1), tag) != Code::ok);
      me.send(nullptr, 0, m.rank_of(1), kinds);
      return;
    }
    me.recv(nullptr, 0, m.rank_of(0), kinds);
    for (int tag = 0; tag < kinds; ++tag) m.keep(me, tag, me.irecv(m.bytes + 8 * tag, 8, m.rank_of(0), tag));
    std::int64_t turns[kinds] = {};
    for (int i = 0; i < kinds * rounds; ++i) {
      std::int64_t index = -1;
      const Status s = me.wait_any(m.requests, kinds, index);
      if (s.code != Code::ok || index < 0 || index >= kinds || s.tag != index) {
        m.add(me, 0, 1);
        return;
      }
      ++turns[index];
      // All are always complete, so nobody may be two turns ahead of anybody.
      for (const std::int64_t other : turns) m.add(me, 0, turns[index] > other + 1);
      m.add(me, 1, 1);
      if (turns[index] < rounds) {
        m.keep(me, static_cast<int>(index), me.irecv(m.bytes + 8 * index, 8, m.rank_of(0), static_cast<int>(index)));
      }
    }
    std::int64_t index = 0;
    const Status none = me.wait_any(m.requests, kinds, index);
    m.add(me, 2, index == -1 && none.code == Code::ok);
  }
};

class WaitAny : public OnLink {};
DCGN_TEST_ON_ALL_LINKS(WaitAny);

TEST_P(WaitAny, GivesAllThatAreCompleteATurn) {
  in_all_ways([](const Conditions& c) {
    const Outcome o = run_script(c, ReplaceCompleted{});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(value_at(o, 0, 0), 0) << "failed sends";
    EXPECT_EQ(value_at(o, 1, 0), 0) << "unfair turns";
    EXPECT_EQ(value_at(o, 1, 1), kinds * rounds);
    EXPECT_EQ(value_at(o, 1, 2), 1) << "wait_any on none";
  });
}

// Everybody floods one rank, which receives from any source. Value `source`: messages that it got from that role;
// value 100 + source: how many of the others' it had at the least when this source's last one came.
struct FloodOne {
  int receiver, count;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    auto* word = reinterpret_cast<std::int32_t*>(m.bytes);
    if (m.role != receiver) {
      for (int i = 0; i < count; ++i) {
        if (me.leader()) *word = i;
        me.sync();
        m.add(me, 200, me.send(word, 4, receiver, i % 3) != Code::ok);
      }
      return;
    }
    for (int i = 0; i < count * (m.roles - 1); ++i) {
      const Status s = me.recv(word, 4, any_source, any_tag);
      if (!me.leader()) continue;
      if (s.code != Code::ok || s.source < 0 || s.source >= m.roles || s.tag != *word % 3) {
        ++m.values[200];
        continue;
      }
      m.values[200] += *word != m.values[s.source];  // in the order of sending
      if (++m.values[s.source] == count) {
        std::int64_t least = count;
        for (int other = 0; other < m.roles; ++other)
          if (other != receiver && m.values[other] < least) least = m.values[other];
        m.values[100 + s.source] = least;
      }
    }
  }
};

TEST(AnySource, GivesAllWhoSendATurn) {
  for (const int receiver : {0, 1, 2, 3})
    for (const bool scheduled : {false, true}) {
      if (scheduled && !emulated()) continue;
      SCOPED_TRACE("receiver " + std::to_string(receiver) + (scheduled ? ", deterministic" : ""));
      Conditions c = mixed_conditions();
      c.config.lane_bytes = 256;  // so that senders wait for the receiver
      if (scheduled) {
        c.config.seed = 3;
        c.scope = ScopeKind::thread;  // a send takes as many steps of the schedule on any rank
        c.block = 1;
      }
      const int count = 400 / fewer;
      const Outcome o = run_script(c, FloodOne{receiver, count});
      ASSERT_EQ(o.error, "");
      const int roles = static_cast<int>(o.roles.size());
      for (int role = 0; role < roles; ++role) {
        EXPECT_EQ(value_at(o, role, 200), 0) << "errors of rank " << role;
        if (role == receiver) continue;
        EXPECT_EQ(value_at(o, receiver, role), count);
        // With threads a sender may be away from the processor for long; the schedule gives everybody the same share.
        if (scheduled) {
          EXPECT_GT(value_at(o, receiver, 100 + role), count / 4) << "when rank " << role << " was through";
        }
      }
    }
}

}  // namespace
}  // namespace dcgn::test
