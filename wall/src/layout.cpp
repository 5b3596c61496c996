#include "wall/src/layout.hpp"

#include "base/toml.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string_view>

namespace dcgn::wall {

namespace {

constexpr int most_pixels = 1 << 17;  // in a row: what X and GL can name is less

[[noreturn]] void refuse_layout(const std::string& what) { throw Error(Code::configuration, "wall", what); }

// A table of the file whose values are asked for by name.
class Section {
 public:
  Section(const toml::table& table, std::string file, std::string name)
      : table_(table), file_(std::move(file)), name_(std::move(name)) {}

  bool has(std::string_view key) const { return table_.contains(key); }

  int whole(std::string_view key, int otherwise, int least, int most = most_pixels) {
    const toml::node* node = find(key);
    if (!node) return otherwise;
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < least || *value > most)
      refuse(*node, key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<int>(*value);
  }
  int needed(std::string_view key, int least) {
    if (!has(key))
      refuse_layout(where(table_) + "[" + name_ + "] has no " + std::string(key) + ": expected its pixels");
    return whole(key, 0, least);
  }
  std::array<int, 2> pair(std::string_view key) {
    const toml::node* node = find(key);
    if (!node) return {0, 0};
    const toml::array* array = node->as_array();
    std::array<int, 2> values{};
    bool good = array && array->size() == 2;
    for (std::size_t i = 0; good && i < 2; ++i) {
      const auto value = array->get(i)->value_exact<std::int64_t>();
      good = value && *value >= 0 && *value <= most_pixels;
      if (good) values[i] = static_cast<int>(*value);
    }
    if (!good) refuse(*node, key, "two numbers of pixels, as in [12, 0]");
    return values;
  }
  std::string text(std::string_view key, std::string otherwise = "") {
    const toml::node* node = find(key);
    if (!node) return otherwise;
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty()) refuse(*node, key, "a text");
    return *value;
  }
  std::vector<std::string> words(std::string_view key, std::vector<std::string> otherwise) {
    const toml::node* node = find(key);
    if (!node) return otherwise;
    std::vector<std::string> all;
    if (const toml::array* array = node->as_array())
      for (const toml::node& element : *array)
        if (const auto word = element.value_exact<std::string>()) all.push_back(*word);
    if (!node->as_array() || all.empty() || all.size() != node->as_array()->size())
      refuse(*node, key, "a list of words, as in [\"ssh\", \"{host}\"]");
    return all;
  }
  int turn() {
    const int degrees = whole("rotate", 0, 0, 270);
    if (degrees % 90) refuse(*find("rotate"), "rotate", "0, 90, 180 or 270, clockwise");
    return degrees / 90;
  }
  // What was never asked for is a mistake.
  void refuse_others() {
    for (const auto& [key, node] : table_)
      if (!known_.count(std::string(key.str()))) {
        std::string list;
        for (const std::string& name : known_) list += (list.empty() ? "" : ", ") + name;
        refuse_layout(where(node) + std::string(key.str()) + " in [" + name_ + "]: expected one of " + list);
      }
  }
  [[noreturn]] void refuse(const toml::node& node, std::string_view key, const std::string& expected) const {
    std::ostringstream value;
    node.visit([&value](const auto& v) { value << v; });
    refuse_layout(where(node) + std::string(key) + " = " + value.str() + ": expected " + expected);
  }
  std::string where(const toml::node& node) const {
    return file_ + ":" + std::to_string(node.source().begin.line) + ": ";
  }

 private:
  const toml::node* find(std::string_view key) {
    known_.insert(std::string(key));
    return table_.get(key);
  }

  const toml::table& table_;
  std::string file_, name_;
  std::set<std::string> known_;
};

void add_grid(Layout& layout, Section grid) {
  const int columns = grid.whole("columns", 1, 1, 64), rows = grid.whole("rows", 1, 1, 64);
  const int width = grid.needed("width", 1), height = grid.needed("height", 1);
  const auto bezel = grid.pair("bezel"), overlap = grid.pair("overlap");
  if (overlap[0] >= width || overlap[1] >= height)
    refuse_layout("overlap of " + std::to_string(overlap[0]) + " and " + std::to_string(overlap[1]) +
                  " pixels: expected less than a screen's " + std::to_string(width) + " and " + std::to_string(height));
  const std::string display = grid.text("display");
  grid.refuse_others();
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      Screen screen;
      screen.name = "screen " + std::to_string(column) + "," + std::to_string(row);
      screen.part = {column * (width + bezel[0] - overlap[0]), row * (height + bezel[1] - overlap[1]), width, height};
      screen.display = display;
      screen.x = column * width;
      screen.y = row * height;
      layout.screens.push_back(screen);
    }
}

bool is_array_of_tables(const toml::node& node) {
  const toml::array* const array = node.as_array();
  return array && std::all_of(array->begin(), array->end(), [](const toml::node& one) { return one.is_table(); });
}

