#include "mesh.hpp"

#include <dcgn/error.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace dcgn::transport {

namespace {

using namespace std::chrono_literals;

constexpr auto connect_within = 20s;
constexpr std::int32_t gather_tag = -1, acknowledged_tag = -2;
constexpr std::size_t unasked_piece = 256u << 10;  // read at once of a message that nobody has asked for yet
constexpr int most_reads = 8;                      // of one connection, before others have their turn
constexpr unsigned looks_at_all = 4;               // one look of so many is at all connections

struct Greeting {
  std::uint64_t token;
  std::int32_t rank, padding;
};

[[noreturn]] void fail(const std::string& what) { throw Error(Code::device, "TCP", what); }
bool later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Mesh::Mesh(Bootstrap bootstrap)
    : rank_(bootstrap.rank),
      token_(bootstrap.token),
      addresses_(std::move(bootstrap.addresses)),
      listener_(std::move(bootstrap.listener)),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      left_(addresses_.size()) {
  if (!poll_) refuse_call("epoll_create1");
  set_blocking(listener_.fd(), false);
  watch(listener_.fd(), EPOLLIN, EPOLL_CTL_ADD);
}

void Mesh::watch(int fd, std::uint32_t events, int operation) const {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(poll_.fd(), operation, fd, &event) < 0) refuse_call("epoll_ctl");
}

// ---- requests

MpiHandle Mesh::make(Kind kind) {
  if (free_.empty()) {
    requests_.emplace_back();
    free_.push_back(requests_.size());
  }
  const MpiHandle handle = free_.back();
  free_.pop_back();
  request(handle).kind = kind;
  return handle;
}

void Mesh::release(MpiHandle handle) {
  request(handle) = {};
  free_.push_back(handle);
}

bool Mesh::test(MpiHandle handle, MpiStatus& status) {
  Request& r = request(handle);
  if (r.kind == Kind::gather) r.done = advance(r.gather);
  if (!r.done) progress();
  if (!r.done && r.kind == Kind::receive && r.from != any_source && is_gone(r.from))
    fail("process " + std::to_string(r.from) + " has gone, and a message of it is waited for");
  if (!r.done) return false;
  status = r.status;
  release(handle);
  return true;
}

bool Mesh::is_connected(int rank) const {
  return std::ranges::any_of(connections_, [&](const auto& c) { return c.second.rank == rank && !c.second.over; });
}

// What it sent may still come over another connection, which may not have said yet whose it is.
bool Mesh::is_gone(int rank) {
  if (!left_[static_cast<std::size_t>(rank)]) return false;
  accept();
  return std::ranges::none_of(connections_, [&](const auto& entry) {
    const Connection& c = entry.second;
    return !c.over && (c.rank == rank || c.rank < 0);
  });
}

void Mesh::cancel(MpiHandle receive) {
  Request& r = request(receive);
  if (r.done) return;
  posted_.remove(receive);
  for (Message& m : messages_)
    if (m.receive == receive) m.dropped = true;
  r.status.cancelled = 1;
  r.done = true;
}

// ---- sending

Mesh::Connection& Mesh::connection_to(int rank) {
  Connection*& found = outs_[rank];
  for (auto c = connections_.begin(); !found && c != connections_.end(); ++c)
    if (c->second.rank == rank && !c->second.over) found = &c->second;
  if (found) return *found;
  const Address& address = addresses_[static_cast<std::size_t>(rank)];
  Socket socket = connect_to(address, Clock::now() + connect_within);
  const Greeting greeting{token_, rank_, 0};
  if (!socket || !write_all(socket.fd(), &greeting, sizeof greeting, Clock::now() + connect_within))
    fail("process " + std::to_string(rank) + " cannot be connected to at " + to_string(address));
  set_blocking(socket.fd(), false);
  found = &add(std::move(socket));
  found->rank = rank;
  return *found;
}

Mesh::Connection& Mesh::add(Socket socket) {
  const int fd = socket.fd();
  set_undelayed(fd);
  watch(fd, EPOLLIN, EPOLL_CTL_ADD);
  Connection& c = connections_[fd];
  c.socket = std::move(socket);
  return c;
}

MpiHandle Mesh::send(const void* data, std::size_t bytes, int to, int tag, bool synchronous) {
  const MpiHandle handle = make(Kind::send);
  enqueue(to, {{tag, synchronous ? static_cast<std::uint32_t>(handle) : 0, bytes},
               static_cast<const unsigned char*>(data),
               0,
               handle});
  return handle;
}

void Mesh::enqueue(int to, const Outgoing& outgoing) {
  Connection& c = connection_to(to);
  c.queue.push_back(outgoing);
  if (!c.blocked) flush(c);
}

