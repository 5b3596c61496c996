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

struct Greeting {
  std::uint64_t token;
  std::int32_t rank, padding;
};

// What the poll says of a socket: whose it is.
constexpr std::uint64_t the_listener = ~std::uint64_t{0};
constexpr std::uint64_t outgoing_bit = std::uint64_t{1} << 63;

[[noreturn]] void fail(const std::string& what) { throw Error(Code::device, "TCP", what); }
bool later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Mesh::Mesh(Bootstrap bootstrap)
    : rank_(bootstrap.rank),
      token_(bootstrap.token),
      addresses_(std::move(bootstrap.addresses)),
      listener_(std::move(bootstrap.listener)),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      gone_(addresses_.size()) {
  if (!poll_) refuse_call("epoll_create1");
  set_blocking(listener_.fd(), false);
  watch(listener_.fd(), the_listener, EPOLLIN, EPOLL_CTL_ADD);
}

void Mesh::watch(int fd, std::uint64_t who, std::uint32_t events, int operation) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = who;
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
  if (!r.done && r.kind == Kind::receive && r.from != any_source && gone_[static_cast<std::size_t>(r.from)])
    fail("process " + std::to_string(r.from) + " has gone, and a message of it is waited for");
  if (!r.done) return false;
  status = r.status;
  release(handle);
  return true;
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

Mesh::Out& Mesh::out_to(int rank) {
  Out& out = outs_[rank];
  if (out.socket) return out;
  const Address& address = addresses_[static_cast<std::size_t>(rank)];
  out.socket = connect_to(address, Clock::now() + connect_within);
  const Greeting greeting{token_, rank_, 0};
  if (!out.socket || !write_all(out.socket.fd(), &greeting, sizeof greeting, Clock::now() + connect_within))
    fail("process " + std::to_string(rank) + " cannot be connected to at " + to_string(address));
  set_undelayed(out.socket.fd());
  set_blocking(out.socket.fd(), false);
  watch(out.socket.fd(), outgoing_bit | static_cast<std::uint64_t>(rank), 0, EPOLL_CTL_ADD);
  return out;
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
  Out& out = out_to(to);
  out.queue.push_back(outgoing);
  if (!out.blocked) flush(to, out);
}

