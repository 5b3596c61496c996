// process_soak SECONDS [JOBS [SEED [SLOWER]]]: messages of all kinds and sizes between all kinds of ranks of the
// processes that a launcher has started, with checked data, for so long; so many small jobs (1000); and as many
// communicators, made and given back. Fails where data are wrong, where memory, threads, open files or shared memory
// grow after the first quarter, and where messages take SLOWER (1.5) times as long in the end. Process 0 prints what it
// has measured.
#include "tests/processes.hpp"
#include "tests/sanitized.hpp"

#include <dcgn/dcgn.hpp>

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

constexpr int most_bytes = 1 << 18, rounds = 60, slots = 2;
// Of what the system's allocator keeps; a sanitizer's keeps what is given back, too.
constexpr double most_growth_mib = dcgn::test::sanitized ? 400 : 16;
constexpr double most_heap_growth_mib = 1;  // of what is in use
constexpr int most_more_threads = 2;        // that begin when they are needed, or are about to end
constexpr int most_measurements = 60;       // a second apart
constexpr int most_small = 4096;
constexpr int patience = 20;            // a measurement ends when so many trials have not been better,
constexpr double most_measuring_s = 5;  // or after so long

// ---- What each rank does in each round: the same in all ranks, drawn from the seed.

enum class Kind { sendrecv, nonblocking, synchronous, buffered, probed, collective, count };

DCGN_HOST_DEVICE inline std::uint32_t draw(std::uint32_t seed, std::uint32_t round, std::uint32_t what) {
  std::uint32_t x = seed * 2654435761u + round * 2246822519u + what * 3266489917u;
  x = (x ^ x >> 15) * 2246822519u;
  x = (x ^ x >> 13) * 3266489917u;
  return x ^ x >> 16;
}

struct Round {
  Kind kind;
  int to, from, tag;
  int sent, comes;  // bytes

  DCGN_HOST_DEVICE Round(std::uint32_t seed, int round, int rank, int size)
      : kind(static_cast<Kind>(draw(seed, static_cast<std::uint32_t>(round), 0) %
                               static_cast<std::uint32_t>(Kind::count))),
        tag(round) {
    const int shift =
        1 + static_cast<int>(draw(seed, static_cast<std::uint32_t>(round), 1) % static_cast<std::uint32_t>(size - 1));
    to = (rank + shift) % size;
    from = (rank + size - shift) % size;
    sent = bytes_of(seed, rank);
    comes = bytes_of(seed, from);
  }
  DCGN_HOST_DEVICE int bytes_of(std::uint32_t seed, int sender) const {
    const std::uint32_t x = draw(seed, static_cast<std::uint32_t>(tag), 100 + static_cast<std::uint32_t>(sender));
    const int most = kind == Kind::buffered ? most_small : most_bytes;
    const int bytes = static_cast<int>(x % static_cast<std::uint32_t>(most)) >> (x >> 20) % 18;  // few are long
    return bytes;
  }
};

DCGN_HOST_DEVICE inline unsigned char content(int sender, int tag, int i) {
  return static_cast<unsigned char>(31 * sender + 7 * tag + i % 251);
}

// ---- Slots

