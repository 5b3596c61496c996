#include "bootstrap.hpp"

#include "base/hmac.hpp"
#include "transport/mpi_library.hpp"
#include "transport/processes.hpp"

#include <dcgn/error.hpp>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace dcgn::transport {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t magic = 0x646367'6e746370;  // "dcgntcp"
constexpr int torch_port = 29500;

// What a visitor says at once. The host answers with a Welcome and a Challenge, the visitor with its proof, and when
// all have come the host with an Outcome. Hello and Welcome are the same in all versions, so that others are told so.
using Nonce = std::array<std::uint64_t, 2>;
struct Hello {
  std::uint64_t magic, job;
  std::uint32_t protocol;
  std::int32_t rank;
};
struct Visitor {
  std::int32_t size;
  std::uint32_t port;  // in network order
  Nonce nonce;
};
struct Welcome {
  std::uint64_t magic;
  std::uint32_t protocol, padding = 0;
};
struct Challenge {
  Nonce nonce;
  base::Digest proof;
};
struct Outcome {
  std::uint64_t token;
  std::uint32_t trouble;  // bytes of text that follow; 0: the addresses do
  std::uint32_t padding = 0;
};

// The place as the environment names it.
struct Master {
  std::string name;
  int port;
  std::uint64_t job;  // tells jobs apart that meet at neighbouring ports

  int port_at(int attempt) const { return (port + attempt) % 65535 + 1; }
  std::string text() const {
    return "MASTER_ADDR=" + name + " at port " + std::to_string(port_at(0)) + " or one of the " +
           std::to_string(bootstrap_ports - 1) + " that follow (MASTER_PORT=" + std::to_string(port) + ")";
  }
};

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text ? text : "";
}

std::string text_of(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", seconds);
  return text.data();
}

std::string secret() { return variable("DCGN_SECRET"); }

// Of one end that it knows the secret, good for these two sayings alone; nothing where there is none.
base::Digest proof_of(const char* end, const Hello& hello, const Visitor& visitor, const Nonce& nonce) {
  if (secret().empty()) return {};
  std::string text(end);
  text.append(reinterpret_cast<const char*>(&hello), sizeof hello);
  text.append(reinterpret_cast<const char*>(&visitor), sizeof visitor);
  text.append(reinterpret_cast<const char*>(&nonce), sizeof nonce);
  return base::hmac_sha256(secret(), text);
}

// Whether the other end has closed: nobody knows whose it was then.
bool has_gone(const Socket& s) {
  pollfd p{s.fd(), POLLRDHUP, 0};
  return poll(&p, 1, 0) > 0;
}

// Why the other end is none of this user's processes; nothing where it may be one. Of other hosts that is not known.
std::string why_strange(const Socket& s) {
  const Address here = own_address(s), there = peer_address(s);
  if (!secret().empty() || (there.host && here.host != there.host && !is_loopback(there))) return "";
  auto user = user_of_peer(s);
  // The kernel's table may change while it is read.
  for (int again = 0; again < 3 && !user && !has_gone(s); ++again) {
    std::this_thread::sleep_for(10ms);
    user = user_of_peer(s);
  }
  if (user == geteuid()) return "";
  return (user ? "is of user " + std::to_string(*user) : "is of a user that the system does not tell") + ", expected " +
         std::to_string(geteuid()) + " unless all have the same DCGN_SECRET";
}

std::string other_protocol(std::uint32_t theirs) {
  return "speaks protocol " + std::to_string(theirs) + " between processes, expected " +
         std::to_string(process_protocol) + ": the same version of dcgn in all";
}

Master find_master() {
  Master m{variable("MASTER_ADDR"), environment_number("MASTER_PORT").value_or(torch_port), 14695981039346656037u};
  if (m.port < 1 || m.port > 65535)
    throw Error(Code::configuration, "launch",
                "MASTER_PORT=" + std::to_string(m.port) + ": expected a port, 1 to 65535");
  const std::string run =
      std::to_string(m.port) + '/' + variable("TORCHELASTIC_RUN_ID") + '/' + variable("TORCHELASTIC_RESTART_COUNT");
  for (const char c : run) m.job = (m.job ^ static_cast<unsigned char>(c)) * 1099511628211u;  // FNV-1a
  return m;
}

Address resolve(const Master& master) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(master.name.c_str(), nullptr, &hints, &found))
    throw Error(Code::configuration, "launch",
                "MASTER_ADDR=" + master.name + ": " + gai_strerror(error) +
                    "; expected the name or IPv4 address of rank 0's host");
  const Address address{reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr, 0};
  freeaddrinfo(found);
  return address;
}

// ---- rank 0

class Host {
 public:
  Host(const Master& master, std::uint32_t interface, int size, double within_s, Clock::time_point until)
      : master_(master),
        interface_(interface),
        size_(size),
        within_s_(within_s),
        until_(until),
        guests_(static_cast<std::size_t>(size)) {}

