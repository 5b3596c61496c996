// Jobs of several processes: mpirun -n 3 test_process. Every process makes the same calls.
#include "tests/processes.hpp"
#include "core/tests/collective/affine.hpp"
#include "core/tests/process/in_processes.hpp"
#include "tests/expect.hpp"
#include "tests/sanitized.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace dcgn::test {
namespace {

TEST_F(Processes, TellEachOtherTheirShapes) {
  World world(with(shape_of(this_process())));
  std::vector<NodeShape> all(static_cast<std::size_t>(processes()));
  for (int p = 0; p < processes(); ++p) all[static_cast<std::size_t>(p)] = shape_of(p);
  const Placement expected(all);
  ASSERT_EQ(world.size(), expected.size());
  for (int r = 0; r < world.size(); ++r) {
    EXPECT_EQ(to_string(world.placement().place(r)), to_string(expected.place(r)));
    EXPECT_EQ(world.is_here(r), expected.place(r).node == this_process());
  }
  EXPECT_EQ(world.gpus(), shape_of(this_process()).gpus);
}

TEST_F(Processes, MayGiveTheNodesOfAll) {
  Config c = with({.cpus = 1, .count = processes() - 1});
  c.nodes.push_back({.cpus = 2});
  World world(c);
  EXPECT_EQ(world.size(), processes() + 1);
  EXPECT_EQ(world.is_here(world.size() - 1), this_process() == processes() - 1);
}

// Every rank sends to every other one, by turns small, eager, and long, while it receives from any source.
struct AllToAll {
  std::size_t most;
  DCGN_HOST_DEVICE static std::size_t bytes(int from, int to, std::size_t most) {
    const std::size_t sizes[] = {0, 8, 40, 3000, most};
    return sizes[(from + 3 * to) % 5];
  }
};

void all_to_all(Comm& comm, std::size_t most) {
  std::vector<std::vector<unsigned char>> out(static_cast<std::size_t>(comm.size()));
  std::vector<Request> requests;
  for (int to = 0; to < comm.size(); ++to) {
    auto& message = out[static_cast<std::size_t>(to)];
    message.resize(AllToAll::bytes(comm.rank(), to, most));
    for (std::size_t i = 0; i < message.size(); ++i) message[i] = content(comm.rank(), to, i);
    requests.push_back(comm.isend(message, to, 5));
  }
  std::vector<int> seen(static_cast<std::size_t>(comm.size()));
  std::vector<unsigned char> in(most);
  for (int n = 0; n < comm.size(); ++n) {
    const Status probed = comm.probe(any_source, 5);
    const Status s = comm.recv(in, probed.source, any_tag);
    EXPECT_EQ(s.source, probed.source);
    EXPECT_EQ(s.tag, 5);
    EXPECT_EQ(s.bytes, probed.bytes);
    ASSERT_EQ(static_cast<std::size_t>(s.bytes), AllToAll::bytes(s.source, comm.rank(), most));
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.bytes); ++i)
      ASSERT_EQ(in[i], content(s.source, comm.rank(), i)) << "byte " << i << " from " << s.source;
    ++seen[static_cast<std::size_t>(s.source)];
  }
  comm.wait_all(requests);
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST_F(Processes, ReceiveFromAnySourceHereAndElsewhere) {
  for (const bool direct : {true, false})
    for (const std::size_t most : {20000u, sanitized ? 200000u : 3000000u}) {
      Config c = with({.cpus = 1 + this_process() % 2});
      c.direct = direct;
      Job job(c);
      job.cpu([most](Comm& comm) { all_to_all(comm, most); });
      job.run();
    }
}

// A stream of numbered messages of one source, with two tags, stays in order within each.
TEST_F(Processes, DoNotOvertake) {
  constexpr int count = 400;
  Job job(with({.cpus = 1}));
  job.cpu([](Comm& comm) {
    const int last = comm.size() - 1;
    const auto length = [](int i) { return i % 7 == 0 ? 9000u : i % 3 == 0 ? 300u : 1u; };
    if (comm.rank() == 0) {
      std::vector<std::vector<int>> out;
      std::vector<Request> requests;
      out.reserve(count);
      requests.reserve(count);
      for (int i = 0; i < count; ++i) out.emplace_back(length(i), i);
      for (int i = 0; i < count; ++i) requests.push_back(comm.isend(out[static_cast<std::size_t>(i)], last, i % 2));
      comm.wait_all(requests);
    } else if (comm.rank() == last) {
      std::vector<int> in(9000);
      for (const int tag : {1, 0})
        for (int i = tag; i < count; i += 2) {
          const Status s = comm.recv(in, 0, tag);
          ASSERT_EQ(static_cast<std::size_t>(s.bytes), length(i) * sizeof(int));
          ASSERT_EQ(in[0], i);
        }
    }
  });
  job.run();
}

