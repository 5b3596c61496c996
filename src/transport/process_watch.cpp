#include "process_watch.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

namespace dcgn::transport {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
constexpr int children = 8;
constexpr int most_addresses = 4;
constexpr auto connect_within = 20s;

// How a process can be found: what all tell each other.
struct Card {
  std::array<std::uint32_t, most_addresses>
      addresses{};          // IPv4, those of other machines' use first, 0 where there is none
  std::uint64_t token = 0;  // whoever connects shows it
  std::uint16_t port = 0;
  std::int32_t pid = 0;
  std::array<char, 64> host{};
};

// What begins a connection, and what is told on it: then as many bytes of text. With this code it is the last.
constexpr std::int32_t farewell = -1;
struct Greeting {
  std::uint64_t token;
  std::int32_t rank;
};
struct Stop {
  std::int32_t code;
  std::uint32_t length;
};

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Code::device, "processes", what + ": " + std::strerror(errno));
}

std::array<std::uint32_t, most_addresses> own_addresses() {
  std::array<std::uint32_t, most_addresses> found{};
  std::size_t count = 0;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) == 0) {
    for (const ifaddrs* a = all; a && count + 1 < found.size(); a = a->ifa_next)
      if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET && a->ifa_flags & IFF_UP && !(a->ifa_flags & IFF_LOOPBACK))
        found[count++] = reinterpret_cast<const sockaddr_in*>(a->ifa_addr)->sin_addr.s_addr;
    freeifaddrs(all);
  }
  found[count] = htonl(INADDR_LOOPBACK);
  return found;
}

void set_blocking(int socket, bool blocking) {
  const int flags = fcntl(socket, F_GETFL);
  if (fcntl(socket, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) < 0) refuse("fcntl");
}

bool ready(int socket, short what, Clock::time_point until) {
  pollfd p{socket, what, 0};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  return poll(&p, 1, static_cast<int>(std::max<long>(left, 0))) > 0;
}

// All bytes within the time; false where they do not come.
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

// -1 where nobody answers there.
int call(std::uint32_t address, std::uint16_t port, const Greeting& greeting, Clock::time_point until) {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s < 0) refuse("socket");
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = address;
  to.sin_port = port;
  const int result = ::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  int error = result < 0 ? errno : 0;
  if (error == EINPROGRESS && ready(s, POLLOUT, std::min(until, Clock::now() + 2s))) {
    socklen_t length = sizeof error;
    getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  char answer = 0;
  if (!error) {
    set_blocking(s, true);
    if (send(s, &greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting &&
        read_all(s, &answer, 1, std::min(until, Clock::now() + 5s)))
      return s;
  }
  close(s);
  return -1;
}

std::string name_of(const Card& card, int rank) {
  return "process " + std::to_string(rank) + " (pid " + std::to_string(card.pid) + " on " + card.host.data() + ")";
}

}  // namespace

ProcessWatch::ProcessWatch(Processes& processes, std::function<void(Code, const std::string&, bool)> on_stop)
    : rank_(processes.rank()), on_stop_(std::move(on_stop)) {
  try {
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_ < 0) refuse("eventfd");
    connect(processes);
    thread_ = std::thread([this] { watch(); });
  } catch (...) {
    close_all();
    throw;
  }
}

ProcessWatch::~ProcessWatch() {
  closing_ = true;
  wake();
  thread_.join();
  close_all();
}

void ProcessWatch::close_all() noexcept {
  for (const Neighbour& n : neighbours_)
    if (n.socket >= 0) close(n.socket);
  if (wake_ >= 0) close(wake_);
}

