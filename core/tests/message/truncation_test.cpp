// A message longer than the buffer: reported, its beginning received, nothing past the buffer's end written.
#include "script_kernels.hpp"

namespace dcgn::test {
namespace {

constexpr int cut_sizes = 9;
constexpr int cut_rooms = 4;  // of the buffer's length

DCGN_HOST_DEVICE std::int64_t sent_bytes(int i) {
  constexpr std::int64_t all[cut_sizes] = {1, 7, 8, 9, 13, 84, 512, 5000, sanitized ? 9000 : 30000};
  return all[i];
}
DCGN_HOST_DEVICE std::int64_t room(int i, int which) {
  switch (which) {
    case 0: return 0;
    case 1: return sent_bytes(i) > 1 ? 1 : 0;
    case 2: return sent_bytes(i) / 2;
    default: return sent_bytes(i) - 1;
  }
}

// How role 1 receives: by recv after the message came, by irecv before it was sent, or by sendrecv.
enum class Meeting { unexpected, posted, sendrecv };

struct SendTooMuch {
  Meeting meeting;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    constexpr std::int64_t second = 64 << 10;
    for (int i = 0; i < cut_sizes; ++i)
      for (int w = 0; w < cut_rooms; ++w) {
        const std::int64_t bytes = sent_bytes(i);
        const std::int64_t space = room(i, w);
        if (m.role == 0) {
          m.fill(me, 0, bytes, i);
          m.fill(me, second, 16, 100 + i);
          if (meeting != Meeting::unexpected) me.recv(nullptr, 0, m.rank_of(1), 9);
          m.add(me, 0, me.send(m.bytes, bytes, m.rank_of(1), i) != Code::ok);
          m.add(me, 0, me.send(m.bytes + second, 16, m.rank_of(1), i) != Code::ok);
          continue;
        }
        m.fill(me, 0, bytes, -7);
        void* const buffer = space ? m.bytes : nullptr;
        Status got;
        if (meeting == Meeting::posted) {
          m.keep(me, 0, me.irecv(buffer, space, m.rank_of(0), i));
          me.send(nullptr, 0, m.rank_of(0), 9);
          me.wait_all(m.requests, 1, m.statuses);
          check(me, m, m.statuses[0], i, space);
        } else {
          if (meeting == Meeting::unexpected) {
            me.probe(m.rank_of(0), i);
            got = me.recv(buffer, space, m.rank_of(0), i);
          } else {
            got = me.sendrecv(nullptr, 0, m.rank_of(0), 9, buffer, space, m.rank_of(0), i);
          }
          // Where the library throws, there is no status.
          if (!me.is_slot()) got.source = m.rank_of(0), got.tag = i, got.bytes = bytes;
          check(me, m, got, i, space);
        }
        // The next message is not affected.
        const Status next = me.recv(m.bytes + second, 16, any_source, any_tag);
        m.add(me, 3, next.code != Code::ok || next.bytes != 16 || next.tag != i);
        m.count_wrong(me, 3, second, 16, 100 + i);
        m.add(me, 4, 1);
      }
  }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void check(const Port& me, const Memory& m, const Status& got, int i, std::int64_t space) const {
    m.add(me, 0,
          got.code != Code::truncated || got.source != m.rank_of(0) || got.tag != i || got.bytes != sent_bytes(i));
    m.count_wrong(me, 1, 0, space, i);
    m.count_wrong(me, 2, space, sent_bytes(i) - space, -7, space);
  }
};

class Truncation : public OnLink {};
DCGN_TEST_ON_ALL_LINKS(Truncation);

TEST_P(Truncation, IsReportedAndHarmsNothingElse) {
  in_all_ways([](const Conditions& conditions) {
    for (const Meeting meeting : {Meeting::unexpected, Meeting::posted, Meeting::sendrecv}) {
      SCOPED_TRACE(static_cast<int>(meeting));
      Conditions c = conditions;
      c.config.errors_fatal = false;
      const Outcome o = run_script(c, SendTooMuch{meeting});
      ASSERT_EQ(o.error, "");
      EXPECT_EQ(value_at(o, 0, 0), 0) << "failed sends";
      EXPECT_EQ(value_at(o, 1, 0), 0) << "wrong statuses";
      EXPECT_EQ(value_at(o, 1, 1), 0) << "wrong bytes in the buffer";
      EXPECT_EQ(value_at(o, 1, 2), 0) << "bytes written past the buffer's end";
      EXPECT_EQ(value_at(o, 1, 3), 0) << "errors in the next message";
      EXPECT_EQ(value_at(o, 1, 4), cut_sizes * cut_rooms);
      // The report names what a slot's call said first.
      const RankReport& receiver = o.report.ranks[c.swapped ? 0 : 1];
      EXPECT_EQ(receiver.failure.find("does not fit the buffer of 0 bytes") != std::string::npos,
                receiver.place.is_slot())
          << receiver.failure;
      if (receiver.place.is_slot()) {
        EXPECT_NE(receiver.failure.find("message of 1 bytes"), std::string::npos) << receiver.failure;
      }
    }
  });
}

// By default a slot's truncated receive stops the job, and an exception comes out of a CPU rank's.
struct SendTen {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    if (m.role == 0)
      me.send(m.bytes, 10, m.rank_of(1), 4);
    else
      m.note(me, 0, me.recv(m.bytes, 6, m.rank_of(0), 4).code);
  }
};

TEST_P(Truncation, OfASlotStopsTheJobUnlessErrorsAreReturned) {
  for (int again = 0; again < 10; ++again) {
    const Outcome o = run_script(conditions(), SendTen{});
    EXPECT_EQ(code_at(o, 1, 0), Code::truncated);
    const bool slot = GetParam() != Link::cpu_cpu && GetParam() != Link::slot_cpu;
    EXPECT_EQ(to_string(o.code), to_string(slot ? Code::truncated : Code::ok)) << o.error;
    if (slot) {
      EXPECT_NE(o.error.find("message of 10 bytes from rank " + std::to_string(conditions().swapped ? 1 : 0) +
                             " with tag 4 does not fit the buffer of 6 bytes"),
                std::string::npos)
          << o.error;
    }
  }
}

}  // namespace
}  // namespace dcgn::test
