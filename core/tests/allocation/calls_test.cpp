// Which calls of a CPU rank take memory from the allocator: docs/guide/errors.md says so, and this counts.
#include <dcgn/job.hpp>
#include <dcgn/operation.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {
thread_local long allocations = 0;  // of this thread
}

// Those of the whole program, which count. Inlined, the compiler would see free() of what it takes for new's.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace dcgn;

constexpr int warm_ups = 20, measured = 20;
constexpr std::size_t eager = 8, offered = 1 << 20;  // bytes: what goes at once, and what is announced first

struct Buffers {
  std::vector<char> out, in;
  std::vector<int> numbers, more, of_each;
  std::vector<std::int64_t> counts, places;
  Request requests[2] = {};

  explicit Buffers(std::size_t bytes)
      : out(bytes),
        in(bytes),
        numbers(bytes / sizeof(int)),
        more(2 * numbers.size()),
        of_each(more.size()),
        counts(2, static_cast<std::int64_t>(numbers.size())),
        places{0, counts[0]} {}
};

struct Call {
  const char* name;
  std::function<void(Comm&, int other, Buffers&)> act;
};

// What rank 0 and rank 1 do alike.
const std::vector<Call>& messages() {
  static const std::vector<Call> calls = {
      {"send, recv",
       [](Comm& c, int other, Buffers& b) {
         if (other) c.send(b.out, other);
         c.recv(b.in, other);
         if (!other) c.send(b.out, other);
       }},
      {"ssend, recv",
       [](Comm& c, int other, Buffers& b) {
         if (other) c.ssend(b.out, other);
         c.recv(b.in, other);
         if (!other) c.ssend(b.out, other);
       }},
      {"isend, irecv, wait",
       [](Comm& c, int other, Buffers& b) {
         const Request in = c.irecv(b.in, other), out = c.isend(b.out, other);
         c.wait(in);
         c.wait(out);
       }},
      {"test",
       [](Comm& c, int other, Buffers& b) {
         const Request in = c.irecv(b.in, other);
         c.send(b.out, other);
         while (!c.test(in)) {
         }
       }},
      {"wait_all",
       [](Comm& c, int other, Buffers& b) {
         b.requests[0] = c.irecv(b.in, other);
         b.requests[1] = c.isend(b.out, other);
         c.wait_all(b.requests);
       }},
      {"wait_any",
       [](Comm& c, int other, Buffers& b) {
         b.requests[0] = c.irecv(b.in, other);
         b.requests[1] = c.isend(b.out, other);
         c.wait_any(b.requests);
         c.wait_any(b.requests);
       }},
      {"probe, iprobe",
       [](Comm& c, int other, Buffers& b) {
         const Request out = c.isend(b.out, other);
         while (!c.iprobe(any_source, any_tag)) {
         }
         const Status s = c.probe(other, 0);
         c.recv_bytes(b.in.data(), s.bytes, s.source, s.tag);
         c.wait(out);
       }},
      {"sendrecv", [](Comm& c, int other, Buffers& b) { c.sendrecv(b.out, other, 0, b.in, other, 0); }},
  };
  return calls;
}

// Where the memory is for what is copied out of the way.
const std::vector<Call>& short_messages() {
  static const std::vector<Call> calls = {
      {"bsend",
       [](Comm& c, int other, Buffers& b) {
         c.bsend(b.out, other);
         c.recv(b.in, other);
       }},
      {"sendrecv_replace", [](Comm& c, int other, Buffers& b) { c.sendrecv_replace(b.out, other, 0, other, 0); }},
  };
  return calls;
}

const std::vector<Call>& collectives() {
  static const std::vector<Call> calls = {
      {"barrier", [](Comm& c, int, Buffers&) { c.barrier(); }},
      {"broadcast", [](Comm& c, int, Buffers& b) { c.broadcast(b.out, 0); }},
      {"reduce", [](Comm& c, int, Buffers& b) { c.reduce(b.numbers, b.numbers, Max{}, 0); }},
      {"all_reduce", [](Comm& c, int, Buffers& b) { c.all_reduce(b.numbers, Max{}); }},
      {"gather", [](Comm& c, int, Buffers& b) { c.gather(b.numbers, b.more, 0); }},
      {"all_gather", [](Comm& c, int, Buffers& b) { c.all_gather(b.numbers, b.more); }},
      {"scatter", [](Comm& c, int, Buffers& b) { c.scatter(b.more, b.numbers, 0); }},
      {"all_to_all", [](Comm& c, int, Buffers& b) { c.all_to_all(b.out, b.in); }},
      {"scan", [](Comm& c, int, Buffers& b) { c.scan(b.numbers, b.numbers, Max{}); }},
      {"exclusive_scan", [](Comm& c, int, Buffers& b) { c.exclusive_scan(b.numbers, b.numbers, Max{}); }},
      {"reduce_scatter", [](Comm& c, int, Buffers& b) { c.reduce_scatter(b.more, b.numbers, Max{}); }},
      {"reduce_scatterv", [](Comm& c, int, Buffers& b) { c.reduce_scatterv(b.more, b.counts, b.numbers, Max{}); }},
      {"gatherv", [](Comm& c, int, Buffers& b) { c.gatherv(b.numbers, b.more, b.counts, b.places, 0); }},
      {"all_gatherv", [](Comm& c, int, Buffers& b) { c.all_gatherv(b.numbers, b.more, b.counts, b.places); }},
      {"scatterv", [](Comm& c, int, Buffers& b) { c.scatterv(b.more, b.counts, b.places, b.numbers, 0); }},
      {"all_to_allv",
       [](Comm& c, int, Buffers& b) { c.all_to_allv(b.more, b.counts, b.places, b.of_each, b.counts, b.places); }},
  };
  return calls;
}

// How often each rank's thread has taken memory in `measured` calls of each, by name: those that did at all.
std::vector<std::pair<std::string, long>> counted(const std::vector<Call>& calls, std::size_t bytes) {
  std::vector<std::pair<std::string, long>> found;
  std::mutex mutex;
  Job job({.nodes = {{.cpus = 2}}});
  job.cpu([&](Comm& comm) {
    const int other = 1 - comm.rank();
    Buffers buffers(bytes);
    for (const Call& call : calls) {
      for (int i = 0; i < warm_ups; ++i) call.act(comm, other, buffers);
      const long before = allocations;
      for (int i = 0; i < measured; ++i) call.act(comm, other, buffers);
      const long taken = allocations - before;
      const std::lock_guard lock(mutex);
      if (taken) found.emplace_back(std::string(call.name) + " of rank " + std::to_string(comm.rank()), taken);
    }
  });
  job.run();
  return found;
}

void expect_none(const std::vector<Call>& calls, std::size_t bytes) {
  for (const auto& [name, taken] : counted(calls, bytes))
    ADD_FAILURE() << name << " of " << bytes << " bytes took memory " << taken << " times in " << measured << " calls";
}

TEST(Calls, OfMessagesTakeNone) {
  expect_none(messages(), eager);
  expect_none(messages(), offered);
  expect_none(short_messages(), eager);
}

TEST(Calls, OfCollectivesTakeNone) {
  expect_none(collectives(), eager);
  expect_none(collectives(), offered);
}

// Else the counts above would say nothing.
TEST(Calls, OfBegunCollectivesTakeSome) {
  const auto found = counted({{"ibarrier", [](Comm& c, int, Buffers&) { c.wait(c.ibarrier()); }}}, eager);
  EXPECT_EQ(found.size(), 2u) << "a begun collective keeps what it needs in memory of its own";
}

}  // namespace