void ProcessWatch::connect(Processes& processes) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  socklen_t length = sizeof own;
  if (listener < 0 || bind(listener, reinterpret_cast<const sockaddr*>(&own), sizeof own) < 0 ||
      listen(listener, 2 * children) < 0 || getsockname(listener, reinterpret_cast<sockaddr*>(&own), &length) < 0)
    refuse("a socket to listen at");
  Card mine;
  mine.addresses = own_addresses();
  mine.port = own.sin_port;
  mine.pid = getpid();
  mine.token =
      static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()) ^ static_cast<std::uint64_t>(getpid()) << 40;
  gethostname(mine.host.data(), mine.host.size() - 1);
  const std::vector<Card> cards = processes.all_gather(mine);
  const auto until = Clock::now() + connect_within;
  const auto card_of = [&](int rank) { return cards[static_cast<std::size_t>(rank)]; };
  const auto fail = [&](int other) {
    close(listener);
    throw Error(Code::device, "processes",
                name_of(mine, rank_) + " cannot be connected with " + name_of(card_of(other), other) +
                    " by TCP; expected a port and a network that let them");
  };
  if (rank_ > 0) {
    const int parent = (rank_ - 1) / children;
    const Card card = card_of(parent);
    int s = -1;
    for (const std::uint32_t address : card.addresses)
      if (address && s < 0) s = call(address, card.port, {card.token, rank_}, until);
    if (s < 0) fail(parent);
    neighbours_.push_back({parent, name_of(card, parent), s, false, {}});
  }
  const int first = children * rank_ + 1, last = std::min(first + children, processes.size());
  for (int waiting = std::max(0, last - first); waiting > 0;) {
    if (!ready(listener, POLLIN, until)) fail(first);
    const int s = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Greeting greeting{};
    const char welcome = 1;
    if (s >= 0 && read_all(s, &greeting, sizeof greeting, std::min(until, Clock::now() + 2s)) &&
        greeting.token == mine.token && greeting.rank >= first && greeting.rank < last &&
        send(s, &welcome, 1, MSG_NOSIGNAL) == 1) {
      neighbours_.push_back({greeting.rank, name_of(card_of(greeting.rank), greeting.rank), s, false, {}});
      --waiting;
    } else if (s >= 0) {
      close(s);
    }
  }
  close(listener);
}

void ProcessWatch::stop(Code code, const std::string& reason) {
  const Stop header{static_cast<std::int32_t>(code), static_cast<std::uint32_t>(reason.size())};
  {
    const std::lock_guard lock(mutex_);
    if (!to_tell_.empty()) return;
    to_tell_.assign(reinterpret_cast<const char*>(&header), sizeof header);
    to_tell_ += reason;
  }
  wake();
}

void ProcessWatch::leave() {
  leaving_ = true;
  wake();
}

void ProcessWatch::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof one));
}

void ProcessWatch::tell(const std::string& message, const Neighbour* except) {
  for (const Neighbour& n : neighbours_) {
    if (n.socket < 0 || &n == except) continue;
    // So little that the connection takes it at once; who has died does not need it.
    static_cast<void>(send(n.socket, message.data(), message.size(), MSG_NOSIGNAL));
  }
}

void ProcessWatch::died(const Neighbour& who) {
  const std::string reason = who.name + " has died";
  // At once and by hand: a launcher may be about to end this process, too.
  const std::string line = "dcgn: " + reason + "\n";
  static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  const Stop header{static_cast<std::int32_t>(Code::aborted), static_cast<std::uint32_t>(reason.size())};
  tell(std::string(reinterpret_cast<const char*>(&header), sizeof header) + reason, &who);
  on_stop_(Code::aborted, reason, true);
}

void ProcessWatch::hear(Neighbour& from) {
  std::array<char, 4096> piece;
  const ssize_t got = recv(from.socket, piece.data(), piece.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    close(from.socket);
    from.socket = -1;
    if (stopped_ || from.leaves || closing_) return;
    stopped_ = true;
    died(from);
    return;
  }
  from.read.append(piece.data(), static_cast<std::size_t>(got));
  Stop header{};
  if (from.read.size() < sizeof header) return;
  std::memcpy(&header, from.read.data(), sizeof header);
  if (from.read.size() < sizeof header + header.length) return;
  if (header.code == farewell) {
    from.leaves = true;
    from.read.clear();
    return;
  }
  const std::string message = from.read.substr(0, sizeof header + header.length);
  from.read.erase(0, message.size());
  if (stopped_) return;
  stopped_ = true;
  tell(message, &from);
  const std::string reason = message.substr(sizeof header);
  const bool dead = reason.ends_with(" has died");
  on_stop_(static_cast<Code>(header.code), reason, dead);
}

void ProcessWatch::watch() {
  // Signals are for the program's own threads; and a launcher that no longer reads stderr is no reason to end.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign(1, {wake_, POLLIN, 0});
    for (const Neighbour& n : neighbours_) polled.push_back({n.socket, POLLIN, 0});  // -1 is passed over
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents) {
      std::uint64_t count = 0;
      static_cast<void>(!read(wake_, &count, sizeof count));
      std::string message;
      {
        const std::lock_guard lock(mutex_);
        message = to_tell_;
      }
      if (!message.empty() && !stopped_) {
        stopped_ = true;
        tell(message, nullptr);
      }
      if (leaving_ && !left_) {
        left_ = true;
        const Stop last{farewell, 0};
        tell(std::string(reinterpret_cast<const char*>(&last), sizeof last), nullptr);
      }
      if (closing_) return;
    }
    for (std::size_t i = 0; i < neighbours_.size(); ++i)
      if (polled[i + 1].revents) hear(neighbours_[i]);
  }
}

}  // namespace dcgn::transport
