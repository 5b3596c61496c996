// Who draws what of a wall that is balanced: the back end of each screen a rectangle, which need not be what the screen
// shows. Together they are the wall, and none lies on another.
#pragma once

#include "wall/src/protocol.hpp"

#include <cstddef>
#include <vector>

namespace dcgn::wall {

using Cut = std::vector<Rect>;  // by the screens' numbers

// What back ends drew of a window for screens of others: the same list everywhere.
inline std::vector<Piece> pieces_of(const Cut& cut, const std::vector<Rect>& screens, const Rect& window) {
  std::vector<Piece> all;
  for (std::size_t from = 0; from < cut.size(); ++from)
    for (std::size_t to = 0; to < screens.size(); ++to) {
      const Rect place = intersection(intersection(cut[from], screens[to]), window);
      if (from == to || place.empty()) continue;
      Piece piece;
      piece.from = static_cast<std::int32_t>(from);
      piece.to = static_cast<std::int32_t>(to);
      piece.place = place;
      all.push_back(piece);
    }
  return all;
}

}  // namespace dcgn::wall