struct Kernel {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, unsigned char* memory, int* wrong,
                                   std::uint32_t seed) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const auto block = dcgn::gpu::this_block(ctx);
    unsigned char *out = memory + std::size_t{2} * ctx.block_rank() * most_bytes, *in = out + most_bytes;
    const int thread = static_cast<int>(ctx.thread_rank()), threads = static_cast<int>(ctx.num_threads());
    for (int round = 0; round < rounds; ++round) {
      const Round r(seed, round, me.rank(), me.size());
      int bad = 0;
      if (r.kind == Kind::collective) {
        int* const sum = ctx.shared<int>();
        if (thread == 0) *sum = me.rank();
        block.sync();
        me.all_reduce(block, *sum, dcgn::Sum{});
        bad += *sum != me.size() * (me.size() - 1) / 2;
        block.sync();
      } else {
        for (int i = thread; i < r.sent; i += threads) out[i] = content(me.rank(), round, i);
        block.sync();
        const dcgn::Status s = exchange(block, me, r, out, in);
        bad += s.code != dcgn::Code::ok || s.bytes != r.comes || s.source != r.from;
        for (int i = thread; i < r.comes; i += threads) bad += in[i] != content(r.from, round, i);
        block.sync();
      }
      if (bad) dcgn::fetch_add(wrong[ctx.block_rank()], bad);
    }
    me.finish(block);  // the other slot may wait for somebody who waits for what this one has buffered
  }

  template <class Scope>
  DCGN_HOST_DEVICE static dcgn::Status exchange(const Scope& scope, const dcgn::gpu::Slot& me, const Round& r,
                                                const unsigned char* out, unsigned char* in) {
    dcgn::Status status;
    dcgn::Request request;
    switch (r.kind) {
      case Kind::nonblocking:
        request = me.irecv_bytes(scope, in, most_bytes, r.from, r.tag);
        me.wait(scope, me.isend_bytes(scope, out, r.sent, r.to, r.tag));
        return me.wait(scope, request);
      case Kind::synchronous:
        request = me.irecv_bytes(scope, in, most_bytes, dcgn::any_source, r.tag);
        me.ssend_bytes(scope, out, r.sent, r.to, r.tag);
        return me.wait(scope, request);
      case Kind::buffered:
        me.bsend_bytes(scope, out, r.sent, r.to, r.tag);
        return me.recv_bytes(scope, in, most_bytes, r.from, r.tag);
      case Kind::probed:
        request = me.isend_bytes(scope, out, r.sent, r.to, r.tag);
        status = me.probe(scope, dcgn::any_source, r.tag);
        status = me.recv_bytes(scope, in, status.bytes, status.source, r.tag);
        me.wait(scope, request);
        return status;
      case Kind::sendrecv:
      case Kind::collective:
      case Kind::count: break;
    }
    return me.sendrecv_bytes(scope, out, r.sent, r.to, r.tag, in, most_bytes, r.from, r.tag);
  }
};

// ---- CPU ranks

void exchange(dcgn::Comm& comm, const Round& r, const unsigned char* out, unsigned char* in, dcgn::Status& status) {
  dcgn::Request request;
  switch (r.kind) {
    case Kind::nonblocking:
      request = comm.irecv_bytes(in, most_bytes, r.from, r.tag);
      comm.wait(comm.isend_bytes(out, r.sent, r.to, r.tag));
      status = comm.wait(request);
      return;
    case Kind::synchronous:
      request = comm.irecv_bytes(in, most_bytes, dcgn::any_source, r.tag);
      comm.ssend_bytes(out, r.sent, r.to, r.tag);
      status = comm.wait(request);
      return;
    case Kind::buffered:
      comm.bsend_bytes(out, r.sent, r.to, r.tag);
      status = comm.recv_bytes(in, most_bytes, r.from, r.tag);
      return;
    case Kind::probed:
      request = comm.isend_bytes(out, r.sent, r.to, r.tag);
      status = comm.probe(dcgn::any_source, r.tag);
      status = comm.recv_bytes(in, status.bytes, status.source, r.tag);
      comm.wait(request);
      return;
    case Kind::sendrecv:
    case Kind::collective:
    case Kind::count: break;
  }
  status = comm.sendrecv_bytes(out, r.sent, r.to, r.tag, in, most_bytes, r.from, r.tag);
}

