// Text as others have it: for pages and pictures, and numbers in it.
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

// Whether all of the text is a number that the type has room for.
template <class Number>
bool parse(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace dcgn::base
