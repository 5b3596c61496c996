#include "message/describe.hpp"

#include <dcgn/collective/tag.hpp>

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
    case Call::finish: return "finish";
    case Call::barrier: return "barrier";
    case Call::broadcast: return "broadcast";
    case Call::reduce: return "reduce";
    case Call::all_reduce: return "all_reduce";
    case Call::reduce_scatter: return "reduce_scatter";
    case Call::reduce_scatterv: return "reduce_scatterv";
    case Call::gather: return "gather";
    case Call::gatherv: return "gatherv";
    case Call::scatter: return "scatter";
    case Call::scatterv: return "scatterv";
    case Call::all_gather: return "all_gather";
    case Call::all_gatherv: return "all_gatherv";
    case Call::all_to_all: return "all_to_all";
    case Call::all_to_allv: return "all_to_allv";
    case Call::scan: return "scan";
    case Call::exclusive_scan: return "exclusive_scan";
    case Call::split: return "split";
    case Call::dup: return "dup";
    case Call::cart: return "cart";
  }
  return "unknown call";
}

const char* to_string(Reason why) {
  switch (why) {
    case Reason::none: return "none";
    case Reason::moved: return "moved by others than the call";
    case Reason::tag: return "tag above 65535";
    case Reason::alignment: return "not in aligned words";
    case Reason::mode: return "synchronous or buffered";
    case Reason::nonblocking: return "nonblocking";
    case Reason::datatype: return "elements to be checked";
    case Reason::device_memory: return "GPU memory or gaps, from the CPU";
    case Reason::process: return "to or from another process";
    case Reason::pieces: return "in pieces, for want of memory that both reach";
    case Reason::full: return "FIFO full";
    case Reason::queued: return "behind sends that wait";
    case Reason::unanswered: return "not received at once";
    case Reason::late: return "not there yet";
    case Reason::behind: return "behind another message";
    case Reason::open: return "beside open messages";
    case Reason::longer: return "longer than the buffer";
    case Reason::requests: return "no request free";
    case Reason::off: return "fast calls off";
  }
  return "unknown reason";
}

Reason reason_of(std::string_view text) {
  for (std::uint32_t i = 0; i < reasons; ++i)
    if (text == to_string(static_cast<Reason>(i))) return static_cast<Reason>(i);
  return Reason::none;
}

std::string describe_communicator(const Envelope& e) {
  return e.context / 2 ? " in communicator " + std::to_string(e.context / 2) : "";
}

std::string describe_collective(const Envelope& e, std::optional<std::uint32_t> number) {
  std::string text = to_string(collective::call_of_tag(e.tag));
  text += ", number " + (number ? std::to_string(*number)
                                : std::to_string(collective::turn_of_tag(e.tag)) + " modulo " +
                                      std::to_string(1u << collective::turn_bits));
  return text + describe_communicator(e);
}

std::string describe_message(const Envelope& e, std::optional<std::uint32_t> number) {
  if (is_collective(e.context))
    return "rank " + std::to_string(e.peer) + "'s part in " + describe_collective(e, number) + ", " +
           std::to_string(e.bytes) + " bytes";
  return "message of " + std::to_string(e.bytes) + " bytes from rank " + std::to_string(e.peer) + " with tag " +
         std::to_string(e.tag) + describe_communicator(e);
}

