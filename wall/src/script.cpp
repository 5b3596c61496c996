#include "wall/src/script.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string_view>

namespace dcgn::wall {

namespace {

struct Word {
  std::string_view name;
  std::int32_t value;
};

// GLUT's numbers.
constexpr std::array specials = {Word{"f1", 1},        Word{"f2", 2},          Word{"f3", 3},      Word{"f4", 4},
                                 Word{"f5", 5},        Word{"f6", 6},          Word{"f7", 7},      Word{"f8", 8},
                                 Word{"f9", 9},        Word{"f10", 10},        Word{"f11", 11},    Word{"f12", 12},
                                 Word{"left", 100},    Word{"up", 101},        Word{"right", 102}, Word{"down", 103},
                                 Word{"page-up", 104}, Word{"page-down", 105}, Word{"home", 106},  Word{"end", 107},
                                 Word{"insert", 108}};
constexpr std::array buttons = {Word{"left", 0}, Word{"middle", 1}, Word{"right", 2}};
constexpr std::array states = {Word{"down", 0}, Word{"up", 1}};
constexpr std::array modifiers = {Word{"shift", 1}, Word{"ctrl", 2}, Word{"alt", 4}};
constexpr std::array kinds = {
    Word{"key", static_cast<int>(What::key)},         Word{"key-up", static_cast<int>(What::key_up)},
    Word{"special", static_cast<int>(What::special)}, Word{"special-up", static_cast<int>(What::special_up)},
    Word{"mouse", static_cast<int>(What::button)},    Word{"motion", static_cast<int>(What::motion)},
    Word{"passive", static_cast<int>(What::passive)}, Word{"wheel", static_cast<int>(What::wheel)},
    Word{"menu", static_cast<int>(What::menu)},       Word{"resize", static_cast<int>(What::resize)}};

class Line {
 public:
  Line(const std::string& text, std::string where) : words_(text), where_(std::move(where)) {}

  std::string word(const std::string& expected) {
    std::string next;
    if (!(words_ >> next)) refuse("the end of the line", expected);
    return next;
  }
  std::int64_t number(const std::string& expected) {
    const std::string text = word(expected);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) refuse("'" + text + "'", expected);
    return value;
  }
  // What an event holds in 32 bits.
  int small(const std::string& expected, int least = INT_MIN, int most = INT_MAX) {
    const std::int64_t value = number(expected);
    if (value < least || value > most) refuse(std::to_string(value), expected);
    return static_cast<int>(value);
  }
  template <class Words>
  std::int32_t one_of(const Words& known) {
    std::string list;
    for (const Word& w : known) list += (list.empty() ? "" : ", ") + std::string(w.name);
    const std::string text = word(list);
    for (const Word& w : known)
      if (w.name == text) return w.value;
    refuse("'" + text + "'", "one of " + list);
  }
  std::int32_t key() {
    const std::string text = word("a character");
    if (text.size() == 1) return static_cast<unsigned char>(text[0]);
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > 255)
      refuse("'" + text + "'", "a character, or its number, 10 to 255");
    return value;
  }
  std::int32_t held() {
    std::int32_t all = 0;
    while (words_ >> std::ws && !words_.eof()) all |= one_of(modifiers);
    return all;
  }

  [[noreturn]] void refuse(const std::string& what, const std::string& expected) const {
    throw Error(Code::configuration, "wall", where_ + ": " + what + ": expected " + expected);
  }

 private:
  std::istringstream words_;
  std::string where_;
};

Event read_event(Line& line) {
  Event e;
  e.what = static_cast<What>(line.one_of(kinds));
  const auto place = [&] {
    e.x = line.small("x, in pixels");
    e.y = line.small("y, in pixels");
  };
  switch (e.what) {
    case What::key:
    case What::key_up:
      e.code = line.key();
      place();
      break;
    case What::special:
    case What::special_up:
      e.code = line.one_of(specials);
      place();
      break;
    case What::button:
      e.code = line.one_of(buttons);
      e.state = line.one_of(states);
      place();
      break;
    case What::wheel:
      e.code = line.small("the number of a wheel");
      e.state = line.small("1 or -1", -1, 1);
      if (e.state == 0) line.refuse("0", "1 or -1");
      place();
      break;
    case What::menu:
      e.menu = line.small("a menu");
      e.code = line.small("the value of its entry");
      break;
    case What::motion:
    case What::passive: place(); break;
    case What::resize:
      place();
      if (e.x < 1 || e.y < 1) line.refuse(std::to_string(e.x) + " x " + std::to_string(e.y), "a size of pixels");
      break;
    case What::entry:
    case What::expose: break;  // no words of a script
  }
  e.modifiers = line.held();
  return e;
}

}  // namespace

Script parse_script(const std::string& content, const std::string& file) {
  Script script;
  std::istringstream lines(content);
  std::string text;
  for (int number = 1; std::getline(lines, text); ++number) {
    Line line(text, file + ":" + std::to_string(number));
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos || text[first] == '#') continue;
    const std::int64_t frame = line.number("the number of a frame");
    if (frame < 0) line.refuse("frame " + std::to_string(frame), "0 or more");
    if (!script.empty() && frame < script.back().first)
      line.refuse("frame " + std::to_string(frame), "no frame before that of the line above");
    script.emplace_back(frame, read_event(line));
  }
  return script;
}

Script load_script(const std::string& file) {
  errno = 0;
  std::ifstream stream(file);
  std::ostringstream text;
  if (stream && stream.peek() != std::ifstream::traits_type::eof()) text << stream.rdbuf();
  if (errno)
    throw Error(Code::io, "wall", "--replay " + file + ": " + std::strerror(errno) + ": expected a file of events");
  return parse_script(text.str(), file);
}

Script random_script(std::uint64_t seed, std::int64_t frames, int width, int height) {
  std::mt19937_64 random(seed);
  const auto below = [&random](int end) { return static_cast<int>(random() % static_cast<std::uint64_t>(end)); };
  Script script;
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    Event e;
    e.x = below(width);
    e.y = below(height);
    switch (below(8)) {
      case 0:
        e.what = What::special;
        e.code = specials[12 + static_cast<std::size_t>(below(9))].value;
        break;
      case 1:
        e.what = What::button;
        e.code = below(3);
        e.state = below(2);
        break;
      case 2: e.what = What::motion; break;
      case 3: e.what = What::passive; break;
      case 4:
        e.what = What::key_up;
        e.code = 'a' + below(26);
        break;
      case 5:
        if (below(16)) continue;
        e.what = What::resize;
        e.x = width / 2 + below(std::max(1, width / 2)) + 1;  // a wall may be one pixel wide
        e.y = height / 2 + below(std::max(1, height / 2)) + 1;
        break;
      default:
        e.what = What::key;
        e.code = 'a' + below(26);
        break;
    }
    e.modifiers = below(8);
    script.emplace_back(frame, e);
  }
  return script;
}

}  // namespace dcgn::wall