// Of lengths around those at which a payload travels in another way: within its header's message, behind its offer in
// one message or two, when it is asked for.
TEST_F(Processes, ReceiveMessagesOfAnyLengthBeforeAndAfterTheyCome) {
  Job job(with({.cpus = 1}));
  job.cpu([](Comm& comm) {
    const int next = (comm.rank() + 1) % comm.size(), before = (comm.rank() + comm.size() - 1) % comm.size();
    constexpr int each = 4;
    for (const std::size_t bytes : {1024u, 1025u, 32767u, 32768u, 32769u, 65535u, 65536u, 65537u, 300000u}) {
      std::vector<std::vector<unsigned char>> out(each), in(each);
      std::vector<Request> sent, received;
      for (int i = 0; i < each; ++i) {
        in[static_cast<std::size_t>(i)].assign(bytes + 1, '-');
        auto& message = out[static_cast<std::size_t>(i)];
        message.resize(bytes);
        for (std::size_t k = 0; k < bytes; ++k) message[k] = content(comm.rank(), next + i, k);
      }
      const auto count = static_cast<std::int64_t>(bytes);
      const auto receive = [&](int i) {
        received.push_back(comm.irecv_bytes(in[static_cast<std::size_t>(i)].data(), count, before, i));
      };
      for (int i = 0; i < each / 2; ++i) receive(i);
      for (int i = 0; i < each; ++i) sent.push_back(comm.isend(out[static_cast<std::size_t>(i)], next, i));
      EXPECT_EQ(comm.probe(before, each - 1).bytes, count);
      for (int i = each; i-- > each / 2;) receive(i);
      comm.wait_all(received);
      comm.wait_all(sent);
      for (int i = 0; i < each; ++i) {
        std::size_t good = 0;
        while (good < bytes && in[static_cast<std::size_t>(i)][good] == content(before, comm.rank() + i, good)) ++good;
        EXPECT_EQ(good, bytes) << i;
        EXPECT_EQ(in[static_cast<std::size_t>(i)][bytes], '-');
      }
    }
  });
  job.run();
}

TEST_F(Processes, TruncateWhatIsTooLong) {
  Job job(with({.cpus = 1}));
  job.cpu([](Comm& comm) {
    const int next = (comm.rank() + 1) % comm.size(), before = (comm.rank() + comm.size() - 1) % comm.size();
    for (const std::size_t bytes : {40u, 40000u, 100000u}) {
      std::vector<char> out(bytes, 'x'), in(bytes, '-');
      const Request r = comm.isend(out, next);
      const Error e = error_of([&] { comm.recv_bytes(in.data(), static_cast<std::int64_t>(bytes / 2), before); });
      EXPECT_EQ(e.code(), Code::truncated);
      comm.wait(r);
      EXPECT_EQ(in[bytes / 2 - 1], 'x');
      EXPECT_EQ(in[bytes / 2], '-');
    }
  });
  job.run();
}