namespace {

// What the arguments of a collective were, where its code alone does not say; empty where it does.
std::string describe_flaw(const Failure& f) {
  const std::string value = std::to_string(f.value);
  const std::string expected = std::to_string(f.expected);
  const std::string peer = std::to_string(f.envelope.peer);
  switch (f.flaw) {
    case Flaw::none: return {};
    case Flaw::root: return "root " + value + " is out of range, expected 0.." + expected;
    case Flaw::not_member: return "this rank is not of the communicator, or that has been released";
    case Flaw::input: return "the input has " + value + " elements, expected " + expected;
    case Flaw::output: return "the output has " + value + " elements, expected at least " + expected;
    case Flaw::blocks:
      return "the input has " + value + " elements, expected as many for each of " + expected + " ranks";
    case Flaw::counts: return value + " counts, expected one for each of " + expected + " ranks";
    case Flaw::displacements: return value + " displacements, expected one for each of " + expected + " ranks";
    case Flaw::count: return "count " + value + " for rank " + peer + ", expected 0 or more";
    case Flaw::displacement: return "displacement " + value + " for rank " + peer + ", expected 0 or more";
    case Flaw::part:
      return "the part of rank " + peer + " ends at element " + value + ", expected at most the buffer's " + expected;
    case Flaw::overlap:
      return "input and output overlap, " + value + " bytes from one to the other; expected " +
             (f.expected < 0 ? "" : expected + ", which is in place, or ") + "no overlap";
    case Flaw::parts_overlap:
      return "the parts of ranks " + value + " and " + peer + " overlap in the output, expected a place for each";
    case Flaw::device_memory:
      return "a buffer in a GPU's memory, expected memory of the host: a CPU rank computes there alone";
    case Flaw::shorter:
      return "rank " + peer + " gave " + value + " bytes where this one expects " + expected +
             "; all ranks give sizes that fit each other";
    case Flaw::communicators:
      return "all " + value + " communicators that the ranks can have at once are in use; release some";
    case Flaw::members:
      return "no space for the table of a communicator of " + value +
             " ranks; raise Config::communicator_bytes (DCGN_COMMUNICATOR_BYTES)";
    case Flaw::other_root: return "rank " + peer + " gave root " + value + " where this one gave " + expected;
    case Flaw::other_element:
      return "rank " + peer + " gave elements of " + value + " bytes where this one's have " + expected;
    case Flaw::other_call:
      return "rank " + peer + " made another call than this one, the same ones in the same order are expected of all";
    case Flaw::under_way:
      return value + " collectives are under way already, as many as there can be; wait for some of them";
    case Flaw::grid:
      return "a grid of " + value + " places, expected at most the communicator's " + expected + " ranks";
  }
  return {};
}

}  // namespace

std::string describe(const Failure& f) {
  if (f.flaw != Flaw::none) return describe_flaw(f);
  const std::string value = std::to_string(f.value);
  const std::string expected = std::to_string(f.expected);
  const bool receives =
      f.call == Call::recv || f.call == Call::irecv || f.call == Call::probe || f.call == Call::iprobe;
  switch (f.code) {
    case Code::invalid_rank:
      return "rank " + value + " is out of range, expected 0.." + expected + (receives ? " or any_source" : "");
    case Code::invalid_tag:
      return "tag " + value + " is out of range, expected 0.." + expected + (receives ? " or any_tag" : "");
    case Code::invalid_size:
      if (f.expected)
        return "a scope of " + value + " blocks, expected 1 to the " + expected + " that the grid has there";
      return "a size of " + value + " bytes, expected 0 or more";
    case Code::null_buffer:
      if (f.call == Call::wait_all || f.call == Call::wait_any)
        return "a null pointer to " + value + " requests, expected one to them or 0 requests";
      return "a null buffer with " + value + " bytes, expected a buffer or 0 bytes";
    case Code::truncated:
      if (is_collective(f.call))
        return "rank " + std::to_string(f.envelope.peer) + " gave " + std::to_string(f.envelope.bytes) +
               " bytes where this one expects " + expected + "; all ranks give sizes that fit each other";
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
    case Code::invalid_type:
    case Code::mismatch:
    case Code::not_attached:
    case Code::deadlock:
    case Code::unreceived:
    case Code::too_many_blocks:
    case Code::kernel_failed:
    case Code::configuration:
    case Code::device:
    case Code::unsupported:
    case Code::io:
    case Code::unstable: break;
  }
  return std::string(dcgn::to_string(f.code));
}

}  // namespace dcgn::message
