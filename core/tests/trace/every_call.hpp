// One of each public call, for a CPU rank and for a slot.
#pragma once

#include <dcgn/dcgn.hpp>

#include <cstdint>

namespace dcgn::test {

// The calls of a CPU rank and of a slot by the same names, without scopes.
struct ByCpu {
  Comm& c;

  int rank() const { return c.rank(); }
  template <class... A>
  void send(A... a) const {
    c.send_bytes(a...);
  }
  template <class... A>
  void ssend(A... a) const {
    c.ssend_bytes(a...);
  }
  template <class... A>
  void bsend(A... a) const {
    c.bsend_bytes(a...);
  }
  template <class... A>
  void recv(A... a) const {
    c.recv_bytes(a...);
  }
  template <class... A>
  Request isend(A... a) const {
    return c.isend_bytes(a...);
  }
  template <class... A>
  Request irecv(A... a) const {
    return c.irecv_bytes(a...);
  }
  void wait(const Request& r) const { c.wait(r); }
  void wait_all(const Request& r) const { c.wait_all({&r, 1}); }
  void wait_any(const Request& r) const { c.wait_any({&r, 1}); }
  bool test(const Request& r) const { return c.test(r).has_value(); }
  void probe(int from, int tag) const { c.probe(from, tag); }
  bool iprobe(int from, int tag) const { return c.iprobe(from, tag).has_value(); }
  template <class... A>
  void sendrecv(A... a) const {
    c.sendrecv_bytes(a...);
  }
  template <class... A>
  void sendrecv_replace(A... a) const {
    c.sendrecv_replace_bytes(a...);
  }
  template <class... A>
  void barrier(const A&... a) const {
    c.barrier(a...);
  }
  template <class... A>
  void broadcast(const A&... a) const {
    c.broadcast(a...);
  }
  template <class... A>
  void reduce(const A&... a) const {
    c.reduce(a...);
  }
  template <class... A>
  void all_reduce(const A&... a) const {
    c.all_reduce(a...);
  }
  template <class... A>
  void reduce_scatter(const A&... a) const {
    c.reduce_scatter(a...);
  }
  template <class... A>
  void reduce_scatterv(const A&... a) const {
    c.reduce_scatterv(a...);
  }
  template <class... A>
  void scan(const A&... a) const {
    c.scan(a...);
  }
  template <class... A>
  void exclusive_scan(const A&... a) const {
    c.exclusive_scan(a...);
  }
  template <class... A>
  void gather(const A&... a) const {
    c.gather(a...);
  }
  template <class... A>
  void gatherv(const A&... a) const {
    c.gatherv(a...);
  }
  template <class... A>
  void scatter(const A&... a) const {
    c.scatter(a...);
  }
  template <class... A>
  void scatterv(const A&... a) const {
    c.scatterv(a...);
  }
  template <class... A>
  void all_gather(const A&... a) const {
    c.all_gather(a...);
  }
  template <class... A>
  void all_gatherv(const A&... a) const {
    c.all_gatherv(a...);
  }
  template <class... A>
  void all_to_all(const A&... a) const {
    c.all_to_all(a...);
  }
  template <class... A>
  void all_to_allv(const A&... a) const {
    c.all_to_allv(a...);
  }
  template <class Use>
  void in_dup(const Use& use) const {
    Comm d = c.dup();
    use(ByCpu{d});
  }
  template <class Use>
  void in_split(int color, int key, const Use& use) const {
    Comm d = c.split(color, key);
    use(ByCpu{d});
  }
  void cart() const { Comm d = c.cart(Cart::balanced(2, 1, false)); }
};

template <class Scope>
struct BySlot {
  const Scope& scope;
  gpu::Slot& s;

