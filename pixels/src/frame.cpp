#include "pixels/src/frame.hpp"

#include "pixels/src/gl.hpp"
#include "pixels/src/jpeg.hpp"
#include "pixels/src/lossless.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace dcgn::pixels {

namespace {

struct Header {
  std::uint32_t magic = 0x4c50676e;  // little-endian, as all hosts of a job
  std::uint32_t compression = 0;
  std::int64_t width = 0, height = 0, pixel_bytes = 0;
  std::int64_t first_bytes = 0;  // of the colors, where their alpha follows
};

// How JPEG's library sees GL's colors.
JpegColors jpeg_colors(const PixelFormat& format) {
  switch (format.format) {
    case GL_RGB: return JpegColors::rgb;
    case GL_BGR: return JpegColors::bgr;
    case GL_RGBA: return JpegColors::rgba;
  }
  return JpegColors::bgra;
}

// Of pixels of 4 bytes the last ones.
std::vector<std::byte> alpha_of(const std::byte* memory, std::int64_t pixels) {
  std::vector<std::byte> alpha(static_cast<std::size_t>(pixels));
  for (std::size_t i = 0; i < alpha.size(); ++i) alpha[i] = memory[4 * i + 3];
  return alpha;
}

JpegImage jpeg_image(const Checked& pixels) {
  return {pixels.rectangle.width, pixels.rectangle.height, jpeg_colors(pixels.format)};
}

// Neighbours differ by little: what zstd gets is the difference of each byte to that of the pixel before.
std::vector<std::byte> differences(const std::byte* memory, std::size_t bytes, std::size_t pixel) {
  std::vector<std::byte> result(memory, memory + bytes);
  const auto value = [](std::byte b) { return std::to_integer<unsigned>(b); };
  for (std::size_t i = pixel; i < bytes; ++i)
    result[i] = static_cast<std::byte>(value(memory[i]) - value(memory[i - pixel]));
  return result;
}

void sum_up(std::byte* memory, std::size_t bytes, std::size_t pixel) {
  const auto value = [](std::byte b) { return std::to_integer<unsigned>(b); };
  for (std::size_t i = pixel; i < bytes; ++i)
    memory[i] = static_cast<std::byte>(value(memory[i]) + value(memory[i - pixel]));
}

// Appends what `memory` becomes; false where that is no shorter.
bool append_compressed(const Checked& pixels, const std::byte* memory, Compression compression, int quality,
                       Header& header, std::vector<std::byte>& out) {
  const auto bytes = static_cast<std::size_t>(pixels.bytes());
  if (compression == Compression::none) return false;
  if (compression == Compression::jpeg) {
    append_jpeg(memory, jpeg_image(pixels), quality, out);
    header.first_bytes = static_cast<std::int64_t>(out.size() - sizeof(Header));
    if (pixels.format.elements == 4) {
      const std::vector<std::byte> alpha = alpha_of(memory, pixels.bytes() / 4);
      if (is_available(Compression::lossless))
        append_lossless(alpha.data(), alpha.size(), out);
      else
        out.insert(out.end(), alpha.begin(), alpha.end());
    }
  } else {
    const auto pixel = static_cast<std::size_t>(pixels.format.pixel_bytes());
    append_lossless(differences(memory, bytes, pixel).data(), bytes, out);
  }
  return out.size() - sizeof(Header) < bytes;
}

}  // namespace

bool takes_jpeg(const PixelFormat& format) {
  return format.type == GL_UNSIGNED_BYTE && format.content == Content::color && format.elements >= 3;
}

std::int64_t most_framed_bytes(const Checked& pixels) {
  return static_cast<std::int64_t>(sizeof(Header)) + pixels.bytes();
}

Framed frame(const char*, const Checked& pixels, const std::byte* memory, Compression compression, int jpeg_quality) {
  Header header{
      .width = pixels.rectangle.width, .height = pixels.rectangle.height, .pixel_bytes = pixels.format.pixel_bytes()};
  Framed framed{std::vector<std::byte>(sizeof header), compression};
  if (pixels.bytes() == 0 || !append_compressed(pixels, memory, compression, jpeg_quality, header, framed.bytes)) {
    framed.compression = Compression::none;
    framed.bytes.resize(sizeof header);
    framed.bytes.insert(framed.bytes.end(), memory, memory + pixels.bytes());
  }
  header.compression = static_cast<std::uint32_t>(framed.compression);
  std::memcpy(framed.bytes.data(), &header, sizeof header);
  return framed;
}

