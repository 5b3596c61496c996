#include "process_watch.hpp"

#include <ifaddrs.h>
#include <net/if.h>
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
constexpr int children = 8;
constexpr int most_addresses = 4;
constexpr auto connect_within = 20s;
constexpr auto time_to_answer = 1s;

// How a process can be found: what all tell each other.
struct Card {
  std::array<std::uint32_t, most_addresses>
      addresses{};          // IPv4, those of other machines' use first, 0 where there is none
  std::uint64_t token = 0;  // whoever connects shows it
  std::uint16_t port = 0;
  std::int32_t pid = 0;
  std::array<char, 64> host{};
};

// What begins a connection, and what is told on it: then as many bytes of text. With one of these codes it is the last,
// or facts of a process, which is named before them.
constexpr std::int32_t farewell = -1, facts_of_one = -2, are_you_there = -3, here_i_am = -4;
struct Greeting {
  std::uint64_t token;
  std::int32_t rank;
};
struct Stop {
  std::int32_t code;
  std::uint32_t length;
};

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

// None where nobody, or somebody else, answers there.
Socket call(const Address& address, const Greeting& greeting, Clock::time_point until) {
  Socket s = connect_to(address, std::min(until, Clock::now() + 2s));
  const auto soon = std::min(until, Clock::now() + 5s);
  char answer = 0;
  if (s && write_all(s.fd(), &greeting, sizeof greeting, soon) && read_all(s.fd(), &answer, 1, soon)) return s;
  return {};
}

std::string name_of(const Card& card, int rank) {
  return "process " + std::to_string(rank) + " (pid " + std::to_string(card.pid) + " on " + card.host.data() + ")";
}

}  // namespace

ProcessWatch::ProcessWatch(Processes& processes)
    : processes_(processes), rank_(processes.rank()), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) refuse_call("eventfd");
  connect(processes);
  thread_ = std::thread([this] { watch(); });
}

ProcessWatch::~ProcessWatch() {
  leaving_ = true;
  closing_ = true;
  wake();
  thread_.join();
}

void ProcessWatch::call_on_stop(OnStop on_stop) {
  const std::lock_guard lock(calling_);
  on_stop_ = std::move(on_stop);
  if (on_stop_ && verdict_) on_stop_(verdict_->code, verdict_->reason, verdict_->dead);
}

void ProcessWatch::stopped_by(Code code, const std::string& reason, bool dead) {
  processes_.break_off(reason);
  {
    const std::lock_guard lock(calling_);
    verdict_ = {code, reason, dead};
    if (on_stop_) on_stop_(code, reason, dead);
  }
  // Only then: who waits in shared() would else stop the job with a report of the half that it has heard.
  {
    const std::lock_guard lock(mutex_);
    no_more_ = true;
  }
  told_.notify_all();
}

