#include "tool/exit_code.hpp"

namespace dcgn::tool {

int exit_code_of(Code code) {
  switch (code) {
    case Code::ok: return exit_ok;
    case Code::configuration:
    case Code::too_many_blocks:
    case Code::unstable:
    case Code::unsupported: return exit_usage;
    case Code::io: return exit_io;
    case Code::invalid_rank:
    case Code::invalid_tag:
    case Code::invalid_size:
    case Code::invalid_type:
    case Code::null_buffer:
    case Code::truncated:
    case Code::mismatch:
    case Code::invalid_request:
    case Code::not_attached:
    case Code::concurrent_use:
    case Code::rank_ended:
    case Code::out_of_resources:
    case Code::deadline:
    case Code::deadlock:
    case Code::aborted:
    case Code::unreceived:
    case Code::kernel_failed:
    case Code::device: return exit_job_failed;
  }
  return exit_job_failed;
}

// More ranks than the machine has room for were asked for.
int exit_code_of(const Error& error) {
  const bool no_room = error.code() == Code::out_of_resources && error.operation() == "world";
  return no_room ? exit_usage : exit_code_of(error.code());
}

}  // namespace dcgn::tool
