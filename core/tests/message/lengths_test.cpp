// Messages of every length, from and to every alignment: all of the bytes come, and none beside them is touched.
#include "script_kernels.hpp"

namespace dcgn::test {
namespace {

constexpr int lengths = sanitized ? 60 : 140;

// All of the short ones, those about a group of packets, wide groups, and the eager threshold.
DCGN_HOST_DEVICE std::int64_t length_of(int i) {
  constexpr std::int64_t others[20] = {95,   96,   97,   383,  384,  385,  767,  769,  1001,  1004,
                                       1153, 2047, 4091, 4097, 4611, 5003, 6145, 9001, 12291, 20001};
  if (i < 20) return others[i];
  return i < 60 ? i - 19 : 2 * i + 1;
}

struct SendLengths {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    constexpr std::int64_t guard = 16, at = 64;
    for (int i = 0; i < lengths; ++i) {
      const std::int64_t bytes = length_of(i);
      if (m.role == 0) {
        const std::int64_t from = at + i % 5;  // a message of words in every fifth case
        m.fill(me, from, bytes, i);
        m.add(me, 0, me.send(m.bytes + from, bytes, m.rank_of(1), 3) != Code::ok);
        continue;
      }
      const std::int64_t to = at + i / 5 % 5, spare = i % 3 ? 0 : 5;
      m.fill(me, to - guard, bytes + 2 * guard, -1);
      const Status s = me.recv(m.bytes + to, bytes + spare, i % 7 ? m.rank_of(0) : any_source, i % 4 ? 3 : any_tag);
      m.add(me, 1, s.code != Code::ok || s.bytes != bytes || s.tag != 3 || s.source != m.rank_of(0));
      m.count_wrong(me, 2, to, bytes, i);
      m.count_wrong(me, 3, to - guard, guard, -1);
      m.count_wrong(me, 3, to + bytes, guard, -1, guard + bytes);
      m.add(me, 4, 1);
    }
  }
};

class Lengths : public OnLink {};
DCGN_TEST_ON_ALL_LINKS(Lengths);

TEST_P(Lengths, AllComeWhole) {
  in_all_ways([](const Conditions& c) {
    const Outcome o = run_script(c, SendLengths{});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(value_at(o, 0, 0), 0) << "failed sends";
    EXPECT_EQ(value_at(o, 1, 1), 0) << "wrong statuses";
    EXPECT_EQ(value_at(o, 1, 2), 0) << "wrong bytes";
    EXPECT_EQ(value_at(o, 1, 3), 0) << "bytes beside the message";
    EXPECT_EQ(value_at(o, 1, 4), lengths);
  });
}

}  // namespace
}  // namespace dcgn::test