void ProcessWatch::connect(Processes& processes) {
  const Socket listener = listen_at(0, 2 * children);
  if (!listener) refuse_call("a socket to listen at");
  Card mine;
  mine.addresses = own_addresses();
  mine.port = own_address(listener).port;
  mine.pid = getpid();
  mine.token = random_token();
  gethostname(mine.host.data(), mine.host.size() - 1);
  const std::vector<Card> cards = processes.all_gather(mine);
  const auto until = Clock::now() + connect_within;
  const auto card_of = [&](int rank) { return cards[static_cast<std::size_t>(rank)]; };
  const auto fail = [&](int other) {
    throw Error(Code::device, "processes",
                name_of(mine, rank_) + " cannot be connected with " + name_of(card_of(other), other) +
                    " by TCP; expected a port and a network that let them");
  };
  if (rank_ > 0) {
    const int parent = (rank_ - 1) / children;
    const Card card = card_of(parent);
    Socket s;
    for (const std::uint32_t address : card.addresses)
      if (address && !s) s = call({address, card.port}, {card.token, rank_}, until);
    if (!s) fail(parent);
    neighbours_.push_back({parent, name_of(card, parent), std::move(s), false, {}, {}});
  }
  const int first = children * rank_ + 1, last = std::min(first + children, processes.size());
  for (int waiting = std::max(0, last - first); waiting > 0;) {
    if (!ready(listener.fd(), POLLIN, until)) fail(first);
    Socket s(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    Greeting greeting{};
    const char welcome = 1;
    if (s && read_all(s.fd(), &greeting, sizeof greeting, std::min(until, Clock::now() + 2s)) &&
        greeting.token == mine.token && greeting.rank >= first && greeting.rank < last &&
        send(s.fd(), &welcome, 1, MSG_NOSIGNAL) == 1) {
      neighbours_.push_back(
          {greeting.rank, name_of(card_of(greeting.rank), greeting.rank), std::move(s), false, {}, {}});
      --waiting;
    }
  }
}

void ProcessWatch::stop(Code code, const std::string& reason) {
  const Stop header{static_cast<std::int32_t>(code), static_cast<std::uint32_t>(reason.size())};
  {
    const std::lock_guard lock(mutex_);
    no_more_ = true;
    if (!to_tell_.empty()) return;
    to_tell_.assign(reinterpret_cast<const char*>(&header), sizeof header);
    to_tell_ += reason;
  }
  wake();
}

void ProcessWatch::share(const std::vector<Fact>& facts) {
  {
    const std::lock_guard lock(mutex_);
    to_share_.insert(to_share_.end(), facts.begin(), facts.end());
    has_shared_ = to_pass_ = true;
  }
  wake();
}

bool ProcessWatch::asked() {
  const std::lock_guard lock(mutex_);
  return !who_shared_.empty() && !has_shared_;
}

std::vector<ProcessWatch::Fact> ProcessWatch::shared(std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  const auto since = Clock::now();
  told_.wait_for(lock, within,
                 [&] { return no_more_ || who_shared_.size() == static_cast<std::size_t>(processes_.size()); });
  had_time_ = Clock::now() - since > time_to_answer;
  std::vector<Fact> facts;
  for (const auto& [what, rank] : known_) facts.push_back({what, rank});
  return facts;
}

std::vector<std::string> ProcessWatch::silent() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  if (!had_time_) return names;
  const auto heard = [&](int process) { return process == rank_ || who_shared_.contains(process); };
  for (int p = 0; p < processes_.size(); ++p) {
    if (heard(p)) continue;
    bool reached = p > 0 && heard((p - 1) / children);
    for (int c = children * p + 1; c <= children * (p + 1) && c < processes_.size(); ++c) reached = reached || heard(c);
    if (!reached) continue;
    std::string name = "process " + std::to_string(p);
    for (const Neighbour& n : neighbours_)
      if (n.rank == p) name = n.name;
    names.push_back(name);
  }
  return names;
}

// By the watch's thread: what a process has told, as far as nobody has told it before.
void ProcessWatch::pass_on(int process, const std::vector<Fact>& facts, const Neighbour* except) {
  std::vector<Fact> news;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = who_shared_.insert(process).second;
    for (const Fact& f : facts)
      if (known_.try_emplace(f.what, f.rank).second) news.push_back(f);
  }
  told_.notify_all();
  if (!first && news.empty()) return;
  const std::int64_t number = process;
  const Stop header{facts_of_one, static_cast<std::uint32_t>(sizeof number + news.size() * sizeof(Fact))};
  std::string message(reinterpret_cast<const char*>(&header), sizeof header);
  message.append(reinterpret_cast<const char*>(&number), sizeof number);
  message.append(reinterpret_cast<const char*>(news.data()), news.size() * sizeof(Fact));
  tell(message, except);
}

void ProcessWatch::ask() {
  {
    const std::lock_guard lock(mutex_);
    to_ask_ = true;
  }
  wake();
}

std::vector<std::string> ProcessWatch::silent_for(std::chrono::duration<double> time) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Neighbour& n : neighbours_)
    if (n.asked && Clock::now() - *n.asked > time) names.push_back(n.name);
  return names;
}

// By the watch's thread.
void ProcessWatch::ask_all() {
  for (Neighbour& n : neighbours_) {
    {
      const std::lock_guard lock(mutex_);
      if (!n.socket || n.leaves || n.asked) continue;
      n.asked = Clock::now();
    }
    tell_one(n, are_you_there);
  }
}

