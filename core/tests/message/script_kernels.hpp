// Scripts: a test's messages written once and run by CPU ranks and by slots, on every link and in every scope.
//
//   struct Ping {
//     DCGN_TEST_ON_PORT
//     template <class Port>
//     DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
//       if (m.role == 0) me.send(m.bytes, 8, m.rank_of(1), 5);
//       else m.note(me, 0, me.recv(m.bytes, 8, m.rank_of(0), 5));
//     }
//   };
//   const Outcome seen = run_script(setup, Ping{});
#pragma once

#include "port_kernels.hpp"
#include "tests/processes.hpp"
#include "tests/sanitized.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/device.hpp>
#include <dcgn/error.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#if defined(__CUDACC__)
// A script for CPU ranks is instantiated for the host alone, whatever its operator is marked.
#pragma nv_diag_suppress 20011, 20014
#endif

namespace dcgn::test {

DCGN_HOST_DEVICE inline unsigned char pattern(std::int64_t seed, std::int64_t i) {
  return static_cast<unsigned char>((seed * 2654435761u + static_cast<std::uint64_t>(i) * 40503u) >> 7);
}

// What a rank's script works with.
struct Memory {
  static constexpr int most_values = 256;
  static constexpr int most_requests = 256;

  int role = 0;
  int roles = 0;
  bool swapped = false;  // of two ranks, rank 0 has role 1
  unsigned char* bytes = nullptr;
  std::int64_t size = 0;
  std::int64_t* values = nullptr;  // [most_values], what the script found, for the test
  Request* requests = nullptr;     // [most_requests]
  Status* statuses = nullptr;      // [most_requests]

  DCGN_HOST_DEVICE int rank_of(int its_role) const { return swapped ? 1 - its_role : its_role; }

  // Remembered by the scope's leader.
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void note(const Port& me, int at, std::int64_t value) const {
    if (me.leader()) values[at] = value;
  }
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void note(const Port& me, int at, Code code) const {
    note(me, at, static_cast<std::int64_t>(code));
  }
  // Source (as a role), tag, bytes and code, in four values.
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void note(const Port& me, int at, const Status& s) const {
    note(me, at, s.source < 0 ? s.source : rank_of(s.source));
    note(me, at + 1, s.tag);
    note(me, at + 2, s.bytes);
    note(me, at + 3, s.code);
  }
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void add(const Port& me, int at, std::int64_t value) const {
    if (me.leader() && value) fetch_add(values[at], value);
  }
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void keep(const Port& me, int at, const Request& request) const {
    if (me.leader()) requests[at] = request;
    me.sync();
  }
  // Bytes that depend on `seed`; all threads of the scope write, and count, together.
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void fill(const Port& me, std::int64_t offset, std::int64_t count, std::int64_t seed) const {
    for (std::int64_t i = me.thread(); i < count; i += me.threads()) bytes[offset + i] = pattern(seed, i);
    me.sync();
  }
  // Adds to a value how many bytes are not those of `seed` from its byte `first` on.
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void count_wrong(const Port& me, int at, std::int64_t offset, std::int64_t count, std::int64_t seed,
                                    std::int64_t first = 0) const {
    std::int64_t wrong = 0;
    for (std::int64_t i = me.thread(); i < count; i += me.threads())
      wrong += bytes[offset + i] != pattern(seed, first + i);
    if (wrong) fetch_add(values[at], wrong);
    me.sync();
  }
};

template <class Script>
struct RunScript {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, Script script, const Memory* memories,
                                   ScopeKind scope, unsigned blocks) const {
    const unsigned index = context.block_rank() / blocks;
    const gpu::Slot slot = comm.slot(index);
    with_port(context, slot, blocks, scope, Body{script, memories[index]});
  }
  struct Body {
    const Script& script;
    const Memory& memory;
    DCGN_TEST_ON_PORT
    template <class Port>
    DCGN_HOST_DEVICE void operator()(const Port& port) const {
      script(port, memory);
    }
  };
};

struct Conditions {
  std::string name;
  Config config;
  ScopeKind scope = ScopeKind::block;
  unsigned block = 64;
  unsigned blocks = 1;  // of each slot, for ScopeKind::blocks
  bool swapped = false;
  std::int64_t bytes = 1 << 18;  // of each rank's memory
};

// What the ranks had at the end, by role.
struct Outcome {
  struct Rank {
    std::vector<unsigned char> bytes;
    std::vector<std::int64_t> values;
  };
  std::vector<Rank> roles;
  Report report;
  Code code = Code::ok;  // of the error that stopped the job
  std::string error;
};

