// Messages of one source do not overtake each other; floods that come before they are asked for.
#include "script_kernels.hpp"

namespace dcgn::test {
namespace {

constexpr int ordered_messages = sanitized ? 24 : 48;

// Sizes on both sides of every threshold, in an order that alternates between the protocols.
DCGN_HOST_DEVICE std::int64_t ordered_bytes(int i) {
  switch (i % 8) {
    case 0: return 4;
    case 1: return 9000;
    case 2: return 0;
    case 3: return 513;
    case 4: return 100;
    case 5: return 4097;
    case 6: return 12;
    default: return 512;
  }
}

// Role 0 sends messages of all sizes with one tag; role 1 must get them in that order.
struct SendManySizes {
  bool early_sends, early_receives;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    constexpr std::int64_t room = 9216;
    constexpr int window = 24;
    for (int first = 0; first < ordered_messages; first += window) {
      for (int i = first; i < first + window; ++i) {
        const std::int64_t at = (i - first) * room;
        if (m.role == 0) {
          m.fill(me, at, ordered_bytes(i), i);
          if (early_sends)
            m.keep(me, i - first, me.isend(m.bytes + at, ordered_bytes(i), m.rank_of(1), 3));
          else
            m.add(me, 0, static_cast<std::int64_t>(me.send(m.bytes + at, ordered_bytes(i), m.rank_of(1), 3)));
        } else if (early_receives) {
          m.keep(me, i - first, me.irecv(m.bytes + at, room, i % 3 ? m.rank_of(0) : any_source, i % 5 ? 3 : any_tag));
        } else {
          check(me, m, i, at, me.recv(m.bytes + at, room, i % 3 ? m.rank_of(0) : any_source, i % 5 ? 3 : any_tag));
        }
      }
      if (m.role == 0 ? early_sends : early_receives) {
        // The last one first: completion is in any order, matching is not.
        for (int i = first + window; i-- > first;) {
          const Status s = me.wait(m.requests[i - first]);
          if (m.role == 1) check(me, m, i, (i - first) * room, s);
        }
      }
    }
  }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void check(const Port& me, const Memory& m, int i, std::int64_t at, const Status& s) const {
    m.add(me, 0, s.bytes != ordered_bytes(i) || s.tag != 3 || s.source != m.rank_of(0) || s.code != Code::ok);
    m.count_wrong(me, 1, at, ordered_bytes(i), i);
    m.add(me, 2, 1);
  }
};

class Order : public OnLink {};
DCGN_TEST_ON_ALL_LINKS(Order);

TEST_P(Order, MessagesOfAllProtocolsDoNotOvertakeEachOther) {
  in_all_ways([](const Conditions& setup) {
    for (const bool early_sends : {false, true})
      for (const bool early_receives : {false, true}) {
        Conditions s = setup;
        s.config.lane_bytes = early_sends ? 1024 : 0;
        const Outcome o = run_script(s, SendManySizes{early_sends, early_receives});
        ASSERT_EQ(o.error, "");
        EXPECT_EQ(value_at(o, 0, 0), 0);
        EXPECT_EQ(value_at(o, 1, 0), 0) << "wrong envelopes";
        EXPECT_EQ(value_at(o, 1, 1), 0) << "wrong bytes";
        EXPECT_EQ(value_at(o, 1, 2), ordered_messages);
      }
  });
}

// Role 0 sends `count` messages and then one of another tag; role 1 receives nothing before that has come.
struct Flood {
  int count, tags;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    auto* words = reinterpret_cast<std::int32_t*>(m.bytes);
    constexpr int go = 70000;
    if (m.role == 0) {
      for (int i = 0; i < count; ++i) {
        if (me.leader()) words[0] = words[1] = words[2] = i;
        me.sync();
        m.add(me, 0, me.send(words, i % 2 ? 12 : 8, m.rank_of(1), i % tags) != Code::ok);
      }
      me.send(nullptr, 0, m.rank_of(1), go);
      return;
    }
    m.note(me, 1, me.probe(m.rank_of(0), go).tag);
    // The last tag first; those of one tag in the order in which they were sent.
    for (int tag = tags; tag-- > 0;)
      for (int i = tag; i < count; i += tags) {
        const Status s = me.recv(words, 12, any_source, tag);
        if (!me.leader()) continue;
        const int last = i % 2 ? 2 : 1;
        m.values[0] += s.bytes != (i % 2 ? 12 : 8) || words[0] != i || words[last] != i || s.code != Code::ok;
        ++m.values[2];
      }
    m.note(me, 3, me.recv(nullptr, 0, m.rank_of(0), go).code);
  }
};

TEST_P(Order, TenThousandMessagesComeBeforeTheFirstReceive) {
  const int count = 10000 / fewer;
  for (const ScopeKind scope : {ScopeKind::thread, ScopeKind::block})
    for (const int tags : {1, 50}) {
      Conditions s = conditions();
      s.scope = scope;
      SCOPED_TRACE(std::string(to_string(scope)) + " scope, " + std::to_string(tags) + " tags");
      const Outcome o = run_script(s, Flood{count, tags});
      ASSERT_EQ(o.error, "");
      EXPECT_EQ(value_at(o, 0, 0), 0) << "failed sends";
      EXPECT_EQ(value_at(o, 1, 0), 0) << "wrong messages";
      EXPECT_EQ(value_at(o, 1, 1), 70000);
      EXPECT_EQ(value_at(o, 1, 2), count);
      EXPECT_EQ(code_at(o, 1, 3), Code::ok);
      EXPECT_EQ(o.report.ranks[static_cast<std::size_t>(s.swapped)].sent_messages,
                static_cast<std::uint64_t>(count) + 1);
      if (GetParam() == Link::cpu_cpu) break;
    }
}

struct Slow {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    auto* words = reinterpret_cast<std::int32_t*>(m.bytes);
    for (int i = 0; i < 400; ++i) {
      if (m.role == 0) {
        if (me.leader()) words[0] = i;
        me.sync();
        m.add(me, 0, me.send(words, 100, m.rank_of(1), 1) != Code::ok);
      } else {
        if (i % 10 == 0) {
          bool found = false;
          me.iprobe(m.rank_of(0), 2, found);  // takes in what it can
        }
        const Status s = me.recv(words, 100, m.rank_of(0), 1);
        if (me.leader()) m.values[0] += s.code != Code::ok || words[0] != i;
        m.add(me, 1, 1);
      }
    }
  }
};

// Where the receiver's space is full, senders wait; nothing is lost and nothing overtakes.
TEST_P(Order, FloodBeyondTheUnexpectedSpaceHoldsTheSenderBack) {
  Conditions s = conditions();
  s.config.unexpected_bytes = 1024;
  s.config.requests = 16;
  const Outcome o = run_script(s, Slow{});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(value_at(o, 0, 0), 0);
  EXPECT_EQ(value_at(o, 1, 0), 0);
  EXPECT_EQ(value_at(o, 1, 1), 400);
}

}  // namespace
}  // namespace dcgn::test
