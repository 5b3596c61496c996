// sendrecv, sendrecv_replace; barrier and broadcast, among ranks of all kinds.
#include "script_kernels.hpp"

#include <dcgn/gpu/atomic.hpp>

#include <chrono>
#include <thread>

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

constexpr int barriers = 20;

// No rank leaves a barrier before all have entered it: everybody writes which one it comes to, in a word of its own,
// since a GPU and the host need not have atomic additions in common.
struct CountAndMeet {
  std::uint32_t* entered;  // [role], reached by all

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    for (int i = 1; i <= barriers; ++i) {
      if (me.leader()) store_release(entered[m.role], static_cast<std::uint32_t>(i));
      m.add(me, 0, me.barrier() != Code::ok);
      for (int role = 0; role < m.roles; ++role) {
        const auto seen = static_cast<int>(load_acquire(entered[role]));
        m.add(me, 1, seen < i || seen > i + 1);
      }
      m.add(me, 2, 1);
    }
  }
};

TEST(Barrier, LetsNobodyLeaveBeforeAllHaveEntered) {
  in_mixed_jobs([](const Conditions& c) {
    const Device device(0);
    auto* entered = static_cast<std::uint32_t*>(device.allocate_host(64 * sizeof(std::uint32_t)));
    const Outcome o = run_script(c, CountAndMeet{entered});
    ASSERT_LE(o.roles.size(), 64u);
    for (std::size_t role = 0; role < o.roles.size(); ++role)
      EXPECT_EQ(entered[role], static_cast<std::uint32_t>(barriers));
    device.free_host(entered);
    ASSERT_EQ(o.error, "");
    for (int role = 0; role < static_cast<int>(o.roles.size()); ++role) {
      EXPECT_EQ(value_at(o, role, 0), 0);
      EXPECT_EQ(value_at(o, role, 1), 0) << "rank " << role << " left early";
      EXPECT_EQ(value_at(o, role, 2), barriers);
    }
  });
}

// From every root; and what the user sends meanwhile is not mixed up with it.
struct BroadcastFromAll {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int next = (m.role + 1) % m.roles;
    m.keep(me, 0, me.irecv(m.bytes + (200 << 10), 8, any_source, any_tag));
    for (int root = 0; root < m.roles; ++root)
      for (int i = 0; i < ring_sizes; ++i) {
        m.fill(me, 0, ring_bytes(i) + 8, m.role == root ? 10 * root + i : -9);
        m.add(me, 0, me.broadcast(m.bytes, ring_bytes(i), root) != Code::ok);
        m.count_wrong(me, 1, 0, ring_bytes(i), 10 * root + i);
        if (m.role != root && me.leader())  // nothing past the end
          for (std::int64_t b = ring_bytes(i); b < ring_bytes(i) + 8; ++b) m.values[1] += m.bytes[b] != pattern(-9, b);
        m.add(me, 2, 1);
      }
    m.fill(me, 0, 8, m.role);
    m.add(me, 0, me.send(m.bytes, 8, next, 1) != Code::ok);
    const Status s = me.wait(m.requests[0]);
    m.add(me, 0, s.source != (m.role + m.roles - 1) % m.roles || s.tag != 1);
    m.count_wrong(me, 1, 200 << 10, 8, (m.role + m.roles - 1) % m.roles);
  }
};

TEST(Broadcast, ReachesAllFromEveryRoot) {
  in_mixed_jobs([](const Conditions& c) {
    const Outcome o = run_script(c, BroadcastFromAll{});
    ASSERT_EQ(o.error, "");
    const int roles = static_cast<int>(o.roles.size());
    for (int role = 0; role < roles; ++role) {
      EXPECT_EQ(value_at(o, role, 0), 0) << "rank " << role;
      EXPECT_EQ(value_at(o, role, 1), 0) << "wrong bytes at rank " << role;
      EXPECT_EQ(value_at(o, role, 2), roles * ring_sizes);
    }
  });
}

// The root may be through, and have ended, before others begin.
TEST(Broadcast, FromARootThatHasEndedMeanwhile) {
  Config config;
  config.nodes = {{.cpus = 3}};
  config.deadline_s = 20 * fewer;
  Job job(config);
  std::vector<int> got(3);
  job.cpu([&](Comm& comm) {
    int x = comm.rank() == 1 ? 42 : 0;
    if (comm.rank() != 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    comm.broadcast(x, 1);
    got[static_cast<std::size_t>(comm.rank())] = x;
  });
  job.run();
  EXPECT_EQ(got, (std::vector<int>{42, 42, 42}));
}

}  // namespace
}  // namespace dcgn::test
