// Algorithms that move bytes: each with all threads of a scope, over a channel whose arguments have been checked. Sizes
// and displacements are in bytes unless a parameter says otherwise. They return the first error of a message.
#pragma once

#include <dcgn/collective/addresses.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/teams.hpp>
#include <dcgn/collective/thresholds.hpp>

#include <cstdint>

namespace dcgn::collective {

DCGN_HOST_DEVICE inline std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Elements cut into one piece for each rank, as alike as may be.
struct Pieces {
  std::int64_t total, each;

  // `unit`: each of them a multiple of it, but for the last ones.
  DCGN_HOST_DEVICE Pieces(std::int64_t count, int ranks, int unit = 1)
      : total(count), each((count + ranks * unit - 1) / (ranks * unit) * unit) {}
  DCGN_HOST_DEVICE std::int64_t begin(int r) const { return lesser(r * each, total); }
  DCGN_HOST_DEVICE std::int64_t length(int r) const { return begin(r + 1) - begin(r); }
};

// The binomial tree under a root, whose ranks are counted from it: rank v's parent is v without its lowest bit, its
// children are v + 1, v + 2, v + 4, ... below that bit, and each one's subtree is the ranks from there to the next.
struct Tree {
  int size, root, me, bit;  // `bit`: my lowest one, for the root a power of two from the size on

  template <class Scope>
  DCGN_HOST_DEVICE Tree(const Channel<Scope>& c, int root_rank)
      : size(c.size()), root(root_rank), me(c.beside(-root_rank)), bit(1) {
    while (bit < size && !(me & bit)) bit *= 2;
  }
  DCGN_HOST_DEVICE int rank(int v) const { return v + root < size ? v + root : v + root - size; }
  DCGN_HOST_DEVICE bool is_root() const { return me == 0; }
  DCGN_HOST_DEVICE int parent() const { return rank(me - bit); }
  // Ranks of the subtree of the child that is so far away, and of my own.
  DCGN_HOST_DEVICE int below(int distance) const { return least(distance, size - me - distance); }
  DCGN_HOST_DEVICE int mine() const { return least(bit, size - me); }

