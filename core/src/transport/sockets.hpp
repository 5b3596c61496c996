// TCP sockets (IPv4): what the connections between processes have in common.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace dcgn::transport {

using Clock = std::chrono::steady_clock;

// A file descriptor that is closed when it goes.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) noexcept : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Where a process can be reached: as sockets have it, in network order.
struct Address {
  std::uint32_t host = 0;
  std::uint16_t port = 0;
};
std::string to_string(const Address& address);
bool is_loopback(const Address& address) noexcept;
Address own_address(const Socket& socket);   // of the connection's end here
Address peer_address(const Socket& socket);  // and of the other one; 0 where it has gone

// Throws Error(device) that says what the system has refused, with its reason.
[[noreturn]] void refuse_call(const std::string& what);

// That nobody guesses: who shows it has been told it.
std::uint64_t random_token();

// Whose process has the connection's other end, on this host; nothing where the system does not tell.
std::optional<std::uint32_t> user_of_peer(const Socket& socket);

// A socket that takes connections at that port, 0: any, of all addresses or of that one, in network order. None where
// the port is in use.
Socket listen_at(std::uint16_t port, int backlog, std::uint32_t host = INADDR_ANY);
// None where nobody answers there by then.
Socket connect_to(const Address& address, Clock::time_point until);

void set_blocking(int socket, bool blocking);
void set_undelayed(int socket);  // what is written is sent at once
// Whether it can be read (POLLIN) or written (POLLOUT) by then.
bool ready(int socket, short what, Clock::time_point until);
// All bytes by then; false where they do not come, or do not go.
bool read_all(int socket, void* to, std::size_t bytes, Clock::time_point until);
bool write_all(int socket, const void* from, std::size_t bytes, Clock::time_point until);

}  // namespace dcgn::transport
