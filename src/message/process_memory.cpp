// Payloads from the memory of another process, which the system copies at once: no thread of that process takes part.
#include <dcgn/error.hpp>
#include <dcgn/message/work.hpp>

#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace dcgn::message {

void copy_from_process(std::int32_t process, unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
  while (bytes) {
    const iovec here{to, bytes}, there{const_cast<unsigned char*>(from), bytes};
    const ssize_t copied = process_vm_readv(process, &here, 1, &there, 1, 0);
    if (copied <= 0) {
      const bool dead = errno == ESRCH;
      throw Error(dead ? Code::aborted : Code::null_buffer, "recv",
                  "process " + std::to_string(process) + " of this host " +
                      (dead ? "has died with a message that was to be received"
                            : "sends " + std::to_string(bytes) + " bytes of memory that it does not have (" +
                                  std::strerror(errno) + ")"));
    }
    to += copied;
    from += copied;
    bytes -= static_cast<std::uint64_t>(copied);
  }
}

}  // namespace dcgn::message