 private:
  DCGN_HOST_DEVICE static int least(int a, int b) { return a < b ? a : b; }
};

// Dissemination: log2(size) steps of empty messages.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code meet_in_steps(const Channel<Scope>& c) {
  for (int distance = 1; distance < c.size(); distance *= 2) {
    const Code code = c.exchange(nullptr, 0, c.beside(distance), nullptr, 0, c.beside(-distance));
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

template <class Scope>
DCGN_HOST_DEVICE Code meet(const Channel<Scope>& c) {
  if (c.at_once()) return c.empty_round({.peers = c.everyone(), .to = c.all(), .from = c.all()});
  const Teams teams(c);
  return teams.count ? meet_in_teams(c, teams) : meet_in_steps(c);
}

template <class Scope>
DCGN_HOST_DEVICE Code broadcast_whole(const Channel<Scope>& c, unsigned char* data, std::int64_t bytes, int root) {
  const Tree tree(c, root);
  if (!tree.is_root()) {
    const Code code = c.recv(data, bytes, tree.parent());
    if (code != Code::ok) return code;
  }
  for (int k = tree.bit / 2; k; k /= 2) {
    if (tree.me + k >= tree.size) continue;
    const Code code = c.send(data, bytes, tree.rank(tree.me + k));
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

// Down the tree each rank gets the pieces of its subtree, then all of them go around the ring (van de Geijn).
template <class Scope>
DCGN_HOST_DEVICE Code broadcast_pieces(const Channel<Scope>& c, unsigned char* data, std::int64_t bytes, int root) {
  const Tree tree(c, root);
  const Pieces pieces(bytes, tree.size);
  const auto span = [&](int first, int count) { return pieces.begin(first + count) - pieces.begin(first); };
  Code code = Code::ok;
  if (!tree.is_root()) code = c.recv(data + pieces.begin(tree.me), span(tree.me, tree.mine()), tree.parent());
  for (int k = tree.bit / 2; k && code == Code::ok; k /= 2)
    if (tree.me + k < tree.size)
      code = c.send(data + pieces.begin(tree.me + k), span(tree.me + k, tree.below(k)), tree.rank(tree.me + k));
  int here = tree.me;
  for (int step = 1; step < tree.size && code == Code::ok; ++step) {
    const int next = here ? here - 1 : tree.size - 1;
    code = c.exchange(data + pieces.begin(here), pieces.length(here), c.beside(1), data + pieces.begin(next),
                      pieces.length(next), c.beside(-1));
    here = next;
  }
  return code;
}

// The root sends to all at once: everything, or to each a piece, which it sends on in a second round.
class RootRounds {
 public:
  DCGN_HOST_DEVICE static bool goes_in_pieces(std::int64_t bytes, int ranks) {
    return bytes * (ranks - 1) > whole_at_once && ranks > 2;
  }
  template <class Scope>
  DCGN_HOST_DEVICE RootRounds(const Channel<Scope>& c, unsigned char* data, std::int64_t bytes, int root)
      : everyone_(c.everyone()),
        data_(data),
        bytes_(bytes),
        pieces_(bytes, c.size(), 16),
        size_(c.size()),
        root_(root),
        in_pieces_(goes_in_pieces(bytes, c.size())) {}
  DCGN_HOST_DEVICE bool in_pieces() const { return in_pieces_; }
  DCGN_HOST_DEVICE message::Round first() const {
    message::Round r{.peers = everyone_};
    if (is_root()) {
      r.to = {0, size_};
      r.out = in_pieces_ ? message::cut(from(), pieces_.each, bytes_) : message::whole(from(), bytes_);
    } else {
      r.from = {root_, root_ + 1};
      r.in = in_pieces_ ? message::whole(data_ + begin(), length()) : message::whole(data_, bytes_);
    }
    return r;
  }
  DCGN_HOST_DEVICE message::Round second() const {
    message::Round r{.peers = everyone_};
    r.to = {0, size_};
    r.spared = root_;
    r.out = message::whole(from() + begin(), length());
    if (!is_root()) r.from = r.to;
    r.in = message::cut(data_, pieces_.each, bytes_);
    return r;
  }

 private:
  DCGN_HOST_DEVICE bool is_root() const { return everyone_.self == root_; }
  DCGN_HOST_DEVICE const unsigned char* from() const { return data_; }
  DCGN_HOST_DEVICE std::int64_t begin() const { return pieces_.begin(everyone_.self); }
  DCGN_HOST_DEVICE std::int64_t length() const { return pieces_.length(everyone_.self); }

  message::Peers everyone_;
  unsigned char* data_;
  std::int64_t bytes_;
  Pieces pieces_;
  int size_, root_;
  bool in_pieces_;
};

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code broadcast_at_once(const Channel<Scope>& c, unsigned char* data,
                                                                 std::int64_t bytes, int root) {
  const RootRounds rounds(c, data, bytes, root);
  const Code code = c.round(rounds.first());
  return code == Code::ok && rounds.in_pieces() ? c.round(rounds.second()) : code;
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code broadcast_by_messages(const Channel<Scope>& c, unsigned char* data,
                                                                     std::int64_t bytes, int root) {
  if (c.at_once() && bytes <= parts_at_once) return broadcast_at_once(c, data, bytes, root);
  const Channel<Scope> rooted = c.with_root(root);
  if (bytes <= in_teams_bytes) {
    const Teams teams(c);
    if (teams.count) return broadcast_in_teams(rooted, teams, data, bytes, root);
  }
  return bytes < broadcast_in_pieces || c.size() <= 2 ? broadcast_whole(rooted, data, bytes, root)
                                                      : broadcast_pieces(rooted, data, bytes, root);
}

// By addresses each rank passes on a piece of it.
template <class Scope>
DCGN_HOST_DEVICE auto pushing_piece(const Channel<Scope>& c, std::int64_t bytes, int root) {
  return [&c, bytes, root](const Place* places) {
    const Pieces pieces(bytes, c.size(), 128);
    push_piece(c, places, root, pieces.begin(c.rank()), pieces.length(c.rank()));
  };
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code broadcast(const Channel<Scope>& c, unsigned char* data,
                                                         std::int64_t bytes, int root) {
  if (goes_by_addresses(c, bytes, broadcast_by_addresses)) {
    bool done = false;
    const Code code =
        by_addresses(c, data, data, {static_cast<std::uint64_t>(bytes), root},
                     copies_faster(c, Pieces(bytes, c.size(), 128).each), done, pushing_piece(c, bytes, root));
    if (done) return code;
  }
  return broadcast_by_messages(c, data, bytes, root);
}

// Whether parts of so many bytes go through the tree: all ranks decide alike.
template <class Scope>
DCGN_HOST_DEVICE bool through_tree(const Channel<Scope>& c, std::int64_t bytes) {
  return bytes < gather_directly && bytes * c.size() <= c.scratch_bytes();
}

// Equal parts to the root: up the tree, through its ranks' scratch.
template <class Scope>
DCGN_HOST_DEVICE Code gather_up(const Channel<Scope>& c, const unsigned char* in, std::int64_t bytes,
                                unsigned char* out, int root) {
  const Tree tree(c, root);
  if (!tree.is_root() && tree.mine() == 1) return c.send(in, bytes, tree.parent());
  unsigned char* const scratch = c.scratch();
  c.copy(tree.is_root() ? out + root * bytes : scratch, in, bytes);
  for (int k = 1; k < tree.bit && tree.me + k < tree.size; k *= 2) {
    const int from = tree.rank(tree.me + k), count = tree.below(k);
    const bool direct = tree.is_root() && from + count <= tree.size;
    const Code code = c.recv(direct ? out + from * bytes : scratch + k * bytes, count * bytes, from);
    if (code != Code::ok) return code;
    if (direct || !tree.is_root()) continue;
    const int head = tree.size - from;  // before the ranks begin again with 0
    c.copy(out + from * bytes, scratch + k * bytes, head * bytes);
    c.copy(out, scratch + (k + head) * bytes, (count - head) * bytes);
  }
  return tree.is_root() ? Code::ok : c.send(scratch, tree.mine() * bytes, tree.parent());
}

template <class Scope>
DCGN_HOST_DEVICE Code scatter_down(const Channel<Scope>& c, const unsigned char* in, unsigned char* out,
                                   std::int64_t bytes, int root) {
  const Tree tree(c, root);
  if (!tree.is_root() && tree.mine() == 1) return c.recv(out, bytes, tree.parent());
  unsigned char* const scratch = c.scratch();
  Code code = Code::ok;
  if (!tree.is_root()) code = c.recv(scratch, tree.mine() * bytes, tree.parent());
  for (int k = tree.bit / 2; k && code == Code::ok; k /= 2) {
    if (tree.me + k >= tree.size) continue;
    const int to = tree.rank(tree.me + k), count = tree.below(k);
    const unsigned char* from = scratch + k * bytes;
    if (tree.is_root()) {
      from = in + to * bytes;
      if (to + count > tree.size) {
        const int head = tree.size - to;
        c.copy(scratch, from, head * bytes);
        c.copy(scratch + head * bytes, in, (count - head) * bytes);
        from = scratch;
      }
    }
    code = c.send(from, count * bytes, to);
  }
  if (code == Code::ok) c.copy(out, tree.is_root() ? in + root * bytes : scratch, bytes);
  return code;
}

// Parts to the root and from it, one after the other. `parts` counts elements of so many bytes.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code gather_parts(const Channel<Scope>& c, const unsigned char* in,
                                                            std::int64_t bytes, unsigned char* out, const Parts& parts,
                                                            std::int64_t element, int root) {
  if (c.to_root_at_once())
    return c.round(
        c.gathering(root, message::whole(in, bytes), message::listed(out, parts.counts, parts.displacements, element)));
  const Channel<Scope> rooted = c.with_root(root);
  if (c.rank() != root) return rooted.send(in, bytes, root);
  for (int step = 0; step < c.size(); ++step) {
    const int r = c.beside(step);
    unsigned char* const to = out + parts.displacements[r] * element;
    if (step == 0) {
      c.copy(to, in, bytes);
      continue;
    }
    const Code code = rooted.recv(to, parts.counts[r] * element, r);
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code scatter_parts(const Channel<Scope>& c, const unsigned char* in,
                                                             const Parts& parts, std::int64_t element,
                                                             unsigned char* out, std::int64_t bytes, int root) {
  if (c.to_root_at_once())
    return c.round(c.scattering(root, message::listed(in, parts.counts, parts.displacements, element),
                                message::whole(out, bytes)));
  const Channel<Scope> rooted = c.with_root(root);
  if (c.rank() != root) return rooted.recv(out, bytes, root);
  for (int step = 1; step < c.size(); ++step) {
    const int r = c.beside(step);
    const Code code = rooted.send(in + parts.displacements[r] * element, parts.counts[r] * element, r);
    if (code != Code::ok) return code;
  }
  c.copy(out, in + parts.displacements[root] * element, bytes);
  return Code::ok;
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code gather(const Channel<Scope>& c, const unsigned char* in,
                                                      std::int64_t bytes, unsigned char* out, int root) {
  if (c.to_root_at_once())
    return c.round(c.gathering(root, message::whole(in, bytes), message::in_row(out, bytes, bytes)));
  const Channel<Scope> rooted = c.with_root(root);
  if (through_tree(c, bytes)) return gather_up(rooted, in, bytes, out, root);
  if (c.rank() != root) return rooted.send(in, bytes, root);
  c.copy(out + root * bytes, in, bytes);
  for (int step = 1; step < c.size(); ++step) {
    const int r = c.beside(step);
    const Code code = rooted.recv(out + r * bytes, bytes, r);
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code scatter(const Channel<Scope>& c, const unsigned char* in,
                                                       unsigned char* out, std::int64_t bytes, int root) {
  if (c.to_root_at_once())
    return c.round(c.scattering(root, message::in_row(in, bytes, bytes), message::whole(out, bytes)));
  const Channel<Scope> rooted = c.with_root(root);
  if (through_tree(c, bytes)) return scatter_down(rooted, in, out, bytes, root);
  if (c.rank() != root) return rooted.recv(out, bytes, root);
  for (int step = 1; step < c.size(); ++step) {
    const int r = c.beside(step);
    const Code code = rooted.send(in + r * bytes, bytes, r);
    if (code != Code::ok) return code;
  }
  c.copy(out, in + root * bytes, bytes);
  return Code::ok;
}

// Parts in their places, one after the other, part r from begin(r) on: after a step with distance d each rank has the
// 2d parts from its own on. Where they go beyond the last rank's they are two stretches, the same two for who sends and
// who receives them.
template <class Scope, class Begin>
DCGN_HOST_DEVICE Code all_gather_doubling(const Channel<Scope>& c, unsigned char* out, const Begin& begin) {
  const int size = c.size();
  for (int distance = 1; distance < size; distance *= 2) {
    const int count = distance < size - distance ? distance : size - distance;
    const int to = c.beside(-distance), from = c.beside(distance);
    const auto head = [&](int first) { return first + count <= size ? count : size - first; };
    const auto span = [&](int first, int parts) { return begin(first + parts) - begin(first); };
    const int mine = head(c.rank()), theirs = head(from);
    Code code =
        c.exchange(out + begin(c.rank()), span(c.rank(), mine), to, out + begin(from), span(from, theirs), from);
    if (mine < count && theirs < count && code == Code::ok)
      code = c.exchange(out, begin(count - mine), to, out, begin(count - theirs), from);
    else if (mine < count && code == Code::ok)
      code = c.send(out, begin(count - mine), to);
    else if (theirs < count && code == Code::ok)
      code = c.recv(out, begin(count - theirs), from);
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

// Parts in their places, around the ring. begin(r) and length(r) are in bytes.
template <class Scope, class Begin, class Length>
DCGN_HOST_DEVICE Code around_ring(const Channel<Scope>& c, unsigned char* out, const Begin& begin,
                                  const Length& length) {
  for (int step = 0; step + 1 < c.size(); ++step) {
    const int here = c.beside(-step), next = here ? here - 1 : c.size() - 1;
    const Code code =
        c.exchange(out + begin(here), length(here), c.beside(1), out + begin(next), length(next), c.beside(-1));
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

// Parts in their places, one after the other.
template <class Scope, class Begin>
DCGN_HOST_DEVICE Code all_gather_in_steps(const Channel<Scope>& c, unsigned char* out, const Begin& begin) {
  if (begin(c.size()) < all_gather_around) return all_gather_doubling(c, out, begin);
  return around_ring(c, out, begin, [&](int r) { return begin(r + 1) - begin(r); });
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_gather_by_messages(const Channel<Scope>& c, const unsigned char* in,
                                                                      std::int64_t bytes, unsigned char* out) {
  if (c.at_once()) return c.round(c.among_all(message::whole(in, bytes), message::in_row(out, bytes, bytes)));
  c.copy(out + c.rank() * bytes, in, bytes);
  return all_gather_in_steps(c, out, [&](int r) { return r * bytes; });
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_gather(const Channel<Scope>& c, const unsigned char* in,
                                                          std::int64_t bytes, unsigned char* out) {
  if (goes_by_addresses(c, bytes, least_by_addresses(c.me()))) {
    bool done = false;
    const Code code = by_addresses(c, in, out, {static_cast<std::uint64_t>(bytes)}, copies_faster(c, bytes), done,
                                   [&](const Place* places) { push_parts(c, places, in, 0, bytes); });
    if (done) return code;
  }
  return all_gather_by_messages(c, in, bytes, out);
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_gather_parts(const Channel<Scope>& c, const unsigned char* in,
                                                                unsigned char* out, const Parts& parts,
                                                                std::int64_t element) {
  const auto begin = [&](int r) { return parts.displacements[r] * element; };
  const auto length = [&](int r) { return parts.counts[r] * element; };
  if (c.at_once())
    return c.round(c.among_all(message::whole(in, length(c.rank())),
                               message::listed(out, parts.counts, parts.displacements, element)));
  c.copy(out + begin(c.rank()), in, length(c.rank()));
  return around_ring(c, out, begin, length);
}

// The rank that this one exchanges with in a round: each with each once, itself too, in as many rounds as ranks.
template <class Scope>
DCGN_HOST_DEVICE int partner(const Channel<Scope>& c, int round) {
  return round >= c.rank() ? round - c.rank() : round - c.rank() + c.size();
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_to_all_by_messages(const Channel<Scope>& c, const unsigned char* in,
                                                                      unsigned char* out, std::int64_t bytes) {
  const bool in_place = in == out;
  if (c.at_once() && !in_place)
    return c.round(c.among_all(message::in_row(in, bytes, bytes), message::in_row(out, bytes, bytes)));
  if (c.at_once() && bytes * c.size() <= c.scratch_bytes()) {  // what comes is put aside
    const Code code =
        c.round(c.among_all(message::in_row(in, bytes, bytes), message::in_row(c.scratch(), bytes, bytes)));
    if (code == Code::ok) c.copy(out, c.scratch(), bytes * c.size());
    return code;
  }
  for (int round = 0; round < c.size(); ++round) {
    const int other = partner(c, round);
    unsigned char* const to = out + other * bytes;
    if (other == c.rank()) {
      c.copy(to, in + other * bytes, bytes);
      continue;
    }
    // In place what comes is put aside until what was there has gone.
    const std::int64_t room = in_place ? c.scratch_bytes() : bytes;
    std::int64_t at = 0;
    do {
      const std::int64_t length = lesser(room, bytes - at);
      const Code code = c.exchange(in + other * bytes + at, length, other, in_place ? c.scratch() : to, length, other);
      if (code != Code::ok) return code;
      if (in_place) c.copy(to + at, c.scratch(), length);
      at += length;
    } while (at < bytes);
  }
  return Code::ok;
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_to_all(const Channel<Scope>& c, const unsigned char* in,
                                                          unsigned char* out, std::int64_t bytes) {
  if (goes_by_addresses(c, bytes, least_by_addresses(c.me()))) {
    bool done = false;
    const bool able = in != out && copies_faster(c, bytes);
    const Code code = by_addresses(c, in, out, {static_cast<std::uint64_t>(bytes)}, able, done,
                                   [&](const Place* places) { push_parts(c, places, in, bytes, bytes); });
    if (done) return code;
  }
  return all_to_all_by_messages(c, in, out, bytes);
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_to_all_parts(const Channel<Scope>& c, const unsigned char* in,
                                                                const Parts& send, unsigned char* out,
                                                                const Parts& receive, std::int64_t element) {
  if (c.at_once())
    return c.round(c.among_all(message::listed(in, send.counts, send.displacements, element),
                               message::listed(out, receive.counts, receive.displacements, element)));
  for (int round = 0; round < c.size(); ++round) {
    const int r = partner(c, round);
    const unsigned char* const from = in + send.displacements[r] * element;
    unsigned char* const to = out + receive.displacements[r] * element;
    const std::int64_t sent = send.counts[r] * element, received = receive.counts[r] * element;
    if (r == c.rank()) {
      c.copy(to, from, received);
      continue;
    }
    const Code code = c.exchange(from, sent, r, to, received, r);
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

}  // namespace dcgn::collective
