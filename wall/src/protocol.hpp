// What the front end of a wall and its back ends say to each other, over any two streams of bytes: a socket of one
// host, or the input and output of ssh to another. Both ends are of the same version and byte order.
//
// A back end says `hello` and is told the `setup`. From then on it takes part in barriers, each a message that must be
// of the same kind from all before any of them is answered: `tick` (a frame begins) by `go`, `swap` (its picture is
// ready) by `go`, `read` (pixels of the window are asked for) by `pixels`, `exchange` (what a back end drew of others'
// screens) by `pixels`. Events and warnings go to the front end at any time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dcgn::wall {

inline constexpr std::uint32_t protocol_version = 2;

enum class Kind : std::uint32_t {
  // from a back end
  hello,
  event,    // what a user did at this screen
  warning,  // text
  tick,
  swap,
  read,
  exchange,
  calls,    // the GL calls of the frame that is checked
  picture,  // what the screen shows: RGB, rows from the top
  // from the front end
  setup,
  go,
  pixels,
  show_calls,
  show_picture,
  pulse,  // the front end is alive
};

struct Header {
  Kind kind;
  std::uint32_t bytes;
};

// Pixels of the wall or of a window.
struct Rect {
  std::int32_t x = 0, y = 0, width = 0, height = 0;

  bool empty() const { return width <= 0 || height <= 0; }
  bool operator==(const Rect&) const = default;
};

inline Rect intersection(const Rect& a, const Rect& b) {
  const int x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  const int right = std::min(a.x + a.width, b.x + b.width), bottom = std::min(a.y + a.height, b.y + b.height);
  return {x, y, std::max(0, right - x), std::max(0, bottom - y)};
}

inline std::int64_t area_of(const Rect& a) { return a.empty() ? 0 : std::int64_t{a.width} * a.height; }

struct Hello {
  std::uint32_t version = protocol_version;
  std::int32_t process = 0;
};

// Where the wall is balanced, the screens' Rects follow, and as many of the first cut.
struct Setup {
  Rect wall;                  // at 0, 0
  Rect screen;                // of the wall, from its top left
  std::int32_t x = 0, y = 0;  // where the screen's picture is on its display
  std::int32_t turn = 0;      // the picture's, clockwise, in quarters
  std::int32_t exact = 0;
  std::int32_t users = 0;     // whether what users do at the screens counts
  std::int32_t process = 0;   // that all back ends say they are
  std::int64_t epoch_ns = 0;  // the date at the wall's time 0
  std::int64_t deadline_ms = 0;
  std::int32_t balanced = 0;         // how many screens the wall has; 0: each draws its own
  std::int32_t number = 0;           // of this screen, from 0
  std::int32_t shared_picture = -1;  // the descriptor of a SharedPicture; else pixels go by messages
  std::int32_t compression = 0;      // of those: pixels::Compression
};

enum class What : std::int32_t {
  key,
  key_up,
  special,
  special_up,
  button,
  motion,
  passive,
  wheel,
  entry,
  menu,
  resize,
  expose,
};

// What a user does. x and y are the window's, from its top left.
struct Event {
  What what = What::expose;
  std::int32_t window = 0;    // 0: the wall; whichever window of it is at x, y
  std::int32_t code = 0;      // the key, button, wheel, state of entry, or what was chosen of the menu
  std::int32_t state = 0;     // down is 0, up is 1; the wheel's direction
  std::int32_t x = 0, y = 0;  // of a resize, the new size
  std::int32_t modifiers = 0;
  std::int32_t menu = 0;
};

// A frame's beginning, and how the back end stands: alike on all.
struct Tick {
  std::int64_t frame = 0;
  std::int32_t idle = 0;  // the program wants to go on at once
  std::int32_t redisplay = 0;
  std::int64_t next_timer_ns = -1;  // when it is due; -1: none
  std::uint64_t calls = 0;          // their digest, where the last frame was checked
  std::int32_t cuts = 0;            // of the wall that have been drawn by, after the first
  // Not alike.
  std::int64_t swaps = 0, swapped_ns = 0;          // pictures shown, and when the last was, by the host's clock
  std::int64_t busy_ns = 0;                        // of the last frame, without waiting for the others
  std::int64_t drawn_ns = 0;                       // of that, until GL had drawn its pictures
  std::int64_t exchanged_ns = 0;                   // of that, for pixels of others' screens
  std::int64_t given_pixels = 0, given_bytes = 0;  // to others, since the beginning; as they went

  bool same(const Tick& o) const {
    return frame == o.frame && idle == o.idle && redisplay == o.redisplay && next_timer_ns == o.next_timer_ns &&
           calls == o.calls && cuts == o.cuts;
  }
};

struct Swap {
  std::int64_t number = 0;
};

// Pixels of a window, from its bottom left; those of `mine`, whose rows follow, are of this screen.
struct Read {
  std::int32_t window = 0;
  Rect area, mine;
  std::uint32_t pixel_bytes = 0;

  bool same(const Read& o) const { return window == o.window && area == o.area && pixel_bytes == o.pixel_bytes; }
};

// Pixels that the back end of one screen drew of another's: what `bytes` follow are BGRA, rows from the bottom.
struct Piece {
  std::int32_t from = 0, to = 0;  // screens
  Rect place;                     // of the wall
  std::int32_t packed = 0;        // without loss
  std::uint32_t bytes = 0;
};

// `pieces` of them follow; none where there is a SharedPicture. The answer has those for that back end, and no more.
struct Exchange {
  std::int64_t number = 0;
  std::int32_t pieces = 0;
};

// What a byte takes to the front end: the beginning of its answer to an exchange.
struct Link {
  double bytes_per_s = 0;  // 0: unknown
};

struct Picture {
  std::int32_t width = 0, height = 0;
};

// `events` of them follow, then `regions` Rects: the cut that the wall is to be drawn by from the next picture on that
// does not build on earlier ones.
struct Go {
  std::int64_t time_ns = 0;  // the wall's
  std::int32_t check = 0;    // the calls of this frame
  std::int32_t end = 0;
  std::int32_t events = 0;
  std::int32_t regions = 0;
};

}  // namespace dcgn::wall
