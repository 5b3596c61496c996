#include "exchange.hpp"

#include "adjusted.hpp"
#include "link.hpp"
#include "own_context.hpp"
#include "packing.hpp"
#include "real.hpp"
#include "wall/src/shared_picture.hpp"
#include "wall/src/stream.hpp"

#include <string>

namespace dcgn::wall {

namespace {

const SharedPicture& shared_picture() {
  static const SharedPicture shared = [] {
    if (setup.shared_picture < 0) return SharedPicture();
    SharedPicture opened = SharedPicture::open(setup.shared_picture, setup.wall.width, setup.wall.height);
    if (!opened.valid()) die("no memory to share with the other screens");
    return opened;
  }();
  return shared;
}

std::size_t bytes_of_pixels(const Rect& r) { return static_cast<std::size_t>(area_of(r)) * 4; }

// From GL's bottom left of the window, which is as large as the program's.
Offset in_window(const Window& window, const Rect& place) {
  return {place.x - window.place.x, window.place.y + window.place.height - place.y - place.height};
}

std::uint8_t* in_shared_picture(const Rect& place, std::int64_t number) {
  return shared_picture().at(number, place.x, setup.wall.height - place.y - place.height);
}

// `row`: pixels from one to the next; 0: they are tight.
void read(const Window& window, const Rect& place, void* to, int row) {
  const Offset at = in_window(window, place);
  DCGN_REAL(glPixelStorei)(GL_PACK_ROW_LENGTH, row);
  DCGN_REAL(glReadPixels)(at.x, at.y, place.width, place.height, GL_BGRA, GL_UNSIGNED_BYTE, to);
}

void draw(const Window& window, const Rect& place, const void* from, int row) {
  const Offset at = in_window(window, place);
  DCGN_REAL(glPixelStorei)(GL_UNPACK_ROW_LENGTH, row);
  DCGN_REAL(glWindowPos2i)(at.x, at.y);
  DCGN_REAL(glDrawPixels)(place.width, place.height, GL_BGRA, GL_UNSIGNED_BYTE, from);
}

struct Outgoing {
  std::string content;
  Given given;
};

Outgoing give(const Window& window, const std::vector<Piece>& pieces, Exchange exchange) {
  Outgoing message;
  std::string packed;
  for (Piece piece : pieces) {
    if (piece.from != setup.number) continue;
    message.given.pixels += area_of(piece.place);
    if (shared_picture().valid()) {
      read(window, piece.place, in_shared_picture(piece.place, exchange.number), shared_picture().width());
      message.given.bytes += static_cast<std::int64_t>(bytes_of_pixels(piece.place));
      continue;
    }
    std::string pixels(bytes_of_pixels(piece.place), '\0');
    read(window, piece.place, pixels.data(), 0);
    const std::string way = pack(pixels, piece);
    message.given.bytes += piece.bytes;
    packed += bytes_of(piece) + way;
    ++exchange.pieces;
  }
  message.content = bytes_of(exchange) + packed;
  return message;
}

void take_shared(const Window& window, const std::vector<Piece>& pieces, std::int64_t number) {
  for (const Piece& piece : pieces)
    if (piece.to == setup.number)
      draw(window, piece.place, in_shared_picture(piece.place, number), shared_picture().width());
}

void take(const Window& window, const std::string& content) {
  note_link(content);
  for (std::size_t at = sizeof(Link); at < content.size();) {
    const std::vector<Piece> piece = values_at<Piece>(content, at, 1);
    at += sizeof(Piece);
    if (piece.empty() || content.size() - at < piece[0].bytes) die("pixels of others that end too early");
    const std::string pixels = unpacked(content.substr(at, piece[0].bytes), piece[0], bytes_of_pixels(piece[0].place));
    draw(window, piece[0].place, pixels.data(), 0);
    at += piece[0].bytes;
  }
}

}  // namespace

Given exchange_pixels(const Window& window, const std::vector<Piece>& pieces, std::int64_t number) {
  const OwnContext own(window);
  const Outgoing mine = give(window, pieces, {number, 0});
  const std::string others = share(Kind::exchange, mine.content);
  if (shared_picture().valid())
    take_shared(window, pieces, number);
  else
    take(window, others);
  return mine.given;
}

}  // namespace dcgn::wall
