// Hosts: where a communicator spans several, its ranks of each come together first, one of them, the host's leader,
// talks to the other leaders, and then the ranks of each host share what has come (Stuart and Owens 2009, section
// 3.2.3: one message of MPI for each node, however many ranks it has).
//
// A host is a row of processes that share memory, so its ranks have FIFOs to each other. They follow each other in the
// world, so they do in a communicator whose ranks are evenly spaced there, and operands stay in order. The leader is
// the first of them. Each step is the same call of fewer ranks.
#pragma once

#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/moving.hpp>
#include <dcgn/collective/reducing.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/endpoint.hpp>

#include <cstdint>

namespace dcgn::collective {

struct Hosts {
  int count = 0;  // 0: all ranks make the call as one
  int mine = 0;   // the number of this rank's
  Group local;    // its ranks
  Group leaders;  // by host; of use to those alone

  template <class Scope>
  DCGN_HOST_DEVICE explicit Hosts(const Channel<Scope>& c) {
    const Group& g = c.group();
    const message::CollectiveSpace& space = c.me().collectives;
    if (c.is_near() || c.without(message::without_hosts) || g.table || g.stride < 1 || g.stride > space.least_of_host)
      return;
    const int from = host_of(space, g.in_world(0)), hosts = host_of(space, g.in_world(g.size - 1)) - from + 1;
    if (hosts < 2 || hosts == g.size) return;
    count = hosts;
    mine = host_of(space, g.in_world(g.rank)) - from;
    leaders = local = g;
    leaders.table = space.hosts + from;
    leaders.size = count;
    leaders.rank = mine;
    local.first = leaders.in_world(mine);
    local.size = begin(c, mine + 1) - begin(c, mine);
    local.rank = g.rank - begin(c, mine);
  }

  DCGN_HOST_DEVICE bool leads() const { return local.rank == 0; }
  // The first rank of a host in the communicator, and the host of a rank.
  template <class Scope>
  DCGN_HOST_DEVICE int begin(const Channel<Scope>& c, int host) const {
    const Group& g = c.group();
    return host == count ? g.size : (leaders.in_world(host) - g.first) / g.stride;
  }
  template <class Scope>
  DCGN_HOST_DEVICE int of(const Channel<Scope>& c, int rank) const {
    const message::CollectiveSpace& space = c.me().collectives;
    return host_of(space, c.group().in_world(rank)) - static_cast<int>(leaders.table - space.hosts);
  }

