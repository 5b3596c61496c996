// sendrecv and sendrecv_replace, among ranks of all kinds.
#include "script_kernels.hpp"

namespace dcgn::test {
namespace {

DCGN_HOST_DEVICE std::int64_t ring_bytes(int i) {
  constexpr std::int64_t all[6] = {0, 8, 13, 500, 5000, sanitized ? 17000 : 70000};
  return all[i % 6];
}
constexpr int ring_sizes = 6;

// Everybody passes what it has to the next rank, until it has its own again.
struct PassAround {
  bool replace;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int next = (m.role + 1) % m.roles, before = (m.role + m.roles - 1) % m.roles;
    constexpr std::int64_t half = 128 << 10;
    for (int i = 0; i < ring_sizes; ++i) {
      m.fill(me, 0, ring_bytes(i), 100 * i + m.role);
      for (int step = 1; step <= m.roles; ++step) {
        const int owner = (m.role - step + m.roles) % m.roles;
        const std::int64_t from = replace || step % 2 ? 0 : half, to = replace || !(step % 2) ? 0 : half;
        const Status s = replace ? me.sendrecv_replace(m.bytes, ring_bytes(i), next, i, before, i)
                                 : me.sendrecv(m.bytes + from, ring_bytes(i), next, i, m.bytes + to, ring_bytes(i),
                                               step % 3 ? before : any_source, i);
        m.add(me, 0, s.code != Code::ok || s.source != before || s.tag != i || s.bytes != ring_bytes(i));
        m.count_wrong(me, 1, to, ring_bytes(i), 100 * i + owner);
        m.add(me, 2, 1);
      }
    }
  }
};

// In a test's body: run on CPU ranks and slots of two GPUs together, threaded and scheduled, in every scope.
template <class Test>
void in_mixed_jobs(const Test& test) {
  for (const ScopeKind scope : {ScopeKind::thread, ScopeKind::warp, ScopeKind::block})
    for (const bool direct : {true, false})
      for (const bool scheduled : {false, true}) {
        if (scheduled && !emulated()) continue;
        if (sanitized && direct == scheduled) continue;
        Conditions c = mixed_conditions();
        c.scope = scope;
        c.config.direct = direct;
        if (scheduled) c.config.seed = 11;
        SCOPED_TRACE(std::string(to_string(scope)) + " scope" + (direct ? ", direct" : ", staged") +
                     (scheduled ? ", deterministic" : ""));
        test(c);
      }
}

TEST(Exchange, PassesAroundARing) {
  in_mixed_jobs([](const Conditions& c) {
    for (const bool replace : {false, true}) {
      const Outcome o = run_script(c, PassAround{replace});
      ASSERT_EQ(o.error, "") << replace;
      for (int role = 0; role < static_cast<int>(o.roles.size()); ++role) {
        EXPECT_EQ(value_at(o, role, 0), 0) << "wrong statuses at rank " << role;
        EXPECT_EQ(value_at(o, role, 1), 0) << "wrong bytes at rank " << role;
        EXPECT_EQ(value_at(o, role, 2), ring_sizes * static_cast<int>(o.roles.size()));
      }
    }
  });
}

}  // namespace
}  // namespace dcgn::test
