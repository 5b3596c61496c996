// CPU ranks that send and receive what is in a GPU's memory, of any size at any address.
#include "script_kernels.hpp"

#include <dcgn/gpu/launch.hpp>

#include <cstring>

namespace dcgn::test {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::int64_t longest = (1 << 20) + 3;
constexpr std::int64_t margin = 64;

// Memory that a CPU rank's calls are given: the host's or a GPU's.
class Buffer {
 public:
  // device -1: the host's.
  explicit Buffer(int device) : host_(static_cast<std::size_t>(longest + 2 * margin)), device_(device) {
    if (device_ >= 0) on_device_.emplace(Device(device_), host_.size());
  }
  unsigned char* data() { return (on_device_ ? on_device_->data() : host_.data()) + margin; }
  // Sets or gets `count` bytes from `offset` on, by other means than a message.
  void put(const Bytes& bytes, std::int64_t offset) { copy(data() + offset, bytes.data(), bytes.size()); }
  Bytes get(std::int64_t offset, std::int64_t count) {
    Bytes bytes(static_cast<std::size_t>(count));
    copy(bytes.data(), data() + offset, bytes.size());
    return bytes;
  }
  std::string name() const { return device_ < 0 ? "host" : "device " + std::to_string(device_); }

 private:
  void copy(void* to, const void* from, std::size_t bytes) const {
    if (bytes == 0) return;  // an empty vector has no data()
    if (device_ < 0)
      std::memcpy(to, from, bytes);
    else
      Device(device_).copy(to, from, bytes);
  }

  Bytes host_;
  int device_;
  std::optional<DeviceBuffer<unsigned char>> on_device_;
};

Bytes bytes_of(std::int64_t seed, std::int64_t count) {
  Bytes bytes(static_cast<std::size_t>(count));
  unsigned char* const at = bytes.data();
  for (std::int64_t i = 0; i < count; ++i) at[i] = pattern(seed, i);
  return bytes;
}

// One message in a rank's buffer: written there before it is sent, or held against what must have come, with what lies
// around it.
class Piece {
 public:
  Piece(Buffer& buffer, std::int64_t offset, std::int64_t count) : buffer_(buffer), offset_(offset), count_(count) {}
  unsigned char* data() const { return buffer_.data() + offset_; }
  void fill(std::int64_t seed) const { buffer_.put(bytes_of(seed, count_), offset_); }
  void clear() const { buffer_.put(Bytes(static_cast<std::size_t>(count_ + 32), 0xee), offset_ - 16); }
  void expect(std::int64_t seed, std::int64_t received) const {
    Bytes expected(static_cast<std::size_t>(count_ + 32), 0xee);
    const Bytes message = bytes_of(seed, received);
    std::copy(message.begin(), message.end(), expected.begin() + 16);
    EXPECT_TRUE(buffer_.get(offset_ - 16, count_ + 32) == expected);
  }
  void expect(std::int64_t seed) const { expect(seed, count_); }

