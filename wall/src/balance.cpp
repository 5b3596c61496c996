#include "wall/src/balance.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dcgn::wall {

namespace {

constexpr int frames_a_step = 2;    // measured by the same cut
constexpr double worth_it = 0.95;   // of the time before
constexpr double forgetting = 0.1;  // of where in a region the work has been, each step
constexpr double least_ms = 1e-3;   // of a region: nothing is for nothing
constexpr int least_pixels = 8;     // of a region, each way, where there is room

int begin_of(const Rect& r, bool upright) { return upright ? r.x : r.y; }
int end_of(const Rect& r, bool upright) { return upright ? r.x + r.width : r.y + r.height; }

std::pair<Rect, Rect> split(const Rect& r, bool upright, int line) {
  if (upright) return {{r.x, r.y, line - r.x, r.height}, {line, r.y, r.x + r.width - line, r.height}};
  return {{r.x, r.y, r.width, line - r.y}, {r.x, line, r.width, r.y + r.height - line}};
}

}  // namespace

void MoveCost::note(double pixels, double ms) {
  constexpr double kept = 0.95;
  for (double* const sum : {&count_, &pixels_, &ms_, &pixels_squared_, &pixels_ms_}) *sum *= kept;
  count_ += 1;
  pixels_ += pixels;
  ms_ += ms;
  pixels_squared_ += pixels * pixels;
  pixels_ms_ += pixels * ms;
}

double MoveCost::ms(double pixels) const {
  constexpr double unmeasured = 2e-6;  // of memory
  if (pixels <= 0) return 0;
  if (count_ <= 0) return pixels * unmeasured;
  const double spread = count_ * pixels_squared_ - pixels_ * pixels_;
  const double one = spread > 1e-6 * pixels_ * pixels_ ? (count_ * pixels_ms_ - pixels_ * ms_) / spread : 0;
  const double a_pixel = std::clamp(one, 0.0, ms_ / pixels_);
  return (ms_ - a_pixel * pixels_) / count_ + a_pixel * pixels;
}

Balance::Balance(const Rect& wall, std::vector<Rect> screens)
    : wall_(wall), screens_(std::move(screens)), home_(screens_.size()), density_(cells * cells, 0) {
  divide(wall_, everyone(), false, home_);
  cut_ = home_;
}

Balance::Group Balance::everyone() const {
  Group all(screens_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

void Balance::divide(const Rect& place, const Group& group, bool by_map, Cut& cut) const {
  if (group.size() == 1) {
    cut[group[0]] = place;
    return;
  }
  const auto middle = [this](std::size_t i, bool upright) {
    return begin_of(screens_[i], upright) + end_of(screens_[i], upright);
  };
  const auto spread = [&](bool upright) {
    const auto [least, most] = std::minmax_element(
        group.begin(), group.end(), [&](auto a, auto b) { return middle(a, upright) < middle(b, upright); });
    return middle(*most, upright) - middle(*least, upright);
  };
  const bool upright = spread(true) >= spread(false);
  Group sorted = group;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](auto a, auto b) { return middle(a, upright) < middle(b, upright); });
  // Between two columns (or rows) of screens, as near to the half as there is one.
  std::size_t half = sorted.size() / 2;
  for (std::size_t off = 0; off < sorted.size(); ++off) {
    const std::size_t at = off % 2 ? sorted.size() / 2 - (off + 1) / 2 : sorted.size() / 2 + off / 2;
    if (at < 1 || at >= sorted.size() || middle(sorted[at - 1], upright) == middle(sorted[at], upright)) continue;
    half = at;
    break;
  }
  const Group first(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(half));
  const Group second(sorted.begin() + static_cast<std::ptrdiff_t>(half), sorted.end());
  int line = 0;
  if (by_map) {
    line = line_at(place, upright, static_cast<double>(half) / static_cast<double>(sorted.size()));
  } else {
    int last = begin_of(wall_, upright), next = end_of(wall_, upright);
    for (const std::size_t i : first) last = std::max(last, end_of(screens_[i], upright));
    for (const std::size_t i : second) next = std::min(next, begin_of(screens_[i], upright));
    line = (last + next) / 2;
  }
  const int length = end_of(place, upright) - begin_of(place, upright), count = static_cast<int>(sorted.size());
  const int room = std::min(least_pixels, length / count);
  line = std::clamp(line, begin_of(place, upright) + room * static_cast<int>(half),
                    end_of(place, upright) - room * (count - static_cast<int>(half)));
  const auto [one, other] = split(place, upright, line);
  divide(one, first, by_map, cut);
  divide(other, second, by_map, cut);
}

