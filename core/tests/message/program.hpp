// Random message-passing programs: what one is made of. The generator is in program_generator.hpp, the interpreter that
// both kinds of rank run in program_kernels.hpp, the oracle in program_check.hpp, and all of it together in
// program_run.hpp. Headers, because the short and the long tests are two programs.
#pragma once

#include "port_kernels.hpp"

#include <dcgn/config.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::test {

enum class OpKind : std::int32_t {
  send,
  ssend,
  bsend,
  isend,
  recv,
  irecv,
  probe_recv,   // probe, then receive what was probed, of the probed size
  iprobe_recv,  // the same with iprobe until there is something
  sendrecv,
  sendrecv_replace,
  wait,
  test,            // until it is complete
  wait_all,        // the listed requests
  wait_any,        // the listed requests, until none is active
  wait_any_until,  // the listed requests, until `request` is complete
  barrier,
  broadcast,
  finish,
};

// One operation of one rank, readable in a kernel. Offsets are into the rank's memory.
struct Op {
  OpKind kind = OpKind::finish;
  std::int32_t peer = 0, tag = 0;       // whereto, or wherefrom: perhaps wildcards
  std::int64_t offset = 0, bytes = 0;   // what is sent, or the room for what is received
  std::int32_t request = -1;            // isend, irecv: which one it makes; wait, test, wait_any_until: which one
  std::int32_t result = -1;             // where the receive's status goes
  std::int32_t list = 0, count = 0;     // wait_all, wait_any, wait_any_until: indices into the rank's lists
  std::int32_t from = 0, recv_tag = 0;  // sendrecv, sendrecv_replace: the receiving half
  std::int64_t recv_offset = 0, recv_bytes = 0;
};

// What the interpreter saw.
struct Result {
  std::int32_t source = 0, tag = 0;
  std::int64_t bytes = 0;
  Code code = Code::ok;
  std::int32_t times = 0;  // how often it was filled: once, if all is well
};

struct Progress {
  std::int32_t executed = 0;   // operations
  Code code = Code::ok;        // of the operation that failed, which is number `executed`
  std::int32_t anomalies = 0;  // things that a call said which cannot be
  std::int32_t anomaly_at = -1;
};

// ---- the host's view

struct Message {
  int src = 0, dst = 0, tag = 0;
  std::int64_t bytes = 0;
  int group = -1;                   // the wildcard receives that may get it; -1: one receive alone may
  int sequence = 0;                 // among the messages of src to dst, for the contents
  int send_at = 0, receive_at = 0;  // the event at which its send and its receive are begun
  int event = 0;
};

// A receive: which message it must get, or of which group.
struct Receive {
  int message = -1;
  int group = -1;
  std::int64_t offset = 0, capacity = 0;
};

struct RankProgram {
  ScopeKind scope = ScopeKind::thread;  // of a slot
  std::vector<Op> ops;
  std::vector<std::int32_t> lists;
  std::vector<std::int32_t> request_results;  // [request]: the receive's result, -1 for a send
  std::vector<Receive> receives;              // [result]
  std::int64_t memory = 0;                    // bytes
  int cut = 0;                                // operations in the first of two kernels; 0: there is one kernel
};

struct Broadcast {
  int root = 0;
  std::int64_t bytes = 0;
  std::vector<std::int64_t> offsets;  // [rank]
};

struct Coverage {
  std::uint64_t programs = 0, operations = 0, messages = 0, bytes = 0;
  std::uint64_t small = 0, eager = 0, pull = 0, offer = 0;  // how messages travel
  std::uint64_t copied = 0;                                 // by a copy engine, as a setting demands
  std::uint64_t zero_bytes = 0, large = 0, large_tags = 0, to_self = 0;
  std::uint64_t truncated = 0, wild_source = 0, wild_both = 0, any_tag = 0;
  std::uint64_t probes = 0, tests = 0, wait_alls = 0, wait_anys = 0, ssends = 0, bsends = 0, exchanges = 0,
                replaces = 0;
  std::uint64_t early = 0, barriers = 0, broadcasts = 0, two_kernels = 0;
  std::uint64_t wraps = 0;  // FIFOs gone round, at least once each
  std::uint64_t scopes[4] = {};
};

struct Program {
  std::uint64_t seed = 0;
  Config config;
  std::vector<unsigned> block;   // [gpu]: threads of its blocks
  std::vector<unsigned> blocks;  // [gpu]: of each slot
  std::vector<RankProgram> ranks;
  std::vector<Message> messages;
  std::vector<std::int64_t> sent_from;           // [message]: offset in the sender's memory
  std::vector<std::vector<int>> groups;          // [group]: its messages, those of one source in the order of sending
  std::vector<std::vector<int>> group_receives;  // [group]: results of the receiving rank, in the order of posting
  std::vector<Broadcast> broadcasts;
  Coverage coverage;
};

