// Messages with datatypes: from and to any layout, in memory of the host and of GPUs, between CPU ranks and slots.
#include "type_tree.hpp"
#include "typed_job.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

// A tree that can be received, repeated so often that its message has about so many bytes.
struct Example {
  TypeTree tree;
  Datatype type;
  TypeMap map;
  static Example random(std::mt19937_64& random, std::int64_t about) {
    for (;;) {
      const TypeTree tree = random_tree(random, 4, 400);
      const Datatype one = datatype_of(tree);
      if (one.size() == 0) continue;
      TypeTree many;
      many.maker = Maker::contiguous;
      many.count = std::clamp<std::int64_t>(about / one.size(), 1, 5000);
      many.children = {tree};
      const Datatype type = datatype_of(many);
      if (type.overlaps() || type.true_extent() > 1 << 24) continue;
      return {many, type, type_map(many)};
    }
  }
};

TEST(TypedMessages, RandomTypesBetweenAllMemories) {
  const int turns = sanitized ? 12 : 60;
  run(with_gpus(2), [&](Comm& me) {
    for (int turn = 0; turn < turns; ++turn) {
      std::mt19937_64 random(static_cast<std::uint64_t>(turn));
      const std::int64_t sizes[] = {10, 300, 5000, 200000};
      const Example example = Example::random(random, sizes[turn % 4]);
      const std::int64_t bytes = example.type.size();
      Memory memory(random, example.map), other(random, example.map);
      const Bytes packed = packed_by_hand(example.map, memory);
      for (const int from : devices())
        for (const int to : devices()) {
          SCOPED_TRACE("turn " + std::to_string(turn) + " from " + std::to_string(from) + " to " + std::to_string(to));
          if (me.rank() == 0) {
            Placed source(from, memory.bytes), plain(from, packed);
            const ConstTypedBuffer typed(source.data() + memory.origin, example.type);
            me.send(typed, 1, 1);
            me.send(typed, 1, 2);
            me.ssend_bytes(plain.data(), bytes, 1, 3);
            me.bsend(typed, 1, 4);
            const Request request = me.isend(typed, 1, 5);
            me.wait(request);
          } else {
            Placed target(to, other.bytes), plain(to, Bytes(packed.size()));
            const TypedBuffer typed(target.data() + other.origin, example.type);
            const Bytes expected = unpacked_by_hand(example.map, packed, other, 0, bytes);
            const auto reset = [&] {
              Device(std::max(to, 0)).copy(target.data(), other.bytes.data(), other.bytes.size());
            };
            EXPECT_EQ(me.recv(typed, 0, 1).bytes, bytes);
            EXPECT_TRUE(target.get() == expected);
            me.recv_bytes(plain.data(), bytes, 0, 2);
            EXPECT_TRUE(plain.get() == packed);
            for (int tag = 3; tag <= 5; ++tag) {
              if (to >= 0 || Device::count() > 0) reset();
              const Request request = me.irecv(typed, 0, tag);
              EXPECT_EQ(me.wait(request).bytes, bytes);
              EXPECT_TRUE(target.get() == expected) << tag;
            }
          }
        }
    }
  });
}