void run_rank(dcgn::Comm& comm, std::uint32_t seed) {
  std::vector<unsigned char> out(most_bytes), in(most_bytes);
  const auto expect = [&](bool good, int round, const std::string& what) {
    if (!good)
      throw std::runtime_error("seed " + std::to_string(seed) + ", round " + std::to_string(round) + ": " + what);
  };
  for (int round = 0; round < rounds; ++round) {
    const Round r(seed, round, comm.rank(), comm.size());
    if (r.kind == Kind::collective) {
      int sum = comm.rank();
      comm.all_reduce(sum, dcgn::Sum{});
      expect(sum == comm.size() * (comm.size() - 1) / 2, round, "the sum is " + std::to_string(sum));
      continue;
    }
    for (int i = 0; i < r.sent; ++i) out[static_cast<std::size_t>(i)] = content(comm.rank(), round, i);
    dcgn::Status s;
    exchange(comm, r, out.data(), in.data(), s);
    expect(s.bytes == r.comes && s.source == r.from, round,
           std::to_string(s.bytes) + " bytes from rank " + std::to_string(s.source) + ", expected " +
               std::to_string(r.comes) + " from " + std::to_string(r.from));
    for (int i = 0; i < r.comes; ++i)
      expect(in[static_cast<std::size_t>(i)] == content(r.from, round, i), round,
             "byte " + std::to_string(i) + " of those from rank " + std::to_string(r.from));
  }
}

dcgn::Config config_of(bool small_rings) {
  dcgn::Config config;
  config.nodes = {{.cpus = 2, .gpus = 1, .slots = slots}};
  // As little as there may be, so that rings wrap, and are full, all the time.
  if (small_rings) config.lane_bytes = 256;
  return config;
}

void run_job(std::uint32_t seed, bool small_rings) {
  std::optional<dcgn::DeviceBuffer<unsigned char>> memory;  // that go after the job
  std::optional<dcgn::DeviceBuffer<int>> wrong;
  dcgn::Job job(config_of(small_rings));
  const dcgn::Device device = job.world().device(0);  // each process's own
  memory.emplace(device, std::size_t{2} * slots * most_bytes);
  wrong.emplace(device, slots);
  std::vector<int> counts(slots);
  wrong->upload(counts.data());
  job.cpu([&](dcgn::Comm& comm) { run_rank(comm, seed); });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32, .shared_bytes = sizeof(int)}, Kernel{}, memory->data(),
          wrong->data(), seed);
  job.run();
  wrong->download(counts.data());
  for (const int count : counts)
    if (count)
      throw std::runtime_error("seed " + std::to_string(seed) + ": a slot saw " + std::to_string(count) + " wrong");
}

// ---- Many jobs, many communicators

void run_small_job() {
  dcgn::Job job({.nodes = {{.cpus = 1}}});
  job.cpu([](dcgn::Comm& comm) { comm.barrier(); });
  job.run();
}

void make_communicators(int count) {
  constexpr int most_at_once = 255;
  dcgn::Job job({.nodes = {{.cpus = 2}}});
  job.cpu([&](dcgn::Comm& comm) {
    const auto check = [&](dcgn::Comm& made) {
      int sum = made.rank();
      made.all_reduce(sum, dcgn::Sum{});
      if (sum != made.size() * (made.size() - 1) / 2) throw std::runtime_error("a communicator's sum is wrong");
    };
    for (int i = 0; i < count; ++i) {
      dcgn::Comm made = i % 2 ? comm.dup() : comm.split(comm.rank() % 2, -comm.rank());
      check(made);
    }
    std::vector<dcgn::Comm> kept;
    kept.reserve(most_at_once);
    for (int i = 0; i < most_at_once; ++i) kept.push_back(comm.dup());
    for (dcgn::Comm& made : kept) check(made);
    bool refused = false;
    try {
      comm.dup();
    } catch (const dcgn::Error& error) {
      refused = error.code() == dcgn::Code::out_of_resources;
    }
    if (!refused) throw std::runtime_error("more than 255 communicators at once; expected out_of_resources");
    kept.clear();
    comm.barrier();
    dcgn::Comm again = comm.dup();
    check(again);
  });
  job.run();
}

// ---- What is watched

struct Held {
  double rss_mib = 0, heap_mib = 0;  // of the process; of the allocator, what is in use
  long files = 0, threads = 0, mappings = 0;
};

Held held() {
  Held h;
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  h.rss_mib = static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / (1 << 20);
  h.heap_mib = static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd) / (1 << 20);
  const auto count = [](const char* folder) {
    return static_cast<long>(std::distance(std::filesystem::directory_iterator(folder), {}));
  };
  h.files = count("/proc/self/fd");
  h.threads = count("/proc/self/task");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) h.mappings += line.find("memfd:") != std::string::npos;
  return h;
}

