// Messages that a copy engine moves: between ranks of every kind, in every scope, whatever else goes on.
#include "script_kernels.hpp"

#include <dcgn/arch/relax.hpp>
#include <dcgn/gpu/launch.hpp>

#include <chrono>
#include <cstring>
#include <thread>

namespace dcgn::test {
namespace {

constexpr std::int64_t threshold = 64;  // from here on the copy engine

// Role by role, with any seed: deterministic ones where the GPUs are emulated, and threads.
class Copied : public OnLink {
 protected:
  template <class Test>
  void in_all_ways(int seeds, const Test& test) const {
    std::vector<ScopeKind> scopes = {ScopeKind::thread, ScopeKind::warp, ScopeKind::block};
    if (GetParam() == Link::cpu_cpu) scopes.resize(1);
    for (const ScopeKind scope : scopes)
      for (const bool p2p : {true, false})
        for (int seed = 0; seed <= (emulated() ? seeds / fewer : 0); ++seed) {
          if (!p2p && GetParam() != Link::two_gpus) continue;
          Conditions c = conditions();
          c.scope = scope;
          c.block = scope == ScopeKind::warp ? 33 : 64;
          c.config.p2p = p2p;
          c.config.eager_bytes = 16;
          c.config.copy_engine_bytes = threshold;
          c.config.errors_fatal = false;
          if (seed) c.config.seed = static_cast<std::uint64_t>(seed);  // 0: threads
          c.name =
              std::string(to_string(scope)) + " scope, " + (p2p ? "p2p" : "staged") + ", seed " + std::to_string(seed);
          SCOPED_TRACE(c.name);
          test(c);
        }
  }
};
DCGN_TEST_ON_ALL_LINKS(Copied);

// ---- many at once

constexpr int messages = 40;  // more than a queue of requests holds
constexpr std::int64_t stride = 5200, out_at = 0, in_at = messages * stride;
static_assert(messages > 2 * static_cast<int>(message::copy_queue_length));

DCGN_HOST_DEVICE std::int64_t length(int i) {
  constexpr std::int64_t all[8] = {0, 15, 63, 64, 65, 1001, 4097, 5100};
  return all[i % 8];
}
DCGN_HOST_DEVICE std::int64_t capacity(int i) { return i % 5 == 4 ? length(i) / 2 : length(i); }
DCGN_HOST_DEVICE std::int64_t out_offset(int i) { return out_at + i * stride + i % 7; }
DCGN_HOST_DEVICE std::int64_t in_offset(int i) { return in_at + i * stride + i % 5; }

// Both roles send the other all of them and receive as many, half of them asked for before anything is sent.
// Synchronous sends, receives of any source and of any tag are among them.
struct ExchangeWindows {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    for (int i = 0; i < messages; i += 2) receive(me, m, i, other);
    for (int i = 0; i < messages; ++i) m.keep(me, messages + i, me.isend(m.bytes + out_offset(i), length(i), other, i));
    for (int i = 1; i < messages; i += 2) receive(me, m, i, other);
    m.note(me, 0, me.wait_all(m.requests, 2 * messages, m.statuses));
    if (me.leader())
      for (int i = 0; i < messages; ++i) {
        const Status& s = m.statuses[i];
        m.values[1] += s.source != other || s.tag != i || s.bytes != length(i) ||
                       s.code != (capacity(i) < length(i) ? Code::truncated : Code::ok);
        m.values[1] += m.statuses[messages + i].code != Code::ok;
      }
    m.note(me, 2, 1);
  }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void receive(const Port& me, const Memory& m, int i, int other) const {
    m.keep(me, i, me.irecv(m.bytes + in_offset(i), capacity(i), i % 4 == 1 ? any_source : other, i));
  }
};

// The role's memory as ExchangeWindows must leave it.
std::vector<unsigned char> windows_received(int role, std::int64_t size) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) bytes[static_cast<std::size_t>(i)] = pattern(-1 - role, i);
  for (int i = 0; i < messages; ++i)
    for (std::int64_t b = 0; b < capacity(i); ++b)
      bytes[static_cast<std::size_t>(in_offset(i) + b)] = pattern(-1 - (1 - role), out_offset(i) + b);
  return bytes;
}

