// Text as others have it: for pages and pictures, for terminals, and numbers in it.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace dcgn::base {

// As HTML and XML want it between tags, and in quotes.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// As a terminal may have it: what would move its cursor, or more, as C writes it in strings. With `lines`, but for ends
// of lines and tabs.
inline std::string printable(std::string_view text, bool lines = false) {
  constexpr const char* hex = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code >= 0x20 && code != 0x7f) || (lines && (c == '\n' || c == '\t')))
      out += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else
      ((out += "\\x") += hex[code / 16]) += hex[code % 16];
  }
  return out;
}

// Whether all of the text is a number that the type has room for.
template <class Number>
bool parse(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// Calls `work(line, number)` for each line, without its end, from line 1 on.
template <class Work>
void each_line(std::string_view text, Work&& work) {
  int number = 1;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    work(line, number++);
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  }
}

}  // namespace dcgn::base