// Ranks exchange columns with all others, all at once.
TEST(TypedMessages, ManyAtOnce) {
  constexpr int ranks = 4;
  const auto exchange = [&](Comm& me) {
    for (const std::int64_t rows : {3, 200, 9000}) {
      const std::int64_t columns = 8;
      const auto n = static_cast<std::size_t>(rows * columns);
      std::vector<double> out(n), in(n, -1);
      for (std::size_t i = 0; i < n; ++i) out[i] = me.rank() * 1e6 + static_cast<double>(i);
      const int where = devices()[static_cast<std::size_t>(me.rank()) % devices().size()];
      const auto bytes = [](const std::vector<double>& v) {
        const auto* const p = reinterpret_cast<const std::byte*>(v.data());
        return Bytes(p, p + v.size() * sizeof(double));
      };
      Placed source(where, bytes(out)), target(where, bytes(in));
      std::vector<Request> requests;
      for (int r = 0; r < ranks; ++r) {
        if (r == me.rank()) continue;
        requests.push_back(me.irecv(TypedBuffer(target.data() + 8 * r, column(rows, columns)), r, 7));
      }
      for (int r = 0; r < ranks; ++r) {
        if (r == me.rank()) continue;
        requests.push_back(me.isend(ConstTypedBuffer(source.data() + 8 * r, column(rows, columns)), r, 7));
      }
      if (rows == 200)
        for (std::size_t i = 0; i < requests.size(); ++i) me.wait_any(requests);
      else
        me.wait_all(requests);
      std::vector<double> expected(n, -1);
      for (int r = 0; r < ranks; ++r)
        for (std::int64_t row = 0; r != me.rank() && row < rows; ++row)
          expected[static_cast<std::size_t>(row * columns + r)] =
              r * 1e6 + static_cast<double>(row * columns + me.rank());
      EXPECT_TRUE(target.get() == bytes(expected)) << rows;
    }
  };
  run(with_gpus(ranks), exchange);
  run(with_gpus(ranks, 60, 0), exchange);
}

struct Echo {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, unsigned char* room, std::int64_t bytes,
                                   int times) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::BlockScope block = gpu::this_block(ctx);
    for (int i = 0; i < times; ++i) {
      me.recv(block, Span<unsigned char>(room, static_cast<std::size_t>(bytes)), 0);
      me.send(block, Span<const unsigned char>(room, static_cast<std::size_t>(bytes)), 0);
    }
  }
};

TEST(TypedMessages, ToAndFromASlot) {
  if (Device::count() == 0) GTEST_SKIP() << "no GPU";
  for (const std::int64_t rows : {5, 1000, 30000}) {
    const Datatype type = column(rows, 3);
    Config config = config_of({{.cpus = 1, .gpus = 1, .slots = 1}}, 60);
    const DeviceBuffer<unsigned char> room(Device(0), static_cast<std::size_t>(type.size()));
    Job job(config);
    job.cpu([&](Comm& me) {
      std::mt19937_64 random(1);
      const Bytes start = random_bytes(random, rows * 24);
      for (const int where : {-1, 0}) {
        Placed source(where, start), target(where, Bytes(start.size()));
        me.send(ConstTypedBuffer(source.data() + 8, type), 1);
        me.recv(TypedBuffer(target.data() + 16, type), 1);
        Bytes expected(start.size());
        for (std::int64_t r = 0; r < rows; ++r)
          std::copy_n(start.begin() + r * 24 + 8, 8, expected.begin() + r * 24 + 16);
        EXPECT_TRUE(target.get() == expected) << rows << " " << where;
      }
    });
    job.gpu({.grid = one_block_per_slot, .block = 64}, Echo{}, room.data(), type.size(), 2);
    job.run();
  }
}

TEST(TypedMessages, OtherElementsAreRefused) {
  Job job(config_of({{.cpus = 2}}, 60));
  job.cpu([](Comm& me) {
    std::vector<double> values(40000);
    if (me.rank() == 0)
      me.send(ConstTypedBuffer(values, Datatype::vector(20000, 1, 2, Datatype::of<double>())), 1);
    else
      me.recv(TypedBuffer(values.data(), Datatype::vector(20000, 1, 2, Datatype::of<std::int64_t>())), 0);
  });
  const Stopped stopped = run_to_error(job);
  EXPECT_EQ(stopped.code, Code::mismatch);
  EXPECT_NE(stopped.what.find("element 0 is of kind float64, expected int64"), std::string::npos) << stopped.what;
}

