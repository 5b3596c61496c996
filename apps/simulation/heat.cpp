#include "apps/heat/update_kernel.hpp"
#include "apps/simulation/rank.hpp"

#include <cmath>

namespace dcgn::simulation {

namespace {

// Hot balls in the cold, at random places: 1 within one, 0 elsewhere.
class Balls {
 public:
  explicit Balls(const Options& o) : extents_(o.extents) {
    const Noise noise(o);
    for (std::size_t b = 0; b < balls_.size(); ++b) {
      for (std::size_t d = 0; d < extents_.size(); ++d)
        balls_[b].middle[d] = (noise({}, 3 * b + d) + 1) / 2 * static_cast<double>(extents_[d]);
      balls_[b].radius =
          (0.04 + 0.04 * (noise({}, 100 + b) + 1)) * static_cast<double>(*std::ranges::min_element(extents_));
    }
  }
  double operator()(const Box::Cell& at) const {
    const auto holds = [&](const Ball& ball) {
      double square = 0;
      for (std::size_t d = 0; d < extents_.size(); ++d) {
        const double apart = std::abs(static_cast<double>(at[d]) - ball.middle[d]);
        const double nearer = std::min(apart, static_cast<double>(extents_[d]) - apart);  // the sides are periodic
        square += nearer * nearer;
      }
      return square < ball.radius * ball.radius;
    };
    return std::ranges::any_of(balls_, holds) ? 1 : 0;
  }

 private:
  struct Ball {
    std::array<double, 3> middle{};
    double radius = 0;
  };
  std::vector<std::int64_t> extents_;
  std::array<Ball, 12> balls_;
};

}  // namespace

void heat_rank(Comm& comm, const Run& run) {
  const Options& o = run.options;
  with_type(o, [&]<class T, int Dims>() {
    const auto start = [balls = Balls(o)](const Box::Cell& at) { return static_cast<T>(balls(at)); };
    rank_of<T>(comm, run, heat::Update<T, Dims>(o.parameters.at("k"), o.spacing), start);
  });
}

double heat_rate(const Options& o) {
  return with_type(
      o, [&]<class T, int Dims>() { return heat::Update<T, Dims>(o.parameters.at("k"), o.spacing).fastest_rate(); });
}

}  // namespace dcgn::simulation