TEST_P(Copied, WindowsOfMoreMessagesThanMayBeUnderWay) {
  in_all_ways(10, [](const Conditions& conditions) {
    Conditions c = conditions;
    c.bytes = 2 * messages * stride;
    const Outcome o = run_script(c, ExchangeWindows{});
    ASSERT_EQ(o.error, "");
    for (int role = 0; role < 2; ++role) {
      EXPECT_EQ(to_string(code_at(o, role, 0)), to_string(Code::truncated));
      EXPECT_EQ(value_at(o, role, 1), 0) << "wrong statuses";
      EXPECT_EQ(value_at(o, role, 2), 1);
      EXPECT_TRUE(o.roles[static_cast<std::size_t>(role)].bytes == windows_received(role, c.bytes));
    }
  });
}

// ---- begun early

// Role 1, which waits for nothing, sees that role 0's message comes while it begins other receives.
struct BeginOthers {
  static constexpr int others = 30;
  static constexpr std::int64_t bytes = 2000;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    if (m.role == 0) {
      m.fill(me, 0, bytes, 1);
      for (int i = 0; i <= others; ++i) m.keep(me, i, me.isend(m.bytes, bytes, other, i));
    } else {
      const unsigned char& last = m.bytes[bytes - 1];
      const unsigned char before = load(last);
      m.keep(me, 0, me.irecv(m.bytes, bytes, other, 0));
      for (int i = 1; i <= others; ++i) {
        for (int k = 0; k < pauses && load(last) == before; ++k) relax();
        m.keep(me, i, me.irecv(m.bytes + i * bytes, bytes, other, i));
      }
      me.sync();
      m.note(me, 0, load(last) != before);
    }
    m.note(me, 1, me.wait_all(m.requests, 1 + others, nullptr));
  }

#if defined(__CUDA_ARCH__)
  static constexpr int pauses = 5000;
#else
  static constexpr int pauses = 10000;
#endif
  DCGN_HOST_DEVICE static unsigned char load(const unsigned char& byte) {
    const auto word = reinterpret_cast<std::uintptr_t>(&byte) & ~std::uintptr_t{3};
    return static_cast<unsigned char>(load_relaxed(*reinterpret_cast<const std::uint32_t*>(word)) >>
                                      8 * (reinterpret_cast<std::uintptr_t>(&byte) & 3));
  }
};

TEST_P(Copied, AMessageIsBegunWithWhileItsReceiverBeginsOthers) {
  if (sanitized) GTEST_SKIP() << "it looks at a buffer that is being written";
  if (GetParam() != Link::two_gpus && GetParam() != Link::same_gpu) return;
  in_all_ways(20, [](const Conditions& conditions) {
    Conditions c = conditions;
    c.bytes = (1 + BeginOthers::others) * BeginOthers::bytes;
    const Outcome o = run_script(c, BeginOthers{});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(value_at(o, 1, 0), 1) << "not before the wait";
    for (int role = 0; role < 2; ++role) EXPECT_EQ(to_string(code_at(o, role, 1)), to_string(Code::ok));
  });
}

// ---- every call

constexpr int sizes = 6;
DCGN_HOST_DEVICE std::int64_t size_of(int i) {
  constexpr std::int64_t all[sizes] = {0, 17, 63, 64, 129, 4099};
  return all[i];
}

