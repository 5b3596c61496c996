#include "message/process_fragments.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/relax.hpp>
#include "message/engine/records.hpp"
#include "message/engine/sending.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace dcgn::message {

namespace {

// A message is cut into so many pieces at least, so that both sides are at work, but not into shorter ones than this:
// to begin a copy takes a GPU's driver some 5 us, in which a link moves 2 MB.
constexpr std::uint64_t least_pieces = 8, least_piece = 256 << 10;
// Some receiver may hold all fragments and be elsewhere; so after this long a piece goes through the FIFO.
constexpr std::uint64_t starved_after_ns = 10'000'000;

std::uint64_t piece_of(std::uint64_t bytes, const FragmentPool& pool) {
  constexpr std::uint64_t grain = 64 << 10;
  const std::uint64_t even = (bytes / least_pieces + grain - 1) / grain * grain;
  return std::min(std::max(even, least_piece), pool.bytes);
}

bool is_past(std::uint32_t word, std::uint32_t value) { return static_cast<std::int32_t>(word - value) >= 0; }
// As HostCopier leaves the word of a copy that failed, which has stopped the job.
bool is_refused(std::uint32_t word, std::uint32_t value) { return word == ~value; }

CopyRequest copy_of(unsigned char* to, const unsigned char* from, std::uint64_t bytes, std::uint32_t* word,
                    std::uint32_t value) {
  CopyRequest request{};
  request.to = reinterpret_cast<std::uintptr_t>(to);
  request.from = reinterpret_cast<std::uintptr_t>(from);
  request.bytes = bytes;
  request.done = reinterpret_cast<std::uintptr_t>(word);
  request.value = value;
  return request;
}

// The record has one fragment less under way.
void count_down(Endpoint& me, Record* r) {
  --r->order;
  if (r->moved == r->envelope.bytes && !r->order) complete(me, r);
}

}  // namespace

Fragments::Sent ProcessFragments::send(Endpoint& me, std::int32_t fifo, Record* r) {
  const Peer* const peer = peers_[static_cast<std::size_t>(fifo)];
  if (!peer) return Sent::elsewhere;
  OutFifo& out = me.out[fifo];
  Tx tx(out);
  Reservation in_fifo;
  if (!tx.reserve(Kind::data, 0, in_fifo)) return Sent::not_yet;
  const int gpu = peer->gpus_reach ? copier_.gpu_of(r->buffer + r->moved) : -1;
  const std::size_t place = static_cast<std::size_t>(gpu) + 1;
  const FragmentPool& pool = own_[place];
  std::uint32_t number = 0;
  for (std::uint32_t k = 0; k < pool.count && !number; ++k) {
    const std::uint32_t at = (next_ + k) % pool.count;
    const std::uint32_t found = load_acquire(pool.words[at]);
    if (found % 4 == 0 && compare_exchange(pool.words[at], found, found + 1) == found) number = at + 1;
  }
  if (!number) {
    const std::uint64_t now = now_ns();
    if (!starved_since_) starved_since_ = now;
    return now - starved_since_ > starved_after_ns ? Sent::elsewhere : Sent::not_yet;
  }
  starved_since_ = 0;
  next_ = number;
  std::uint32_t& word = pool.words[number - 1];
  const std::uint32_t full = load_relaxed(word) + 1;
  const std::uint64_t piece = std::min(r->envelope.bytes - r->moved, piece_of(r->envelope.bytes, pool));
  outgoing_.push_back({r, r->envelope, &word, full});
  busy_ = true;
  copier_.start(copy_of(pool.memory + (number - 1) * pool.bytes, r->buffer + r->moved, piece, &word, full));
  Header h;
  h.kind = Kind::data;
  h.readable = true;
  h.context = number - 1;
  for (std::size_t before = 0; before < place; ++before) h.context += own_[before].count;
  h.record = static_cast<std::uint32_t>(r->address);
  h.bytes = piece;
  tx.put(in_fifo, h, r->envelope.peer);
  r->moved += piece;
  ++r->order;
  return Sent::yes;
}

void ProcessFragments::receive(std::int32_t fifo, Record* r, const Header& h) {
  const Peer& peer = *peers_[static_cast<std::size_t>(fifo)];
  const std::uint64_t bytes = r->moved < r->capacity ? std::min(h.bytes, r->capacity - r->moved) : 0;
  unsigned char* const to = r->buffer + r->moved;
  std::uint32_t number = h.context;
  const FragmentPool* pool = &peer.host;
  if (number >= pool->count) {
    number -= pool->count;
    // By the GPU that the bytes are for, where they are for one.
    const int gpu = bytes ? copier_.gpu_of(to) : -1;
    const std::vector<FragmentPool>& reached = peer.gpus[static_cast<std::size_t>(std::max(gpu, 0))];
    pool = reached.data();
    while (number >= pool->count) number -= pool++->count;
  }
  std::uint32_t& word = pool->words[number];
  const std::uint32_t full = load_acquire(word) / 4 * 4 + 2;
  incoming_.push_back({r, &word, full, to, pool->memory + number * pool->bytes, bytes, false});
  r->moved += h.bytes;
  ++r->order;
}

bool ProcessFragments::advance(Endpoint& me) {
  if (outgoing_.empty() && incoming_.empty()) return false;
  const bool any = advance_outgoing(me) || advance_incoming(me);
  if (any) {
    ++me.statistics.activity;
    count_busy();
  }
  return any;
}

bool ProcessFragments::advance_outgoing(Endpoint& me) {
  for (auto o = outgoing_.begin(); o != outgoing_.end(); ++o) {
    const std::uint32_t found = load_acquire(*o->word);
    if (!is_past(found, o->full)) continue;
    if (Record* const r = std::exchange(o->record, nullptr)) {
      if (found != o->full) outgoing_.erase(o);
      count_down(me, r);
      return true;
    }
    if (found == o->full) continue;
    outgoing_.erase(o);
    return true;
  }
  return false;
}

bool ProcessFragments::advance_incoming(Endpoint& me) {
  for (auto i = incoming_.begin(); i != incoming_.end(); ++i) {
    const std::uint32_t found = load_acquire(*i->word), empty = i->full + 2;
    if (!i->started) {
      if (found != i->full) continue;
      i->started = true;
      if (i->bytes)
        copier_.start(copy_of(i->to, i->from, i->bytes, i->word, empty));
      else
        store_release(*i->word, empty);
      return true;
    }
    if (!is_past(found, empty)) continue;
    Record* const r = i->record;
    incoming_.erase(i);
    count_down(me, r);
    return true;
  }
  return false;
}

void ProcessFragments::count_busy() {
  busy_ = std::any_of(outgoing_.begin(), outgoing_.end(), [](const Outgoing& o) { return o.record != nullptr; }) ||
          std::any_of(incoming_.begin(), incoming_.end(), [](const Incoming& i) { return i.started; });
}

void ProcessFragments::drain() noexcept {
  const std::uint64_t since = now_ns();
  const auto wait = [&](const std::uint32_t& word, std::uint32_t value) {
    for (std::uint32_t found = load_acquire(word); !is_past(found, value) && !is_refused(found, value);
         found = load_acquire(word)) {
      if (now_ns() - since > 5'000'000'000u) return;
      relax();
    }
  };
  for (const Outgoing& o : outgoing_)
    if (o.record) wait(*o.word, o.full);
  for (const Incoming& i : incoming_)
    if (i.started) wait(*i.word, i.full + 2);
  outgoing_.clear();
  incoming_.clear();
  busy_ = false;
}

}  // namespace dcgn::message