int Balance::line_at(const Rect& place, bool upright, double share) const {
  const double wanted = share * cost_ms(place);
  int low = begin_of(place, upright), high = end_of(place, upright);
  while (low < high) {
    const int line = (low + high) / 2;
    if (cost_ms(split(place, upright, line).first) < wanted)
      low = line + 1;
    else
      high = line;
  }
  return low;
}

// f(the cell's number, how many pixels of it are in `place`)
template <class F>
void Balance::for_cells(const Rect& place, F&& f) const {
  if (place.empty()) return;
  const auto edge = [](int length, int i) { return static_cast<int>(std::int64_t{length} * i / cells); };
  const auto cell_of = [](int length, int at) { return static_cast<int>(std::int64_t{at} * cells / length); };
  const int left = cell_of(wall_.width, place.x), top = cell_of(wall_.height, place.y);
  for (int row = top; row < cells && edge(wall_.height, row) < place.y + place.height; ++row)
    for (int column = left; column < cells && edge(wall_.width, column) < place.x + place.width; ++column) {
      const int x = edge(wall_.width, column), y = edge(wall_.height, row);
      const Rect part = intersection(place, {x, y, edge(wall_.width, column + 1) - x, edge(wall_.height, row + 1) - y});
      if (!part.empty())
        f(static_cast<std::size_t>(row) * cells + static_cast<std::size_t>(column), static_cast<double>(area_of(part)));
    }
}

double Balance::cost_ms(const Rect& place) const {
  double sum = 0;
  for_cells(place, [&](std::size_t cell, double pixels) { sum += density_[cell] * pixels; });
  return sum;
}

std::vector<std::int64_t> Balance::moved_pixels(const Cut& cut) const {
  std::vector<std::int64_t> moved(cut.size());
  for (const Piece& piece : pieces_of(cut, screens_, wall_))
    for (const std::int32_t end : {piece.from, piece.to}) moved[static_cast<std::size_t>(end)] += area_of(piece.place);
  return moved;
}

double Balance::frame_ms(const Cut& cut) const {
  double drawn = 0;
  for (const Rect& region : cut) drawn = std::max(drawn, cost_ms(region));
  const std::vector<std::int64_t> moved = moved_pixels(cut);
  return drawn + moving_.ms(static_cast<double>(*std::max_element(moved.begin(), moved.end())));
}

void Balance::learn(const std::vector<DrawTime>& times) {
  std::vector<double> scaled(density_.size()), pixels(density_.size());
  for (std::size_t i = 0; i < cut_.size(); ++i) {
    const double known = cost_ms(cut_[i]), ms = std::max(least_ms, times[i].drawn_ms);
    const double even = ms / static_cast<double>(std::max<std::int64_t>(1, area_of(cut_[i])));
    for_cells(cut_[i], [&](std::size_t cell, double of) {
      const double here = known > 0 ? (1 - forgetting) * density_[cell] * ms / known + forgetting * even : even;
      scaled[cell] += here * of;
      pixels[cell] += of;
    });
  }
  for (std::size_t cell = 0; cell < density_.size(); ++cell)
    if (pixels[cell] > 0) density_[cell] = scaled[cell] / pixels[cell];
  const std::vector<std::int64_t> moved = moved_pixels(cut_);
  for (std::size_t i = 0; i < cut_.size(); ++i)
    if (moved[i] > 0) moving_.note(static_cast<double>(moved[i]), times[i].exchanged_ms);
}

std::optional<Cut> Balance::note(const std::vector<DrawTime>& times) {
  sum_.resize(cut_.size());
  for (std::size_t i = 0; i < cut_.size(); ++i) {
    sum_[i].drawn_ms += times[i].drawn_ms / frames_a_step;
    sum_[i].exchanged_ms += times[i].exchanged_ms / frames_a_step;
  }
  if (++frames_ < frames_a_step) return std::nullopt;
  learn(std::exchange(sum_, {}));
  frames_ = 0;
  Cut next(screens_.size());
  divide(wall_, everyone(), true, next);
  if (frame_ms(home_) < frame_ms(next)) next = home_;
  if (next == cut_ || frame_ms(next) > worth_it * frame_ms(cut_)) return std::nullopt;
  cut_ = next;
  return cut_;
}

Cut Balance::shuffle(std::mt19937_64& random) {
  for (double& density : density_) density = static_cast<double>(random() % 1000 + 1);
  density_[random() % density_.size()] *= 1000;  // else all are much like each other
  divide(wall_, everyone(), true, cut_);
  return cut_;
}

}  // namespace dcgn::wall
