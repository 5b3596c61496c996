#include "trace/json_reader.hpp"

#include "base/text.hpp"

#include <dcgn/error.hpp>

#include <utility>

namespace dcgn::trace {

namespace {

constexpr int at_end = std::char_traits<char>::eof();

}  // namespace

JsonReader::JsonReader(std::istream& in, std::string name) : in_(*in.rdbuf()), name_(std::move(name)) {}

void JsonReader::fail(const std::string& what) const {
  throw Error(Code::configuration, "trace", name_ + ":" + std::to_string(line_) + ": " + what);
}

void JsonReader::fail_expecting(const char* what) {
  const int next = in_.sgetc();
  const std::string found = next == at_end                ? "the file ends"
                            : next == '\''                ? "\"'\""
                            : next >= 0x20 && next < 0x7f ? "'" + std::string(1, static_cast<char>(next)) + "'"
                                                          : "byte " + std::to_string(next);
  fail(found + ": expected " + what);
}

int JsonReader::get() {
  const int next = in_.sbumpc();
  if (next == '\n') ++line_;
  return next;
}

int JsonReader::peek() {
  int next = in_.sgetc();
  while (next == ' ' || next == '\n' || next == '\t' || next == '\r') {
    get();
    next = in_.sgetc();
  }
  return next;
}

void JsonReader::expect(char c, const char* what) {
  if (peek() != c) fail_expecting(what);
  get();
}

std::string JsonReader::string() {
  expect('"', "a string, which begins with '\"'");
  std::string text;
  for (;;) {
    const int c = in_.sgetc();
    if (c == at_end || c < 0x20) fail_expecting("'\"' at a string's end");
    get();
    if (c == '"') return text;
    if (c == '\\')
      escape(text);
    else
      text += static_cast<char>(c);
  }
}

void JsonReader::escape(std::string& text) {
  constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  const int c = get();
  if (c != 'u') {
    const std::size_t which = c == at_end ? std::string_view::npos : letters.find(static_cast<char>(c));
    if (which == std::string_view::npos) fail("expected one of \"\\/bfnrtu after a backslash");
    text += meanings[which];
    return;
  }
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = get();
    const bool is_decimal = digit >= '0' && digit <= '9';
    const int letter = digit | 0x20;
    if (!is_decimal && (letter < 'a' || letter > 'f')) fail("expected four hexadecimal digits after \\u");
    code = code * 16 + static_cast<unsigned>(is_decimal ? digit - '0' : letter - 'a' + 10);
  }
  // As UTF-8. Halves of pairs stay halves: names of kernels have none.
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

const std::string& JsonReader::number_text() {
  number_.clear();
  for (int c = peek(); c != at_end && (std::string_view("+-.eE").find(static_cast<char>(c)) != std::string_view::npos ||
                                       (c >= '0' && c <= '9'));
       c = in_.sgetc())
    number_ += static_cast<char>(get());
  if (number_.empty()) fail_expecting("a number");
  return number_;
}

std::int64_t JsonReader::whole() {
  std::int64_t value = 0;
  if (!base::parse(number_text(), value)) fail(number_ + ": expected a whole number of at most 63 bits");
  return value;
}

std::uint64_t JsonReader::natural() {
  std::uint64_t value = 0;
  if (!base::parse(number_text(), value)) fail(number_ + ": expected a whole number from 0, of at most 64 bits");
  return value;
}

double JsonReader::number() {
  double value = 0;
  if (!base::parse(number_text(), value)) fail(number_ + ": expected a number");
  return value;
}

void JsonReader::skip() {
  const int next = peek();
  if (next == '"') {
    string();
  } else if (next == '{') {
    object([&](const std::string&) { skip(); });
  } else if (next == '[') {
    array([&] { skip(); });
  } else if (next == 't' || next == 'f' || next == 'n') {
    for (const char c : std::string_view(next == 't' ? "true" : next == 'f' ? "false" : "null"))
      if (get() != c) fail("expected a value");
  } else {
    number();
  }
}

void JsonReader::end() {
  if (peek() != at_end) fail_expecting("the file's end");
}

}  // namespace dcgn::trace
