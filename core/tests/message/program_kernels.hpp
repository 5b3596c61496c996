// The interpreter of random programs (program.hpp): one source for CPU ranks and for slots, whatever the scope.
#pragma once

#include "port_kernels.hpp"
#include "program.hpp"

#include <cstdint>

namespace dcgn::test {

// A rank's program and memory, where the rank can reach them.
struct RankImage {
  ScopeKind scope = ScopeKind::thread;
  std::int32_t op_count = 0, cut = 0;
  const Op* ops = nullptr;
  const std::int32_t* lists = nullptr;
  const std::int32_t* request_results = nullptr;
  unsigned char* memory = nullptr;
  Result* results = nullptr;
  Request* requests = nullptr;   // as the calls gave them
  std::int32_t* done = nullptr;  // [request]: it has been waited for
  Request* scratch = nullptr;    // the array of one wait_all or wait_any
  Status* statuses = nullptr;    // of one wait_all
  Progress* progress = nullptr;
};

// The leader of a call's scope writes what is remembered; sync() shows it to the others.
template <class Port>
class Interpreter {
 public:
  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE Interpreter(const Port& port, const RankImage& image) : port_(port), image_(image) {}

  // Operations first to last - 1. Stops at the first that fails in a way that no program of ours provokes.
  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE void run(std::int32_t first, std::int32_t last) const {
    for (std::int32_t i = first; i < last; ++i) {
      const Code code = execute(image_.ops[i], i);
      if (code != Code::ok && code != Code::truncated) {
        if (port_.leader()) image_.progress->code = code;
        return;
      }
      if (port_.leader()) image_.progress->executed = i + 1;
    }
  }

 private:
  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE Code execute(const Op& op, std::int32_t at) const {
    unsigned char* const data = image_.memory + op.offset;
    switch (op.kind) {
      case OpKind::send: return port_.send(data, op.bytes, op.peer, op.tag);
      case OpKind::ssend: return port_.ssend(data, op.bytes, op.peer, op.tag);
      case OpKind::bsend: return port_.bsend(data, op.bytes, op.peer, op.tag);
      case OpKind::isend: return remember(op.request, port_.isend(data, op.bytes, op.peer, op.tag));
      case OpKind::irecv: return remember(op.request, port_.irecv(data, op.bytes, op.peer, op.tag));
      case OpKind::recv: return record(op.result, port_.recv(data, op.bytes, op.peer, op.tag));
      case OpKind::probe_recv: return receive_probed(op, at, port_.probe(op.peer, op.tag));
      case OpKind::iprobe_recv: {
        bool found = false;
        Status probed;
        while (!found) {
          probed = port_.iprobe(op.peer, op.tag, found);
          if (probed.code != Code::ok) return probed.code;
        }
        return receive_probed(op, at, probed);
      }
      case OpKind::sendrecv:
        return record(op.result, port_.sendrecv(data, op.bytes, op.peer, op.tag, image_.memory + op.recv_offset,
                                                op.recv_bytes, op.from, op.recv_tag));
      case OpKind::sendrecv_replace:
        return record(op.result, port_.sendrecv_replace(data, op.bytes, op.peer, op.tag, op.from, op.recv_tag));
      case OpKind::wait: return completed(op.request, at, port_.wait(image_.requests[op.request]));
      case OpKind::test: {
        Status status;
        while (!port_.test(image_.requests[op.request], status)) {
        }
        return completed(op.request, at, status);
      }
      case OpKind::wait_all: return wait_all(op, at);
      case OpKind::wait_any: return wait_any(op, at, -1);
      case OpKind::wait_any_until: return wait_any(op, at, op.request);
      case OpKind::barrier: return port_.barrier();
      case OpKind::broadcast: return port_.broadcast(data, op.bytes, op.peer);
      case OpKind::finish: return port_.finish();
    }
    return Code::unsupported;
  }

  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE Code remember(std::int32_t request, const Request& made) const {
    if (port_.leader()) image_.requests[request] = made;
    port_.sync();
    return made.code();
  }

  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE Code record(std::int32_t result, const Status& status) const {
    if (port_.leader()) {
      Result& r = image_.results[result];
      r.source = status.source;
      r.tag = status.tag;
      r.bytes = status.bytes;
      r.code = status.code;
      ++r.times;
    }
    return status.code;
  }

  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE void anomaly(std::int32_t at) const {
    if (port_.leader() && image_.progress->anomalies++ == 0) image_.progress->anomaly_at = at;
  }

  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE Code receive_probed(const Op& op, std::int32_t at, const Status& probed) const {
    if (probed.code != Code::ok) return probed.code;
    if (probed.bytes > op.bytes || probed.source < 0 || probed.tag < 0) {
      anomaly(at);
      return Code::invalid_size;
    }
    const Status got = port_.recv(image_.memory + op.offset, probed.bytes, probed.source, probed.tag);
    if (got.source != probed.source || got.tag != probed.tag || got.bytes != probed.bytes) anomaly(at);
    return record(op.result, got);
  }

