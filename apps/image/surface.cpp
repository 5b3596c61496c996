#include "apps/image/surface.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <thread>
#include <vector>

namespace dcgn::image {

namespace {

struct Vector {
  double x = 0, y = 0, z = 0;

  double operator[](int d) const { return d == 0 ? x : d == 1 ? y : z; }
  friend Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend Vector operator*(double f, Vector a) { return {f * a.x, f * a.y, f * a.z}; }
};

double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vector cross(Vector a, Vector b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
Vector unit(Vector a) { return (1 / std::sqrt(dot(a, a))) * a; }

// The field less the surface's value, above 0 where matter is, averaged over blocks of cells. Lengths are in such
// blocks; the box goes from 0 to extent - 1.
class Volume {
 public:
  Volume(const stencil::FieldSource& source, const View& view) {
    const stencil::FieldShape& shape = source.shape;
    const bool pairs = is_complex(shape.type);
    const std::int64_t longest = *std::ranges::max_element(shape.extents);
    const std::int64_t block = (longest + view.most_cells - 1) / view.most_cells;
    for (int d = 0; d < 3; ++d) extent_[d] = (shape.extents[static_cast<std::size_t>(d)] + block - 1) / block;
    values_.resize(static_cast<std::size_t>(extent_[0] * extent_[1] * extent_[2]));
    std::vector<int> counts(values_.size());
    stencil::for_each_layer(source, [&](std::int64_t z, std::span<const double> plane) {
      std::size_t i = 0;
      for (std::int64_t y = 0; y < shape.extents[1]; ++y)
        for (std::int64_t x = 0; x < shape.extents[0]; ++x, ++i) {
          const std::size_t at = index(x / block, y / block, z / block);
          values_[at] += static_cast<float>(pairs ? std::hypot(plane[2 * i], plane[2 * i + 1]) : plane[i]);
          ++counts[at];
        }
    });
    const float sign = view.below ? -1.0f : 1.0f;
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = sign * (values_[i] / static_cast<float>(counts[i]) - static_cast<float>(view.value));
  }

  double extent(int d) const { return static_cast<double>(extent_[d] - 1); }
  Vector corner() const { return {extent(0), extent(1), extent(2)}; }

  // Linear between the cells around it. What is outside has the border's value.
  double at(Vector p) const {
    std::array<std::int64_t, 3> low{};
    std::array<double, 3> part{};
    for (int d = 0; d < 3; ++d) {
      const double place = std::clamp(p[d], 0.0, extent(d));
      low[d] = std::min(static_cast<std::int64_t>(place), std::max<std::int64_t>(0, extent_[d] - 2));
      part[d] = place - static_cast<double>(low[d]);
    }
    const std::int64_t up_x = extent_[0] > 1, up_y = extent_[1] > 1, up_z = extent_[2] > 1;
    const auto line = [&](std::int64_t y, std::int64_t z) {
      const double a = values_[index(low[0], low[1] + y, low[2] + z)];
      return a + part[0] * (values_[index(low[0] + up_x, low[1] + y, low[2] + z)] - a);
    };
    const auto plane = [&](std::int64_t z) {
      const double a = line(0, z);
      return a + part[1] * (line(up_y, z) - a);
    };
    const double a = plane(0);
    return a + part[2] * (plane(up_z) - a);
  }

  // Out of the matter.
  Vector normal(Vector p) const {
    constexpr double h = 0.75;
    const Vector slope{at(p - Vector{h, 0, 0}) - at(p + Vector{h, 0, 0}),
                       at(p - Vector{0, h, 0}) - at(p + Vector{0, h, 0}),
                       at(p - Vector{0, 0, h}) - at(p + Vector{0, 0, h})};
    return dot(slope, slope) > 0 ? unit(slope) : Vector{0, 0, 1};
  }

 private:
  std::size_t index(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return static_cast<std::size_t>((z * extent_[1] + y) * extent_[0] + x);
  }

  std::array<std::int64_t, 3> extent_{};
  std::vector<float> values_;
};

// Parallel rays, which keep parallel edges parallel.
struct Camera {
  Vector middle, forward, right, up;
  double scale = 1;  // length of a pixel

  Camera(const Volume& volume, const View& view) : middle(0.5 * volume.corner()) {
    const double turn = view.turn * std::numbers::pi / 180, above = view.above * std::numbers::pi / 180;
    forward = {-std::cos(turn) * std::cos(above), -std::sin(turn) * std::cos(above), -std::sin(above)};
    right = unit(cross(forward, {0, 0, 1}));
    up = cross(right, forward);
    double wide = 0, high = 0;
    for (int corner = 0; corner < 8; ++corner) {
      const Vector p = corner_of(volume, corner) - middle;
      wide = std::max(wide, std::abs(dot(p, right)));
      high = std::max(high, std::abs(dot(p, up)));
    }
    scale = 2.1 * std::max({wide / view.width, high / view.height, 1e-9});
  }
  static Vector corner_of(const Volume& volume, int corner) {
    const Vector far = volume.corner();
    return {corner & 1 ? far.x : 0, corner & 2 ? far.y : 0, corner & 4 ? far.z : 0};
  }
};

struct Hit {
  Vector place, normal;
  bool cut;  // on a side of the box
};

// Where the ray is in the box: from `enter` to `leave`, and through which side it enters.
struct Crossing {
  double enter = -std::numeric_limits<double>::infinity(), leave = -enter;
  Vector side;
};

std::optional<Crossing> cross_box(const Volume& volume, Vector from, Vector direction) {
  Crossing c;
  for (int d = 0; d < 3; ++d) {
    if (std::abs(direction[d]) < 1e-12) {
      if (from[d] < 0 || from[d] > volume.extent(d)) return std::nullopt;
      continue;
    }
    double near = -from[d] / direction[d], far = (volume.extent(d) - from[d]) / direction[d];
    if (near > far) std::swap(near, far);
    if (near > c.enter) {
      const double sign = direction[d] > 0 ? -1 : 1;
      c.enter = near;
      c.side = {d == 0 ? sign : 0, d == 1 ? sign : 0, d == 2 ? sign : 0};
    }
    c.leave = std::min(c.leave, far);
  }
  if (c.enter >= c.leave) return std::nullopt;
  return c;
}

std::optional<Hit> first_hit(const Volume& volume, Vector from, Vector direction) {
  const auto crossing = cross_box(volume, from, direction);
  if (!crossing) return std::nullopt;
  constexpr double step = 0.5;
  if (const Vector p = from + crossing->enter * direction; volume.at(p) > 0) return Hit{p, crossing->side, true};
  for (double before = crossing->enter; before < crossing->leave; before += step) {
    double outside = before, inside = std::min(before + step, crossing->leave);
    if (!(volume.at(from + inside * direction) > 0)) continue;
    for (int halving = 0; halving < 12; ++halving) {
      const double between = (outside + inside) / 2;
      (volume.at(from + between * direction) > 0 ? inside : outside) = between;
    }
    const Vector p = from + inside * direction;
    return Hit{p, volume.normal(p), false};
  }
  return std::nullopt;
}

// How much of what is above the surface is free, from 0 to 1, by a few samples within some cells.
double openness(const Volume& volume, const Hit& hit) {
  const Vector side = unit(cross(hit.normal, std::abs(hit.normal.z) < 0.9 ? Vector{0, 0, 1} : Vector{1, 0, 0}));
  const Vector other = cross(hit.normal, side);
  const double reach = std::max(3.0, 0.05 * std::max({volume.extent(0), volume.extent(1), volume.extent(2)}));
  constexpr int directions = 6, distances = 3;
  double open = 0;
  for (int i = 0; i < directions; ++i) {
    const double angle = 2 * std::numbers::pi * i / directions;
    const Vector d = unit(hit.normal + 0.9 * std::cos(angle) * side + 0.9 * std::sin(angle) * other);
    double free = 1;
    for (int j = 1; j <= distances && free > 0; ++j) {
      const Vector p = hit.place + (reach * j / distances) * d;
      const Vector far = volume.corner();
      if (p.x < 0 || p.y < 0 || p.z < 0 || p.x > far.x || p.y > far.y || p.z > far.z) break;
      if (volume.at(p) > 0) free = static_cast<double>(j - 1) / distances;
    }
    open += free / directions;
  }
  return open;
}

Colour lit(const Volume& volume, const Camera& camera, const Hit& hit) {
  const Vector key = unit(-0.55 * camera.forward + 0.75 * camera.up - 0.45 * camera.right);
  const Vector fill = unit(-0.6 * camera.forward - 0.1 * camera.up + 0.8 * camera.right);
  const double open = hit.cut ? 1 : 0.35 + 0.65 * openness(volume, hit);
  const double light = 0.22 + 0.62 * std::max(0.0, dot(hit.normal, key)) + 0.22 * std::max(0.0, dot(hit.normal, fill));
  const double shine = hit.cut ? 0 : std::pow(std::max(0.0, dot(hit.normal, unit(key - camera.forward))), 40) * 0.25;
  // Cuts through matter are pale, its own surface is copper.
  return hit.cut ? oklch(0.40 + 0.48 * light * open, 0.045, 0.66)
                 : oklch(std::min(1.0, 0.20 + 0.55 * light * open + shine), 0.115, 0.13);
}

// The box's edges over what is there, those that matter hides left out.
void draw_box(Image& image, const Volume& volume, const Camera& camera, const std::vector<double>& depth) {
  const auto draw_edge = [&](Vector from, Vector to) {
    const Vector a = from - camera.middle, b = to - camera.middle;
    const int points = 2 * static_cast<int>(std::sqrt(dot(b - a, b - a)) / camera.scale) + 1;
    for (int i = 0; i <= points; ++i) {
      const Vector p = a + (static_cast<double>(i) / points) * (b - a);
      const double u = image.width() / 2.0 + dot(p, camera.right) / camera.scale;
      const double v = image.height() / 2.0 - dot(p, camera.up) / camera.scale;
      const int x = static_cast<int>(u), y = static_cast<int>(v);
      if (x < 0 || y < 0 || x >= image.width() || y >= image.height()) continue;
      const double behind =
          depth[static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width()) + static_cast<std::size_t>(x)];
      const bool hidden = dot(p, camera.forward) > behind + 1.5;
      if (!hidden) image.fill(x, y, 1 + image.width() / 700, 1 + image.width() / 700, {70, 74, 84});
    }
  };
  for (int corner = 0; corner < 8; ++corner)
    for (int d = 1; d < 8; d *= 2)
      if (!(corner & d)) draw_edge(Camera::corner_of(volume, corner), Camera::corner_of(volume, corner | d));
}

}  // namespace

Image surface(const stencil::FieldSource& source, const View& view) {
  if (source.shape.dimensions() != 3)
    throw Error(Code::configuration, "picture",
                "field '" + source.name + "' is " + to_string(source.shape) + ": expected 3 dimensions");
  const Volume volume(source, view);
  const Camera camera(volume, view);
  Image image(view.width, view.height);
  const auto width = static_cast<std::size_t>(view.width);
  std::vector<double> depth(width * static_cast<std::size_t>(view.height), std::numeric_limits<double>::infinity());
  std::atomic<int> next{0};
  const auto render = [&] {
    for (int y = next++; y < view.height; y = next++) {
      const Colour sky = mix({236, 240, 246}, {196, 204, 216}, static_cast<double>(y) / view.height);
      for (int x = 0; x < view.width; ++x) {
        const Vector pixel = camera.middle + (camera.scale * (x + 0.5 - view.width / 2.0)) * camera.right -
                             (camera.scale * (y + 0.5 - view.height / 2.0)) * camera.up;
        const auto hit = first_hit(volume, pixel, camera.forward);
        image.at(x, y) = hit ? lit(volume, camera, *hit) : sky;
        if (hit)
          depth[static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x)] =
              dot(hit->place - camera.middle, camera.forward);
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t) others.emplace_back(render);
    render();
  }
  draw_box(image, volume, camera, depth);
  return image;
}

}  // namespace dcgn::image
