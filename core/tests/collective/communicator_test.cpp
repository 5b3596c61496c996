// Communicators: who is in them, what they keep apart, and what becomes of them.
#include "collective_kernels.hpp"
#include "tests/expect.hpp"

#include <dcgn/cart.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/operation.hpp>
#include <dcgn/world.hpp>

#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

namespace dcgn::test {
namespace {

DCGN_HOST_DEVICE int hash(int seed, int depth, int rank, int salt) {
  auto x = static_cast<std::uint32_t>(seed * 7919 + depth * 104729 + rank * 31 + salt) * 2654435761u;
  x ^= x >> 15;
  return static_cast<int>(x * 2246822519u >> 16);
}

// Splits that look random, one within the other. In each: who is in it, as plain loops find out; messages to itself
// beside those of its parent with the same tags; collectives.
struct Nested {
  int seed;

  struct Members {
    int count = 0;
    int world[16] = {};
  };
  DCGN_HOST_DEVICE int color(int depth, int rank) const { return hash(seed, depth, rank, 1) % 4 - 1; }
  DCGN_HOST_DEVICE int key(int depth, int rank) const { return hash(seed, depth, rank, 2) % 5 - 2; }

  // By key, and where that is the same by rank in the parent.
  DCGN_HOST_DEVICE Members part(const Members& parent, int depth, int its_color) const {
    Members m;
    for (int k = -2; k <= 2; ++k)
      for (int i = 0; i < parent.count; ++i)
        if (color(depth, parent.world[i]) == its_color && key(depth, parent.world[i]) == k)
          m.world[m.count++] = parent.world[i];
    return m;
  }

