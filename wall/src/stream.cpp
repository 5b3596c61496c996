#include "wall/src/stream.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dcgn::wall {

namespace {

bool wait_for(int fd, short what, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd one{fd, what, 0};
    const int found = poll(&one, 1, static_cast<int>(std::clamp<long long>(left, 0, 1000)));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
    if (left <= 0) return false;
  }
}

// A signal for a pipe that nobody reads would end the program without a word; a socket can do without.
ssize_t put(int fd, const char* from, std::size_t bytes) {
  const ssize_t sent = send(fd, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 && errno == ENOTSOCK ? write(fd, from, std::min<std::size_t>(bytes, 4096)) : sent;
}

bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

bool readable(int fd, Clock::time_point until) { return wait_for(fd, POLLIN, until); }

bool send_message(int fd, Kind kind, const std::string& content, Clock::time_point until) {
  std::string all = bytes_of(Header{kind, static_cast<std::uint32_t>(content.size())});
  all += content;
  for (std::size_t done = 0; done < all.size();) {
    if (!wait_for(fd, POLLOUT, until)) return false;
    const ssize_t sent = put(fd, all.data() + done, all.size() - done);
    if (sent < 0 && !again()) return false;
    if (sent > 0) done += static_cast<std::size_t>(sent);
  }
  return true;
}

std::optional<Message> receive_message(int fd, Clock::time_point until) {
  const auto take = [&](char* to, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
      if (!wait_for(fd, POLLIN, until)) return false;
      const ssize_t got = read(fd, to + done, bytes - done);
      if (got == 0 || (got < 0 && !again())) return false;
      if (got > 0) done += static_cast<std::size_t>(got);
    }
    return true;
  };
  Header header{};
  if (!take(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  Message message{header.kind, std::string(header.bytes, '\0')};
  if (!take(message.content.data(), message.content.size())) return std::nullopt;
  return message;
}

}  // namespace dcgn::wall
