// Which part of a wall each of its screens shows.
#pragma once

#include "wall/src/protocol.hpp"

#include <string>
#include <vector>

namespace dcgn::wall {

struct Screen {
  std::string name;
  Rect part;            // of the wall, in its pixels, from its top left
  int turn = 0;         // clockwise, in quarters, of the picture on its display
  std::string display;  // of X; empty: that of the environment
  int x = 0, y = 0;     // where on the display the picture is
  std::string host;     // empty: this one

  // Of the picture on the display.
  int shown_width() const { return turn % 2 ? part.height : part.width; }
  int shown_height() const { return turn % 2 ? part.width : part.height; }
};

struct Layout {
  int width = 0, height = 0;  // of the wall, in pixels
  std::vector<Screen> screens;
  std::vector<std::string> remote = {"ssh", "{host}"};  // what runs a command on another host
};

// `name` is a file of TOML, as docs/guide/wall.md has it, or COLUMNSxROWS:WIDTHxHEIGHT, that of each screen.
// Throws Error(configuration), which names the value and its line, or Error(io).
Layout load_layout(const std::string& name);
Layout parse_layout(const std::string& content, const std::string& file);

// Screens without a display go side by side on one of that size: for a display that is not there to be looked at.
struct Extent {
  int width = 0, height = 0;
};
Extent place_on_one_display(Layout& layout, const std::string& display);

}  // namespace dcgn::wall
