// Messages to oneself, and messages without bytes.
#include "script_kernels.hpp"

namespace dcgn::test {
namespace {

constexpr int most_selves = 6;

DCGN_HOST_DEVICE std::int64_t self_bytes(int i) {
  constexpr std::int64_t all[most_selves] = {0, 1, 8, 13, 513, sanitized ? 9000 : 30000};
  return all[i];
}

// Every rank sends itself messages of all sizes in every way that is legal, while a neighbour does the same.
struct TalkToOneself {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int self = me.rank();
    constexpr std::int64_t in = 80 << 10, third = 160 << 10;
    for (int i = 0; i < most_selves; ++i) {
      const std::int64_t bytes = self_bytes(i);
      m.fill(me, 0, bytes, 10 * i);
      m.keep(me, 0, me.isend(m.bytes, bytes, self, 1));
      got(me, m, i, 10 * i, me.recv(m.bytes + in, bytes, self, 1), 1);
      m.add(me, 1, me.wait(m.requests[0]).code != Code::ok);

      m.fill(me, 0, bytes, 10 * i + 1);
      m.keep(me, 0, me.irecv(m.bytes + in, bytes, any_source, 70000));
      m.add(me, 1, me.send(m.bytes, bytes, self, 70000) != Code::ok);
      got(me, m, i, 10 * i + 1, me.wait(m.requests[0]), 70000);

      m.fill(me, 0, bytes, 10 * i + 2);
      got(me, m, i, 10 * i + 2, me.sendrecv(m.bytes, bytes, self, 2, m.bytes + in, bytes, self, 2), 2);

      m.fill(me, in, bytes, 10 * i + 3);
      got(me, m, i, 10 * i + 3, me.sendrecv_replace(m.bytes + in, bytes, self, 3, any_source, 3), 3);

      m.fill(me, 0, bytes, 10 * i + 4);
      m.keep(me, 0, me.irecv(m.bytes + in, bytes, self, any_tag));
      m.add(me, 1, me.ssend(m.bytes, bytes, self, max_tag) != Code::ok);
      got(me, m, i, 10 * i + 4, me.wait(m.requests[0]), max_tag);

      m.fill(me, 0, bytes, 10 * i + 5);
      m.add(me, 1, me.bsend(m.bytes, bytes, self, 5) != Code::ok);
      m.fill(me, 0, bytes, -1);  // bsend has its own copy
      got(me, m, i, 10 * i + 5, me.recv(m.bytes + in, bytes, self, 5), 5);

      if (bytes <= 13) {  // eager: returns before it is received
        m.fill(me, third, bytes, 10 * i + 6);
        m.add(me, 1, me.send(m.bytes + third, bytes, self, 6) != Code::ok);
        const Status probed = me.probe(any_source, 6);
        m.add(me, 0, probed.source != self || probed.bytes != bytes);
        got(me, m, i, 10 * i + 6, me.recv(m.bytes + in, bytes, any_source, any_tag), 6);
      }
    }
  }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void got(const Port& me, const Memory& m, int i, std::int64_t seed, const Status& s, int tag) const {
    m.add(me, 0, s.source != me.rank() || s.tag != tag || s.bytes != self_bytes(i) || s.code != Code::ok);
    m.count_wrong(me, 2, 80 << 10, self_bytes(i), seed);
    m.fill(me, 80 << 10, self_bytes(i), -2);
    m.add(me, 3, 1);
  }
};

class Self : public OnLink {};
DCGN_TEST_ON_ALL_LINKS(Self);

TEST_P(Self, GetsItsOwnMessagesInEveryWay) {
  in_all_ways([](const Conditions& c) {
    const Outcome o = run_script(c, TalkToOneself{});
    ASSERT_EQ(o.error, "");
    for (int role = 0; role < 2; ++role) {
      EXPECT_EQ(value_at(o, role, 0), 0) << "wrong statuses";
      EXPECT_EQ(value_at(o, role, 1), 0) << "failed sends";
      EXPECT_EQ(value_at(o, role, 2), 0) << "wrong bytes";
      EXPECT_EQ(value_at(o, role, 3), 6 * most_selves + 4);
    }
  });
}

// Messages of no bytes, with null buffers, small and large tags, posted first and sent first.
struct SendNothing {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    constexpr int tags[4] = {0, 65535, 65536, max_tag};
    for (const int tag : tags) {
      if (m.role == 0) {
        me.recv(nullptr, 0, m.rank_of(1), 8);
        m.add(me, 0, me.send(nullptr, 0, m.rank_of(1), tag) != Code::ok);  // the receive is posted
        m.add(me, 0, me.send(nullptr, 0, m.rank_of(1), tag) != Code::ok);
        m.add(me, 0, me.ssend(nullptr, 0, m.rank_of(1), tag) != Code::ok);
        m.add(me, 0, me.bsend(nullptr, 0, m.rank_of(1), tag) != Code::ok);
        const Status s = me.sendrecv(nullptr, 0, m.rank_of(1), tag, nullptr, 0, m.rank_of(1), tag);
        m.add(me, 0, s.code != Code::ok || s.bytes != 0 || s.tag != tag);
        const Status r = me.sendrecv_replace(nullptr, 0, m.rank_of(1), tag, any_source, any_tag);
        m.add(me, 0, r.code != Code::ok || r.bytes != 0 || r.tag != tag);
        m.add(me, 1, 1);
        continue;
      }
      m.keep(me, 0, me.irecv(nullptr, 0, m.rank_of(0), tag));
      me.send(nullptr, 0, m.rank_of(0), 8);
      empty(me, m, tag, me.wait(m.requests[0]));
      empty(me, m, tag, me.recv(nullptr, 0, any_source, any_tag));
      empty(me, m, tag, me.probe(m.rank_of(0), any_tag));
      empty(me, m, tag, me.recv(nullptr, 0, m.rank_of(0), tag));
      empty(me, m, tag, me.recv(m.bytes, 8, any_source, tag));  // a buffer is not written
      empty(me, m, tag, me.sendrecv(nullptr, 0, m.rank_of(0), tag, m.bytes, 8, m.rank_of(0), tag));
      empty(me, m, tag, me.sendrecv_replace(nullptr, 0, m.rank_of(0), tag, any_source, any_tag));
      m.count_wrong(me, 0, 0, 8, -1 - m.role);
    }
  }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void empty(const Port& me, const Memory& m, int tag, const Status& s) const {
    m.add(me, 0, s.source != m.rank_of(0) || s.tag != tag || s.bytes != 0 || s.code != Code::ok);
    m.add(me, 1, 1);
  }
};

class ZeroBytes : public OnLink {};
DCGN_TEST_ON_ALL_LINKS(ZeroBytes);

TEST_P(ZeroBytes, AreMessagesLikeOthers) {
  in_all_ways([](const Conditions& c) {
    const Outcome o = run_script(c, SendNothing{});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(value_at(o, 0, 0), 0);
    EXPECT_EQ(value_at(o, 0, 1), 4);
    EXPECT_EQ(value_at(o, 1, 0), 0);
    EXPECT_EQ(value_at(o, 1, 1), 4 * 7);
    for (const RankReport& r : o.report.ranks) EXPECT_EQ(r.sent_bytes + r.received_bytes, 0u);
  });
}

}  // namespace
}  // namespace dcgn::test
