#include "apps/image/text.hpp"

#include <array>
#include <cstdint>

namespace dcgn::image {

namespace {

// Five columns of seven points from the left, each from the top, lowest bit first; from ' ' to 'z'.
// clang-format off
constexpr std::array<std::uint64_t, 91> glyphs = {
    0x000000000, 0x000000000, 0x000000000, 0x000000000, 0x000000000, 0x62c8209a3, 0x000000000, 0x000000000,
    0x008288e00, 0x00388a080, 0x000000000, 0x0810f8408, 0x0000c2800, 0x081020408, 0x000183000, 0x020820820,
    0x3e8b268be, 0x0081fe100, 0x4693470c2, 0x3197160a1, 0x10fe48a18, 0x398b162a7, 0x30932653c, 0x030a27881,
    0x3693264b6, 0x1e5326486, 0x0000d9b00, 0x000000000, 0x000000000, 0x000000000, 0x000000000, 0x000000000,
    0x000000000, 0x7e22448fe, 0x3693264ff, 0x2283060be, 0x1c45060ff, 0x4193264ff, 0x0112244ff, 0x7a93260be,
    0x7f102047f, 0x0083fe080, 0x017f06020, 0x41445047f, 0x40810207f, 0x7f043017f, 0x7f202027f, 0x3e83060be,
    0x0612244ff, 0x5e43460be, 0x4652644ff, 0x3193264c6, 0x0103fc081, 0x3f810203f, 0x1f410101f, 0x3f80e203f,
    0x632820a63, 0x0711c0407, 0x438b268e1, 0x000000000, 0x000000000, 0x000000000, 0x000000000, 0x000000000,
    0x000000000, 0x78a952a20, 0x38891247f, 0x208912238, 0x7f9112238, 0x18a952a38, 0x020227f08, 0x3ea54a90c,
    0x78081047f, 0x0081f6200, 0x007b12020, 0x0088a087f, 0x0081fe080, 0x78086027c, 0x78081047c, 0x388912238,
    0x082850a7c, 0x7c3050a08, 0x08081047c, 0x20a952a48, 0x208111f84, 0x7c410203c, 0x1c410101c, 0x3c80c203c,
    0x445041444, 0x3ca14280c, 0x449953244,
};
// clang-format on

}  // namespace

int draw_text(Image& image, int x, int y, std::string_view text, Colour colour, int scale) {
  int left = x;
  for (const char c : text) {
    const auto index = static_cast<std::size_t>(static_cast<unsigned char>(c)) - ' ';
    const std::uint64_t glyph = index < glyphs.size() ? glyphs[index] : 0;
    for (int point = 0; point < 35; ++point)
      if (glyph >> point & 1) image.fill(left + point / 7 * scale, y + point % 7 * scale, scale, scale, colour);
    left += glyph_width * scale;
  }
  return left - x;
}

}  // namespace dcgn::image
