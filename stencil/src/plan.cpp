#include "plan.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace dcgn::stencil {

namespace {

using Steps = std::array<int, most_dims>;

Steps steps_of(int direction) {
  Steps steps{};
  for (int& s : steps) {
    s = direction % 3 - 1;
    direction /= 3;
  }
  return steps;
}

bool is_empty(const Cells& cells) {
  for (int d = 0; d < most_dims; ++d)
    if (cells.begin[d] >= cells.end[d]) return true;
  return false;
}

void add(Boxes& boxes, const Cells& cells) {
  if (!is_empty(cells)) boxes.box[boxes.count++] = cells;
}

// A box as the layers of some thickness along its sides, the slowest dimension first, and what is within.
StageCells cut(Cells inside, const Halo& thickness) {
  StageCells parts{};
  for (int d = most_dims - 1; d >= 0; --d) {
    const auto [below, above] = thickness.layers[static_cast<std::size_t>(d)];
    const int middle = std::min(inside.begin[d] + below, inside.end[d]);
    Cells low = inside, high = inside;
    low.end[d] = middle;
    high.begin[d] = std::max(middle, inside.end[d] - above);
    add(parts.border, low);
    add(parts.border, high);
    inside.begin[d] = low.end[d];
    inside.end[d] = high.begin[d];
  }
  add(parts.bulk, inside);
  return parts;
}

class Planner {
 public:
  Planner(const Grid& grid, int rank, int radius, bool shifting)
      : grid_(grid), rank_(rank), radius_(radius), shifting_(shifting), last_(grid.dims() - 1) {
    const Box box = grid.part(rank);
    for (int d = 0; d < most_dims; ++d) own_.end[d] = static_cast<int>(box.extent(d));
  }

  Plan plan(Scheme scheme, Exchange exchange) {
    Plan plan;
    plan.rules = rules_of(scheme, !shifting_);
    const bool once = shifting_ || exchange == Exchange::each_step;
    const int wide = radius_ * (once ? plan.rules.stages_each : 1);
    check(wide);
    plan.halo = halo_of(wide);
    if (shifting_ && grid_.parts(last_) > 1) plan.shift = wide;
    for (int s = 0; s < plan.rules.stages_each; ++s) {
      const bool exchanged = !once || s + 1 == plan.rules.stages_each;
      // With halos for all stages, each has a layer of `radius` less to compute.
      const int margin = once ? wide - radius_ * (s + 1) : 0;
      plan.stages.push_back(exchanged ? cut(stage_cells(plan, wide - margin), sent_of(plan)) : StageCells{});
      if (!exchanged) add(plan.stages.back().bulk, stage_cells(plan, wide - margin));
    }
    add_transfers(plan);
    return plan;
  }

 private:
  bool has_neighbour(int dim, int upper) const {
    Steps steps{};
    steps[static_cast<std::size_t>(dim)] = upper ? 1 : -1;
    return grid_.parts(dim) > 1 && grid_.neighbour(rank_, steps) >= 0;
  }

  // Layers along each side that has a neighbour; shifting, what would be below is above.
  Halo halo_of(int wide) const {
    Halo halo;
    for (int d = 0; d < grid_.dims(); ++d)
      for (int upper = 0; upper < 2; ++upper)
        if (has_neighbour(d, upper))
          halo.layers[static_cast<std::size_t>(d)][static_cast<std::size_t>(upper)] =
              shifting_ ? upper * 2 * wide : wide;
    return halo;
  }

  void check(int wide) const {
    const int layers = shifting_ ? 2 * wide : wide;
    for (int d = 0; d < grid_.dims(); ++d)
      if (grid_.parts(d) > 1 && grid_.least_extent(d) < layers)
        throw Error(Code::configuration, "Stepper",
                    "a halo of " + std::to_string(layers) + " layers is wider than a part of " +
                        std::to_string(grid_.least_extent(d)) + " cells along " + std::string(1, "xyzw"[d]));
    if (!shifting_) return;
    for (int d = 0; d < last_; ++d)
      if (grid_.parts(d) > 1)
        throw Error(Code::unsupported, "Stepper",
                    std::to_string(grid_.parts(d)) + " parts along " + std::string(1, "xyzw"[d]) +
                        ", expected layers for the mode shift");
    if (!grid_.periodic(last_))
      throw Error(Code::unsupported, "Stepper", "the grid is not periodic along its layers, as the mode shift expects");
  }