// A value of the outcome that is a code.
inline Code code_at(const Outcome& o, int role, int at) {
  return static_cast<Code>(o.roles[static_cast<std::size_t>(role)].values[static_cast<std::size_t>(at)]);
}
inline std::int64_t value_at(const Outcome& o, int role, int at) {
  return o.roles[static_cast<std::size_t>(role)].values[static_cast<std::size_t>(at)];
}
inline void expect_status(const Outcome& o, int role, int at, int source, int tag, std::int64_t bytes,
                          Code code = Code::ok) {
  EXPECT_EQ(value_at(o, role, at), source) << "source, value " << at;
  EXPECT_EQ(value_at(o, role, at + 1), tag) << "tag, value " << at;
  EXPECT_EQ(value_at(o, role, at + 2), bytes) << "bytes, value " << at;
  EXPECT_EQ(to_string(code_at(o, role, at + 3)), to_string(code)) << "code, value " << at;
}

// A rank's memory in one piece where the rank can reach it; its bytes begin as pattern(-1 - role).
class ScriptMemory {
 public:
  ScriptMemory(const Conditions& setup, int role, int roles, std::optional<Device> device)
      : device_(device), bytes_(static_cast<std::size_t>(setup.bytes)) {
    const std::size_t lines = bytes_ / sizeof(Line) + 1;
    host_.resize(lines + extra / sizeof(Line));
    unsigned char* const bytes = base(host_.data());
    for (std::int64_t i = 0; i < setup.bytes; ++i) bytes[i] = pattern(-1 - role, i);
    if (device_) {
      copy_.emplace(*device_, host_.size());
      copy_->upload(host_.data());
    }
    unsigned char* at = base(copy_ ? copy_->data() : host_.data());
    memory_ = {.role = role, .roles = roles, .swapped = setup.swapped, .bytes = at, .size = setup.bytes};
    at += lines * sizeof(Line);
    memory_.values = reinterpret_cast<std::int64_t*>(at);
    memory_.requests = reinterpret_cast<Request*>(at + values);
    memory_.statuses = reinterpret_cast<Status*>(at + values + requests);
  }
  const Memory& memory() const { return memory_; }
  Outcome::Rank outcome() {
    if (copy_) copy_->download(host_.data());
    Outcome::Rank r;
    r.bytes.assign(base(host_.data()), base(host_.data()) + bytes_);
    r.values.resize(Memory::most_values);
    std::memcpy(r.values.data(), base(host_.data()) + (bytes_ / sizeof(Line) + 1) * sizeof(Line), values);
    return r;
  }

 private:
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  static constexpr std::size_t values = Memory::most_values * sizeof(std::int64_t);
  static constexpr std::size_t requests = Memory::most_requests * 16;
  static constexpr std::size_t extra = values + requests + Memory::most_requests * sizeof(Status);
  static_assert(sizeof(Request) <= 16);
  static unsigned char* base(Line* lines) { return reinterpret_cast<unsigned char*>(lines); }

  std::optional<Device> device_;
  std::size_t bytes_;
  std::vector<Line> host_;
  std::optional<DeviceBuffer<Line>> copy_;
  Memory memory_;
};

template <class... Scripts>
void run_script_job(const Conditions& setup, std::vector<std::unique_ptr<ScriptMemory>>& memories, Outcome& outcome,
                    const Scripts&... scripts) {
  Config config = setup.config;
  config.nodes = spread(config.nodes);
  if (processes() > 1) config.seed.reset();
  Job job(config);
  std::vector<std::vector<Memory>> slots(static_cast<std::size_t>(job.world().gpus()));
  std::vector<DeviceBuffer<Memory>> images;
  int gpu = 0;
  for (int r = 0; r < job.world().size(); ++r) {
    const Place place = job.placement().place(r);
    memories.emplace_back();
    if (!job.world().is_here(r)) continue;
    std::optional<Device> device;
    if (place.is_slot()) device = job.world().device(gpu);
    const int role = setup.swapped ? 1 - r : r;
    memories.back() = std::make_unique<ScriptMemory>(setup, role, job.world().size(), device);
    if (!place.is_slot()) continue;
    slots[static_cast<std::size_t>(gpu)].push_back(memories.back()->memory());
    if (place.slot + 1 == job.placement().shape(place.node).slots) ++gpu;
  }
  job.cpu([&](Comm& comm) {
    const CpuPort port(comm);
    const Memory& memory = memories[static_cast<std::size_t>(comm.rank())]->memory();
    (scripts(port, memory), ...);
  });
  for (std::size_t g = 0; g < slots.size(); ++g) {
    images.emplace_back(job.world().device(static_cast<int>(g)), slots[g].size());
    images.back().upload(slots[g].data());
    (job.gpu_on(static_cast<int>(g),
                {.grid = static_cast<unsigned>(slots[g].size()) * setup.blocks, .block = setup.block},
                RunScript<Scripts>{}, scripts, static_cast<const Memory*>(images[g].data()), setup.scope, setup.blocks),
     ...);
  }
  try {
    outcome.report = job.run();
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.error = error.what();
  }
}

