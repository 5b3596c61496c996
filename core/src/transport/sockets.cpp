#include "sockets.hpp"

#include <dcgn/error.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

namespace dcgn::transport {

namespace {

sockaddr_in system_address(const Address& address) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = address.host;
  a.sin_port = address.port;
  return a;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

std::string to_string(const Address& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const in_addr host{address.host};
  inet_ntop(AF_INET, &host, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(ntohs(address.port));
}

bool is_loopback(const Address& address) noexcept { return ntohl(address.host) >> 24 == IN_LOOPBACKNET; }

Address own_address(const Socket& socket) {
  sockaddr_in a{};
  socklen_t length = sizeof a;
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&a), &length) < 0) refuse_call("the address of a socket");
  return {a.sin_addr.s_addr, a.sin_port};
}

Address peer_address(const Socket& socket) {
  sockaddr_in a{};
  socklen_t length = sizeof a;
  if (getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&a), &length) < 0) return {};
  return {a.sin_addr.s_addr, a.sin_port};
}

void refuse_call(const std::string& what) {
  throw Error(Code::device, "processes", what + ": " + std::strerror(errno));
}

std::uint64_t random_token() {
  std::random_device random;
  return static_cast<std::uint64_t>(random()) << 32 | random();
}

// From /proc/net/tcp, where the kernel says of each socket whose it is. One that its process has closed is nobody's,
// and shown as root's.
std::optional<std::uint32_t> user_of_peer(const Socket& socket) {
  constexpr unsigned established = 1;
  const Address here = own_address(socket), there = peer_address(socket);
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    unsigned from, from_port, to, to_port, state, user;
    if (std::sscanf(line.c_str(), "%*d: %x:%x %x:%x %x %*x:%*x %*x:%*x %*x %u", &from, &from_port, &to, &to_port,
                    &state, &user) == 6 &&
        from == there.host && from_port == ntohs(there.port) && to == here.host && to_port == ntohs(here.port) &&
        state == established)
      return user;
  }
  return std::nullopt;
}

Socket listen_at(std::uint16_t port, int backlog, std::uint32_t host) {
  Socket s(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!s) refuse_call("socket");
  const int on = 1;
  const sockaddr_in own = system_address({host, htons(port)});
  if (setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&  // of connections that are over
      bind(s.fd(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 && listen(s.fd(), backlog) == 0)
    return s;
  if (errno != EADDRINUSE && errno != EACCES) refuse_call("a socket to listen at");
  return {};
}

Socket connect_to(const Address& address, Clock::time_point until) {
  Socket s(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!s) refuse_call("socket");
  const sockaddr_in to = system_address(address);
  int error = connect(s.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof to) < 0 ? errno : 0;
  if (error == EINPROGRESS && ready(s.fd(), POLLOUT, until)) {
    socklen_t length = sizeof error;
    getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error) return {};
  set_blocking(s.fd(), true);
  return s;
}

void set_blocking(int socket, bool blocking) {
  const int flags = fcntl(socket, F_GETFL);
  if (fcntl(socket, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) < 0) refuse_call("fcntl");
}

void set_undelayed(int socket) {
  const int on = 1;
  if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0) refuse_call("TCP_NODELAY");
}

bool ready(int socket, short what, Clock::time_point until) {
  for (;;) {
    pollfd p{socket, what, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int found = poll(&p, 1, static_cast<int>(std::clamp<long>(left, 0, 1 << 30)));
    if (found >= 0 || errno != EINTR) return found > 0;
  }
}

bool read_all(int socket, void* to, std::size_t bytes, Clock::time_point until) {
  auto* at = static_cast<char*>(to);
  while (bytes) {
    if (!ready(socket, POLLIN, until)) return false;
    const ssize_t got = recv(socket, at, bytes, 0);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int socket, const void* from, std::size_t bytes, Clock::time_point until) {
  const auto* at = static_cast<const char*>(from);
  while (bytes) {
    if (!ready(socket, POLLOUT, until)) return false;
    const ssize_t gone = send(socket, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (gone < 0 && errno == EAGAIN) continue;
    if (gone <= 0) return false;
    at += gone;
    bytes -= static_cast<std::size_t>(gone);
  }
  return true;
}

}  // namespace dcgn::transport