// Role 0 sends and role 1 receives, in each way that there is; then both do both.
struct CallAll {
  static constexpr std::int64_t second = 8192, third = 16384;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    for (int i = 0; i < sizes; ++i) {
      const std::int64_t bytes = size_of(i);
      unsigned char* const out = m.bytes + 1;
      unsigned char* const in = m.bytes + second + i;
      if (m.role == 0) {
        m.fill(me, 1, bytes, i);
        m.add(me, 0, me.send(out, bytes, other, 1) != Code::ok);
        m.add(me, 0, me.ssend(out, bytes, other, 2) != Code::ok);
        m.add(me, 0, me.bsend(out, bytes, other, 3) != Code::ok);
        m.keep(me, 0, me.isend(out, bytes, other, 4));
        m.add(me, 0, me.wait(m.requests[0]).code != Code::ok);
      } else {
        check(me, m, me.recv(in, bytes, any_source, any_tag), i, 1);
        check(me, m, me.recv(in, bytes, other, 2), i, 2);
        me.probe(other, any_tag);
        check(me, m, me.recv(in, bytes, other, 3), i, 3);
        m.keep(me, 0, me.irecv(in, bytes, other, any_tag));
        Status s;
        while (!me.test(m.requests[0], s)) {
        }
        check(me, m, s, i, 4);
      }
      // At once, to each other.
      m.fill(me, 1, bytes, 100 + m.role);
      m.add(me, 0, me.sendrecv(out, bytes, other, 5, in, bytes, other, 5).code != Code::ok);
      m.count_wrong(me, 1, second + i, bytes, 100 + 1 - m.role);
      m.add(me, 0, me.sendrecv_replace(out, bytes, other, 6, other, 6).code != Code::ok);
      m.count_wrong(me, 1, 1, bytes, 100 + 1 - m.role);
      // To itself.
      m.keep(me, 0, me.isend(out, bytes, me.rank(), 7));
      m.fill(me, third, bytes, -1);
      m.add(me, 0, me.recv(m.bytes + third, bytes, me.rank(), 7).code != Code::ok);
      m.add(me, 0, me.wait(m.requests[0]).code != Code::ok);
      m.count_wrong(me, 1, third, bytes, 100 + 1 - m.role);
      // To all.
      if (m.role == 1) m.fill(me, 1, bytes, 200 + i);
      m.add(me, 0, me.broadcast(out, bytes, m.rank_of(1)) != Code::ok);
      m.count_wrong(me, 1, 1, bytes, 200 + i);
      m.add(me, 2, 1);
    }
  }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void check(const Port& me, const Memory& m, const Status& s, int i, int tag) const {
    m.add(me, 0, s.code != Code::ok || s.source != m.rank_of(0) || s.tag != tag || s.bytes != size_of(i));
    m.count_wrong(me, 1, second + i, size_of(i), i);
    m.fill(me, second + i, size_of(i), -2);
  }
};

TEST_P(Copied, EveryCallOfEverySize) {
  in_all_ways(10, [](const Conditions& c) {
    const Outcome o = run_script(c, CallAll{});
    ASSERT_EQ(o.error, "");
    for (int role = 0; role < 2; ++role) {
      EXPECT_EQ(value_at(o, role, 0), 0) << "calls that failed";
      EXPECT_EQ(value_at(o, role, 1), 0) << "wrong bytes";
      EXPECT_EQ(value_at(o, role, 2), sizes);
    }
  });
}

// ---- a kernel ends before its receives do

struct BeginReceives {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    for (int i = 0; i < messages; ++i) {
      m.keep(me, i, me.irecv(m.bytes + in_offset(i), length(i), other, i));
      m.keep(me, messages + i, me.isend(m.bytes + out_offset(i), length(i), other, i));
    }
    bool found = false;
    for (int i = 0; i < 50; ++i) me.iprobe(other, 1000, found);  // so that some are under way
  }
};
struct EndReceives {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    m.note(me, 0, me.wait_all(m.requests, 2 * messages, m.statuses));
    m.note(me, 1, 1);
  }
};

TEST_P(Copied, GoOnWhereAnEarlierKernelEnded) {
  in_all_ways(6, [](const Conditions& conditions) {
    Conditions c = conditions;
    c.bytes = 2 * messages * stride;
    const Outcome o = run_script(c, BeginReceives{}, EndReceives{});
    ASSERT_EQ(o.error, "");
    for (int role = 0; role < 2; ++role) {
      EXPECT_EQ(code_at(o, role, 0), Code::ok);
      EXPECT_EQ(value_at(o, role, 1), 1);
      const auto& bytes = o.roles[static_cast<std::size_t>(role)].bytes;
      for (int i = 0; i < messages; ++i)
        for (std::int64_t b = 0; b < length(i); ++b)
          ASSERT_EQ(bytes[static_cast<std::size_t>(in_offset(i) + b)], pattern(-1 - (1 - role), out_offset(i) + b));
    }
  });
}