// Byte `i` of the message: a function of the program's seed, the two ranks and the message's number alone.
inline unsigned char content(std::uint64_t seed, int src, int dst, int sequence, std::int64_t i) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u ^ static_cast<std::uint64_t>(src) << 48 ^
                    static_cast<std::uint64_t>(dst) << 36 ^ static_cast<std::uint64_t>(sequence) << 20;
  x += (static_cast<std::uint64_t>(i) / 8 + 1) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 30) * 0x94d049bb133111ebu;
  x ^= x >> 29;
  return static_cast<unsigned char>(x >> 8 * (static_cast<std::uint64_t>(i) % 8));
}

inline const char* name(OpKind kind) {
  switch (kind) {
    case OpKind::send: return "send";
    case OpKind::ssend: return "ssend";
    case OpKind::bsend: return "bsend";
    case OpKind::isend: return "isend";
    case OpKind::recv: return "recv";
    case OpKind::irecv: return "irecv";
    case OpKind::probe_recv: return "probe+recv";
    case OpKind::iprobe_recv: return "iprobe+recv";
    case OpKind::sendrecv: return "sendrecv";
    case OpKind::sendrecv_replace: return "sendrecv_replace";
    case OpKind::wait: return "wait";
    case OpKind::test: return "test";
    case OpKind::wait_all: return "wait_all";
    case OpKind::wait_any: return "wait_any";
    case OpKind::wait_any_until: return "wait_any_until";
    case OpKind::barrier: return "barrier";
    case OpKind::broadcast: return "broadcast";
    case OpKind::finish: return "finish";
  }
  return "?";
}

inline std::string describe(const RankProgram& rank, const Op& op) {
  const auto n = [](auto value) { return std::to_string(value); };
  std::string text = name(op.kind);
  switch (op.kind) {
    case OpKind::send:
    case OpKind::ssend:
    case OpKind::bsend:
    case OpKind::isend: text += " to " + n(op.peer) + " tag " + n(op.tag) + " bytes " + n(op.bytes); break;
    case OpKind::recv:
    case OpKind::irecv:
    case OpKind::probe_recv:
    case OpKind::iprobe_recv: text += " from " + n(op.peer) + " tag " + n(op.tag) + " room " + n(op.bytes); break;
    case OpKind::sendrecv:
    case OpKind::sendrecv_replace:
      text += " to " + n(op.peer) + " tag " + n(op.tag) + " bytes " + n(op.bytes) + " from " + n(op.from) + " tag " +
              n(op.recv_tag) + " room " + n(op.recv_bytes);
      break;
    case OpKind::broadcast: text += " root " + n(op.peer) + " bytes " + n(op.bytes); break;
    case OpKind::wait:
    case OpKind::test:
    case OpKind::wait_all:
    case OpKind::wait_any:
    case OpKind::wait_any_until:
    case OpKind::barrier:
    case OpKind::finish: break;
  }
  if (op.request >= 0) text += " request " + n(op.request);
  if (op.count) {
    text += " of";
    for (int i = 0; i < op.count; ++i) text += " " + n(rank.lists[static_cast<std::size_t>(op.list + i)]);
  }
  return text;
}

inline std::string describe(const Program& p) {
  std::string text = "seed " + std::to_string(p.seed) + ": nodes";
  for (const NodeShape& s : p.config.nodes)
    text +=
        " {" + std::to_string(s.cpus) + " CPUs, " + std::to_string(s.gpus) + " GPUs x " + std::to_string(s.slots) + "}";
  text += ", eager_bytes " + std::to_string(p.config.eager_bytes.value_or(0)) + ", lane_bytes " +
          std::to_string(p.config.lane_bytes) + ", unexpected_bytes " + std::to_string(p.config.unexpected_bytes) +
          ", buffered_bytes " + std::to_string(p.config.buffered_bytes) + ", requests " +
          std::to_string(p.config.requests) + (p.config.direct ? ", direct" : ", staged") +
          (p.config.p2p ? "" : ", no p2p") +
          (p.config.copy_engine_bytes ? ", engine from " + std::to_string(*p.config.copy_engine_bytes) : "") +
          ", placed by " + std::to_string(p.config.place_threads) + " threads" + ", blocks of";
  for (const unsigned threads : p.block) text += " " + std::to_string(threads);
  return text;
}

}  // namespace dcgn::test