// The best of what was measured.
struct Speed {
  double cpu_us = 1e9, slot_us = 1e9;  // half a round trip of 8 bytes
  double rate = 0;                     // of 1 MiB between CPU ranks, 10^9 bytes a second

  // Whether something in `s` is better by more than a hundredth.
  bool take(const Speed& s) {
    const bool better = s.cpu_us < 0.99 * cpu_us || s.slot_us < 0.99 * slot_us || s.rate > 1.01 * rate;
    *this = {std::min(cpu_us, s.cpu_us), std::min(slot_us, s.slot_us), std::max(rate, s.rate)};
    return better;
  }
};

struct PingPong {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, int trips,
                                   std::uint64_t* took) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    if (me.rank() > 1 || ctx.thread_rank()) return;
    const auto self = dcgn::gpu::this_thread();
    std::uint64_t ball = 0, begin = 0;
    const int other = 1 - me.rank();
    for (const int count : {10, trips}) {
      begin = dcgn::now_ns();
      for (int i = 0; i < count; ++i) {
        if (me.rank() == 0) me.send(self, ball, other);
        me.recv(self, ball, other);
        if (me.rank() == 1) me.send(self, ball, other);
      }
    }
    *took = dcgn::now_ns() - begin;
  }
};

constexpr int round_trips = 300;

// Between the first CPU ranks of the first two processes.
void time_ranks(Speed& s) {
  constexpr int long_ones = 20, long_bytes = 1 << 20;
  dcgn::Job job({.nodes = {{.cpus = 1}}});
  job.cpu([&](dcgn::Comm& comm) {
    std::vector<unsigned char> data(long_bytes);
    comm.barrier();
    const auto go = [&](int count, std::int64_t bytes) {
      const auto begin = Clock::now();
      for (int i = 0; i < count && comm.rank() < 2; ++i) {
        if (comm.rank() == 0) comm.send_bytes(data.data(), bytes, 1);
        comm.recv_bytes(data.data(), bytes, 1 - comm.rank());
        if (comm.rank() == 1) comm.send_bytes(data.data(), bytes, 0);
      }
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    go(10, long_bytes);
    s.cpu_us = go(round_trips, 8) / (2 * round_trips) * 1e6;
    s.rate = 2.0 * long_ones * long_bytes / go(long_ones, long_bytes) / 1e9;
    comm.barrier();
  });
  job.run();
}

// Between their first slots; process 0 hears of it.
void time_slots(Speed& s) {
  dcgn::Job job({.nodes = {{.gpus = 1, .slots = 1}}});
  const dcgn::Device device = job.world().device(0);
  auto* const took = static_cast<std::uint64_t*>(device.allocate_host(sizeof(std::uint64_t)));
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32}, PingPong{}, round_trips, took);
  job.run();
  s.slot_us = static_cast<double>(*took) / 1e3 / (2 * round_trips);
  device.free_host(took);
}

// What process 0 says, in all.
bool agree(bool mine) {
  int all = mine;
  dcgn::Job job({.nodes = {{.cpus = 1}}});
  job.cpu([&](dcgn::Comm& comm) {
    std::vector<int> word{all};
    comm.broadcast(word, 0);
    all = word[0];
  });
  job.run();
  return all != 0;
}

Speed measure(bool tells) {
  Speed best;
  int idle = 0;
  const auto begin = Clock::now();
  while (agree(idle < patience && seconds_since(begin) < most_measuring_s)) {
    Speed s;
    time_ranks(s);
    time_slots(s);
    idle = !tells || best.take(s) ? 0 : idle + 1;
  }
  return best;
}

