#include "base/text.hpp"

#include <dcgn/error.hpp>

#include <utility>

namespace dcgn {

std::string_view to_string(Code code) noexcept {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_rank: return "invalid_rank";
    case Code::invalid_tag: return "invalid_tag";
    case Code::invalid_size: return "invalid_size";
    case Code::invalid_type: return "invalid_type";
    case Code::null_buffer: return "null_buffer";
    case Code::truncated: return "truncated";
    case Code::mismatch: return "mismatch";
    case Code::invalid_request: return "invalid_request";
    case Code::not_attached: return "not_attached";
    case Code::concurrent_use: return "concurrent_use";
    case Code::rank_ended: return "rank_ended";
    case Code::out_of_resources: return "out_of_resources";
    case Code::deadline: return "deadline";
    case Code::deadlock: return "deadlock";
    case Code::aborted: return "aborted";
    case Code::unreceived: return "unreceived";
    case Code::too_many_blocks: return "too_many_blocks";
    case Code::kernel_failed: return "kernel_failed";
    case Code::configuration: return "configuration";
    case Code::device: return "device";
    case Code::unsupported: return "unsupported";
    case Code::io: return "io";
    case Code::unstable: return "unstable";
  }
  return "unknown code";  // a value that no enumerator names, e.g. read from damaged memory
}

namespace {

std::string compose(const std::string& operation, const std::string& detail, int rank, const std::string& place) {
  std::string line = "dcgn: " + operation + ": " + base::printable(detail, true);
  if (rank < 0 && place.empty()) return line;
  line += " [";
  if (rank >= 0) line += "rank " + std::to_string(rank);
  if (rank >= 0 && !place.empty()) line += ": ";
  return line + place + "]";
}

}  // namespace

Error::Error(Code code, std::string operation, const std::string& detail, int rank, std::string place)
    : std::runtime_error(compose(operation, detail, rank, place)),
      code_(code),
      operation_(std::move(operation)),
      rank_(rank),
      place_(std::move(place)) {}

}  // namespace dcgn