 private:
  Buffer& buffer_;
  std::int64_t offset_, count_;
};

// The host and two devices at most, twice for each rank: to send from and to receive into.
struct Buffers {
  Buffers() {
    for (int d = -1; d < std::min(Device::count(), 2); ++d) {
      out.push_back(std::make_unique<Buffer>(d));
      in.push_back(std::make_unique<Buffer>(d));
    }
  }
  std::vector<std::unique_ptr<Buffer>> out, in;
};

// The longest take as long as all others together: one in four of them, and under a sanitizer a few of all.
bool skips(int turn, std::int64_t bytes) { return turn % (sanitized ? 11 : bytes > 1 << 17 ? 8 : 1) != 0; }

constexpr std::int64_t all_sizes[] = {0, 1, 5, 8, 9, 100, 511, 513, 5000, 70001, sanitized ? 1 << 18 : longest - 100};

// The other rank makes the same calls. `from` is what this rank sends from, `into` what it receives into.
void converse(Comm& me, Buffer& from, Buffer& into, std::int64_t bytes, int turn) {
  const int self = me.rank(), other = 1 - self;
  const std::int64_t mine = 10 * turn + self, theirs = 10 * turn + other;
  const Piece out(from, 16 + turn % 7, bytes), in(into, 16 + turn % 5, bytes);
  const auto prepare = [&] {
    out.fill(mine);
    in.clear();
  };
  const auto expect_status = [&](const Status& s, int tag) {
    EXPECT_EQ(s.source, other);
    EXPECT_EQ(s.tag, tag);
    EXPECT_EQ(s.bytes, bytes);
  };
  // One after the other.
  prepare();
  for (const int sender : {0, 1})
    if (self == sender)
      me.send_bytes(out.data(), bytes, other, 1);
    else
      expect_status(me.recv_bytes(in.data(), bytes, other, 1), 1);
  in.expect(theirs);
  prepare();
  for (const int sender : {0, 1})
    if (self == sender)
      me.ssend_bytes(out.data(), bytes, other, 2);
    else
      expect_status(me.recv_bytes(in.data(), bytes, any_source, any_tag), 2);
  in.expect(theirs);
  // At once.
  prepare();
  me.bsend_bytes(out.data(), bytes, other, 3);
  out.fill(0);  // it has been copied
  me.probe(other, 3);
  expect_status(me.recv_bytes(in.data(), bytes, other, 3), 3);
  in.expect(theirs);
  prepare();
  const Request receive = me.irecv_bytes(in.data(), bytes, any_source, 4);
  const Request send = me.isend_bytes(out.data(), bytes, other, 4);
  expect_status(me.wait(receive), 4);
  me.wait(send);
  in.expect(theirs);
  prepare();
  me.sendrecv_bytes(out.data(), bytes, other, 5, in.data(), bytes, other, 5);
  in.expect(theirs);
  in.clear();
  in.fill(mine);
  me.sendrecv_replace_bytes(in.data(), bytes, other, 6, other, 6);
  in.expect(theirs);
  if (bytes == 0) return;
  // Too long.
  const Piece part(into, 16, bytes - 1);
  out.fill(mine);
  part.clear();
  const Request sent = me.isend_bytes(out.data(), bytes, other, 7);
  try {
    me.recv_bytes(part.data(), bytes - 1, other, 7);
    ADD_FAILURE() << "not said to be truncated";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::truncated) << error.what();
  }
  me.wait(sent);
  part.expect(theirs);
  // To itself.
  in.clear();
  const Request own = me.isend_bytes(out.data(), bytes, self, 8);
  me.recv_bytes(in.data(), bytes, self, 8);
  me.wait(own);
  in.expect(mine);
}

struct Nothing {
  DCGN_HOST_DEVICE void operator()(gpu::Context&, gpu::Comm) const {}
};

struct Way {
  std::string name;
  std::optional<std::uint64_t> engine;
  bool p2p = true, direct = true;
  bool between_cpus = false;  // with GPUs that have no slots
};
std::vector<Way> ways() {
  // Emulated GPUs have engines where the setting is a number.
  return {{"engine", emulated() ? std::optional<std::uint64_t>(100) : std::nullopt},
          {"engine from 0 bytes on", 0},
          {"no p2p", 5000, false},
          {"not direct", std::nullopt, true, false},
          {"no engine", Config::never_copied}};
}
std::vector<Way> ways_between_cpus() {
  std::vector<Way> all = ways();
  all.push_back({"no slots", all.front().engine, true, true, true});
  all.push_back({"no slots, no engine", Config::never_copied, true, true, true});
  return all;
}

Config config_of(const Way& way, int slots) {
  Config config;
  config.nodes = {{.cpus = 2, .gpus = std::min(2, Device::count()), .slots = way.between_cpus ? 0 : slots}};
  config.copy_engine_bytes = way.engine;
  config.p2p = way.p2p;
  config.direct = way.direct;
  config.deadline_s = 20 * fewer;
  return config;
}

