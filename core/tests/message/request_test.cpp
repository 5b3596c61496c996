// Requests: test, wait, wait_all; null, inactive, stale and failed ones.
#include "script_kernels.hpp"

namespace dcgn::test {
namespace {

struct UseRequests {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    Status s;
    if (m.role == 0) {
      me.recv(nullptr, 0, other, 1);
      m.fill(me, 0, 3000, 1);
      for (int i = 0; i < 3; ++i) me.send(m.bytes, 1000 * (i + 1), other, 10 + i);
      return;
    }
    // Null requests are complete and say nothing.
    m.note(me, 0, me.wait(Request{}));
    m.note(me, 4, me.test(Request{}, s));
    m.note(me, 5, s.code);
    m.note(me, 6, me.wait_all(m.requests, 0, nullptr));
    // Not complete before the message can have been sent.
    for (int i = 0; i < 3; ++i) m.keep(me, i, me.irecv(m.bytes + 4096 * i, 4096, other, 10 + i));
    for (int i = 0; i < 100; ++i) m.add(me, 7, me.test(m.requests[0], s));
    me.send(nullptr, 0, other, 1);
    while (!me.test(m.requests[0], s)) {
    }
    m.note(me, 8, s);
    // A second time it is inactive: complete, with an empty status.
    m.note(me, 12, me.wait(m.requests[0]));
    m.note(me, 16, me.test(m.requests[0], s));
    m.note(me, 20, s);
    // The handle of a request that is over does not mean the next one, which may have its place.
    m.keep(me, 3, me.irecv(m.bytes, 8, other, 99));
    m.note(me, 24, me.wait(m.requests[0]));
    // Inactive and null ones beside active ones; statuses for all.
    m.keep(me, 4, m.requests[3]);
    m.keep(me, 3, Request{});
    m.note(me, 28, me.wait_all(m.requests, 4, m.statuses));
    if (me.leader())
      for (int i = 0; i < 4; ++i) {
        m.values[32 + 4 * i] = m.statuses[i].source < 0 ? m.statuses[i].source : m.rank_of(m.statuses[i].source);
        m.values[33 + 4 * i] = m.statuses[i].tag;
        m.values[34 + 4 * i] = m.statuses[i].bytes;
        m.values[35 + 4 * i] = static_cast<std::int64_t>(m.statuses[i].code);
      }
    for (int i = 0; i < 3; ++i) m.count_wrong(me, 29, 4096 * i, 1000 * (i + 1), 1);
    std::int64_t index = 5;
    m.note(me, 48, me.wait_any(m.requests, 4, index).code);
    m.note(me, 49, index);
    // The receive of tag 99 is still open, until role 0 answers.
    m.note(me, 50, me.test(m.requests[4], s));
    me.send(nullptr, 0, other, 2);
    m.note(me, 51, me.wait(m.requests[4]).bytes);
  }
};

struct AnswerLast {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    UseRequests{}(me, m);
    if (m.role == 1) return;
    me.recv(nullptr, 0, m.rank_of(1), 2);
    me.send(m.bytes, 8, m.rank_of(1), 99);
  }
};

class Requests : public OnLink {};
DCGN_TEST_ON_ALL_LINKS(Requests);

TEST_P(Requests, AreCompleteOnceAndInactiveAfterwards) {
  in_all_ways([](const Conditions& c) {
    const Outcome o = run_script(c, AnswerLast{});
    ASSERT_EQ(o.error, "");
    const auto empty = [&](int at) { expect_status(o, 1, at, any_source, any_tag, 0); };
    empty(0);
    EXPECT_EQ(value_at(o, 1, 4), 1) << "test of a null request";
    EXPECT_EQ(code_at(o, 1, 5), Code::ok);
    EXPECT_EQ(code_at(o, 1, 6), Code::ok);
    EXPECT_EQ(value_at(o, 1, 7), 0) << "complete before it was sent";
    expect_status(o, 1, 8, 0, 10, 1000);
    empty(12);
    EXPECT_EQ(value_at(o, 1, 16), 1) << "test of an inactive request";
    empty(20);
    empty(24);
    EXPECT_EQ(code_at(o, 1, 28), Code::ok);
    EXPECT_EQ(value_at(o, 1, 29), 0) << "wrong bytes";
    empty(32);
    expect_status(o, 1, 36, 0, 11, 2000);
    expect_status(o, 1, 40, 0, 12, 3000);
    empty(44);
    EXPECT_EQ(code_at(o, 1, 48), Code::ok);
    EXPECT_EQ(value_at(o, 1, 49), -1);
    EXPECT_EQ(value_at(o, 1, 50), 0) << "complete though nothing was sent";
    EXPECT_EQ(value_at(o, 1, 51), 8);
  });
}

// A request that could not be made carries its error; the others in the same wait_all are waited for all the same.
struct WaitForFailed {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    if (m.role == 0) {
      me.recv(nullptr, 0, other, 1);
      m.fill(me, 0, 600, 3);
      me.send(m.bytes, 600, other, 2);
      return;
    }
    m.keep(me, 0, me.isend(m.bytes, 8, 77, 0));
    m.note(me, 0, m.requests[0].code());
    m.keep(me, 1, me.irecv(m.bytes, 600, other, 2));
    me.send(nullptr, 0, other, 1);
    m.note(me, 1, me.wait_all(m.requests, 2, m.statuses));
    m.count_wrong(me, 2, 0, 600, 3);
    m.note(me, 3, me.wait(m.requests[1]).source);  // over
    m.note(me, 4, me.wait(m.requests[0]).code);
  }
};

TEST_P(Requests, OneThatFailedDoesNotKeepWaitAllFromTheOthers) {
  if (GetParam() == Link::cpu_cpu || GetParam() == Link::slot_cpu) GTEST_SKIP() << "on the CPU the call throws";
  in_all_ways([](const Conditions& conditions) {
    Conditions c = conditions;
    c.config.errors_fatal = false;
    const Outcome o = run_script(c, WaitForFailed{});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(code_at(o, 1, 0), Code::invalid_rank);
    EXPECT_EQ(code_at(o, 1, 1), Code::invalid_rank);
    EXPECT_EQ(value_at(o, 1, 2), 0) << "wait_all returned before the receive was complete";
    EXPECT_EQ(value_at(o, 1, 3), any_source);
    EXPECT_EQ(code_at(o, 1, 4), Code::invalid_rank);
  });
}

}  // namespace
}  // namespace dcgn::test
