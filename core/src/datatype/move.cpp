#include "datatype/move.hpp"

#include "datatype/pieces.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

namespace dcgn::datatype {
namespace {

// Whether a transfer is of bytes without gaps on both sides; and where those of such a side begin.
std::byte* first_byte(const Side& side) {
  return side.memory + side.begin + (side.layout ? side.layout->leaf_of(side.begin).displacement : 0);
}
bool is_plain(const Transfer& t) {
  const auto plain = [](const Side& side) {
    return !side.layout ||
           (side.layout->leaves.size() == 1 && pattern_of(side.layout->leaves.front()) == Pattern::flat);
  };
  return t.bytes > 0 && plain(t.from) && plain(t.to);
}

// What is to be moved, by the bytes of its words.
class Plan {
 public:
  // Inside one leaf on either side: as many whole words as there are, and the bytes before and behind them.
  void add(PieceSide from, PieceSide to, std::int64_t bytes) {
    std::int64_t word = std::min(from.unit(), to.unit());
    while ((from.begin - to.begin) % word != 0) word /= 2;
    const auto take = [&](std::int64_t word_bytes, std::int64_t count) {
      if (count > 0) pieces_of(word_bytes).push_back({from, to, count / word_bytes});
      from.begin += count;
      to.begin += count;
      bytes -= count;
    };
    take(1, std::min(bytes, (word - from.begin % word) % word));
    take(word, bytes / word * word);
    take(1, bytes);
  }

  void launch(const Queue& queue) {
    launch_pieces<16>(queue, pieces_of(16));
    launch_pieces<8>(queue, pieces_of(8));
    launch_pieces<4>(queue, pieces_of(4));
    launch_pieces<2>(queue, pieces_of(2));
    launch_pieces<1>(queue, pieces_of(1));
  }

 private:
  std::vector<Piece>& pieces_of(std::int64_t word_bytes) {
    return pieces_[static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(word_bytes)))];
  }
  std::array<std::vector<Piece>, 5> pieces_;  // by the words' logarithm
};

// The launches of a thread's last transfers: a halo goes from the same memory to the same again and again, and to find
// out how takes a third of a short message's time.
class KnownLaunches {
 public:
  struct Key {
    int device;
    std::uint64_t from, to;  // layouts; 0: none
    const std::byte *from_memory, *to_memory;
    std::int64_t from_begin, to_begin, bytes;
    bool operator==(const Key&) const = default;
  };
  struct Known {
    Key key;
    Launch shape;
    detail::KernelImage image;
  };

  const Known* find(const Key& key) const {
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.key == key; });
    return found == known_.end() ? nullptr : &*found;
  }
  void add(const Key& key, Recording&& made) {
    Known known{key, made.shape, std::move(made.image)};
    if (known_.size() < most)
      known_.push_back(std::move(known));
    else
      known_[oldest_++ % most] = std::move(known);
  }

 private:
  static constexpr std::size_t most = 16;
  std::vector<Known> known_;
  std::size_t oldest_ = 0;
};

KnownLaunches::Key key_of(const Device& device, const Transfer& t) {
  const auto number = [](const Side& side) { return side.layout ? side.layout->number : 0; };
  return {device.index(), number(t.from), number(t.to), t.from.memory, t.to.memory, t.from.begin, t.to.begin, t.bytes};
}

Plan plan_of(const std::vector<Transfer>& transfers) {
  Plan plan;
  for (const Transfer& transfer : transfers)
    for (std::int64_t at = 0; at < transfer.bytes;) {
      const PieceSide source = piece_of(transfer.from, at), target = piece_of(transfer.to, at);
      const std::int64_t piece = std::min({transfer.bytes - at, source.left, target.left});
      plan.add(source, target, piece);
      at += piece;
    }
  return plan;
}

}  // namespace

void move(const Device& device, Stream& stream, const std::vector<Transfer>& transfers, int most_blocks) {
  if (transfers.size() == 1 && !most_blocks && is_plain(transfers.front())) {
    const Transfer& t = transfers.front();
    device.copy(stream, first_byte(t.to), first_byte(t.from), static_cast<std::size_t>(t.bytes));
    return;
  }
  if (transfers.size() != 1 || most_blocks) return plan_of(transfers).launch({device, stream, most_blocks});
  thread_local KnownLaunches known_launches;
  const KnownLaunches::Key key = key_of(device, transfers.front());
  if (const KnownLaunches::Known* known = known_launches.find(key))
    return device.launch(stream, known->shape, known->image);
  Recording made;
  plan_of(transfers).launch({device, stream, most_blocks, &made});
  if (made.launches == 1 && !made.keeps) known_launches.add(key, std::move(made));
}

}  // namespace dcgn::datatype