TEST(DeviceBuffers, BetweenCpuRanks) {
  Buffers own[2];
  for (const Way& way : ways_between_cpus())
    for (const bool scheduled : {false, true}) {
      if (scheduled && !emulated()) continue;
      SCOPED_TRACE(way.name + (scheduled ? ", deterministic" : ""));
      Config config = config_of(way, 1);
      if (scheduled) config.seed = 11;
      Job job(config);
      job.cpu([&](Comm& me) {
        int turn = 0;
        Buffers& mine = own[me.rank()];
        for (const std::int64_t bytes : all_sizes)
          for (std::size_t a = 0; a < mine.out.size(); ++a)
            for (std::size_t b = 0; b < mine.in.size(); ++b, ++turn) {
              if (skips(turn, bytes)) continue;
              // Each rank sends from its own kind of memory to the other's.
              Buffer& from = *mine.out[me.rank() == 0 ? a : b];
              Buffer& into = *mine.in[me.rank() == 0 ? a : b];
              SCOPED_TRACE(std::to_string(bytes) + " bytes, from " + from.name() + " into " + into.name());
              converse(me, from, into, bytes, turn);
            }
      });
      job.gpu({.grid = 1, .block = 32}, Nothing{});
      job.run();
    }
}

// More than may be under way, in both directions at once.
TEST(DeviceBuffers, InWindows) {
  constexpr int window = 40;
  constexpr std::int64_t bytes = 20001;
  Buffers own[2];
  for (const Way& way : ways_between_cpus()) {
    SCOPED_TRACE(way.name);
    Job job(config_of(way, 1));
    job.cpu([&](Comm& me) {
      const int other = 1 - me.rank();
      Buffers& mine = own[me.rank()];
      for (std::size_t a = 0; a < mine.out.size(); ++a) {
        Buffer& from = *mine.out[a];
        Buffer& into = *mine.in[(a + 1) % mine.in.size()];
        std::vector<Request> requests;
        for (int i = 0; i < window; ++i) {
          const std::int64_t at = 16 + i * (bytes + 33);
          Piece(from, at, bytes).fill(10 * i + me.rank());
          Piece(into, at, bytes).clear();
          requests.push_back(me.irecv_bytes(into.data() + at, bytes, other, i));
        }
        for (int i = 0; i < window; ++i)
          requests.push_back(me.isend_bytes(from.data() + 16 + i * (bytes + 33), bytes, other, i));
        me.wait_all(requests);
        for (int i = 0; i < window; ++i) Piece(into, 16 + i * (bytes + 33), bytes).expect(10 * i + other);
      }
    });
    job.gpu({.grid = 1, .block = 32}, Nothing{});
    job.run();
  }
}

// Sends back what comes until the tag says that it was the last.
struct Echo {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, unsigned char* memory,
                                   ScopeKind scope) const {
    const gpu::Slot slot = comm.slot(0);
    with_port(context, slot, 1, scope, Body{memory});
  }
  struct Body {
    unsigned char* memory;
    DCGN_TEST_ON_PORT
    template <class Port>
    DCGN_HOST_DEVICE void operator()(const Port& me) const {
      for (;;) {
        const Status s = me.recv(memory, longest, any_source, any_tag);
        if (s.code != Code::ok || s.tag == 99) return;
        if (me.send(memory, s.bytes, s.source, s.tag) != Code::ok) return;
      }
    }
  };
};