void soak(double seconds, int jobs, std::uint32_t seed, double most_slower, bool tells) {
  run_job(seed, true);
  run_job(seed, false);
  run_small_job();
  make_communicators(2);
  const Speed before = measure(tells);
  const auto begin = Clock::now();
  std::optional<Held> first;
  std::uint32_t cycles = 0;
  while (agree(seconds_since(begin) < seconds)) {
    ++cycles;
    run_job(seed + cycles, cycles % 2 == 0);
    if (!first && agree(seconds_since(begin) > seconds / 4)) first = held();
  }
  if (!first) first = held();
  const Held after_messages = held();
  for (int i = 0; i < jobs; ++i) run_small_job();
  const Held after_jobs = held();
  make_communicators(jobs);
  const Held last = held();
  Speed after = measure(tells);
  const auto slower = [&] {
    return after.cpu_us > most_slower * before.cpu_us || after.slot_us > most_slower * before.slot_us ||
           most_slower * after.rate < before.rate;
  };
  // While other programs have the processors nothing is told of this one.
  for (int again = 0; agree(slower() && again < most_measurements); ++again) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    after.take(measure(tells));
  }
  if (tells) {
    std::printf("seed %u: %u jobs of %d rounds, %d small jobs, %d communicators in %.0f s\n", seed, cycles, rounds,
                jobs, jobs, seconds_since(begin));
    std::printf("%-40s %9s %9s %9s %9s\n", "", "quarter", "messages", "jobs", "end");
    const auto memory = [&](const char* what, double Held::*mib) {
      std::printf("%-40s %9.3f %9.3f %9.3f %9.3f\n", what, *first.*mib, after_messages.*mib, after_jobs.*mib,
                  last.*mib);
    };
    memory("memory, MiB", &Held::rss_mib);
    memory("of these in use by the allocator", &Held::heap_mib);
    std::printf("files %ld, %ld; threads %ld, %ld; mappings %ld, %ld\n", first->files, last.files, first->threads,
                last.threads, first->mappings, last.mappings);
    const auto row = [](const char* what, double was, double is) {
      std::printf("%-40s %9.3f before, %9.3f after: %+.1f %%\n", what, was, is, 100 * (is / was - 1));
    };
    row("8 bytes between CPU ranks, us", before.cpu_us, after.cpu_us);
    row("8 bytes between slots, us", before.slot_us, after.slot_us);
    row("1 MiB between CPU ranks, GB/s", before.rate, after.rate);
  }
  const auto expect = [](bool good, const char* what) {
    if (!good) throw std::runtime_error(std::string(what) + "; expected as before");
  };
  expect(last.rss_mib < first->rss_mib + most_growth_mib, "memory has grown");
  expect(last.heap_mib < first->heap_mib + most_heap_growth_mib, "memory in use has grown");
  expect(last.files <= first->files, "files stay open");
  expect(last.threads <= first->threads + most_more_threads, "threads stay");
  expect(last.mappings <= first->mappings, "shared memory stays");
  if (tells) expect(!slower(), "messages take longer");
}

}  // namespace

int main(int argc, char** argv) {
  const int number = dcgn::test::this_process();
  const auto argument = [&](int i, double otherwise) {  // NaN where it is no number
    if (i >= argc) return otherwise;
    char* end = nullptr;
    const double value = std::strtod(argv[i], &end);
    return *argv[i] && !*end ? value : std::nan("");
  };
  const auto within = [](double value, double least, double most) { return value >= least && value <= most; };
  const double seconds = argument(1, 0), jobs = argument(2, 1000), seed = argument(3, 1);
  const double most_slower = argument(4, 1.5);  // of a machine that others use, too
  if (!within(seconds, 0.1, 1e7) || !within(jobs, 1, 1e6) || !within(seed, 0, 4e9) || !within(most_slower, 1.01, 100) ||
      argc > 5 || dcgn::test::processes() < 2) {
    std::fprintf(stderr,
                 "usage: process_soak SECONDS [JOBS [SEED [SLOWER]]], in two processes or more (mpirun, torchrun or "
                 "core/tests/process/launch.sh); SECONDS 0.1 to 1e7, JOBS 1 to 1e6, SEED from 0, SLOWER 1.01 to 100\n");
    return 2;
  }
  try {
    soak(seconds, static_cast<int>(jobs), static_cast<std::uint32_t>(seed), most_slower, number == 0);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "process %d: %s\n", number, e.what());
    return 1;
  }
}