void Mesh::flush(int to, Out& out) {
  bool blocked = false;
  while (!out.queue.empty() && !blocked) {
    Outgoing& o = out.queue.front();
    const std::size_t head = std::min(o.sent, sizeof(Header)), body = o.sent - head;
    iovec pieces[2] = {{reinterpret_cast<unsigned char*>(&o.header) + head, sizeof(Header) - head},
                       {const_cast<unsigned char*>(o.data) + body, o.header.bytes - body}};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    const ssize_t gone = sendmsg(out.socket.fd(), &message, MSG_NOSIGNAL);
    if (gone < 0 && !later()) fail("process " + std::to_string(to) + " takes no messages: " + std::strerror(errno));
    if (gone > 0) o.sent += static_cast<std::size_t>(gone);
    blocked = gone < 0;
    if (o.sent < sizeof(Header) + o.header.bytes) continue;
    if (o.request && !o.header.number) request(o.request).done = true;  // a synchronous one is when the other end says
    out.queue.pop_front();
  }
  if (blocked == out.blocked) return;
  out.blocked = blocked;
  watch(out.socket.fd(), outgoing_bit | static_cast<std::uint64_t>(to), blocked ? EPOLLOUT : 0u, EPOLL_CTL_MOD);
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

void Mesh::begin(In& in, const Header& header) {
  if (header.tag == acknowledged_tag) {
    request(header.number).done = true;
    return;
  }
  in.message = messages_.insert(messages_.end(), Message{.source = in.rank, .header = header});
  in.in_message = true;
  for (auto p = posted_.begin(); p != posted_.end(); ++p) {
    const Request& r = request(*p);
    if (r.tag != header.tag || (r.from != any_source && r.from != in.rank)) continue;
    const MpiHandle receive = *p;
    posted_.erase(p);
    match(*in.message, receive);
    return;
  }
}

// Whoever connects says who it is. False where that is a stranger, whose word on this counts for nothing.
bool Mesh::greet(In& in) {
  Greeting greeting;
  const ssize_t got = recv(in.socket.fd(), in.buffer.data() + in.filled, sizeof greeting - in.filled, 0);
  if (got <= 0) return got < 0 && later();
  in.filled += static_cast<std::size_t>(got);
  if (in.filled < sizeof greeting) return true;
  std::memcpy(&greeting, in.buffer.data(), sizeof greeting);
  in.filled = 0;
  if (greeting.token != token_ || greeting.rank < 0 || greeting.rank >= size()) return false;
  in.rank = greeting.rank;
  return true;
}

// Takes what the buffer has, up to the beginning of a header.
void Mesh::take(In& in) {
  const unsigned char *at = in.buffer.data(), *const end = at + in.filled;
  for (;;) {
    const auto left = static_cast<std::size_t>(end - at);
    if (!in.in_message) {
      Header header;
      if (left < sizeof header) break;
      std::memcpy(&header, at, sizeof header);
      at += sizeof header;
      begin(in, header);
    } else {
      Message& m = *in.message;
      const std::size_t piece = std::min(left, m.left());
      if (!m.receive)
        m.bytes.insert(m.bytes.end(), at, at + piece);
      else if (piece && !m.dropped)
        std::memcpy(request(m.receive).to + m.got, at, piece);
      at += piece;
      if (!add(in, piece)) break;
    }
  }
  in.filled = static_cast<std::size_t>(end - at);
  std::memmove(in.buffer.data(), at, in.filled);
}

// So many more bytes of the message that comes are here. Whether these are all.
bool Mesh::add(In& in, std::size_t count) {
  Message& m = *in.message;
  m.got += count;
  if (m.left()) return false;
  in.in_message = false;
  if (m.receive) finish(in.message);
  return true;
}

// False where the connection is over.
bool Mesh::read(In& in) {
  if (in.rank < 0) return greet(in);
  for (int n = 0; n < most_reads; ++n) {
    // The rest of a message into its place, what follows into the buffer.
    iovec pieces[2] = {{nullptr, 0}, {in.buffer.data() + in.filled, in.buffer.size() - in.filled}};
    if (in.in_message) {
      Message& m = *in.message;
      if (m.receive && !m.dropped) {
        pieces[0] = {request(m.receive).to + m.got, m.left()};
      } else {
        const std::size_t at = m.dropped ? 0 : m.got, piece = std::min(m.left(), unasked_piece);
        m.bytes.resize(at + piece);
        pieces[0] = {m.bytes.data() + at, piece};
        if (piece < m.left()) pieces[1].iov_len = 0;
      }
    }
    const ssize_t got = readv(in.socket.fd(), pieces, 2);
    const std::size_t count = got > 0 ? static_cast<std::size_t>(got) : 0, placed = std::min(count, pieces[0].iov_len);
    if (in.in_message) {
      Message& m = *in.message;
      if (!m.receive) m.bytes.resize(m.got + placed);
      add(in, placed);
    }
    if (got <= 0) return got < 0 && later();
    in.filled += count - placed;
    if (in.filled) take(in);
    if (count < pieces[0].iov_len + pieces[1].iov_len) return true;  // there was no more
  }
  return true;
}

void Mesh::accept() {
  for (;;) {
    Socket s(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!s) return;
    const int fd = s.fd();
    watch(fd, static_cast<std::uint64_t>(fd), EPOLLIN, EPOLL_CTL_ADD);
    ins_[fd].socket = std::move(s);
  }
}

void Mesh::progress() {
  epoll_event events[16];
  const int count = epoll_wait(poll_.fd(), events, 16, 0);
  if (count < 0 && errno != EINTR) refuse_call("epoll_wait");
  for (int i = 0; i < count; ++i) {
    const std::uint64_t who = events[i].data.u64;
    if (who == the_listener) {
      accept();
    } else if (who & outgoing_bit) {
      const int to = static_cast<int>(who & ~outgoing_bit);
      flush(to, outs_[to]);
    } else if (const auto in = ins_.find(static_cast<int>(who)); !read(in->second)) {
      if (in->second.rank >= 0) gone_[static_cast<std::size_t>(in->second.rank)] = true;
      watch(in->first, 0, 0, EPOLL_CTL_DEL);  // or it goes on for as long as a child of this process has the socket
      ins_.erase(in);
    }
  }
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
    if (!g.send && !g.receive) {
      g.receive = receive(g.blocks.data() + static_cast<std::size_t>(g.have) * g.bytes, more, (rank_ + g.have) % size(),
                          gather_tag);
      g.send = send(g.blocks.data(), more, (rank_ + size() - g.have) % size(), gather_tag);
    }
    if (g.send && test(g.send, ignored)) g.send = 0;
    if (g.receive && test(g.receive, ignored)) g.receive = 0;
    if (g.send || g.receive) return false;
  }
  for (std::size_t i = 0; g.bytes && i < addresses_.size(); ++i)
    std::memcpy(g.out + (static_cast<std::size_t>(rank_) + i) % addresses_.size() * g.bytes,
                g.blocks.data() + i * g.bytes, g.bytes);
  return true;
}

}  // namespace dcgn::transport