// Around the ring, from memory of a GPU or of the host into either: in fragments of memory that processes share; by MPI
// itself where it takes such memory, as that of emulated GPUs is taken by any; else staged.
TEST_F(Processes, CpuRanksSendAndReceiveMemoryOfGpus) {
  if (processes() > Device::count()) GTEST_SKIP() << "there are but " << Device::count() << " GPUs";
  constexpr std::size_t fragment = 1 << 16, most = 2 * fragment + fragment / 2 + 1;
  struct Way {
    bool share, cuda_aware, p2p;
  };
  for (const Way way : {Way{false, true, true}, {false, false, true}, {true, false, true}, {true, false, false}}) {
    Config config = with({.cpus = 1, .gpus = 1});
    config.share = way.share;
    config.cuda_aware = way.cuda_aware;
    config.p2p = way.p2p;
    config.fragment_bytes = fragment;
    if (Device(0).kind() == DeviceKind::emulated) config.copy_engine_bytes = 0;  // acts as if it had an engine
    World world(config);
    Comm comm = world.attach();
    Device device = world.device(0);
    DeviceBuffer<unsigned char> device_out(device, most), device_in(device, most);
    std::vector<unsigned char> out(most), in(most);
    const int size = comm.size(), apart = size / processes();  // a CPU rank and a slot each
    const int next = (comm.rank() + apart) % size, before = (comm.rank() + size - apart) % size;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{40}, std::size_t{5000}, most})
      for (const bool from_device : {true, false})
        for (const bool to_device : {true, false}) {
          for (std::size_t i = 0; i < bytes; ++i) out[i] = content(comm.rank(), next, i + bytes);
          std::fill(in.begin(), in.end(), '-');
          device.copy(device_out.data(), out.data(), most);
          device.copy(device_in.data(), in.data(), most);
          const auto count = static_cast<std::int64_t>(bytes);
          const Request sent = comm.isend_bytes(from_device ? device_out.data() : out.data(), count, next);
          comm.recv_bytes(to_device ? device_in.data() : in.data(), count, before);
          comm.wait(sent);
          if (to_device) device.copy(in.data(), device_in.data(), most);
          std::size_t good = 0;
          while (good < bytes && in[good] == content(before, comm.rank(), good + bytes)) ++good;
          EXPECT_EQ(good, bytes) << (from_device ? "from" : "to") << " a GPU " << to_device;
          if (bytes < most) {
            EXPECT_EQ(in[bytes], '-');
          }
        }
  }
}

TEST_F(Processes, SynchronousSendsReturnOnceTheReceiveHasBegun) {
  Job job(with({.cpus = 1}));
  job.cpu([](Comm& comm) {
    if (comm.rank() == 0) {
      for (const std::size_t bytes : {0u, 8u, 50000u}) comm.ssend(std::vector<char>(bytes), 1, 3);
      int x = 5;
      comm.bsend(x, 1, 4);
    } else if (comm.rank() == 1) {
      for (const std::size_t bytes : {0u, 8u, 50000u}) {
        std::vector<char> in(bytes);
        EXPECT_EQ(comm.recv(in, 0, 3).bytes, static_cast<std::int64_t>(bytes));
      }
      int x = 0;
      comm.recv(x, any_source, any_tag);
      EXPECT_EQ(x, 5);
    }
  });
  job.run();
}

TEST_F(Processes, KernelsForRanksElsewhereAreLeftToThem) {
  Job job(with({.cpus = 1}));
  int here = 0;
  for (int r = 0; r < job.world().size(); ++r) job.cpu_rank(r, [&here, r](Comm& comm) { here += comm.rank() == r; });
  EXPECT_THROW(job.world().attach((this_process() + 1) % processes()), Error);
  const Report report = job.run();
  EXPECT_EQ(here, 1);
  ASSERT_EQ(report.ranks.size(), 1u);
  EXPECT_EQ(report.ranks[0].rank, this_process());
}

TEST_F(Processes, OneThatCannotSetUpItsRanksIsNamedByTheOthers) {
  Config c = with({.cpus = 1});
  if (this_process() == 1) c.nodes = {{.gpus = 65}};
  const Error e = error_of([&] { World world(c); });
  if (this_process() == 1) {
    EXPECT_TRUE(contains(e.what(), "the nodes ask for 65 GPUs"));
  } else {
    EXPECT_TRUE(contains(e.what(), "process 1 of " + std::to_string(processes()) + " could not set up its ranks"));
  }
  World world(with({.cpus = 1}));  // and the next one is as good as ever
  EXPECT_EQ(world.size(), processes());
}

// Of emulated GPUs, four in each process: those of one host are shared out.
TEST_F(Processes, TakeDifferentGpusOfTheirHost) {
  if (processes() > Device::count()) GTEST_SKIP() << "there are but " << Device::count() << " GPUs";
  std::array<char, 64> name{};
  gethostname(name.data(), name.size() - 1);
  const std::vector<std::uint64_t> own = {std::hash<std::string>{}(name.data())};
  std::vector<std::uint64_t> hosts(static_cast<std::size_t>(processes()));
  {
    World world(with({.cpus = 1}));
    world.attach().all_gather(own, hosts);
  }
  World world(with({.gpus = 1}));
  EXPECT_EQ(world.device(0).index(), std::count(hosts.begin(), hosts.begin() + this_process(), own[0]));
}