// However they come: in a header, through the FIFO, fetched; with gaps at an end or without; the call that ends it says
// so.
TEST(TypedMessages, OtherElementsAreRefusedWhereTheyAreReceived) {
  for (const std::int64_t elements : {1, 3, 40, 40000})
    for (const bool gaps_there : {false, true})
      for (const bool gaps_here : {false, true}) {
        if (gaps_there && gaps_here) continue;  // who copies from one to the other refuses it: the test above
        run(config_of({{.cpus = 2}}, 60), [&](Comm& me) {
          const auto type = [&](ElementKind kind, bool gaps) {
            return gaps ? Datatype::vector(elements, 1, 2, Datatype::of(kind))
                        : Datatype::contiguous(elements, Datatype::of(kind));
          };
          std::vector<double> values(static_cast<std::size_t>(2 * elements), 1);
          if (me.rank() == 0) {
            for (int i = 0; i < 6; ++i) {
              const ConstTypedBuffer out(values.data(), type(ElementKind::float64, gaps_there));
              i == 1 ? me.ssend(out, 1, i) : i == 2 ? me.bsend(out, 1, i) : me.send(out, 1, i);
            }
            return;
          }
          const TypedBuffer in(values.data(), type(ElementKind::int64, gaps_here));
          const auto refused = [&](int tag, const auto& act) {
            expect_error(
                Code::mismatch,
                "the message of rank 0 with tag " + std::to_string(tag) + " has elements of float64, expected int64",
                act);
          };
          refused(0, [&] { me.recv(in, 0, 0); });
          refused(1, [&] { me.wait(me.irecv(in, 0, 1)); });
          refused(2, [&] {
            const Request request = me.irecv(in, 0, 2);
            while (!me.test(request)) relax();
          });
          refused(3, [&] {
            const Request requests[] = {me.irecv(in, 0, 3)};
            me.wait_all(requests);
          });
          refused(4, [&] {
            const Request requests[] = {me.irecv(in, 0, 4)};
            me.wait_any(requests);
          });
          refused(5, [&] { me.sendrecv(ConstTypedBuffer(values.data(), Datatype::bytes(0)), 1, 7, in, 0, 5); });
          me.recv(TypedBuffer(values.data(), Datatype::bytes(0)), 1, 7);
        });
      }
}

// Bytes are everybody's, a message may be shorter than its receive, and what calls without types send is not known.
TEST(TypedMessages, ElementsThatFitAreTaken) {
  const Datatype pair = Datatype::structure({1, 1}, {0, 8}, {Datatype::of<std::int32_t>(), Datatype::of<double>()});
  const Datatype other = Datatype::structure({1, 1}, {0, 4}, {Datatype::of<std::int32_t>(), Datatype::of<float>()});
  run(config_of({{.cpus = 2}}, 60), [&](Comm& me) {
    std::vector<double> values(100, 1);
    const auto typed = [&](const Datatype& type, std::int64_t count) {
      return TypedBuffer(values.data(), type, count);
    };
    if (me.rank() == 0) {
      me.send(typed(Datatype::of<double>(), 3), 1);
      me.send(typed(Datatype::bytes(24), 1), 1);
      me.send(typed(Datatype::of<double>(), 3), 1);
      me.send(Span<const double>(values.data(), 3), 1);
      me.send(typed(pair, 2), 1);
      me.send(typed(pair, 2), 1);
      me.send(typed(Datatype::of<std::int32_t>(), 1), 1);
      me.send(typed(pair, 1), 1);
    } else {
      EXPECT_EQ(me.recv(typed(Datatype::of<double>(), 9), 0).bytes, 24);
      me.recv(typed(Datatype::of<float>(), 6), 0);
      me.recv(typed(Datatype::bytes(24), 1), 0);
      me.recv(typed(Datatype::of<float>(), 6), 0);
      EXPECT_EQ(me.recv(typed(pair, 5), 0).bytes, 24);
      expect_error(Code::mismatch, "has elements of several kinds in some order, expected several kinds in some order",
                   [&] { me.recv(typed(other, 3), 0); });
      me.recv(typed(pair, 5), 0);  // as far as it goes
      expect_error(Code::mismatch, "has elements of several kinds in some order, expected int32",
                   [&] { me.recv(typed(Datatype::of<std::int32_t>(), 3), 0); });
    }
  });
}

