#include "message/describe.hpp"

namespace dcgn::message {

const char* to_string(Call call) {
  switch (call) {
    case Call::none: return "no call";
    case Call::send: return "send";
    case Call::ssend: return "ssend";
    case Call::bsend: return "bsend";
    case Call::isend: return "isend";
    case Call::recv: return "recv";
    case Call::irecv: return "irecv";
    case Call::sendrecv: return "sendrecv";
    case Call::sendrecv_replace: return "sendrecv_replace";
    case Call::probe: return "probe";
    case Call::iprobe: return "iprobe";
    case Call::test: return "test";
    case Call::wait: return "wait";
    case Call::wait_any: return "wait_any";
    case Call::wait_all: return "wait_all";
    case Call::barrier: return "barrier";
    case Call::broadcast: return "broadcast";
    case Call::finish: return "finish";
  }
  return "unknown call";
}

std::string describe_message(const Envelope& e) {
  return "message of " + std::to_string(e.bytes) + " bytes from rank " + std::to_string(e.peer) + " with tag " +
         std::to_string(e.tag);
}

std::string describe(const Failure& f) {
  const std::string value = std::to_string(f.value);
  const std::string expected = std::to_string(f.expected);
  switch (f.code) {
    case Code::invalid_rank:
      return std::string(f.call == Call::broadcast ? "root " : "rank ") + value + " is out of range, expected 0.." +
             expected;
    case Code::invalid_tag: return "tag " + value + " is out of range, expected 0.." + expected;
    case Code::invalid_size: return "a size of " + value + " bytes, expected 0 or more";
    case Code::null_buffer: return "a null buffer with " + value + " bytes, expected a buffer or 0 bytes";
    case Code::truncated:
      if (f.call == Call::broadcast)
        return "the root's " + std::to_string(f.envelope.bytes) + " bytes do not fit the buffer of " + expected +
               " bytes; all ranks give the same size";
      return describe_message(f.envelope) + " does not fit the buffer of " + expected +
             " bytes; it holds the beginning";
    case Code::invalid_request:
      if (f.value != f.expected) return "a request of rank " + value + ", expected one of rank " + expected;
      return "a request that this rank has never made, expected one that isend or irecv returned";
    case Code::concurrent_use: return "another thread is in a call for the same rank, expected one call at a time";
    case Code::rank_ended: return "rank " + std::to_string(f.envelope.peer) + " has ended, so this can never complete";
    case Code::out_of_resources:
      if (f.expected)  // the copy of a buffered send
        return "no room for a copy of " + std::to_string(f.envelope.bytes) +
               " bytes; raise Config::buffered_bytes (DCGN_BUFFERED_BYTES)";
      return "too many requests and unexpected messages at once; raise Config::requests (DCGN_REQUESTS)";
    case Code::deadline: return "the deadline has passed";
    case Code::aborted: return "the job is being stopped";
    case Code::ok:
    case Code::not_attached:
    case Code::deadlock:
    case Code::unreceived:
    case Code::too_many_blocks:
    case Code::kernel_failed:
    case Code::configuration:
    case Code::device:
    case Code::unsupported:
    case Code::io: break;
  }
  return std::string(dcgn::to_string(f.code));
}

}  // namespace dcgn::message