TEST_F(Processes, WrongNodesAndModesAreRefused) {
  const Error nodes = error_of([] { World world(with({.cpus = 1, .count = processes() + 1})); });
  EXPECT_TRUE(contains(nodes.what(), "nodes in a job of " + std::to_string(processes()) + " processes"));
  Config seeded = with({.cpus = 1});
  seeded.seed = 1;
  EXPECT_TRUE(contains(error_of([&] { World world(seeded); }).what(), "deterministic mode in one of"));
  World world(with({.cpus = 1}));
  EXPECT_TRUE(contains(error_of([] { World other(with({.cpus = 1})); }).what(), "one at a time"));
}

TEST_F(Processes, AJobOfItsOwnWithoutMpi) {
  Config c = with({.cpus = 2});
  c.mpi = "off";
  Job job(c);
  EXPECT_EQ(job.world().size(), 2);
}

// Files of shared memory that are mapped, each process's once: this one's own, and those of whom it shares with.
int shared_files() {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (contains(line, "memfd:dcgn")) {
      std::istringstream words(line);
      std::string addresses, rights, offset, device, inode;
      words >> addresses >> rights >> offset >> device >> inode;
      files.insert(inode);
    }
  return static_cast<int>(files.size());
}

TEST_F(Processes, OfOneHostShareMemoryUnlessTheyAreToldNotTo) {
  Config config = with({.cpus = 1});
  if (std::getenv("DCGN_TEST_SHARED")) {  // all of them are on one host, and may
    const World world(config);
    EXPECT_EQ(shared_files(), processes());
  }
  config.share = false;
  const World world(config);
  EXPECT_EQ(shared_files(), 1);
}

// What rank r of `comm` gives in call `number`, and what the calls make of that, each in a buffer of its own or in
// place.
void check_collectives(Comm& comm, std::int64_t count, int number, bool in_place) {
  const int rank = comm.rank(), size = comm.size();
  const auto n = static_cast<std::size_t>(count), all = n * static_cast<std::size_t>(size);
  const auto given = [&](int r, std::int64_t length) {
    std::vector<Affine> v(static_cast<std::size_t>(length));
    for (std::int64_t i = 0; i < length; ++i) v[static_cast<std::size_t>(i)] = value(number, r, i);
    return v;
  };
  const auto expect = [&](const std::vector<Affine>& found, int first, int last, std::int64_t offset,
                          const char* call) {
    for (std::int64_t i = 0; i < count; ++i)
      ASSERT_EQ(found[static_cast<std::size_t>(i)], (InOrder{number, first, last, offset}(i)))
          << call << " of " << count << " among " << size << ", element " << i;
  };
  const std::vector<Affine> mine = given(rank, count);
  std::vector<Affine> out(n);
  const auto reduced = [&](const auto& call) {
    out = in_place ? mine : std::vector<Affine>(n);
    call(in_place ? out : mine);
  };
  comm.barrier();
  reduced([&](const std::vector<Affine>& in) { comm.all_reduce(in, out, Then{}); });
  expect(out, 0, size, 0, "all_reduce");
  reduced([&](const std::vector<Affine>& in) { comm.scan(in, out, Then{}); });
  expect(out, 0, rank + 1, 0, "scan");
  reduced([&](const std::vector<Affine>& in) { comm.exclusive_scan(in, out, Then{}); });
  if (rank > 0) expect(out, 0, rank, 0, "exclusive_scan");
  for (int root = 0; root < size; ++root) {
    reduced([&](const std::vector<Affine>& in) { comm.reduce(in, out, Then{}, root); });
    if (rank == root) expect(out, 0, size, 0, "reduce");
    out = rank == root ? mine : std::vector<Affine>(n);
    comm.broadcast(out, root);
    expect(out, root, root + 1, 0, "broadcast");
  }
  std::vector<Affine> parts = given(rank, static_cast<std::int64_t>(all));
  const std::size_t at = n * static_cast<std::size_t>(rank);
  Span<Affine> part(parts.data() + at, n);
  if (!in_place) part = out;
  comm.reduce_scatter(parts, part, Then{});
  expect({part.data(), part.data() + n}, 0, size, static_cast<std::int64_t>(at), "reduce_scatter");
  parts.assign(all, Affine{});
  std::copy(mine.begin(), mine.end(), parts.data() + at);
  if (in_place)
    comm.all_gather(Span<const Affine>(parts.data() + at, n), parts);
  else
    comm.all_gather(mine, parts);
  for (int r = 0; r < size; ++r) {
    const auto* const from = parts.data() + n * static_cast<std::size_t>(r);
    expect({from, from + n}, r, r + 1, 0, "all_gather");
  }
}

