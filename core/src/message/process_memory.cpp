// Payloads from the memory of another process, which the system copies at once: no thread of that process takes part.
#include <dcgn/error.hpp>
#include "message/engine/transfer.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

namespace dcgn::message {

void copy_from_process(std::int32_t process, unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
  while (bytes) {
    const iovec here{to, bytes}, there{const_cast<unsigned char*>(from), bytes};
    const ssize_t copied = process_vm_readv(process, &here, 1, &there, 1, 0);
    if (copied <= 0) {
      const int error = errno;
      const bool dead = error == ESRCH;
      // Who watches the processes says which one it was, if this rank is not before them.
      if (dead) std::this_thread::sleep_for(std::chrono::milliseconds(500));
      throw Error(dead ? Code::aborted : Code::null_buffer, "recv",
                  "process " + std::to_string(process) + " of this host " +
                      (dead ? "has died with a message that was to be received"
                            : "sends " + std::to_string(bytes) + " bytes of memory that it does not have (" +
                                  std::strerror(error) + ")"));
    }
    to += copied;
    from += copied;
    bytes -= static_cast<std::uint64_t>(copied);
  }
}

}  // namespace dcgn::message