  DCGN_HOST_DEVICE int rank() const { return s.rank(); }
  template <class... A>
  DCGN_HOST_DEVICE void send(A... a) const {
    s.send_bytes(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void ssend(A... a) const {
    s.ssend_bytes(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void bsend(A... a) const {
    s.bsend_bytes(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void recv(A... a) const {
    s.recv_bytes(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE Request isend(A... a) const {
    return s.isend_bytes(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE Request irecv(A... a) const {
    return s.irecv_bytes(scope, a...);
  }
  DCGN_HOST_DEVICE void wait(const Request& r) const { s.wait(scope, r); }
  DCGN_HOST_DEVICE void wait_all(const Request& r) const { s.wait_all(scope, {&r, 1}); }
  DCGN_HOST_DEVICE void wait_any(const Request& r) const {
    std::int64_t index = -1;
    s.wait_any(scope, {&r, 1}, index);
  }
  DCGN_HOST_DEVICE bool test(const Request& r) const { return s.test(scope, r); }
  DCGN_HOST_DEVICE void probe(int from, int tag) const { s.probe(scope, from, tag); }
  DCGN_HOST_DEVICE bool iprobe(int from, int tag) const {
    bool found = false;
    s.iprobe(scope, from, tag, found);
    return found;
  }
  template <class... A>
  DCGN_HOST_DEVICE void sendrecv(A... a) const {
    s.sendrecv_bytes(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void sendrecv_replace(A... a) const {
    s.sendrecv_replace_bytes(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void barrier(const A&... a) const {
    s.barrier(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void broadcast(const A&... a) const {
    s.broadcast(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void reduce(const A&... a) const {
    s.reduce(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void all_reduce(const A&... a) const {
    s.all_reduce(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void reduce_scatter(const A&... a) const {
    s.reduce_scatter(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void reduce_scatterv(const A&... a) const {
    s.reduce_scatterv(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void scan(const A&... a) const {
    s.scan(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void exclusive_scan(const A&... a) const {
    s.exclusive_scan(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void gather(const A&... a) const {
    s.gather(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void gatherv(const A&... a) const {
    s.gatherv(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void scatter(const A&... a) const {
    s.scatter(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void scatterv(const A&... a) const {
    s.scatterv(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void all_gather(const A&... a) const {
    s.all_gather(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void all_gatherv(const A&... a) const {
    s.all_gatherv(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void all_to_all(const A&... a) const {
    s.all_to_all(scope, a...);
  }
  template <class... A>
  DCGN_HOST_DEVICE void all_to_allv(const A&... a) const {
    s.all_to_allv(scope, a...);
  }
  template <class Use>
  DCGN_HOST_DEVICE void in_dup(const Use& use) const {
    gpu::Slot d = s.dup(scope);
    use(BySlot{scope, d});
    d.release(scope);
  }
  template <class Use>
  DCGN_HOST_DEVICE void in_split(int color, int key, const Use& use) const {
    gpu::Slot d = s.split(scope, color, key);
    use(BySlot{scope, d});
    d.release(scope);
  }
  DCGN_HOST_DEVICE void cart() const {
    gpu::Slot d = s.cart(scope, Cart::balanced(2, 1, false));
    d.release(scope);
  }
};

struct Memory {
  int x[16], y[16];
  std::int64_t counts[2], displacements[2];
};

// Each is compiled for a CPU rank's calls, too, which the device's copy cannot make and never does.
#if defined(__CUDACC__)
#pragma nv_diag_suppress 20011, 20014
#endif
struct UseDup {
  template <class Me>
  DCGN_HOST_DEVICE void operator()(const Me& me) const {
    me.barrier();
  }
};

// Of two ranks the other way round.
struct UseSplit {
  int* x;
  template <class Me>
  DCGN_HOST_DEVICE void operator()(const Me& me) const {
    if (me.rank() == 0)
      me.send(x, 4, 1, 9);
    else
      me.recv(x, 32, 0, 9);
  }
};

template <class Me>
DCGN_HOST_DEVICE void make_calls(const Me& me, Memory& m) {
  const int peer = 1 - me.rank();
  const bool first = me.rank() == 0;
  int *const x = m.x, *const y = m.y;
  if (first) {
    me.send(x, 16, 1, 1);
    me.ssend(x, 8, 1, 2);
    me.bsend(x, 12, 1, 3);
    me.wait(me.isend(x, 20, 1, 4));
    me.wait_all(me.isend(x, 24, 1, 5));
    me.send(x, 4, 1, 6);
  } else {
    me.recv(y, 32, any_source, any_tag);
    me.recv(y, 32, 0, 2);
    me.probe(any_source, 3);
    me.recv(y, 32, 0, 3);
    me.wait(me.irecv(y, 32, any_source, 4));
    me.wait_any(me.irecv(y, 32, 0, 5));
    while (!me.iprobe(0, 6)) continue;
    const Request r = me.irecv(y, 32, 0, 6);
    while (!me.test(r)) continue;
  }
  me.sendrecv(x, first ? 8 : 12, peer, 7, y, 32, any_source, 7);
  me.sendrecv_replace(x, 16, peer, 8, peer, 8);
  const Span<int> in4(x, 4), in8(x, 8), out4(y, 4), out8(y, 8);
  const Span<const std::int64_t> n(m.counts, 2), at(m.displacements, 2);
  me.barrier();
  me.broadcast(in4, 1);
  me.reduce(in4, out4, Sum{}, 0);
  me.all_reduce(in4, out4, Sum{});
  me.reduce_scatter(in8, out4, Sum{});
  me.reduce_scatterv(in8, n, out4, Sum{});
  me.scan(in4, out4, Sum{});
  me.exclusive_scan(in4, out4, Sum{});
  me.gather(in4, out8, 1);
  me.gatherv(in4, out8, n, at, 0);
  me.scatter(in8, out4, 0);
  me.scatterv(in8, n, at, out4, 1);
  me.all_gather(in4, out8);
  me.all_gatherv(in4, out8, n, at);
  me.all_to_all(in8, out8);
  me.all_to_allv(in8, n, at, out8, n, at);
  me.in_dup(UseDup{});
  me.in_split(0, peer, UseSplit{x});
  me.cart();
}

}  // namespace dcgn::test