// Processes that share no memory are hosts, here of two, three, two, ... ranks, of which communicators have some.
TEST_F(Processes, CollectivesOfHosts) {
  Config config = with({.cpus = 2 + this_process() % 2});
  config.share = false;
  config.collective_bytes = 4096;  // much goes piece by piece
  Job job(config);
  job.cpu([](Comm& world) {
    int number = 0;
    for (const int spacing : {1, 2, 3, -1}) {
      Comm comm = world.split(spacing > 0 ? world.rank() % spacing : 0, spacing > 0 ? 0 : -world.rank());
      for (const std::int64_t count : {0, 1, 7, 700}) {
        ++number;
        check_collectives(comm, count, number, (number + spacing) % 2 != 0);
      }
    }
    // All of the first host and one of the second one.
    Comm few = world.split(world.rank() < 3 ? 0 : -1, 0);
    if (few.size()) check_collectives(few, 5, ++number, false);
  });
  job.run();
}

TEST_F(Processes, MessagesThatNobodyReceivedAreNamed) {
  Job job(with({.cpus = 1}));
  job.cpu([](Comm& comm) {
    // Sent while rank 1 is still there: to one that has ended nothing can be sent.
    if (comm.rank() == 0) {
      comm.send(1, 1, 9);
      comm.send(2, 1, 8);
    } else if (comm.rank() == 1) {
      int x = 0;
      comm.recv(x, 0, 8);
    }
  });
  const Error e = error_of([&] { job.run(); });
  EXPECT_EQ(to_string(e.code()), this_process() == 1 ? "unreceived" : "ok");
  if (this_process() == 1) {
    EXPECT_TRUE(contains(e.what(), "1 message was sent and never received"));
  }
}

// Where the receiver has never looked, of whichever length.
TEST_F(Processes, MessagesThatHaveNotBeenLookedAtAreNamed) {
  for (const std::size_t bytes : {4, 500}) {
    Job job(with({.cpus = 1}));
    job.cpu([bytes](Comm& comm) {
      if (comm.rank() == 0) comm.send(std::vector<char>(bytes), 1, 70'000);
      if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    });
    const Error e = error_of([&] { job.run(); });
    EXPECT_EQ(to_string(e.code()), this_process() == 1 ? "unreceived" : "ok") << e.what();
    if (this_process() == 1) {
      EXPECT_TRUE(contains(e.what(), "1 message was sent and never received:\n  message of " + std::to_string(bytes) +
                                         " bytes from rank 0 with tag 70000 at rank 1"));
    }
  }
}

// Runs last: processes whose job was stopped cannot be used again.
class StoppedProcesses : public Processes {};

// While a message comes into its buffer a receiver cannot leave; it gets the buffer back where the job is stopped.
TEST_F(StoppedProcesses, GetTheirBuffersBack) {
  if (from_launcher({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 0))
    GTEST_SKIP() << "an MPI that has a message under way cannot be ended, which its mpirun calls a failure";
  Job job(with({.cpus = 2}));
  job.cpu([](Comm& comm) {
    constexpr std::int64_t bytes = (sanitized ? 2 : 32) << 20;
    std::vector<unsigned char> out(bytes), in(bytes);
    comm.barrier();
    if (comm.rank() == 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      throw std::runtime_error("no more of this");
    }
    const int size = comm.size(), me = comm.rank();
    if (me % 2) return;
    for (;;) comm.sendrecv_bytes(out.data(), bytes, (me + 2) % size, 0, in.data(), bytes, (me + size - 2) % size, 0);
  });
  const auto begin = std::chrono::steady_clock::now();
  std::string said;
  try {
    job.run();
  } catch (const std::exception& e) {
    said = e.what();
  }
  EXPECT_TRUE(contains(said, "no more of this"));
  // A rank that has its buffer not back goes without it after ten.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
}

}  // namespace
}  // namespace dcgn::test