// Runs the script on every rank of the setup's job, in as many kernels one after the other as there are scripts.
template <class... Scripts>
Outcome run_script(const Conditions& setup, const Scripts&... scripts) {
  Outcome outcome;
  std::vector<std::unique_ptr<ScriptMemory>> memories;  // of the ranks of this process
  run_script_job(setup, memories, outcome, scripts...);
  std::vector<std::vector<unsigned char>> bytes;
  std::vector<std::vector<std::int64_t>> values;
  for (std::size_t role = 0; role < memories.size(); ++role) {
    const auto& memory = memories[setup.swapped ? 1 - role : role];
    Outcome::Rank here = memory ? memory->outcome() : Outcome::Rank{};
    bytes.push_back(std::move(here.bytes));
    values.push_back(std::move(here.values));
  }
  if (outcome.code == Code::ok) {
    share(bytes);
    share(values);
  }
  for (std::size_t role = 0; role < memories.size(); ++role)
    outcome.roles.push_back({std::move(bytes[role]), std::move(values[role])});
  return outcome;
}

// ---- what the tests go through

enum class Link { cpu_cpu, same_gpu, two_gpus, cpu_slot, slot_cpu };

inline std::string name_of(Link link) {
  switch (link) {
    case Link::cpu_cpu: return "CpuToCpu";
    case Link::same_gpu: return "SlotToSlotOfOneGpu";
    case Link::two_gpus: return "SlotToSlotOfTwoGpus";
    case Link::cpu_slot: return "CpuToSlot";
    case Link::slot_cpu: return "SlotToCpu";
  }
  return "?";
}

inline bool emulated() { return Device::count() == 0 || Device(0).kind() == DeviceKind::emulated; }

// Tests of two ranks, roles 0 and 1, over each link.
class OnLink : public ::testing::TestWithParam<Link> {
 protected:
  void SetUp() override {
    if (GetParam() == Link::two_gpus && Device::count() < 2) GTEST_SKIP() << "this machine has one GPU";
  }

  Conditions conditions() const {
    Conditions s;
    s.config.deadline_s = 20 * fewer;
    switch (GetParam()) {
      case Link::cpu_cpu: s.config.nodes = {{.cpus = 2}}; break;
      case Link::same_gpu: s.config.nodes = {{.gpus = 1, .slots = 2}}; break;
      case Link::two_gpus: s.config.nodes = {{.gpus = 2, .slots = 1}}; break;
      case Link::cpu_slot:
      case Link::slot_cpu: s.config.nodes = {{.cpus = 1, .gpus = 1, .slots = 1}}; break;
    }
    s.swapped = GetParam() == Link::slot_cpu;
    return s;
  }

  // Calls test(conditions) for each scope, with and without direct reading, and once in deterministic mode.
  template <class Test>
  void in_all_ways(const Test& test) const {
    std::vector<ScopeKind> scopes = {ScopeKind::thread, ScopeKind::warp, ScopeKind::block, ScopeKind::blocks};
    if (GetParam() == Link::cpu_cpu) scopes.resize(1);
    for (const ScopeKind scope : scopes)
      for (const bool direct : {true, false})
        for (const bool scheduled : {false, true}) {
          if (scheduled && !emulated()) continue;
          // Two scopes of four on each link, and every scope on some.
          if (sanitized && scopes.size() > 1 && (static_cast<int>(scope) + static_cast<int>(GetParam())) % 2) continue;
          if (sanitized && direct == scheduled) continue;  // half of them: each of the two, each way to run
          Conditions s = conditions();
          s.scope = scope;
          s.block = scope == ScopeKind::warp ? 33 : sanitized ? 40 : 64;
          if (scope == ScopeKind::blocks) s.blocks = 3;
          s.config.direct = direct;
          if (scheduled) s.config.seed = 7;
          s.name = std::string(to_string(scope)) + " scope, " + (direct ? "direct" : "staged") +
                   (scheduled ? ", deterministic" : "");
          SCOPED_TRACE(s.name);
          test(s);
        }
  }
};

#define DCGN_TEST_ON_ALL_LINKS(suite)                                                                               \
  INSTANTIATE_TEST_SUITE_P(                                                                                         \
      All, suite, ::testing::Values(Link::cpu_cpu, Link::same_gpu, Link::two_gpus, Link::cpu_slot, Link::slot_cpu), \
      [](const auto& link) { return name_of(link.param); })

// A job of ranks of every kind: 2 CPU ranks, and 2 slots on each of at most 2 GPUs.
inline Conditions mixed_conditions() {
  Conditions s;
  s.config.deadline_s = 20 * fewer;
  s.config.nodes = {{.cpus = 2, .gpus = std::min(2, Device::count()), .slots = 2}};
  return s;
}

}  // namespace dcgn::test