TEST(DeviceBuffers, BetweenCpuRanksAndSlots) {
  const int gpus = std::min(2, Device::count());
  Buffers own;
  std::vector<DeviceBuffer<unsigned char>> memory;
  memory.reserve(static_cast<std::size_t>(gpus));
  for (int g = 0; g < gpus; ++g) memory.emplace_back(Device(g), static_cast<std::size_t>(longest));
  for (const Way& way : ways())
    for (const ScopeKind scope : {ScopeKind::thread, ScopeKind::warp, ScopeKind::block})
      for (const bool scheduled : {false, true}) {
        if (scheduled && (!emulated() || scope != ScopeKind::warp)) continue;
        SCOPED_TRACE(way.name + ", " + to_string(scope) + (scheduled ? ", deterministic" : ""));
        Config config = config_of(way, 1);
        if (scheduled) config.seed = 12;
        Job job(config);
        job.cpu([&](Comm& me) {
          if (me.rank() != 0) return;
          int turn = 0;
          for (const std::int64_t bytes : all_sizes)
            for (const auto& from : own.out)
              for (const auto& into : own.in)
                for (int slot = 2; slot < 2 + gpus; ++slot, ++turn) {
                  if (skips(turn, bytes)) continue;
                  SCOPED_TRACE(std::to_string(bytes) + " bytes, from " + from->name() + " into " + into->name() +
                               " by rank " + std::to_string(slot));
                  const Piece out(*from, 16 + turn % 7, bytes), in(*into, 16 + turn % 5, bytes);
                  out.fill(turn);
                  in.clear();
                  me.send_bytes(out.data(), bytes, slot, 3);
                  const Status s = me.recv_bytes(in.data(), bytes, slot, 3);
                  EXPECT_EQ(s.bytes, bytes);
                  in.expect(turn);
                }
          for (int slot = 2; slot < 2 + gpus; ++slot) me.send_bytes(nullptr, 0, slot, 99);
        });
        for (int g = 0; g < gpus; ++g)
          job.gpu_on(g, {.grid = 1, .block = 64}, Echo{}, memory[static_cast<std::size_t>(g)].data(), scope);
        job.run();
      }
}

struct BroadcastAll {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, unsigned char* memory, int roots) const {
    const gpu::BlockScope block = gpu::this_block(context);
    for (const std::int64_t bytes : {8, 600, 70001})
      for (int root = 0; root < roots; ++root)
        comm.slot(0).broadcast(block, Span<unsigned char>(memory, static_cast<std::size_t>(bytes)), root);
  }
};

TEST(DeviceBuffers, OfABroadcast) {
  const int gpus = std::min(2, Device::count());
  Buffers own[2];
  std::vector<DeviceBuffer<unsigned char>> memory;
  memory.reserve(static_cast<std::size_t>(gpus));
  for (int g = 0; g < gpus; ++g) memory.emplace_back(Device(g), static_cast<std::size_t>(longest));
  for (const Way& way : ways())
    for (std::size_t kind = 0; kind < own[0].in.size(); ++kind) {
      SCOPED_TRACE(way.name);
      Job job(config_of(way, 1));
      job.cpu([&](Comm& me) {
        Buffer& buffer = *own[me.rank()].in[kind];
        for (const std::int64_t bytes : {8, 600, 70001})
          for (int root = 0; root < 2; ++root) {
            const Piece piece(buffer, 17, bytes);
            piece.clear();
            if (me.rank() == root) piece.fill(bytes + root);
            me.broadcast_bytes(piece.data(), bytes, root);
            piece.expect(bytes + root);
          }
      });
      for (int g = 0; g < gpus; ++g)
        job.gpu_on(g, {.grid = 1, .block = 64}, BroadcastAll{}, memory[static_cast<std::size_t>(g)].data(), 2);
      job.run();
      for (const auto& m : memory) {
        Bytes got(m.size());
        m.download(got.data());
        got.resize(70001);
        EXPECT_TRUE(got == bytes_of(70001 + 1, 70001));
      }
    }
}

TEST(DeviceBuffers, OfADeviceThatTheWorldHasNotStopTheJobWithAReport) {
  if (emulated() || Device::count() < 2) GTEST_SKIP() << "no two CUDA devices";
  Config config;
  config.nodes = {{.cpus = 2, .gpus = 1, .slots = 1}};
  config.deadline_s = 20;
  Job job(config);
  const DeviceBuffer<unsigned char> foreign(Device(1), 1 << 20);
  job.cpu([&](Comm& me) {
    std::vector<unsigned char> own(1 << 20);
    if (me.rank() == 0)
      me.send_bytes(foreign.data(), 1 << 20, 1);
    else
      me.recv(own, 0);
  });
  job.gpu({.grid = 1, .block = 32}, Nothing{});
  try {
    job.run();
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("memory of device 1, expected of 0"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace dcgn::test