 private:
  // The last one that begins at or before a rank of the world.
  DCGN_HOST_DEVICE static int host_of(const message::CollectiveSpace& space, std::int32_t rank) {
    int host = 0;
    for (int above = space.host_count; above - host > 1;) {
      const int middle = (host + above) / 2;
      (space.hosts[middle] <= rank ? host : above) = middle;
    }
    return host;
  }
};

// ---- moving

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code meet_by_hosts(const Channel<Scope>& c, const Hosts& hosts) {
  const Channel<Scope> local(c, hosts.local);
  Code code = meet(local);
  if (code == Code::ok && hosts.leads()) code = meet(Channel<Scope>(c, hosts.leaders));
  return code == Code::ok ? broadcast(local, nullptr, 0, 0) : code;
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code broadcast_by_hosts(const Channel<Scope>& c, const Hosts& hosts,
                                                                  unsigned char* data, std::int64_t bytes, int root) {
  const Channel<Scope> rooted = c.with_root(root), local(rooted, hosts.local);
  const int host = hosts.of(c, root);
  Code code = Code::ok;
  if (host == hosts.mine) code = broadcast(local, data, bytes, root - hosts.begin(c, host));
  if (code == Code::ok && hosts.leads()) code = broadcast(Channel<Scope>(rooted, hosts.leaders), data, bytes, host);
  return code == Code::ok && host != hosts.mine ? broadcast(local, data, bytes, 0) : code;
}

// Each leader gathers the parts of its host, those of the hosts get around, and each leader has them all.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_gather_by_hosts(const Channel<Scope>& c, const Hosts& hosts,
                                                                   const unsigned char* in, std::int64_t bytes,
                                                                   unsigned char* out) {
  const Channel<Scope> local(c, hosts.local);
  const auto begin = [&](int host) { return hosts.begin(c, host) * bytes; };
  Code code = gather(local, in, bytes, out + begin(hosts.mine), 0);
  if (code == Code::ok && hosts.leads()) code = all_gather_in_steps(Channel<Scope>(c, hosts.leaders), out, begin);
  return code == Code::ok ? broadcast(local, out, bytes * c.size(), 0) : code;
}

// ---- with an operation

// The operands of a host to its leader; to all of its ranks where that is as fast.
template <class Scope, class R>
DCGN_HOST_DEVICE Code reduce_at_host(const Channel<Scope>& local, const unsigned char* in, unsigned char* out,
                                     std::int64_t count, const R& r) {
  if (goes_by_addresses(local, count * r.element(), all_reduce_by_addresses))
    return all_reduce(local, in, out, count, r);
  return reduce(local, in, out, count, 0, r);
}

template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_reduce_by_hosts(const Channel<Scope>& c, const Hosts& hosts,
                                                                   const unsigned char* in, unsigned char* out,
                                                                   std::int64_t count, const R& r) {
  const Channel<Scope> local(c, hosts.local);
  Code code = reduce_at_host(local, in, out, count, r);
  const unsigned char* const sum = out;
  if (code == Code::ok && hosts.leads()) code = all_reduce(Channel<Scope>(c, hosts.leaders), sum, out, count, r);
  return code == Code::ok ? broadcast(local, out, count * r.element(), 0) : code;
}

// To the leader of the root's host, which passes it on.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_by_hosts(const Channel<Scope>& c, const Hosts& hosts,
                                                               const unsigned char* in, unsigned char* out,
                                                               std::int64_t count, int root, const R& r) {
  const std::int64_t element = r.element(), share = share_bytes(c, 2), most = share / element;
  const Channel<Scope> rooted = c.with_root(root), local(rooted, hosts.local, share),
                       leaders(rooted, hosts.leaders, share);
  const int host = hosts.of(c, root), near_root = root - hosts.begin(c, host);
  const bool is_root = c.rank() == root;
  for (std::int64_t at = 0; is_left(at, count); at += most) {
    const std::int64_t n = lesser(most, count - at);
    unsigned char* const sum = is_root ? out + at * element : c.scratch();
    const unsigned char* const given = sum;
    Code code = reduce(local, in + at * element, sum, n, 0, r);
    if (code == Code::ok && hosts.leads()) code = reduce(leaders, given, sum, n, host, r);
    if (code == Code::ok && host == hosts.mine && near_root != 0) {
      if (hosts.leads()) code = local.send(given, n * element, near_root);
      if (is_root) code = local.recv(sum, n * element, 0);
    }
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

// Part k of what all have reduced goes to rank k: where it is short, everything goes to all, and each keeps its part.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_scatter_by_hosts(const Channel<Scope>& c, const Hosts& hosts,
                                                                       const message::Spread<const unsigned char>& in,
                                                                       std::int64_t total, unsigned char* out,
                                                                       const R& r) {
  const std::int64_t share = share_bytes(c, 2);
  const Channel<Scope> part(c, c.group(), share);
  const Code code = all_reduce_by_hosts(part, hosts, in.base, c.scratch(), total, r);
  if (code == Code::ok) c.copy(out, c.scratch() + (in[c.rank()].data - in.base), in[c.rank()].bytes);
  return code;
}

// Within each host; then what the hosts before have in all comes before that.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code scan_by_hosts(const Channel<Scope>& c, const Hosts& hosts,
                                                             const unsigned char* in, unsigned char* out,
                                                             std::int64_t count, bool exclusive, const R& r) {
  const std::int64_t element = r.element(), share = share_bytes(c, 4), most = share / element;
  const Channel<Scope> local(c, hosts.local, 2 * share), leaders(c, hosts.leaders, 2 * share);
  const int last = local.size() - 1;
  unsigned char* const before = c.scratch();
  unsigned char* const total = c.scratch() + share;
  for (std::int64_t at = 0; is_left(at, count); at += most) {
    const std::int64_t n = lesser(most, count - at), bytes = n * element;
    const unsigned char* const mine = in + at * element;
    unsigned char* const result = out + at * element;
    const bool is_last = local.rank() == last;
    if (is_last && exclusive) c.copy(total, mine, bytes);  // before the result takes its place
    Code code = scan(local, mine, result, n, exclusive, r);
    if (code != Code::ok) return code;
    if (is_last && !exclusive) c.copy(total, result, bytes);
    if (is_last && exclusive && last > 0) r.combine(c.scope(), total, result, total, n);
    if (is_last && last > 0) code = local.send(total, bytes, 0);
    if (hosts.leads() && last > 0) code = local.recv(total, bytes, last);
    if (code == Code::ok && hosts.leads()) code = scan(leaders, total, before, n, true, r);
    if (code == Code::ok && hosts.mine > 0) {
      code = broadcast(local, before, bytes, 0);
      if (code == Code::ok && exclusive && hosts.leads())
        c.copy(result, before, bytes);
      else if (code == Code::ok)
        r.combine(c.scope(), result, before, result, n);
    }
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

}  // namespace dcgn::collective
