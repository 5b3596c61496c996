// Messages with datatypes between processes, and what passes in fragments of memory that they share.
#include "core/tests/process/in_processes.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace dcgn::test {
namespace {

// Around the ring, columns of a matrix into other columns, by shared memory, or by MPI, which may take a GPU's memory.
TEST_F(Processes, TypedMessages) {
  const bool gpus = processes() <= Device::count();
  for (const bool share : {true, false})
    for (const std::int64_t rows : {3, 60, 5000, 200000}) {
      Config config = with({.cpus = 1, .gpus = gpus ? 1 : 0});
      config.share = share;
      config.cuda_aware = rows != 5000;
      if (gpus && Device(0).kind() == DeviceKind::emulated) config.copy_engine_bytes = 0;
      World world(config);
      Comm comm = world.attach();
      const int size = comm.size(), apart = size / processes();
      const int next = (comm.rank() + apart) % size, before = (comm.rank() + size - apart) % size;
      const auto n = static_cast<std::size_t>(3 * rows);
      std::vector<double> out(n), in(n, -1), expected(n, -1);
      for (std::size_t i = 0; i < n; ++i) out[i] = 1e6 * comm.rank() + static_cast<double>(i);
      for (std::size_t i = 0; i < n; i += 3) expected[i + 2] = 1e6 * before + static_cast<double>(i + 1);
      const Datatype column = Datatype::vector(rows, 1, 3, Datatype::of<double>());
      const auto exchange = [&](double* from, double* to) {
        const Request sent = comm.isend(ConstTypedBuffer(from + 1, column), next);
        EXPECT_EQ(comm.recv(TypedBuffer(to + 2, column), before).bytes, rows * 8);
        comm.wait(sent);
      };
      exchange(out.data(), in.data());
      EXPECT_TRUE(in == expected) << rows;
      if (!gpus) continue;
      const Device device = world.device(0);
      const DeviceBuffer<double> device_out(device, n), device_in(device, n);
      device_out.upload(out.data());
      device_in.upload(std::vector<double>(n, -1).data());
      exchange(device_out.data(), device_in.data());
      device_in.download(in.data());
      EXPECT_TRUE(in == expected) << rows << " on a GPU";
    }
}

// Again and again from the same memory of a GPU, which is read there once it is known: in a row and with layouts that
// another process can be told of, or not; expected and not; into less room, and across others.
TEST_F(Processes, MessagesFromTheSameMemoryOfAGpu) {
  if (processes() > Device::count()) GTEST_SKIP() << "a GPU for each process";
  Config config = with({.cpus = 1, .gpus = 1});
  if (Device(0).kind() == DeviceKind::emulated) config.copy_engine_bytes = 0;
  World world(config);
  Comm comm = world.attach();
  const int size = comm.size(), apart = size / processes();
  const int next = (comm.rank() + apart) % size, before = (comm.rank() + size - apart) % size;
  constexpr std::int64_t n = 300;
  const Datatype number = Datatype::of<double>();
  std::vector<std::int64_t> lengths, rows;
  for (std::int64_t i = 0; i < n; ++i) {
    lengths.push_back(i + 1);
    rows.push_back(i * n);
  }
  const Datatype triangle = Datatype::indexed(lengths, rows, number);
  lengths[7] = 1;  // so that it is none
  const Datatype types[] = {Datatype::contiguous(n * n, number), Datatype::vector(n, n / 2, n, number),
                            Datatype::subarray({n, n}, {n - 20, 100}, {10, 50}, Datatype::Order::c, number), triangle,
                            Datatype::indexed(lengths, rows, number)};
  const Device device = world.device(0);
  const DeviceBuffer<double> out(device, n * n), in(device, n * n);
  std::vector<double> sent(n * n), found(n * n);
  for (int round = 0; round < 9; ++round)
    for (const Datatype& type : types) {
      const auto value = [&](int rank, std::size_t i) { return 1e6 * rank + 1e5 * round + static_cast<double>(i); };
      for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = value(comm.rank(), i);
      out.upload(sent.data());
      in.upload(std::vector<double>(n * n, -1).data());
      // Every third is there before it is asked for, and every fourth spreads what comes in a row.
      const bool unexpected = round % 3 == 2, spread = round % 4 == 3, less = round % 5 == 4;
      const auto bytes = static_cast<std::size_t>(type.size()), count = bytes / sizeof(double);
      const Request request = comm.isend(ConstTypedBuffer(out.data(), type), next, 3);
      if (unexpected) comm.probe(before, 3);
      if (less) {
        EXPECT_THROW(comm.recv(Span<double>(in.data(), count / 2), before, 3), Error);
      } else if (spread) {
        comm.recv(TypedBuffer(in.data(), type), before, 3);
      } else {
        comm.recv(Span<double>(in.data(), count), before, 3);
      }
      comm.wait(request);
      in.download(found.data());
      std::vector<double> packed(count), expected(n * n, -1);
      for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = value(before, i);
      pack(ConstTypedBuffer(sent.data(), type), Span<std::byte>(reinterpret_cast<std::byte*>(packed.data()), bytes));
      if (spread && !less)
        unpack(Span<const std::byte>(reinterpret_cast<const std::byte*>(packed.data()), bytes),
               TypedBuffer(expected.data(), type));
      else
        std::copy_n(packed.begin(), less ? count / 2 : count, expected.begin());
      EXPECT_TRUE(found == expected) << "round " << round << ": " << describe(type);
    }
}

// What is announced need not be anything, nor anywhere.
TEST_F(Processes, EmptySynchronousMessages) {
  World world(with({.cpus = 1, .gpus = processes() <= Device::count() ? 1 : 0}));
  Comm comm = world.attach();
  const int size = comm.size(), apart = size / processes();
  const int next = (comm.rank() + apart) % size, before = (comm.rank() + size - apart) % size;
  for (int round = 0; round < 5; ++round) {
    const Request received = comm.irecv(Span<double>(), before, 4);
    comm.ssend(Span<const double>(), next, 4);
    EXPECT_EQ(comm.wait(received).bytes, 0);
  }
}

// However they come: in a header of a FIFO or of MPI, behind it, or in pieces.
TEST_F(Processes, OtherElementsAreRefused) {
  for (const bool share : {true, false})
    for (const std::int64_t elements : {1, 100, 200000}) {
      Config config = with({.cpus = 1});
      config.share = share;
      Job job(config);
      job.cpu([&](Comm& comm) {
        const int next = (comm.rank() + 1) % comm.size(), before = (comm.rank() + comm.size() - 1) % comm.size();
        const auto n = static_cast<std::size_t>(elements);
        std::vector<double> out(n, 1), in(n);
        const Request sent = comm.isend(ConstTypedBuffer(out, Datatype::of<double>(), elements), next, 4);
        const Error e =
            error_of([&] { comm.recv(TypedBuffer(in.data(), Datatype::of<float>(), 2 * elements), before, 4); });
        EXPECT_EQ(e.code(), Code::mismatch) << e.what();
        EXPECT_TRUE(contains(e.what(), "the message of rank " + std::to_string(before) +
                                           " with tag 4 has elements of float64, expected float32"))
            << e.what();
        comm.wait(sent);
      });
      job.run();
    }
}

// Some bytes of every second row, at the two ends of different ones.
ConstTypedBuffer rows_of(const std::vector<unsigned char>& memory, std::int64_t width, std::int64_t count) {
  return {memory.data(), Datatype::vector(count, width, 2 * width, Datatype::of<unsigned char>())};
}

// Many at once between all CPU ranks, of which two of each process share the fragments, longer than all of these and
// not a multiple; received in another order than sent, some into too little room, which is not overrun.
TEST_F(Processes, ManyMessagesInFragments) {
  constexpr int rounds = 3;
  Config config = with({.cpus = 2});
  config.fragment_bytes = 4096;
  Job job(config);
  job.cpu([](Comm& comm) {
    const int size = comm.size(), me = comm.rank();
    const auto width = [](int from, int to) { return 3 + (from + 2 * to) % 5; };
    const auto count = [](int from, int to, int round) { return (round == 1 ? 30000 : 700) + 11 * from + to; };
    std::vector<std::vector<unsigned char>> out, in;
    std::vector<Request> sent, received;
    const auto bytes = [&](int from, int to, int round) {
      return static_cast<std::size_t>(width(from, to)) * static_cast<std::size_t>(count(from, to, round));
    };
    for (int round = 0; round < rounds; ++round)
      for (int to = 0; to < size; ++to) {
        out.emplace_back(2 * bytes(me, to, round));
        for (std::size_t i = 0; i < out.back().size(); ++i) out.back()[i] = content(me + round, to, i);
        sent.push_back(comm.isend(rows_of(out.back(), width(me, to), count(me, to, round)), to, round));
      }
    for (int round = rounds; round-- > 0;)
      for (int from = 0; from < size; ++from) {
        in.emplace_back(2 * bytes(from, me, round), 0xee);
        // Rows of one byte in every two.
        received.push_back(
            comm.irecv(TypedBuffer(in.back().data(), Datatype::vector(static_cast<std::int64_t>(bytes(from, me, round)),
                                                                      1, 2, Datatype::of<unsigned char>())),
                       from, round));
      }
    comm.wait_all(received);
    comm.wait_all(sent);
    std::size_t at = 0;
    for (int round = rounds; round-- > 0;)
      for (int from = 0; from < size; ++from, ++at) {
        const auto w = static_cast<std::size_t>(width(from, me));
        std::size_t good = 0;
        const std::size_t n = bytes(from, me, round);
        while (good < n && in[at][2 * good] == content(from + round, me, good / w * 2 * w + good % w) &&
               in[at][2 * good + 1] == 0xee)
          ++good;
        EXPECT_EQ(good, n) << "round " << round << " from " << from << " to " << me;
      }
  });
  job.run();
}

TEST_F(Processes, FragmentsOfAMessageThatIsTooLong) {
  Config config = with({.cpus = 1});
  config.fragment_bytes = 4096;
  Job job(config);
  job.cpu([](Comm& comm) {
    const int next = (comm.rank() + 1) % comm.size(), before = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<unsigned char> out(400000, 'x'), in(400000, '-');
    const Request r = comm.isend(rows_of(out, 2, 100000), next);
    const Error e = error_of([&] {
      comm.recv(TypedBuffer(in.data(), Datatype::vector(50001, 1, 2, Datatype::of<unsigned char>())), before);
    });
    EXPECT_EQ(e.code(), Code::truncated);
    comm.wait(r);
    EXPECT_EQ(in[100000], 'x');
    EXPECT_EQ(in[100001], '-');
    EXPECT_EQ(in[100002], '-');
    comm.barrier();  // and what comes after it comes whole
    int number = comm.rank(), other = -1;
    comm.sendrecv(number, next, 0, other, before, 0);
    EXPECT_EQ(other, before);
  });
  job.run();
}

// A receiver that has begun with a message and then does something else holds all fragments of its sender's process,
// but not the messages between others.
TEST_F(Processes, FragmentsThatAreHeldHoldNobodyUp) {
  Config config = with({.cpus = 2});
  config.fragment_bytes = 4096;
  Job job(config);
  std::promise<void> received;
  job.cpu([&](Comm& comm) {
    const int me = comm.rank();
    if (me > 3) return;
    const std::vector<unsigned char> out(2000000, static_cast<unsigned char>(me + 1));
    std::vector<unsigned char> in(1000000, 0);
    if (me == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until rank 0 has taken all
    if (me < 2) return comm.send(rows_of(out, 1, 1000000), me + 2);
    const TypedBuffer buffer(in.data(), Datatype::vector(500000, 2, 2, Datatype::of<unsigned char>()));
    if (me == 2) {
      comm.probe(0, 0);
      const Request r = comm.irecv(buffer, 0);
      received.get_future().wait();
      comm.wait(r);
    } else {
      comm.recv(buffer, 1);
      received.set_value();
    }
    EXPECT_EQ(std::count(in.begin(), in.end(), static_cast<unsigned char>(me - 1)), 1000000);
  });
  job.run();
}

}  // namespace
}  // namespace dcgn::test