  DCGN_TEST_ON_PORT
  template <int Depth, class Port>
  DCGN_HOST_DEVICE void go(const Port& me, const Memory& m, const Members& members) const {
    const Buffers b(me, m);
    const int size = members.count, rank = me.rank();
    m.add(me, 1, me.size() != size || rank < 0 || rank >= size || members.world[rank] != m.role);
    if (me.size() != size) return;
    auto* const numbers = reinterpret_cast<std::int64_t*>(m.bytes) + 64 * Depth;
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;

    // This one is taken at the end: what the communicators in here send with the same tag goes past it.
    b.fill(numbers, 1, [&](std::int64_t) { return 1000 * Depth + m.role; });
    m.add(me, 0, me.bsend(numbers, 8, next, 5) != Code::ok);

    b.fill(numbers + 1, 1, [&](std::int64_t) { return m.role; });
    b.call([&](auto& r, const auto&... scope) {
      return r.all_gather(scope..., const_span_of(numbers + 1, 1), span_of(numbers + 2, size));
    });
    b.check(numbers + 2, size, [&](std::int64_t i) { return members.world[i]; });
    b.call([&](auto& r, const auto&... scope) { return r.all_reduce(scope..., span_of(numbers + 1, 1), Sum{}); });
    b.check(numbers + 1, 1, [&](std::int64_t) {
      int sum = 0;
      for (int i = 0; i < size; ++i) sum += members.world[i];
      return sum;
    });
    b.fill(numbers + 20, 1, [&](std::int64_t) { return rank == size - 1 ? 77 + Depth : 0; });
    b.call([&](auto& r, const auto&... scope) { return r.broadcast(scope..., span_of(numbers + 20, 1), size - 1); });
    b.check(numbers + 20, 1, [&](std::int64_t) { return 77 + Depth; });

    if constexpr (Depth < 3) {
      const int mine = color(Depth, m.role);
      const Members inner = part(members, Depth, mine);
      m.add(me, 0, me.in_split(mine, key(Depth, m.role), [&](const auto& port) {
        go<Depth + 1>(port, m, inner);
      }) != Code::ok);
    }
    b.call([&](auto& r, const auto&... scope) { return r.barrier(scope...); });

    bool found = false;
    const Status seen = me.probe(any_source, any_tag);
    m.add(me, 1, seen.source != before || seen.tag != 5 || seen.bytes != 8);
    m.add(me, 1, me.iprobe(before, 5, found).source != before || !found);
    const Status s = me.recv(numbers + 21, 8, any_source, 5);
    m.add(me, 1, s.source != before || s.code != Code::ok);
    b.check(numbers + 21, 1, [&](std::int64_t) { return 1000 * Depth + members.world[before]; });

    // Requests and exchanges.
    m.keep(me, Depth, me.irecv(numbers + 22, 8, before, 9));
    const Request out = me.isend(numbers, 8, next, 9);
    const Status received = me.wait(m.requests[Depth]);
    m.add(me, 1, received.source != before || received.tag != 9);
    m.add(me, 0, me.wait(out).code != Code::ok);
    b.check(numbers + 22, 1, [&](std::int64_t) { return 1000 * Depth + members.world[before]; });
    const Status exchanged = me.sendrecv(numbers, 8, before, 3, numbers + 23, 8, any_source, 3);
    m.add(me, 1, exchanged.source != next);
    b.check(numbers + 23, 1, [&](std::int64_t) { return 1000 * Depth + members.world[next]; });
  }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    Members world;
    for (int r = 0; r < m.roles; ++r) world.world[world.count++] = r;
    go<0>(me, m, world);
  }
};

TEST(Communicator, NestedSplitsKeepApartWhatIsTheirs) {
  for (int seed = 0; seed < 40 / fewer + 2; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_right(cpu_ranks(1 + seed % 9), 4096, Nested{seed});
    if (seed % 3 == 0) expect_right(mixed(2, 2, all_scopes[seed / 3 % 4]), 4096, Nested{seed});
    if (seed % 5 == 0) expect_right(slots(2, 4, ScopeKind::warp), 4096, Nested{seed});
  }
}

TEST(Communicator, NestedSplitsInManyInterleavings) {
  if (!emulated()) GTEST_SKIP() << "this machine's devices are not emulated";
  for (int seed = 0; seed < 40 / fewer; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Conditions c = mixed(1 + seed % 3, 1 + seed % 2, all_scopes[seed % 4]);
    c.config.seed = static_cast<std::uint64_t>(seed);
    expect_right(c, 4096, Nested{seed});
  }
}

// Each rank of a grid passes its number on along each dimension.
struct AlongEachDimension {
  Cart grid;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& world, const Memory& m) const {
    const Code code = world.in_cart(grid, [&](const auto& me) {
      const Buffers b(me, m);
      auto* const numbers = reinterpret_cast<std::int64_t*>(m.bytes);
      b.fill(numbers, 1, [&](std::int64_t) { return me.rank(); });
      m.add(me, 1, me.rank() != m.role || me.size() != grid.size());
      for (int dim = 0; dim < grid.dims(); ++dim) {
        const Cart::Shift shift = grid.shift(me.rank(), dim, 1);
        if (shift.to != no_rank) m.add(me, 0, me.bsend(numbers, 8, shift.to, dim) != Code::ok);
        if (shift.from != no_rank) {
          m.add(me, 1, me.recv(numbers + 1, 8, any_source, dim).source != shift.from);
          b.check(numbers + 1, 1, [&](std::int64_t) { return shift.from; });
        }
        m.add(me, 1, grid.periodic(dim) && (shift.to == no_rank || shift.from == no_rank));
      }
    });
    m.add(world, 0, code != Code::ok);
    m.add(world, 2, 1);
  }
};

TEST(Communicator, GridsPassMessagesAlongTheirDimensions) {
  expect_right(cpu_ranks(7), 64, AlongEachDimension{Cart({2, 3}, {true, false})});
  for (const ScopeKind scope : all_scopes)
    expect_right(mixed(2, 2, scope), 64, AlongEachDimension{Cart({2, 2}, {false, true})});
}

