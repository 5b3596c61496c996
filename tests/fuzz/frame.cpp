// Pixels that another rank has compressed: the rectangle's format and size are the receiver's, all else is the
// sender's. What is taken fills the rectangle, no more, and comes back from a frame of its own.
#include "fuzz.hpp"

#include "pixels/src/frame.hpp"
#include "pixels/src/gl.hpp"

#include <vector>

using namespace dcgn;
using namespace dcgn::pixels;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr PixelFormat formats[] = {
      {GL_RGBA, GL_UNSIGNED_BYTE, Content::color, 4, ElementKind::uint8, false},
      {GL_RGB, GL_UNSIGNED_BYTE, Content::color, 3, ElementKind::uint8, false},
      {GL_BGRA, GL_UNSIGNED_BYTE, Content::color, 4, ElementKind::uint8, false},
      {GL_RED, GL_FLOAT, Content::color, 1, ElementKind::float32, false},
  };
  constexpr std::size_t around = 64;
  constexpr std::byte untouched{0xa5};
  fuzz::Numbers numbers(data, size);
  Checked pixels;
  pixels.format = formats[numbers.next<std::uint8_t>() % std::size(formats)];
  pixels.rectangle.width = numbers.next<std::uint8_t>();
  pixels.rectangle.height = numbers.next<std::uint8_t>();
  const auto bytes = static_cast<std::size_t>(pixels.bytes());
  // Libraries are not compiled with a sanitizer: what they write beside the rectangle is looked for here.
  std::vector<std::byte> memory(bytes + 2 * around, untouched);
  const std::vector<std::byte> framed(reinterpret_cast<const std::byte*>(numbers.data()),
                                      reinterpret_cast<const std::byte*>(numbers.data()) + numbers.size());
  const bool taken = fuzz::is_taken([&] {
    unframe("recv", pixels, framed.data(), static_cast<std::int64_t>(framed.size()), memory.data() + around);
  });
  for (std::size_t i = 0; i < around; ++i)
    fuzz::require(memory[i] == untouched && memory[around + bytes + i] == untouched,
                  "nothing beside the rectangle is written");
  if (!taken || !is_available(Compression::lossless)) return 0;
  const Framed again = frame("send", pixels, memory.data() + around, Compression::lossless, 90);
  fuzz::require(static_cast<std::int64_t>(again.bytes.size()) <= most_framed_bytes(pixels), "a frame has room");
  std::vector<std::byte> back(bytes);
  fuzz::require(fuzz::is_taken([&] {
                  unframe("recv", pixels, again.bytes.data(), static_cast<std::int64_t>(again.bytes.size()),
                          back.data());
                }) &&
                    std::equal(back.begin(), back.end(), memory.begin() + around),
                "what is framed comes back");
  return 0;
}