Compression unframe(const char* operation, const Checked& pixels, const std::byte* framed, std::int64_t bytes,
                    std::byte* memory) {
  Header header;
  const auto header_bytes = static_cast<std::int64_t>(sizeof header);
  if (bytes >= header_bytes) std::memcpy(&header, framed, sizeof header);
  if (bytes < header_bytes || header.magic != Header{}.magic)
    throw Error(Code::mismatch, operation,
                "a message of " + std::to_string(bytes) + " bytes came that was not sent with compression");
  const Rectangle& r = pixels.rectangle;
  if (header.width != r.width || header.height != r.height || header.pixel_bytes != pixels.format.pixel_bytes())
    throw Error(Code::mismatch, operation,
                "the message has " + std::to_string(header.width) + " x " + std::to_string(header.height) +
                    " pixels of " + std::to_string(header.pixel_bytes) + " bytes, the rectangle " +
                    std::to_string(r.width) + " x " + std::to_string(r.height) + " of " +
                    std::to_string(pixels.format.pixel_bytes()));
  const std::byte* const payload = framed + sizeof header;
  const auto payload_bytes = static_cast<std::size_t>(bytes - header_bytes),
             raw = static_cast<std::size_t>(pixels.bytes());
  const auto refuse = [&]() {
    throw Error(Code::mismatch, operation,
                "the message's " + std::to_string(payload_bytes) + " bytes do not give the " + std::to_string(raw) +
                    " of the rectangle");
  };
  switch (static_cast<Compression>(header.compression)) {
    case Compression::none:
      if (payload_bytes != raw) refuse();
      std::copy_n(payload, raw, memory);  // either may be null where there are none
      return Compression::none;
    case Compression::lossless:
      if (!expand_lossless(payload, payload_bytes, memory, raw)) refuse();
      sum_up(memory, raw, static_cast<std::size_t>(pixels.format.pixel_bytes()));
      return Compression::lossless;
    case Compression::jpeg: {
      if (header.first_bytes < 0 || static_cast<std::size_t>(header.first_bytes) > payload_bytes) refuse();
      const auto first = static_cast<std::size_t>(header.first_bytes);
      if (!expand_jpeg(payload, first, jpeg_image(pixels), memory)) refuse();
      if (pixels.format.elements == 4) {
        std::vector<std::byte> alpha(raw / 4);
        if (is_available(Compression::lossless)) {
          if (!expand_lossless(payload + first, payload_bytes - first, alpha.data(), alpha.size())) refuse();
        } else {
          if (payload_bytes - first != alpha.size()) refuse();
          std::memcpy(alpha.data(), payload + first, alpha.size());
        }
        for (std::size_t i = 0; i < alpha.size(); ++i) memory[4 * i + 3] = alpha[i];
      }
      return Compression::jpeg;
    }
    case Compression::automatic: break;
  }
  refuse();
  return Compression::none;
}

CompressionCost measure_cost(const char* operation, const Checked& pixels, const std::byte* memory,
                             Compression compression, int jpeg_quality) {
  if (compression == Compression::none || pixels.bytes() == 0) return {};
  using Clock = std::chrono::steady_clock;
  const auto bytes = static_cast<double>(pixels.bytes());
  const auto begin = Clock::now();
  const Framed framed = frame(operation, pixels, memory, compression, jpeg_quality);
  const auto compressed = Clock::now();
  std::vector<std::byte> room(static_cast<std::size_t>(pixels.bytes()));
  unframe(operation, pixels, framed.bytes.data(), static_cast<std::int64_t>(framed.bytes.size()), room.data());
  const auto end = Clock::now();
  return {std::chrono::duration<double>(compressed - begin).count() / bytes,
          std::chrono::duration<double>(end - compressed).count() / bytes,
          static_cast<double>(framed.bytes.size()) / bytes};
}

bool is_available(Compression compression) noexcept {
#if defined(DCGN_HAS_ZSTD)
  constexpr bool has_zstd = true;
#else
  constexpr bool has_zstd = false;
#endif
#if defined(DCGN_HAS_JPEG)
  constexpr bool has_jpeg = true;
#else
  constexpr bool has_jpeg = false;
#endif
  return compression == Compression::lossless ? has_zstd : compression == Compression::jpeg ? has_jpeg : true;
}

std::string to_string(Compression compression) {
  switch (compression) {
    case Compression::none: return "none";
    case Compression::lossless: return "lossless";
    case Compression::jpeg: return "jpeg";
    case Compression::automatic: return "automatic";
  }
  return "";
}

}  // namespace dcgn::pixels