TEST(TypedMessages, OverrunsAndOverlapsAreRefused) {
  run(config_of({{.cpus = 2}}, 60), [](Comm& me) {
    std::vector<double> values(64, -1);
    const Datatype twice = Datatype::hvector(4, 2, 8, Datatype::of<double>());
    expect_error(Code::invalid_type, "twice", [&] { me.recv(TypedBuffer(values, twice), 1 - me.rank()); });
    expect_error(Code::invalid_size, "512 bytes",
                 [&] { me.send(ConstTypedBuffer(values, column(9, 8)), 1 - me.rank()); });
    expect_error(Code::null_buffer, "null",
                 [&] { me.send(ConstTypedBuffer(static_cast<const double*>(nullptr), column(9, 8)), 1 - me.rank()); });
    for (const std::int64_t rows : {6, 4000}) {  // eager, and fetched
      std::vector<double> matrix(static_cast<std::size_t>(rows) * 4, -1);
      if (me.rank() == 0) {
        std::fill(matrix.begin(), matrix.end(), 7);
        me.send(ConstTypedBuffer(matrix, column(rows, 4)), 1);
      } else {
        expect_error(Code::truncated, std::to_string(rows * 8),
                     [&] { me.recv(TypedBuffer(matrix, column(rows - 2, 4)), 0); });
        for (std::int64_t i = 0; i < rows * 4; ++i)
          EXPECT_EQ(matrix[static_cast<std::size_t>(i)], i % 4 == 0 && i / 4 < rows - 2 ? 7 : -1) << i;
      }
    }
  });
}

// Before a rank sends or receives anything: the others would have results by then.
TEST(TypedMessages, WhatIsWrongIsFoundAtOnce) {
  run(with_gpus(1, 60, 0), [](Comm& me) {
    std::vector<double> in(4, 1), out(4, -1);
    const Datatype element = Datatype::of<double>(), bytes = Datatype::bytes(8);
    const auto typed = [&](std::vector<double>& v, std::int64_t count) { return TypedBuffer(v, element, count); };
    void* const nowhere = nullptr;
    const TypedBuffer none(nowhere, element);
    const char* const null = "the buffer is null, expected one of 8 bytes";
    expect_error(Code::null_buffer, std::string("all_reduce: ") + null,
                 [&] { me.all_reduce<double>(none, typed(out, 1), Sum{}); });
    expect_error(Code::null_buffer, std::string("all_reduce: ") + null,
                 [&] { me.all_reduce<double>(typed(in, 1), none, Sum{}); });
    expect_error(Code::null_buffer, std::string("send: ") + null, [&] { me.send(none, 0); });
    expect_error(Code::null_buffer, std::string("irecv: ") + null, [&] { me.irecv(none, 0); });
    expect_error(Code::null_buffer, std::string("broadcast: ") + null, [&] { me.broadcast(none, 0); });
    expect_error(Code::invalid_size, "all_reduce: the output has 16 bytes, expected at least 32",
                 [&] { me.all_reduce<double>(typed(in, 4), typed(out, 2), Sum{}); });
    expect_error(Code::invalid_type, "reduce: the type to be filled has some byte twice", [&] {
      me.reduce<double>(typed(in, 4), TypedBuffer(out, Datatype::hvector(4, 1, 0, element)), Sum{}, 0);
    });
    expect_error(Code::mismatch, "reduce: element 0 is of kind float64, expected float32",
                 [&] { me.reduce<float>(typed(in, 4), typed(out, 4), Sum{}, 0); });
    expect_error(Code::mismatch, "all_reduce: 4 bytes, expected a multiple of 8, float64 each",
                 [&] { me.all_reduce<double>(ConstTypedBuffer(in, Datatype::bytes(4)), typed(out, 4), Sum{}); });
    EXPECT_EQ(out, std::vector<double>(4, -1));
    me.all_reduce<double>(ConstTypedBuffer(in, bytes, 4), TypedBuffer(out, bytes, 4), Sum{});
    EXPECT_EQ(out, in);
  });
}