// Receives that nobody waits for are completed all the same: their senders wait for them.
struct BeginAndLeave {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    if (m.role == 0)
      m.note(me, 0, me.send(m.bytes + out_offset(7), length(7), other, 1));
    else
      me.irecv(m.bytes + in_offset(7), length(7), other, 1);
    if (m.role == 1) me.probe(other, 2);
    if (m.role == 0) me.send(nullptr, 0, other, 2);
    if (m.role == 1) me.recv(nullptr, 0, other, 2);
    m.note(me, 1, 1);
  }
};

TEST_P(Copied, WhatNobodyWaitsForIsAcknowledgedToo) {
  in_all_ways(20, [](const Conditions& conditions) {
    Conditions c = conditions;
    c.bytes = 2 * messages * stride;
    const Outcome o = run_script(c, BeginAndLeave{});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(code_at(o, 0, 0), Code::ok);
    EXPECT_EQ(value_at(o, 1, 1), 1);
  });
}

// ---- to where no copy engine reaches

// A block's shared memory: without a link between the GPUs the message then comes through the FIFO.
struct IntoSharedMemory {
  static constexpr std::int64_t bytes = 20000;

  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, const unsigned char* from,
                                   std::int64_t* wrong) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    const gpu::BlockScope block = gpu::this_block(context);
    const Span<const unsigned char> out(from, static_cast<std::size_t>(bytes));
    if (me.rank() == 0) {
      for (int i = 0; i < 3; ++i)
        if (me.send(block, out, 1, i) != Code::ok && block.leader()) ++*wrong;
      return;
    }
    const Span<unsigned char> in(context.shared<unsigned char>(), static_cast<std::size_t>(bytes));
    for (int i = 0; i < 3; ++i) {
      if (me.recv(block, in, 0, i).code != Code::ok && block.leader()) ++*wrong;
      if (block.leader())
        for (std::int64_t b = 0; b < bytes; ++b) *wrong += in.data()[b] != pattern(3, b);
      block.sync();
    }
  }
};

TEST(Copies, IntoSharedMemoryWithAndWithoutALink) {
  const int gpus = std::min(2, Device::count());
  for (const bool p2p : {true, false})
    for (const std::uint64_t engine : {std::uint64_t{0}, Config::never_copied}) {
      SCOPED_TRACE(std::string(p2p ? "p2p" : "staged") + (engine ? ", threads" : ", engine"));
      Config config;
      config.nodes = {{.gpus = gpus, .slots = 2 / gpus}};
      config.p2p = p2p;
      config.copy_engine_bytes = engine;
      config.deadline_s = 20 * fewer;
      Job job(config);
      std::vector<unsigned char> bytes(IntoSharedMemory::bytes);
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(3, static_cast<std::int64_t>(i));
      const DeviceBuffer<unsigned char> from(Device(0), bytes.size());
      from.upload(bytes.data());
      std::vector<DeviceBuffer<std::int64_t>> wrong;
      const std::int64_t none = 0;
      for (int g = 0; g < gpus; ++g) {
        wrong.emplace_back(Device(g), 1);
        wrong.back().upload(&none);
        job.gpu_on(g, {.grid = one_block_per_slot, .block = 64, .shared_bytes = bytes.size()}, IntoSharedMemory{},
                   static_cast<const unsigned char*>(from.data()), wrong.back().data());
      }
      job.run();
      for (const auto& w : wrong) {
        std::int64_t found = -1;
        w.download(&found);
        EXPECT_EQ(found, 0);
      }
    }
}

// ---- the end

