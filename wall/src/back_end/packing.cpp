#include "packing.hpp"

#include "clock.hpp"
#include "state.hpp"
#include "wall/src/stream.hpp"

#include <dcgn/pixels/compression.hpp>

#include <cstring>

#if defined(DCGN_HAS_ZSTD)
#include <zstd.h>
#endif

namespace dcgn::wall {

namespace {

using pixels::Compression;

pixels::CompressionCost cost;  // as measured last
double link_bytes_per_s = 0;

double seconds_since(std::int64_t began_ns) { return static_cast<double>(host_time_ns() - began_ns) * 1e-9; }

#if defined(DCGN_HAS_ZSTD)

std::string compressed(const std::string& pixels) {
  constexpr int fastest = 1;
  std::string out(ZSTD_compressBound(pixels.size()), '\0');
  const std::size_t bytes = ZSTD_compress(out.data(), out.size(), pixels.data(), pixels.size(), fastest);
  if (ZSTD_isError(bytes)) die("zstd cannot compress pixels");
  out.resize(bytes);
  return out;
}

std::string expanded(const std::string& content, std::size_t bytes) {
  std::string out(bytes, '\0');
  if (ZSTD_decompress(out.data(), bytes, content.data(), content.size()) != bytes)
    die("pixels that zstd cannot expand");
  return out;
}

#else

std::string compressed(const std::string&) { die("no zstd in this build: expected --compression none"); }
std::string expanded(const std::string&, std::size_t) { die("pixels compressed by zstd, which this build has not"); }

#endif

// To the front end and from there to another back end: two links, after each other.
bool is_worth_it() {
#if defined(DCGN_HAS_ZSTD)
  constexpr int measured_anew = 64;  // pieces: what is to be seen changes
  static std::int64_t pieces = 0;
  if (pieces++ % measured_anew == 0) return true;
  return link_bytes_per_s > 0 &&
         pixels::cost_s(cost, link_bytes_per_s / 2) < pixels::cost_s(pixels::CompressionCost{}, link_bytes_per_s / 2);
#else
  return false;
#endif
}

bool is_to_be_packed() {
  switch (static_cast<Compression>(setup.compression)) {
    case Compression::lossless: return true;
    case Compression::automatic: return is_worth_it();
    case Compression::none:
    case Compression::jpeg: break;  // pictures are to stay as they are
  }
  return false;
}

}  // namespace

std::string pack(const std::string& pixels, Piece& piece) {
  piece.packed = is_to_be_packed() ? 1 : 0;
  std::string way = pixels;
  if (piece.packed) {
    const std::int64_t began = host_time_ns();
    way = compressed(pixels);
    const double bytes = static_cast<double>(pixels.size());
    cost.compress_s = seconds_since(began) / bytes;
    cost.ratio = static_cast<double>(way.size()) / bytes;
  }
  piece.bytes = static_cast<std::uint32_t>(way.size());
  return way;
}

std::string unpacked(const std::string& content, const Piece& piece, std::size_t bytes) {
  if (!piece.packed) {
    if (content.size() != bytes) die("pixels of a piece that has others");
    return content;
  }
  const std::int64_t began = host_time_ns();
  std::string pixels = expanded(content, bytes);
  cost.decompress_s = seconds_since(began) / static_cast<double>(bytes);
  return pixels;
}

void note_link(const std::string& content) {
  if (content.size() < sizeof(Link)) die("an answer to given pixels that is too short");
  Link link;
  std::memcpy(&link, content.data(), sizeof link);
  link_bytes_per_s = link.bytes_per_s;
}

}  // namespace dcgn::wall