// Three CPU ranks and a slot of an emulated GPU, in as many orders of events as there are seeds.
TEST(TypedMessages, AnyInterleaving) {
  if (Device::count() == 0 || Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "no emulated GPU";
  constexpr std::int64_t rows = 900;
  constexpr int cpus = 3, slot = cpus;
  const Datatype type = column(rows, 2);
  for (std::uint64_t seed = 1; seed <= (sanitized ? 10 : 100); ++seed) {
    Config config = config_of({{.cpus = cpus, .gpus = 1, .slots = 1}}, 60);
    config.seed = seed;
    const DeviceBuffer<unsigned char> room(Device(0), static_cast<std::size_t>(type.size()));
    Job job(config);
    job.cpu([&](Comm& me) {
      const int next = (me.rank() + 1) % cpus, before = (me.rank() + cpus - 1) % cpus;
      std::vector<double> out(2 * rows), in(2 * rows, -1), back(2 * rows, -1);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = me.rank() * 1e6 + static_cast<double>(i);
      const Request received = me.irecv(TypedBuffer(in.data() + 1, type), before, 4);
      const Request sent = me.isend(ConstTypedBuffer(out.data(), type), next, 4);
      if (me.rank() == 0) {
        me.send(ConstTypedBuffer(out.data() + 1, type), slot);
        me.recv(TypedBuffer(back.data(), type), slot);
      }
      const Request both[] = {sent, received};
      me.wait_all(both);
      for (std::size_t i = 0; i < in.size(); i += 2) {
        ASSERT_EQ(in[i + 1], before * 1e6 + static_cast<double>(i)) << seed;
        ASSERT_EQ(in[i], -1) << seed;
        if (me.rank() == 0) {
          ASSERT_EQ(back[i], static_cast<double>(i + 1)) << seed;
        }
      }
    });
    job.gpu({.grid = one_block_per_slot, .block = 32}, Echo{}, room.data(), type.size(), 1);
    job.run();
  }
}

// Takes longer than a rank must have waited to count as idle.
struct Late {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, double* values, std::int64_t count) const {
    for (const std::uint64_t since = now_ns(); now_ns() - since < 500'000'000u;) relax();
    for (std::int64_t i = ctx.thread_rank(); i < count; i += ctx.num_threads()) values[i] = static_cast<double>(i);
  }
};

TEST(TypedMessages, InTheOrderOfAStream) {
  if (Device::count() == 0) GTEST_SKIP() << "no GPU";
  run(with_gpus(2), [](Comm& me) {
    constexpr std::int64_t count = 100000;
    const Device device(0);
    const DeviceBuffer<double> values(device, count);
    Stream stream(device);  // goes first, and waits for its work
    if (me.rank() == 0) {
      device.launch(stream, {.grid = 1, .block = 32, .resident = false}, Late{}, values.data(), count);
      me.send(ConstTypedBuffer(values.data(), column(count / 2, 2)), 1, 0, &stream);
    } else {
      device.fill(stream, values.data(), 0, count * 8);
      me.recv(TypedBuffer(values.data(), column(count / 2, 2)), 0, 0, &stream);
      std::vector<double> found(count);
      device.copy(stream, found.data(), values.data(), count * 8);
      stream.synchronize();
      for (std::int64_t i = 0; i < count; ++i)
        ASSERT_EQ(found[static_cast<std::size_t>(i)], i % 2 == 0 ? static_cast<double>(i) : 0);
    }
  });
}

}  // namespace
}  // namespace dcgn::test
