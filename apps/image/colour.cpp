#include "apps/image/image.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dcgn::image {

namespace {

std::uint8_t to_byte(double v) { return static_cast<std::uint8_t>(std::lround(std::clamp(v, 0.0, 1.0) * 255)); }

std::uint8_t encode_srgb(double linear) {
  const double v = std::clamp(linear, 0.0, 1.0);
  return to_byte(v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055);
}

}  // namespace

Colour mix(Colour a, Colour b, double t) {
  const auto channel = [t](std::uint8_t from, std::uint8_t to) { return to_byte((from + (to - from) * t) / 255); };
  return {channel(a.r, b.r), channel(a.g, b.g), channel(a.b, b.b)};
}

// Bjoern Ottosson, "A perceptual color space for image processing" (2020).
Colour oklch(double lightness, double chroma, double hue) {
  const double a = chroma * std::cos(2 * std::numbers::pi * hue);
  const double b = chroma * std::sin(2 * std::numbers::pi * hue);
  const auto cube = [](double v) { return v * v * v; };
  const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {encode_srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          encode_srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          encode_srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

}  // namespace dcgn::image
