// Synchronous sends wait for their receive; buffered sends never wait.
#include "script_kernels.hpp"

namespace dcgn::test {
namespace {

// Role 0 sends one message and then, when that call has returned, another. Role 1 receives neither for a while.
struct SendThenTell {
  bool synchronous;
  std::int64_t bytes;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    if (m.role == 0) {
      m.fill(me, 0, bytes, 5);
      m.note(me, 0, synchronous ? me.ssend(m.bytes, bytes, other, 1) : me.send(m.bytes, bytes, other, 1));
      me.send(nullptr, 0, other, 2);
      return;
    }
    m.note(me, 0, me.probe(other, 1).code);
    bool found = false;
    if (synchronous) {
      for (int i = 0; i < 50; ++i) {
        me.iprobe(other, 2, found);
        m.add(me, 1, found);  // the send has returned, though nothing received its message
      }
    } else {
      m.note(me, 1, me.probe(other, 2).code);  // the send returns with nobody receiving
    }
    m.note(me, 2, me.recv(m.bytes, bytes, other, 1).code);
    m.count_wrong(me, 3, 0, bytes, 5);
    m.note(me, 4, me.recv(nullptr, 0, other, 2).code);
    m.note(me, 5, 1);
  }
};

class Mode : public OnLink {};
DCGN_TEST_ON_ALL_LINKS(Mode);

TEST_P(Mode, SynchronousSendReturnsAfterItsReceiveHasBegun) {
  in_all_ways([](const Conditions& c) {
    for (const bool synchronous : {true, false})
      for (const std::int64_t bytes : {0, 8, 200}) {
        const Outcome o = run_script(c, SendThenTell{synchronous, bytes});
        ASSERT_EQ(o.error, "") << bytes;
        EXPECT_EQ(code_at(o, 0, 0), Code::ok);
        for (int at = 0; at < 5; ++at) EXPECT_EQ(value_at(o, 1, at), 0) << "value " << at << ", " << bytes << " bytes";
        EXPECT_EQ(value_at(o, 1, 5), 1);
      }
  });
}

// Role 0 sends large messages that nobody receives before it is through, and overwrites their buffer at once.
struct BufferMany {
  int count;
  std::int64_t bytes;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    if (m.role == 0) {
      for (int i = 0; i < count; ++i) {
        m.fill(me, 0, bytes, i);
        m.add(me, 0, me.bsend(m.bytes, bytes, other, 1) != Code::ok);
      }
      m.fill(me, 0, bytes, -1);
      me.send(nullptr, 0, other, 2);
      m.note(me, 1, me.finish());
      return;
    }
    me.recv(nullptr, 0, other, 2);
    for (int i = 0; i < count; ++i) {
      const Status s = me.recv(m.bytes, bytes, other, 1);
      m.add(me, 0, s.code != Code::ok || s.bytes != bytes);
      m.count_wrong(me, 1, 0, bytes, i);
      m.add(me, 2, 1);
    }
  }
};

TEST_P(Mode, BufferedSendReturnsWithoutAReceiver) {
  in_all_ways([](const Conditions& c) {
    for (const std::int64_t bytes : {0, 5, 700, 20000}) {
      constexpr int count = sanitized ? 6 : 20;
      const Outcome o = run_script(c, BufferMany{count, bytes});
      ASSERT_EQ(o.error, "") << bytes;
      EXPECT_EQ(value_at(o, 0, 0), 0) << bytes;
      EXPECT_EQ(code_at(o, 0, 1), Code::ok) << bytes;
      EXPECT_EQ(value_at(o, 1, 0), 0) << bytes;
      EXPECT_EQ(value_at(o, 1, 1), 0) << bytes;
      EXPECT_EQ(value_at(o, 1, 2), count) << bytes;
    }
  });
}

// Space for two of three messages.
struct BufferTooMuch {
  static constexpr std::int64_t bytes = 6000;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    if (m.role == 0) {
      for (int i = 0; i < 3; ++i) {
        m.fill(me, 0, bytes, i);
        m.note(me, i, me.bsend(m.bytes, bytes, other, 1));
      }
      // sendrecv_replace takes from the same space.
      m.note(me, 3, me.sendrecv_replace(m.bytes, bytes, other, 3, other, 3).code);
      m.note(me, 4, me.send(nullptr, 0, other, 2));
      m.note(me, 5, me.finish());  // both have been received: their space is free again
      m.fill(me, 0, bytes, 4);
      m.note(me, 6, me.bsend(m.bytes, bytes, other, 1));
      m.note(me, 7, me.finish());
      return;
    }
    me.recv(nullptr, 0, other, 2);
    constexpr int seeds[3] = {0, 1, 4};
    for (const int seed : seeds) {
      m.add(me, 0, me.recv(m.bytes, bytes, other, 1).code != Code::ok);
      m.count_wrong(me, 1, 0, bytes, seed);
      m.add(me, 2, 1);
    }
  }
};

TEST_P(Mode, BufferedSendSaysWhenItsSpaceIsUsedUp) {
  in_all_ways([](const Conditions& conditions) {
    Conditions c = conditions;
    c.config.buffered_bytes = 2 * BufferTooMuch::bytes + 100;
    c.config.eager_bytes = 4096;  // so the copies wait for their receiver
    c.config.errors_fatal = false;
    const Outcome o = run_script(c, BufferTooMuch{});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(code_at(o, 0, 0), Code::ok);
    EXPECT_EQ(code_at(o, 0, 1), Code::ok);
    EXPECT_EQ(code_at(o, 0, 2), Code::out_of_resources);
    EXPECT_EQ(code_at(o, 0, 3), Code::out_of_resources);
    for (int at = 4; at < 8; ++at) EXPECT_EQ(code_at(o, 0, at), Code::ok) << at;
    EXPECT_EQ(value_at(o, 1, 0), 0);
    EXPECT_EQ(value_at(o, 1, 1), 0);
    EXPECT_EQ(value_at(o, 1, 2), 3);
    const RankReport& sender = o.report.ranks[c.swapped ? 1 : 0];
    if (sender.place.is_slot()) {
      EXPECT_NE(sender.failure.find("bsend: no room for a copy of 6000 bytes"), std::string::npos) << sender.failure;
      EXPECT_NE(sender.failure.find("DCGN_BUFFERED_BYTES"), std::string::npos) << sender.failure;
    }
  });
}

}  // namespace
}  // namespace dcgn::test