TEST(Communicator, GridArithmetic) {
  constexpr Cart grid({4, 3, 2}, {true, false, true});
  static_assert(grid.size() == 24 && grid.dims() == 3);
  for (int r = 0; r < 24; ++r)
    EXPECT_EQ(grid.rank({grid.coordinate(r, 0), grid.coordinate(r, 1), grid.coordinate(r, 2)}), r);
  EXPECT_EQ(grid.coordinate(23, 0), 3);
  EXPECT_EQ(grid.coordinate(23, 1), 2);
  EXPECT_EQ(grid.rank({-1, 0, 5}), grid.rank({3, 0, 1}));
  EXPECT_EQ(grid.rank({0, 3, 0}), no_rank);
  EXPECT_EQ(grid.neighbour(0, 1, -1), no_rank);
  EXPECT_EQ(grid.shift(0, 0, 1).from, 18);
  EXPECT_EQ(Cart({2, 0}, {true, true}).size(), 0);
  EXPECT_EQ(Cart({1 << 16, 1 << 16}, {true, true}).size(), 0);
}

TEST(Communicator, BalancedGridsAreAsSquareAsTheirFactorsAllow) {
  const auto lengths = [](int ranks, int dims) {
    const Cart grid = Cart::balanced(ranks, dims, false);
    EXPECT_EQ(grid.size(), ranks);
    std::vector<int> found;
    found.reserve(Cart::most_dims);
    for (int d = 0; d < grid.dims(); ++d) found.push_back(grid.length(d));
    return found;
  };
  EXPECT_EQ(lengths(12, 2), (std::vector<int>{4, 3}));
  EXPECT_EQ(lengths(36, 2), (std::vector<int>{6, 6}));
  EXPECT_EQ(lengths(8, 3), (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(lengths(7, 2), (std::vector<int>{7, 1}));
  EXPECT_EQ(lengths(1, 2), (std::vector<int>{1, 1}));
  EXPECT_EQ(lengths(1056, 3), (std::vector<int>{12, 11, 8}));
  EXPECT_EQ(lengths(2147483647, 2), (std::vector<int>{2147483647, 1}));
}

// What the kernel makes of a world of CPU ranks; what stops it, if anything does.
std::string run_ranks(Config config, const std::function<void(Comm&)>& kernel) {
  config.deadline_s = 20;
  Job job(config);
  job.cpu([&](Comm& comm) { kernel(comm); });
  try {
    job.run();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST(Communicator, ContextsAreGivenBackAndThoseInUseAreCounted) {
  const std::string what = run_ranks({.nodes = {{.cpus = 2}}}, [](Comm& comm) {
    for (int i = 0; i < 600; ++i) EXPECT_EQ(comm.dup().size(), 2);
    std::vector<Comm> all;
    all.reserve(255);
    for (int i = 0; i < 255; ++i) all.push_back(comm.dup());
    const Error e = error_of([&] { comm.dup(); });
    EXPECT_EQ(to_string(e.code()), "out_of_resources");
    EXPECT_TRUE(contains(e.what(), "dup: all 255 communicators that the ranks can have at once"));
    // One that the other rank still has is not free.
    if (comm.rank() == 0) all.pop_back();
    EXPECT_EQ(to_string(error_of([&] { comm.dup(); }).code()), "out_of_resources");
    if (comm.rank() == 1) all.pop_back();
    Comm last = comm.dup();
    int x = 1;
    last.all_reduce(x, Sum{});
    EXPECT_EQ(x, 2);
  });
  EXPECT_EQ(what, "");
}

TEST(Communicator, TablesThatDoNotFitAreRefusedAtAllRanks) {
  const std::string what = run_ranks({.nodes = {{.cpus = 4}}, .communicator_bytes = 96}, [](Comm& comm) {
    // 0, 1, 3 need a table, which then leaves no space for another split.
    const Comm odd = comm.split(comm.rank() == 2 ? -1 : 0, 0);
    const Error e = error_of([&] { comm.dup(); });
    EXPECT_EQ(to_string(e.code()), "out_of_resources");
    EXPECT_TRUE(contains(e.what(), "of 4 ranks; raise Config::communicator_bytes"));
  });
  EXPECT_EQ(what, "");
}

TEST(Communicator, MistakesAreNamed) {
  const std::string what = run_ranks({.nodes = {{.cpus = 3}}}, [](Comm& comm) {
    Comm pair = comm.split(comm.rank() < 2 ? 0 : -1, 0);
    int x = 0;
    if (comm.rank() == 2) {
      EXPECT_EQ(pair.rank(), -1);
      const Error e = error_of([&] { pair.barrier(); });
      EXPECT_EQ(to_string(e.code()), "not_attached");
      EXPECT_TRUE(contains(e.what(), "barrier: this rank is not of the communicator"));
      EXPECT_EQ(to_string(error_of([&] { pair.send(x, 0); }).code()), "not_attached");
    } else {
      const Error e = error_of([&] { pair.send(x, 2); });
      EXPECT_TRUE(contains(e.what(), "send: rank 2 is out of range, expected 0..1"));
      EXPECT_TRUE(contains(error_of([&] { pair.broadcast(x, 2); }).what(), "root 2 is out of range"));
    }
    const Error e = error_of([&] { comm.cart(Cart({2, 2}, {true, true})); });
    EXPECT_TRUE(contains(e.what(), "cart: a grid of 4 places, expected at most the communicator's 3"));
  });
  EXPECT_EQ(what, "");
}

TEST(Communicator, ReportsNameIt) {
  const std::string report = run_ranks({.nodes = {{.cpus = 3}}}, [](Comm& comm) {
    Comm pair = comm.split(comm.rank() ? 0 : -1, -comm.rank());
    int x = 0;
    if (comm.rank() == 1) pair.recv(x, 0, 4);
    if (comm.rank() == 2) pair.barrier();
  });
  EXPECT_TRUE(contains(report, "recv from rank 2, tag 4 in communicator 1"));
  EXPECT_TRUE(contains(report, "barrier, number 0 in communicator 1, for rank 1"));
}

TEST(Communicator, IsNotUsedOnceItsThreadHasLeftTheWorld) {
  World world({.nodes = {{.cpus = 1}}});
  std::optional<Comm> me = world.attach(0);
  std::optional<Comm> copy = me->dup();
  copy->barrier();
  std::thread([&] {
    const Error e = error_of([&] { copy->barrier(); });
    EXPECT_EQ(to_string(e.code()), "not_attached");
  }).join();
  me.reset();
  const Error e = error_of([&] { copy->barrier(); });
  EXPECT_EQ(to_string(e.code()), "not_attached");
  EXPECT_TRUE(contains(e.what(), "barrier: the Comm is gone that the thread was attached by"));
}

// A communicator is there until it is released: a later kernel goes on in it.
struct MakeOne {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, gpu::Slot* kept) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::BlockScope block = gpu::this_block(ctx);
    const gpu::Slot reversed = me.split(block, 0, -me.rank());
    if (ctx.thread_rank() == 0) kept[ctx.block_rank()] = reversed;
  }
};
struct UseIt {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, gpu::Slot* kept, int* ranks) const {
    gpu::Slot me = kept[ctx.block_rank()];
    const gpu::BlockScope block = gpu::this_block(ctx);
    int* const mine = ranks + 4 * ctx.block_rank();
    if (ctx.thread_rank() == 0) mine[3] = comm.slot(ctx.block_rank()).rank();
    me.all_gather(block, Span<const int>(mine + 3, 1), Span<int>(mine, 3));
    me.release(block);
  }
};

TEST(Communicator, OutlivesTheKernelThatMadeIt) {
  Job job({.nodes = {{.gpus = 1, .slots = 3}}});
  const Device device = job.world().device(0);
  DeviceBuffer<unsigned char> kept(device, 3 * sizeof(gpu::Slot));
  DeviceBuffer<int> ranks(device, 12);
  auto* const slots = reinterpret_cast<gpu::Slot*>(kept.data());
  job.gpu({.grid = 3, .block = 32}, MakeOne{}, slots);
  job.gpu({.grid = 3, .block = 32}, UseIt{}, slots, ranks.data());
  job.run();
  std::vector<int> found(12);
  ranks.download(found.data());
  EXPECT_EQ(found, (std::vector<int>{2, 1, 0, 0, 2, 1, 0, 1, 2, 1, 0, 2}));
}

}  // namespace
}  // namespace dcgn::test
