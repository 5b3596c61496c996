#include "apps/mandelbrot/picture.hpp"

#include "apps/image/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::mandelbrot {

namespace {

using image::Colour;
using image::Image;

constexpr Colour inside{0, 0, 0}, paper{16, 18, 24}, ink{226, 230, 238}, faint_ink{140, 148, 162};

// The number of iterations, without steps between neighbouring pixels.
double smooth(const Pixel& p) {
  const double beyond = std::log2(std::log2(static_cast<double>(p.norm)) / 16);  // more than 1 far from the set only
  return p.iterations + 1 - std::clamp(beyond, 0.0, 1.0);
}

// About a turn of the palette from the picture's corners to where the set's border becomes intricate.
double depth(const Pixel& p) { return 0.34 * std::log2(1 + smooth(p) / 3); }

// Through night, blue, white, amber and back; position in turns.
Colour palette(double position) {
  struct Stop {
    double at;
    Colour colour;
  };
  constexpr std::array<Stop, 6> stops = {{{0, {4, 6, 72}},
                                          {0.16, {28, 98, 196}},
                                          {0.42, {234, 250, 255}},
                                          {0.64, {255, 170, 20}},
                                          {0.86, {86, 14, 34}},
                                          {1, {4, 6, 72}}}};
  const double t = position - std::floor(position);
  std::size_t i = 0;
  while (i + 2 < stops.size() && stops[i + 1].at <= t) ++i;
  const double share = (t - stops[i].at) / (stops[i + 1].at - stops[i].at);
  return image::mix(stops[i].colour, stops[i + 1].colour, share * share * (3 - 2 * share));
}

// The golden angle keeps any number of neighbouring ranks apart; lightness and chroma alternate besides.
Colour rank_colour(int rank) {
  constexpr double golden_turn = 0.381966011250105;
  return image::oklch(rank % 2 ? 0.80 : 0.68, 0.15, 0.08 + golden_turn * rank);
}

const Pixel& pixel_of(const Options& o, const Outcome& outcome, int x, int y) {
  return outcome
      .pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(o.task.width) + static_cast<std::size_t>(x)];
}

struct LegendEntry {
  std::string text;
  std::optional<Colour> swatch;  // none: computes nothing, or stands for many
};

std::vector<LegendEntry> legend_of(const Options& options, const Outcome& outcome) {
  constexpr std::size_t most = 72;
  const std::size_t shown = outcome.ranks.size() <= most ? outcome.ranks.size() : most - 1;
  const std::size_t digits = std::to_string(shown - 1).size();
  std::vector<LegendEntry> entries;
  for (std::size_t rank = 0; rank < shown; ++rank) {
    const RankWork& work = outcome.ranks[rank];
    const std::string place = to_string(work.report.place);
    const std::string where = options.nodes.count > 1 ? place : place.substr(0, place.find(", node"));
    if (rank == 0)
      entries.push_back({fmt::format("{:>{}}  {}, master", rank, digits, where), std::nullopt});
    else
      entries.push_back({fmt::format("{:>{}}  {}  {:.1f}%", rank, digits, where,
                                     100.0 * work.pixels / (double(options.task.width) * options.task.height)),
                         rank_colour(static_cast<int>(rank))});
  }
  if (shown < outcome.ranks.size())
    entries.push_back({fmt::format("and {} more", outcome.ranks.size() - shown), std::nullopt});
  return entries;
}

}  // namespace

Image fractal_picture(const Options& options, const Outcome& outcome) {
  Image picture(options.task.width, options.task.height, inside);
  for (int y = 0; y < picture.height(); ++y)
    for (int x = 0; x < picture.width(); ++x) {
      const Pixel& p = pixel_of(options, outcome, x, y);
      if (p.iterations < options.task.iterations) picture.at(x, y) = palette(depth(p) - 0.34);
    }
  return picture;
}

Image ranks_picture(const Options& options, const Outcome& outcome) {
  const std::vector<LegendEntry> legend = legend_of(options, outcome);
  const int scale = std::max(1, options.task.width / 600);
  const int line = (image::glyph_height + 5) * scale, margin = 9 * scale, swatch = image::glyph_height * scale;
  int entry_width = 0;
  for (const LegendEntry& e : legend)
    entry_width = std::max(entry_width, swatch + image::text_width(e.text, scale) + 4 * image::glyph_width * scale);
  const int width = std::max(options.task.width, entry_width + 2 * margin);
  const int columns = std::max(1, (width - 2 * margin) / entry_width);
  const int lines = (static_cast<int>(legend.size()) + columns - 1) / columns;
  Image picture(width, options.task.height + 2 * margin + lines * line - 5 * scale, paper);

  const int strip = strip_pixels(options), rows = strip / options.task.width;
  for (int y = 0; y < options.task.height; ++y) {
    for (int x = 0; x < options.task.width; ++x) {
      const Colour colour = rank_colour(outcome.owners[static_cast<std::size_t>((y * options.task.width + x) / strip)]);
      const Pixel& p = pixel_of(options, outcome, x, y);
      double light = 0.28;
      if (p.iterations < options.task.iterations)
        light = 0.66 + 0.32 * std::cos(2 * std::numbers::pi * (depth(p) - 0.42));
      // A fine edge above each strip keeps two of one rank apart.
      if (rows >= 6 && y % rows == 0) light *= 0.8;
      picture.at(x, y) = image::mix(inside, colour, light);
    }
  }

  for (std::size_t i = 0; i < legend.size(); ++i) {
    const int at = static_cast<int>(i);
    const int x = margin + at / lines * entry_width, y = options.task.height + margin + at % lines * line;
    if (legend[i].swatch) picture.fill(x, y - scale / 2, swatch, swatch, *legend[i].swatch);
    image::draw_text(picture, x + swatch + image::glyph_width * scale, y, legend[i].text,
                     legend[i].swatch ? ink : faint_ink, scale);
  }
  return picture;
}

}  // namespace dcgn::mandelbrot
