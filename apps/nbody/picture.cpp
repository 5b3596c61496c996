#include "apps/nbody/picture.hpp"

#include "apps/image/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dcgn::nbody {

namespace {

using image::Image;

struct Light {
  float r = 0, g = 0, b = 0;
};

std::uint8_t shown(double light) {
  const double x = 1 - std::exp(-light);  // brighter and brighter, never more than white
  return static_cast<std::uint8_t>(std::lround(255 * std::pow(x, 1 / 1.8)));
}

}  // namespace

Image picture(const std::vector<Body>& bodies, int width, int height, double reach, const std::string& caption) {
  constexpr Light cool{0.35f, 0.65f, 1.6f}, warm{1.5f, 0.75f, 0.28f};
  std::vector<Light> lights(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  const double scale = std::min(width, height) / (2 * reach);
  // As much light in all, however many bodies and pixels there are.
  const double each = 0.06 * scale * scale / static_cast<double>(std::max<std::size_t>(bodies.size(), 1));
  const double spread = std::max(0.8, std::min(width, height) / 640.0);
  const int far = static_cast<int>(std::ceil(6 * spread));
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Light& colour = i < (bodies.size() + 1) / 2 ? cool : warm;
    const double x = width / 2.0 + scale * bodies[i].x, y = height / 2.0 - scale * bodies[i].y;
    if (!(std::abs(x) < 1e6) || !(std::abs(y) < 1e6)) continue;
    const double mass = bodies[i].mass * static_cast<double>(bodies.size());
    const double strength = each * std::min(8.0, std::max(1.0, std::sqrt(mass)));  // a heavy one is a bright star
    const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
    for (int row = std::max(0, top - far); row <= std::min(height - 1, top + far); ++row)
      for (int column = std::max(0, left - far); column <= std::min(width - 1, left + far); ++column) {
        const double dx = column + 0.5 - x, dy = row + 0.5 - y, r2 = (dx * dx + dy * dy) / (spread * spread);
        const auto light = static_cast<float>(strength * (std::exp(-r2) + 0.03 * std::exp(-r2 / 9)));
        Light& l =
            lights[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column)];
        l.r += light * colour.r;
        l.g += light * colour.g;
        l.b += light * colour.b;
      }
  }
  Image result(width, height);
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column) {
      const Light& l =
          lights[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column)];
      result.at(column, row) = {shown(l.r + 0.002), shown(l.g + 0.002), shown(l.b + 0.004)};
    }
  const int text = std::max(1, std::min(width, height) / 320);
  image::draw_text(result, 6 * text, height - (image::glyph_height + 4) * text, caption, {150, 160, 176}, text);
  return result;
}

}  // namespace dcgn::nbody
