// Which back end is to draw how much of a wall: cuts that follow from the times that they took.
#pragma once

#include "wall/src/cut.hpp"
#include "wall/src/protocol.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace dcgn::wall {

// What a back end took for a frame.
struct DrawTime {
  double drawn_ms = 0;      // to draw its region
  double exchanged_ms = 0;  // to give and take the pixels of others' screens
};

// What moving pixels takes: latency + pixels * time of one (Lawlor 2009), fitted to what has been measured; older
// measurements fade.
class MoveCost {
 public:
  void note(double pixels, double ms);
  double ms(double pixels) const;

 private:
  double count_ = 0, pixels_ = 0, ms_ = 0, pixels_squared_ = 0, pixels_ms_ = 0;
};

// The wall is halved between halves of its screens, each half again, down to a region a screen; where each of the lines
// lies follows from a map of what a pixel costs. The map begins even. Each region's measured time scales what the map
// has there, so that lines that come to lie in one place after the other find out where the work is.
class Balance {
 public:
  Balance(const Rect& wall, std::vector<Rect> screens);

  // The one that is drawn by, or was told to be. At first its lines are those between the screens.
  const Cut& cut() const { return cut_; }
  // A frame was drawn by it. Every other frame: another cut, where that is expected to make frames shorter by a
  // twentieth, moving pixels included.
  std::optional<Cut> note(const std::vector<DrawTime>& times);
  // Any other cut instead, of those that there are.
  Cut shuffle(std::mt19937_64& random);

 private:
  static constexpr int cells = 48;  // of the map, each way

  using Group = std::vector<std::size_t>;  // of screens, by number
  Group everyone() const;
  // Gives each of the group its part of `place`, by the map or along the screens' edges.
  void divide(const Rect& place, const Group& group, bool by_map, Cut& cut) const;
  // Where a line along y (or x, unless `upright`) leaves so much of the place's cost on its first side.
  int line_at(const Rect& place, bool upright, double share) const;
  void learn(const std::vector<DrawTime>& times);
  template <class F>
  void for_cells(const Rect& place, F&& f) const;
  double cost_ms(const Rect& place) const;
  std::vector<std::int64_t> moved_pixels(const Cut& cut) const;  // by each
  double frame_ms(const Cut& cut) const;                         // as far as the map knows

  Rect wall_;
  std::vector<Rect> screens_;
  Cut home_, cut_;
  std::vector<double> density_;  // ms a pixel, of each cell
  MoveCost moving_;
  std::vector<DrawTime> sum_;
  int frames_ = 0;
};

}  // namespace dcgn::wall