  // addresses[0].port is this process's.
  void gather(std::vector<Address>& addresses, std::uint64_t token) {
    Socket door;
    for (int attempt = 0; attempt < bootstrap_ports && !door; ++attempt)
      door = listen_at(static_cast<std::uint16_t>(master_.port_at(attempt)), SOMAXCONN, interface_);
    if (!door) give_up(Code::configuration, "no port is free for rank 0 to listen at, of " + master_.text());
    Address own{};  // as others reach this host, best as those of other hosts do
    for (int come = 1; come < size_;) {
      while (!ready(door.fd(), POLLIN, std::min(until_, Clock::now() + 200ms))) {
        expect_all_here();
        if (Clock::now() >= until_) give_up(Code::deadline, who_is_missing());
      }
      Socket s(accept4(door.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      Hello hello{};
      const auto soon = std::min(until_, Clock::now() + 2s);
      if (!s || !read_all(s.fd(), &hello, sizeof hello, soon) || hello.magic != magic || hello.job != master_.job)
        continue;
      const Address here = own_address(s), there = peer_address(s);
      const std::string who = "a process at " + to_string(there) + " says RANK=" + std::to_string(hello.rank);
      const Welcome welcome{magic, process_protocol};
      if (!write_all(s.fd(), &welcome, sizeof welcome, soon)) continue;
      // Who may be a stranger cannot end the job.
      if (const std::string why = why_strange(s); !why.empty()) {
        const bool gone = has_gone(s);  // nobody knows whose it was then
        if (turned_away_.empty() || !gone) turned_away_.assign(who).append(" and ").append(gone ? "has gone" : why);
        continue;
      }
      if (hello.protocol != process_protocol) {
        turned_away_ = who + " and " + other_protocol(hello.protocol);
        if (secret().empty()) give_up(Code::configuration, turned_away_);
        continue;
      }
      Visitor v{};
      if (!read_all(s.fd(), &v, sizeof v, soon)) continue;
      const Nonce nonce = {random_token(), random_token()};
      const Challenge challenge{nonce, proof_of("host", hello, v, nonce)};
      base::Digest proof{};
      const bool answers =
          write_all(s.fd(), &challenge, sizeof challenge, soon) && read_all(s.fd(), &proof, sizeof proof, soon);
      if (!answers || !base::same(proof, proof_of("visitor", hello, v, nonce))) {
        turned_away_ = who + (answers ? " and does not prove" : " and has gone before it has proven") +
                       " that it has the same DCGN_SECRET as rank 0";
        continue;
      }
      if (v.size != size_)
        give_up(Code::configuration,
                who + " and WORLD_SIZE=" + std::to_string(v.size) + ", rank 0 has WORLD_SIZE=" + std::to_string(size_) +
                    "; expected the same in all",
                &s);
      if (hello.rank < 1 || hello.rank >= size_ || guest(hello.rank))
        give_up(Code::configuration,
                who + ", as another one does; expected each of 0 to " + std::to_string(size_ - 1) + " once", &s);
      addresses[static_cast<std::size_t>(hello.rank)] = {is_loopback(there) ? 0 : there.host,
                                                         static_cast<std::uint16_t>(v.port)};
      if (!is_loopback(here) && (!own.host || here.host != there.host)) own = here;
      guest(hello.rank) = std::move(s);
      ++come;
    }
    if (!own.host) own.host = htonl(INADDR_LOOPBACK);
    for (Address& a : addresses)
      if (!a.host) a.host = own.host;
    const Outcome outcome{token, 0};
    for (int r = 1; r < size_; ++r)
      if (!write_all(guest(r).fd(), &outcome, sizeof outcome, until_) ||
          !write_all(guest(r).fd(), addresses.data(), addresses.size() * sizeof(Address), until_))
        give_up_for(r);
  }

 private:
  Socket& guest(int rank) { return guests_[static_cast<std::size_t>(rank)]; }

  [[noreturn]] void give_up_for(int rank) {
    give_up(Code::device, "process " + std::to_string(rank) + " has gone while all met");
  }
  // Of those that have come.
  void expect_all_here() {
    for (int r = 1; r < size_; ++r)
      if (guest(r) && has_gone(guest(r))) give_up_for(r);
  }

  std::string who_is_missing() {
    std::string come = "0", missing;
    int named = 0;
    for (int r = 1; r < size_; ++r) {
      std::string& list = guest(r) ? come : missing;
      if (++named < 64) list += (list.empty() ? "" : ", ") + std::to_string(r);
    }
    return "at " + master_.text() + " there are ranks " + come + " of " + std::to_string(size_) + " after " +
           text_of(within_s_) + " s, and not " + missing +
           (turned_away_.empty() ? "; is each started, and does it reach rank 0?" : "; " + turned_away_);
  }

  // Tells those that have come, too.
  [[noreturn]] void give_up(Code code, const std::string& why, const Socket* last = nullptr) {
    const Outcome outcome{0, static_cast<std::uint32_t>(why.size())};
    const auto soon = Clock::now() + 2s;
    const auto tell = [&](const Socket& s) {
      if (write_all(s.fd(), &outcome, sizeof outcome, soon)) write_all(s.fd(), why.data(), why.size(), soon);
    };
    for (const Socket& s : guests_)
      if (s) tell(s);
    if (last) tell(*last);
    throw Error(code, "launch", why);
  }

  const Master& master_;
  const std::uint32_t interface_;
  const int size_;
  const double within_s_;
  const Clock::time_point until_;
  std::vector<Socket> guests_;  // [rank]
  std::string turned_away_;     // who was last, and why
};

// ---- the others

// Whether rank 0 has taken the visitor in; `why` says why not, of somebody who answers.
bool introduce(const Socket& s, const Address& address, const Hello& hello, const Visitor& visitor,
               Clock::time_point soon, std::string& why) {
  Welcome welcome{};
  if (!write_all(s.fd(), &hello, sizeof hello, soon) || !write_all(s.fd(), &visitor, sizeof visitor, soon) ||
      !read_all(s.fd(), &welcome, sizeof welcome, soon) || welcome.magic != magic)
    return false;
  const std::string who = "rank 0 at " + to_string(address) + " ";
  if (const std::string strange = why_strange(s); !strange.empty()) {
    if (why.empty() || !has_gone(s)) why = who + strange;
    return false;
  }
  if (welcome.protocol != process_protocol) {
    why = who + other_protocol(welcome.protocol);
    if (secret().empty()) throw Error(Code::configuration, "launch", why);
    return false;
  }
  Challenge challenge{};
  if (!read_all(s.fd(), &challenge, sizeof challenge, soon) ||
      !base::same(challenge.proof, proof_of("host", hello, visitor, challenge.nonce))) {
    why = who + "does not prove that it has the same DCGN_SECRET as rank " + std::to_string(hello.rank);
    return false;
  }
  const base::Digest proof = proof_of("visitor", hello, visitor, challenge.nonce);
  return write_all(s.fd(), &proof, sizeof proof, soon);
}

Socket find_host(const Master& master, Address address, const Hello& hello, const Visitor& visitor, double within_s,
                 Clock::time_point until) {
  std::string why;
  do {
    for (int attempt = 0; attempt < bootstrap_ports; ++attempt) {
      address.port = htons(static_cast<std::uint16_t>(master.port_at(attempt)));
      Socket s = connect_to(address, std::min(until, Clock::now() + 2s));
      if (s && introduce(s, address, hello, visitor, std::min(until, Clock::now() + 5s), why)) return s;
    }
    std::this_thread::sleep_for(50ms);
  } while (Clock::now() < until);
  throw Error(Code::deadline, "launch",
              "rank 0 does not answer rank " + std::to_string(hello.rank) + " within " + text_of(within_s) + " s at " +
                  master.text() + ", address " + to_string(address).substr(0, to_string(address).find(':')) +
                  (why.empty() ? "" : "; " + why));
}

std::uint64_t visit(const Master& master, const Address& at, const Hello& hello, const Visitor& visitor,
                    double within_s, Clock::time_point until, std::vector<Address>& addresses) {
  const Socket s = find_host(master, at, hello, visitor, within_s, until);
  const auto last = until + 5s;  // rank 0 says why where it gives up
  Outcome outcome{};
  if (!read_all(s.fd(), &outcome, sizeof outcome, last))
    throw Error(Code::aborted, "launch", "rank 0 has gone while the processes met at " + master.text());
  std::string trouble(std::min<std::size_t>(outcome.trouble, 1 << 20), ' ');
  if (!trouble.empty()) {
    read_all(s.fd(), trouble.data(), trouble.size(), last);
    throw Error(Code::aborted, "launch", "rank 0 says: " + trouble);
  }
  if (!read_all(s.fd(), addresses.data(), addresses.size() * sizeof(Address), last))
    throw Error(Code::aborted, "launch", "rank 0 has gone while the processes met at " + master.text());
  return outcome.token;
}

}  // namespace

Bootstrap bootstrap(int rank, int size, double within_s) {
  const auto until =
      Clock::now() + std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(within_s));
  // Of a command that has failed, most likely; the job would be open to all.
  if (std::getenv("DCGN_SECRET") && secret().empty())
    throw Error(Code::configuration, "launch",
                "DCGN_SECRET is empty: expected letters, the same in all processes, or no such variable");
  if (!secret().empty()) base::hmac_sha256(secret(), "");  // where this build has none, before anybody waits
  const Master master = find_master();
  const Address at = resolve(master);
  // Where all are on this host, none of others gets as far as a port of theirs.
  const std::uint32_t interface = is_loopback(at) ? htonl(INADDR_LOOPBACK) : htonl(INADDR_ANY);
  Bootstrap m{.rank = rank,
              .listener = listen_at(0, SOMAXCONN, interface),
              .addresses = std::vector<Address>(static_cast<std::size_t>(size))};
  if (!m.listener) refuse_call("a socket to listen at");
  const std::uint16_t port = own_address(m.listener).port;
  if (rank == 0) {
    m.token = random_token();
    m.addresses[0].port = port;
    Host(master, interface, size, within_s, until).gather(m.addresses, m.token);
  } else {
    m.token = visit(master, at, {magic, master.job, process_protocol, rank},
                    {size, port, {random_token(), random_token()}}, within_s, until, m.addresses);
  }
  return m;
}

}  // namespace dcgn::transport