void ProcessWatch::tell_one(const Neighbour& to, std::int32_t code) const {
  const Stop word{code, 0};
  static_cast<void>(send(to.socket.fd(), &word, sizeof word, MSG_NOSIGNAL));
}

void ProcessWatch::leave() {
  leaving_ = true;
  wake();
}

void ProcessWatch::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_.fd(), &one, sizeof one));
}

void ProcessWatch::tell(const std::string& message, const Neighbour* except) {
  for (const Neighbour& n : neighbours_) {
    if (!n.socket || &n == except) continue;
    // So little that the connection takes it at once; who has died does not need it.
    static_cast<void>(send(n.socket.fd(), message.data(), message.size(), MSG_NOSIGNAL));
  }
}

void ProcessWatch::died(const Neighbour& who) {
  const std::string reason = who.name + " has died";
  // At once and by hand: a launcher may be about to end this process, too.
  const std::string line = "dcgn: " + reason + "\n";
  static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  const Stop header{static_cast<std::int32_t>(Code::aborted), static_cast<std::uint32_t>(reason.size())};
  tell(std::string(reinterpret_cast<const char*>(&header), sizeof header) + reason, &who);
  stopped_by(Code::aborted, reason, true);
}

void ProcessWatch::hear(Neighbour& from) {
  std::array<char, 4096> piece;
  const ssize_t got = recv(from.socket.fd(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    from.socket = {};
    {
      const std::lock_guard lock(mutex_);
      from.asked = {};
    }
    if (stopped_ || from.leaves || closing_) return;
    stopped_ = true;
    died(from);
    return;
  }
  from.read.append(piece.data(), static_cast<std::size_t>(got));
  while (hear_message(from)) continue;
}

// The next one of what has been read; false where it is not complete.
bool ProcessWatch::hear_message(Neighbour& from) {
  Stop header{};
  if (from.read.size() < sizeof header) return false;
  std::memcpy(&header, from.read.data(), sizeof header);
  if (from.read.size() < sizeof header + header.length) return false;
  const std::string message = from.read.substr(0, sizeof header + header.length);
  from.read.erase(0, message.size());
  if (header.code == are_you_there) {
    tell_one(from, here_i_am);
    return true;
  }
  if (header.code == farewell || header.code == here_i_am) {
    const std::lock_guard lock(mutex_);
    from.asked = {};
    from.leaves = from.leaves || header.code == farewell;
    return true;
  }
  if (header.code == facts_of_one) {
    std::int64_t process = 0;
    if (header.length < sizeof process) return true;
    std::vector<Fact> facts((header.length - sizeof process) / sizeof(Fact));
    std::memcpy(&process, message.data() + sizeof header, sizeof process);
    if (!facts.empty())
      std::memcpy(facts.data(), message.data() + sizeof header + sizeof process, facts.size() * sizeof(Fact));
    pass_on(static_cast<int>(process), facts, &from);
    return true;
  }
  if (stopped_) return true;
  stopped_ = true;
  tell(message, &from);
  const std::string reason = message.substr(sizeof header);
  const bool dead = reason.ends_with(" has died");
  stopped_by(static_cast<Code>(header.code), reason, dead);
  return true;
}

void ProcessWatch::watch() {
  // Signals are for the program's own threads; and a launcher that no longer reads stderr is no reason to end.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign(1, {wake_.fd(), POLLIN, 0});
    for (const Neighbour& n : neighbours_) polled.push_back({n.socket.fd(), POLLIN, 0});  // -1 is passed over
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents) {
      std::uint64_t count = 0;
      static_cast<void>(!read(wake_.fd(), &count, sizeof count));
      std::string message;
      std::vector<Fact> facts;
      bool shares = false, asks = false;
      {
        const std::lock_guard lock(mutex_);
        message = to_tell_;
        facts = std::exchange(to_share_, {});
        shares = std::exchange(to_pass_, false);
        asks = std::exchange(to_ask_, false);
      }
      if (shares) pass_on(rank_, facts, nullptr);
      if (asks) ask_all();
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
