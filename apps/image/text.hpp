// Text in pictures: a font of 5 x 7 points.
#pragma once

#include "apps/image/image.hpp"

#include <string_view>

namespace dcgn::image {

inline constexpr int glyph_width = 6, glyph_height = 8;  // with the space beside and below

// Draws from the top left corner (x, y), each point `scale` pixels wide and high; returns the width. What the font
// lacks (it has ASCII's letters, digits and common signs) stays blank.
int draw_text(Image& image, int x, int y, std::string_view text, Colour colour, int scale = 1);
inline int text_width(std::string_view text, int scale = 1) {
  return static_cast<int>(text.size()) * glyph_width * scale;
}

}  // namespace dcgn::image