  // What neighbours get of the result: as thick as their halos are at the other side.
  Halo sent_of(const Plan& plan) const {
    if (!shifting_) return plan.halo;
    Halo sent;
    for (std::size_t d = 0; d < most_dims; ++d) sent.layers[d][0] = plan.halo.layers[d][1];
    return sent;
  }

  // All that can be computed once `used` layers of the halo have been used up, counted as a step's begin counts cells.
  Cells stage_cells(const Plan& plan, int used) const {
    Cells cells = own_;
    for (int d = 0; d < grid_.dims(); ++d) {
      const auto [below, above] = plan.halo.layers[static_cast<std::size_t>(d)];
      if (shifting_ && (below || above)) {
        cells.begin[d] = used;
        cells.end[d] += above - used;
      } else {
        if (below) cells.begin[d] = used - below;
        if (above) cells.end[d] += above - used;
      }
    }
    return cells;
  }

  void add_transfers(Plan& plan) const {
    const Halo sent = sent_of(plan);
    for (int direction = 0; direction < directions; ++direction) {
      const Steps steps = steps_of(direction);
      if (direction == opposite(direction)) continue;  // no steps at all
      bool along = true;
      for (int d = 0; d < most_dims; ++d)
        along = along && (steps[static_cast<std::size_t>(d)] == 0 || grid_.parts(d) > 1);
      if (!along) continue;
      const int neighbour = grid_.neighbour(rank_, steps);
      if (neighbour < 0) continue;
      Cells send = own_, receive = own_;
      for (std::size_t d = 0; d < most_dims; ++d) {
        if (steps[d] < 0) {
          send.end[d] = sent.layers[d][0];
          receive.begin[d] = -plan.halo.layers[d][0];
          receive.end[d] = 0;
        } else if (steps[d] > 0) {
          send.begin[d] = own_.end[d] - sent.layers[d][1];
          receive.begin[d] = own_.end[d];
          receive.end[d] = own_.end[d] + plan.halo.layers[d][1];
        }
      }
      if (!is_empty(send)) plan.sends.push_back({direction, neighbour, send});
      if (!is_empty(receive)) plan.receives.push_back({direction, neighbour, receive});
    }
  }

  const Grid& grid_;
  const int rank_, radius_;
  const bool shifting_;
  const int last_;
  Cells own_{};
};

}  // namespace

SchemeRules rules_of(Scheme scheme, bool in_place) {
  constexpr double sixth = 1.0 / 6, third = 1.0 / 3;
  switch (scheme) {
    case Scheme::euler: return {{{0, 0, 1, 1}, {1, 1, 0, 1}}, 1, 2, 2};
    case Scheme::next: return {{{0, 0, 1, 1}, {1, 1, 0, 1}}, 1, 2, 0};
    case Scheme::midpoint:
      if (in_place) return {{{0, 0, 1, 0.5}, {1, 0, 0, 1}}, 2, 2, 2};
      return {{{0, 0, 1, 0.5}, {1, 0, 2, 1}, {2, 2, 1, 0.5}, {1, 2, 0, 1}}, 2, 3, 2};
    case Scheme::rk4:
      return {{{0, 0, 1, 0.5, 0, 3, sixth}, {1, 0, 2, 0.5, 3, 3, third}, {2, 0, 1, 1, 3, 3, third}, {1, 3, 0, sixth}},
              4,
              4,
              2.785293563405282};
  }
  return {};
}

int opposite(int direction) { return directions - 1 - direction; }

Plan plan_of(const Grid& grid, int rank, int radius, Scheme scheme, bool shifting, Exchange exchange) {
  return Planner(grid, rank, radius, shifting).plan(scheme, exchange);
}

}  // namespace dcgn::stencil
