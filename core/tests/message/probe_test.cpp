// probe and iprobe: what they see, and that they leave it where it is.
#include "script_kernels.hpp"

namespace dcgn::test {
namespace {

struct ProbeAll {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    constexpr std::int64_t sizes[4] = {0, 8, 400, 30000};
    const int other = m.rank_of(1 - m.role);
    bool found = true;
    if (m.role == 0) {
      me.recv(nullptr, 0, other, 1);  // nothing was sent before role 1 looked
      for (int i = 0; i < 4; ++i) {
        m.fill(me, i * (32 << 10), sizes[i], i);
        m.keep(me, i, me.isend(m.bytes + i * (32 << 10), sizes[i], other, 10 + i));
      }
      m.note(me, 0, me.wait_all(m.requests, 4, m.statuses));
      // A message that a posted receive takes is not seen by a probe.
      me.recv(nullptr, 0, other, 2);
      me.send(m.bytes, 8, other, 20);
      me.send(m.bytes, 8, other, 21);
      return;
    }
    m.note(me, 0, me.iprobe(any_source, any_tag, found).code);
    m.note(me, 1, found);
    me.send(nullptr, 0, other, 1);
    // The last one first: those before it stay.
    for (int i = 4; i-- > 0;) {
      for (int again = 0; again < 3; ++again) {
        const Status s = me.probe(again == 1 ? any_source : other, 10 + i);
        m.add(me, 2, s.source != other || s.tag != 10 + i || s.bytes != sizes[i] || s.code != Code::ok);
        const Status t = me.iprobe(other, 10 + i, found);
        m.add(me, 2, !found || t.source != other || t.tag != 10 + i || t.bytes != sizes[i]);
      }
      // The earliest is what any_tag sees.
      m.add(me, 3, me.probe(any_source, any_tag).tag != 10);
      const Status got = me.recv(m.bytes, sizes[i], other, 10 + i);
      m.add(me, 4, got.code != Code::ok || got.bytes != sizes[i]);
      m.count_wrong(me, 4, 0, sizes[i], i);
      me.iprobe(other, 10 + i, found);
      m.add(me, 5, found);
      m.add(me, 6, 1);
    }
    m.keep(me, 0, me.irecv(m.bytes, 8, any_source, 20));
    me.send(nullptr, 0, other, 2);
    m.note(me, 7, me.probe(any_source, any_tag).tag);
    me.iprobe(any_source, 20, found);
    m.note(me, 8, found);
    me.recv(m.bytes, 8, other, 21);
    m.note(me, 9, me.wait(m.requests[0]).tag);
  }
};

class Probe : public OnLink {};
DCGN_TEST_ON_ALL_LINKS(Probe);

TEST_P(Probe, TellsTheEnvelopeAndLeavesTheMessage) {
  in_all_ways([](const Conditions& c) {
    const Outcome o = run_script(c, ProbeAll{});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(code_at(o, 0, 0), Code::ok);
    EXPECT_EQ(code_at(o, 1, 0), Code::ok);
    EXPECT_EQ(value_at(o, 1, 1), 0) << "iprobe found what was never sent";
    EXPECT_EQ(value_at(o, 1, 2), 0) << "wrong envelopes";
    EXPECT_EQ(value_at(o, 1, 3), 0) << "not the earliest";
    EXPECT_EQ(value_at(o, 1, 4), 0) << "wrong messages";
    EXPECT_EQ(value_at(o, 1, 5), 0) << "still there after it was received";
    EXPECT_EQ(value_at(o, 1, 6), 4);
    EXPECT_EQ(value_at(o, 1, 7), 21);
    EXPECT_EQ(value_at(o, 1, 8), 0) << "a message that a posted receive had taken";
    EXPECT_EQ(value_at(o, 1, 9), 20);
  });
}

// iprobe does not wait: role 0 sends nothing until role 1 has asked many times.
struct AskForNothing {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    if (m.role == 0) {
      m.note(me, 0, me.recv(nullptr, 0, other, 1).code);
      me.send(m.bytes, 100, other, 2);
      return;
    }
    bool found = false;
    for (int i = 0; i < 300; ++i) {
      me.iprobe(i % 2 ? other : any_source, i % 3 ? 2 : any_tag, found);
      m.add(me, 0, found);
    }
    me.send(nullptr, 0, other, 1);
    while (!found) m.note(me, 4, me.iprobe(any_source, 2, found));
    m.note(me, 8, me.recv(m.bytes, 100, any_source, any_tag));
  }
};

TEST_P(Probe, WithoutWaitingReturnsAtOnce) {
  in_all_ways([](const Conditions& c) {
    const Outcome o = run_script(c, AskForNothing{});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(code_at(o, 0, 0), Code::ok);
    EXPECT_EQ(value_at(o, 1, 0), 0);
    expect_status(o, 1, 4, 0, 2, 100);
    expect_status(o, 1, 8, 0, 2, 100);
  });
}

}  // namespace
}  // namespace dcgn::test