void Mesh::flush(Connection& c) {
  bool blocked = false;
  while (!c.queue.empty() && !blocked) {
    Outgoing& o = c.queue.front();
    const std::size_t head = std::min(o.sent, sizeof(Header)), body = o.sent - head;
    iovec pieces[2] = {{reinterpret_cast<unsigned char*>(&o.header) + head, sizeof(Header) - head},
                       {const_cast<unsigned char*>(o.data) + body, o.header.bytes - body}};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    const ssize_t gone = sendmsg(c.socket.fd(), &message, MSG_NOSIGNAL);
    if (gone < 0 && !later()) fail("process " + std::to_string(c.rank) + " takes no messages: " + std::strerror(errno));
    if (gone > 0) o.sent += static_cast<std::size_t>(gone);
    blocked = gone < 0;
    if (o.sent < sizeof(Header) + o.header.bytes) continue;
    if (o.request && !o.header.number) request(o.request).done = true;  // a synchronous one is when the other end says
    c.queue.pop_front();
  }
  if (blocked == c.blocked) return;
  c.blocked = blocked;
  if (!c.over) watch(c.socket.fd(), EPOLLIN | (blocked ? EPOLLOUT : 0u), EPOLL_CTL_MOD);
}

// ---- receiving

MpiHandle Mesh::receive(void* data, std::size_t capacity, int from, int tag) {
  const MpiHandle handle = make(Kind::receive);
  Request& r = request(handle);
  r.to = static_cast<unsigned char*>(data);
  r.capacity = capacity;
  r.from = from;
  r.tag = tag;
  for (auto m = messages_.begin(); m != messages_.end(); ++m)
    if (!m->receive && m->header.tag == tag && (from == any_source || m->source == from)) {
      match(*m, handle);
      if (m->got == m->header.bytes) finish(m);
      return handle;
    }
  posted_.push_back(handle);
  return handle;
}

void Mesh::match(Message& message, MpiHandle receive) {
  Request& r = request(receive);
  if (message.header.bytes > r.capacity)
    fail("a message of " + std::to_string(message.header.bytes) + " bytes from process " +
         std::to_string(message.source) + " for a buffer of " + std::to_string(r.capacity));
  message.receive = receive;
  if (message.got) std::memcpy(r.to, message.bytes.data(), message.got);
  message.bytes = {};
  if (message.header.number) enqueue(message.source, {{acknowledged_tag, message.header.number, 0}, nullptr, 0, 0});
}

void Mesh::finish(std::list<Message>::iterator m) {
  if (!m->dropped) {
    Request& r = request(m->receive);
    r.status = {m->source, m->header.tag, static_cast<std::int64_t>(m->header.bytes), 0};
    r.done = true;
  }
  messages_.erase(m);
}

void Mesh::begin(Connection& c, const Header& header) {
  if (header.tag == acknowledged_tag) {
    request(header.number).done = true;
    return;
  }
  c.message = messages_.insert(messages_.end(), Message{.source = c.rank, .header = header});
  c.in_message = true;
  for (auto p = posted_.begin(); p != posted_.end(); ++p) {
    const Request& r = request(*p);
    if (r.tag != header.tag || (r.from != any_source && r.from != c.rank)) continue;
    const MpiHandle receive = *p;
    posted_.erase(p);
    match(*c.message, receive);
    return;
  }
}

// Whoever connects says who it is. False where that is a stranger, whose word on this counts for nothing.
bool Mesh::greet(Connection& c) {
  Greeting greeting;
  const ssize_t got = recv(c.socket.fd(), c.buffer.data() + c.filled, sizeof greeting - c.filled, 0);
  if (got <= 0) return got < 0 && later();
  c.filled += static_cast<std::size_t>(got);
  if (c.filled < sizeof greeting) return true;
  std::memcpy(&greeting, c.buffer.data(), sizeof greeting);
  c.filled = 0;
  if (greeting.token != token_ || greeting.rank < 0 || greeting.rank >= size()) return false;
  c.rank = greeting.rank;
  return true;
}

// Takes what the buffer has, up to the beginning of a header.
void Mesh::take(Connection& c) {
  const unsigned char *at = c.buffer.data(), *const end = at + c.filled;
  for (;;) {
    const auto left = static_cast<std::size_t>(end - at);
    if (!c.in_message) {
      Header header;
      if (left < sizeof header) break;
      std::memcpy(&header, at, sizeof header);
      at += sizeof header;
      begin(c, header);
    } else {
      Message& m = *c.message;
      const std::size_t piece = std::min(left, m.left());
      if (!m.receive)
        m.bytes.insert(m.bytes.end(), at, at + piece);
      else if (piece && !m.dropped)
        std::memcpy(request(m.receive).to + m.got, at, piece);
      at += piece;
      if (!add(c, piece)) break;
    }
  }
  c.filled = static_cast<std::size_t>(end - at);
  std::memmove(c.buffer.data(), at, c.filled);
}

// So many more bytes of the message that comes are here. Whether these are all.
bool Mesh::add(Connection& c, std::size_t count) {
  Message& m = *c.message;
  m.got += count;
  if (m.left()) return false;
  c.in_message = false;
  if (m.receive) finish(c.message);
  return true;
}