  // The request has been waited for. One that had been before is inactive and has an empty status.
  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE Code completed(std::int32_t request, std::int32_t at, const Status& status) const {
    if (port_.leader()) {
      if (image_.done[request]) {
        if (status.source != any_source || status.tag != any_tag || status.bytes != 0) anomaly(at);
      } else {
        image_.done[request] = 1;
        if (image_.request_results[request] >= 0) record(image_.request_results[request], status);
      }
    }
    port_.sync();
    return status.code;
  }

  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE void gather(const Op& op) const {
    if (port_.leader())
      for (std::int32_t i = 0; i < op.count; ++i) image_.scratch[i] = image_.requests[image_.lists[op.list + i]];
    port_.sync();
  }

  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE Code wait_all(const Op& op, std::int32_t at) const {
    gather(op);
    const Code code = port_.wait_all(image_.scratch, op.count, image_.statuses);
    if (code != Code::ok && code != Code::truncated) return code;
    for (std::int32_t i = 0; i < op.count; ++i)
      if (port_.leader()) note_completed(op, at, i, image_.statuses[i]);
    port_.sync();
    return code;
  }

  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE void note_completed(const Op& op, std::int32_t at, std::int32_t i, const Status& status) const {
    const std::int32_t request = image_.lists[op.list + i];
    if (image_.done[request]) {
      if (status.source != any_source || status.tag != any_tag || status.bytes != 0) anomaly(at);
      return;
    }
    image_.done[request] = 1;
    if (image_.request_results[request] >= 0) record(image_.request_results[request], status);
  }

  // Until `target` is complete, or without one until none is active.
  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE Code wait_any(const Op& op, std::int32_t at, std::int32_t target) const {
    gather(op);
    for (;;) {
      if (target >= 0 && image_.done[target]) return Code::ok;
      std::int64_t index = -1;
      const Status status = port_.wait_any(image_.scratch, op.count, index);
      if (status.code != Code::ok && status.code != Code::truncated) return status.code;
      if (index < 0) {
        if (target >= 0) anomaly(at);
        return target >= 0 ? Code::invalid_request : Code::ok;
      }
      const std::int32_t request = image_.lists[op.list + index];
      if (port_.leader() && image_.done[request]) anomaly(at);  // it was inactive
      completed(request, at, status);
    }
  }

  const Port& port_;
  const RankImage& image_;
};

// So many blocks in turn run the program of each slot: the operations before its cut (part 0) or those after it (part
// 1).
struct RunSlots {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, const RankImage* images, unsigned blocks,
                                   int part) const {
    const unsigned index = context.block_rank() / blocks;
    const RankImage& image = images[index];
    const gpu::Slot slot = comm.slot(index);
    with_port(context, slot, blocks, image.scope, Run{image, part});
  }

  struct Run {
    const RankImage& image;
    int part;
    template <class Port>
    DCGN_HOST_DEVICE void operator()(const Port& port) const {
      Interpreter<Port>(port, image).run(part ? image.cut : 0, part || !image.cut ? image.op_count : image.cut);
    }
  };
};

}  // namespace dcgn::test