Screen read_screen(Section one, std::size_t number) {
  Screen screen;
  screen.name = one.text("name", "screen " + std::to_string(number));
  screen.part = {one.needed("x", -most_pixels), one.needed("y", -most_pixels), one.needed("width", 1),
                 one.needed("height", 1)};
  screen.turn = one.turn();
  screen.display = one.text("display");
  const auto at = one.pair("at");
  screen.x = at[0];
  screen.y = at[1];
  screen.host = one.text("host");
  one.refuse_others();
  return screen;
}

}  // namespace

Layout parse_layout(const std::string& content, const std::string& file) {
  toml::table all;
  try {
    all = toml::parse(content, file);
  } catch (const toml::parse_error& e) {
    refuse_layout(file + ":" + std::to_string(e.source().begin.line) + ": " + std::string(e.description()));
  }
  Layout layout;
  for (const auto& [key, node] : all)
    if (key.str() != "wall" && key.str() != "grid" && key.str() != "screen")
      refuse_layout(file + ":" + std::to_string(node.source().begin.line) + ": " + std::string(key.str()) +
                    ": expected [wall], [grid] or [[screen]]");
    else if (key.str() == "screen" ? !is_array_of_tables(node) : !node.is_table())
      refuse_layout(file + ":" + std::to_string(node.source().begin.line) + ": " + std::string(key.str()) +
                    ": expected " + (key.str() == "screen" ? "[[screen]]" : "[" + std::string(key.str()) + "]"));
  if (const toml::table* grid = all["grid"].as_table()) add_grid(layout, Section(*grid, file, "grid"));
  if (const toml::array* screens = all["screen"].as_array()) {
    for (const toml::node& node : *screens)
      if (const toml::table* one = node.as_table())
        layout.screens.push_back(read_screen(Section(*one, file, "screen"), layout.screens.size()));
  }
  if (layout.screens.empty()) refuse_layout(file + ": no screens: expected [grid] or [[screen]]");
  for (std::size_t i = 0; i < layout.screens.size(); ++i) {
    const Rect& part = layout.screens[i].part;
    layout.width = std::max(layout.width, part.x + part.width);
    layout.height = std::max(layout.height, part.y + part.height);
    for (std::size_t k = 0; k < i; ++k)
      if (layout.screens[k].name == layout.screens[i].name)
        refuse_layout(file + ": two screens of the name " + layout.screens[i].name + ": expected different ones");
  }
  if (const toml::table* table = all["wall"].as_table()) {
    Section wall(*table, file, "wall");
    layout.width = wall.whole("width", layout.width, 1);
    layout.height = wall.whole("height", layout.height, 1);
    layout.remote = wall.words("remote", layout.remote);
    wall.refuse_others();
  }
  for (const Screen& screen : layout.screens)
    if (intersection(screen.part, {0, 0, layout.width, layout.height}) != screen.part)
      refuse_layout(file + ": " + screen.name + " is not on the wall of " + std::to_string(layout.width) + " x " +
                    std::to_string(layout.height) + " pixels: expected all of it there");
  return layout;
}

Layout load_layout(const std::string& name) {
  // Seven digits are more than a layout may have, and fit an int.
  int columns = 0, rows = 0, width = 0, height = 0, end = 0;
  if (std::sscanf(name.c_str(), "%7dx%7d:%7dx%7d%n", &columns, &rows, &width, &height, &end) == 4 &&
      end == static_cast<int>(name.size())) {
    std::ostringstream grid;
    grid << "[grid]\ncolumns = " << columns << "\nrows = " << rows << "\nwidth = " << width << "\nheight = " << height;
    return parse_layout(grid.str(), "--layout " + name);
  }
  errno = 0;
  std::ifstream file(name);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    throw Error(Code::io, "wall",
                "--layout " + name + ": " + (errno ? std::strerror(errno) : "nothing to read") +
                    ": expected a file of TOML, or COLUMNSxROWS:WIDTHxHEIGHT as in 2x2:960x540");
  return parse_layout(text.str(), name);
}

Extent place_on_one_display(Layout& layout, const std::string& display) {
  // In rows, as wide as they come; where nothing is to be seen, that is as good as any.
  Extent extent;
  int x = 0, y = 0, row_height = 0;
  for (Screen& screen : layout.screens) {
    if (x > 0 && x + screen.shown_width() > std::max(layout.width, screen.shown_width())) {
      x = 0;
      y += row_height;
      row_height = 0;
    }
    screen.display = display;
    screen.x = x;
    screen.y = y;
    x += screen.shown_width();
    row_height = std::max(row_height, screen.shown_height());
    extent.width = std::max(extent.width, x);
    extent.height = std::max(extent.height, y + row_height);
  }
  return extent;
}

}  // namespace dcgn::wall