// False where the connection is over.
bool Mesh::read(Connection& c) {
  if (c.rank < 0) return greet(c);
  for (int n = 0; n < most_reads; ++n) {
    // The rest of a message into its place, what follows into the buffer.
    iovec pieces[2] = {{nullptr, 0}, {c.buffer.data() + c.filled, c.buffer.size() - c.filled}};
    if (c.in_message) {
      Message& m = *c.message;
      if (m.receive && !m.dropped) {
        pieces[0] = {request(m.receive).to + m.got, m.left()};
      } else {
        const std::size_t at = m.dropped ? 0 : m.got, piece = std::min(m.left(), unasked_piece);
        m.bytes.resize(at + piece);
        pieces[0] = {m.bytes.data() + at, piece};
        if (piece < m.left()) pieces[1].iov_len = 0;
      }
    }
    const ssize_t got = readv(c.socket.fd(), pieces, 2);
    const std::size_t count = got > 0 ? static_cast<std::size_t>(got) : 0, placed = std::min(count, pieces[0].iov_len);
    if (c.in_message) {
      Message& m = *c.message;
      if (!m.receive) m.bytes.resize(m.got + placed);
      add(c, placed);
    }
    if (got <= 0) return got < 0 && later();
    c.filled += count - placed;
    if (c.filled) take(c);
    if (count < pieces[0].iov_len + pieces[1].iov_len) return true;  // there was no more
  }
  return true;
}

void Mesh::accept() {
  while (Socket s{accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)}) add(std::move(s));
}

// Most looks are at the connection that something came over last: that is one call of the system instead of two.
void Mesh::progress() {
  if (recent_ && ++looks_ % looks_at_all) return look(*recent_);
  epoll_event events[16];
  const int count = epoll_wait(poll_.fd(), events, 16, 0);
  if (count < 0 && errno != EINTR) refuse_call("epoll_wait");
  for (int i = 0; i < count; ++i) {
    if (events[i].data.fd == listener_.fd()) {
      accept();
    } else if (const auto c = connections_.find(events[i].data.fd); c != connections_.end()) {
      if (events[i].events & EPOLLOUT) flush(c->second);
      if (!(events[i].events & ~EPOLLOUT)) continue;
      recent_ = &c->second;
      look(c->second);
    }
  }
}

// Reads what has come over a connection, and forgets it where it is over.
void Mesh::look(Connection& c) {
  if (read(c)) return;
  if (c.rank >= 0) left_[static_cast<std::size_t>(c.rank)] = true;
  if (recent_ == &c) recent_ = nullptr;
  c.over = true;
  if (!c.queue.empty()) flush(c);  // which says so
  const int fd = c.socket.fd();
  watch(fd, 0, EPOLL_CTL_DEL);  // or it goes on for as long as a child of this process has the socket
  if (const auto out = outs_.find(c.rank); out == outs_.end() || out->second != &c) connections_.erase(fd);
}

// ---- all to all

// Bruck's algorithm: each round doubles what a process has, by those that the one so much further on has.
MpiHandle Mesh::all_gather(const void* in, void* out, std::size_t bytes) {
  const MpiHandle handle = make(Kind::gather);
  Gather& g = request(handle).gather;
  g.out = static_cast<unsigned char*>(out);
  g.bytes = bytes;
  g.blocks.resize(bytes * addresses_.size());
  if (bytes) std::memcpy(g.blocks.data(), in, bytes);
  return handle;
}

bool Mesh::advance(Gather& g) {
  MpiStatus ignored;
  for (; g.have < size(); g.have = std::min(2 * g.have, size())) {
    const std::size_t more = static_cast<std::size_t>(std::min(g.have, size() - g.have)) * g.bytes;
    const int from = (rank_ + g.have) % size(), to = (rank_ + size() - g.have) % size();
    if (!g.begun) {
      g.receive = receive(g.blocks.data() + static_cast<std::size_t>(g.have) * g.bytes, more, from, gather_tag);
      g.begun = g.to_send = true;
    }
    // Of two that send to each other the first connects, and the other answers: they have one connection for all time.
    if (g.to_send && (from != to || rank_ < to || is_connected(to))) {
      g.send = send(g.blocks.data(), more, to, gather_tag);
      g.to_send = false;
    }
    if (g.send && test(g.send, ignored)) g.send = 0;
    if (g.receive && test(g.receive, ignored)) g.receive = 0;
    if (g.to_send || g.send || g.receive) return false;
    g.begun = false;
  }
  for (std::size_t i = 0; g.bytes && i < addresses_.size(); ++i)
    std::memcpy(g.out + (static_cast<std::size_t>(rank_) + i) % addresses_.size() * g.bytes,
                g.blocks.data() + i * g.bytes, g.bytes);
  return true;
}

}  // namespace dcgn::transport