// All ranks but rank 0 exchange windows around a ring until they are stopped.
struct ExchangeUntilStopped {
  static constexpr int window = 24;
  static constexpr std::int64_t bytes = 3001;
  static constexpr std::int64_t memory = 2 * window * bytes;
  DCGN_HOST_DEVICE static int after(int rank, int size) { return rank + 1 < size ? rank + 1 : 1; }
  DCGN_HOST_DEVICE static int before(int rank, int size) { return rank > 1 ? rank - 1 : size - 1; }

  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, unsigned char* all, ScopeKind scope) const {
    const gpu::Slot slot = comm.slot(context.block_rank());
    with_port(context, slot, 1, scope, Body{all + slot.slot() * memory, context.shared<Request>()});
  }
  struct Body {
    unsigned char* mine;
    Request* requests;

    DCGN_TEST_ON_PORT
    template <class Port>
    DCGN_HOST_DEVICE void operator()(const Port& me) const {
      const int to = after(me.rank(), me.size()), from = before(me.rank(), me.size());
      for (Code code = Code::ok; code == Code::ok;) {
        for (int i = 0; i < window; ++i) {
          const Request in = me.irecv(mine + i * bytes, bytes, from, i);
          const Request out = me.isend(mine + (window + i) * bytes, bytes, to, i);
          if (me.leader()) {
            requests[i] = in;
            requests[window + i] = out;
          }
        }
        me.sync();
        code = me.wait_all(requests, 2 * window, nullptr);
      }
    }
  };
};

// Nothing comes after run() has returned, and a CPU rank's buffers go as soon as its call has thrown.
TEST(Copies, UnderWayWhenTheJobIsStoppedAreFinishedFirst) {
  const int gpus = std::min(2, Device::count());
  for (int turn = 0; turn < (emulated() ? 60 / fewer : 6); ++turn) {
    SCOPED_TRACE(turn);
    Config config;
    config.nodes = {{.cpus = 2, .gpus = gpus, .slots = 2}};
    config.eager_bytes = 0;
    config.copy_engine_bytes = 0;
    config.p2p = turn % 2 == 0;
    config.deadline_s = 20 * fewer;
    if (emulated() && turn % 3 != 0) config.seed = static_cast<std::uint64_t>(turn);
    Job job(config);
    World& world = job.world();
    std::vector<DeviceBuffer<unsigned char>> memory;
    for (int g = 0; g < gpus; ++g) {
      memory.emplace_back(world.device(g), static_cast<std::size_t>(2 * ExchangeUntilStopped::memory));
      job.gpu_on(g, {.grid = one_block_per_slot, .block = 64, .shared_bytes = 1024}, ExchangeUntilStopped{},
                 memory.back().data(), static_cast<ScopeKind>(turn % 3));
    }
    bool thrown = false;
    job.cpu([&](Comm& comm) {
      if (comm.rank() == 0) {
        for (int i = 0; i < 7 * turn; ++i) relax();
        if (!config.seed) std::this_thread::sleep_for(std::chrono::microseconds(300 * turn));
        world.abort("enough");
        return;
      }
      using Exchange = ExchangeUntilStopped;
      std::vector<unsigned char> own(static_cast<std::size_t>(Exchange::memory));
      std::vector<Request> requests(2 * Exchange::window);
      try {
        for (;;) {
          for (int i = 0; i < Exchange::window; ++i) {
            const auto at = static_cast<std::size_t>(i);
            unsigned char* const in = own.data() + i * Exchange::bytes;
            requests[at] = comm.irecv_bytes(in, Exchange::bytes, Exchange::before(1, comm.size()), i);
            requests[Exchange::window + at] =
                comm.isend_bytes(in + Exchange::memory / 2, Exchange::bytes, Exchange::after(1, comm.size()), i);
          }
          comm.wait_all(requests);
        }
      } catch (const Error& error) {
        thrown = error.code() == Code::aborted;
        std::fill(own.begin(), own.end(), static_cast<unsigned char>(0));  // they are ours again
        throw;
      }
    });
    const auto start = std::chrono::steady_clock::now();
    Code code = Code::ok;
    std::string what;
    try {
      job.run();
    } catch (const Error& error) {
      code = error.code();
      what = error.what();
    }
    EXPECT_EQ(to_string(code), to_string(Code::aborted)) << what;
    EXPECT_NE(what.find("enough"), std::string::npos) << what;
    EXPECT_TRUE(thrown);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4 * fewer));
    std::vector<unsigned char> before, after;
    for (const auto& m : memory)
      for (std::vector<unsigned char>* seen : {&before, &after}) {
        seen->resize(m.size());
        m.download(seen->data());
        if (seen == &before) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (seen == &after) {
          EXPECT_TRUE(before == after) << "bytes came after the end";
        }
      }
  }
}

}  // namespace
}  // namespace dcgn::test
