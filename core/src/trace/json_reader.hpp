// Reads JSON from front to back, for files that are too large to be held as a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>

namespace dcgn::trace {

// What is expected next is read, and anything else is an Error(configuration): "NAME:LINE: expected WHAT". Whitespace
// between is passed over. Numbers beyond their type are errors, too.
class JsonReader {
 public:
  JsonReader(std::istream& in, std::string name);

  std::string string();
  std::int64_t whole();
  std::uint64_t natural();
  double number();
  bool at_string() { return peek() == '"'; }
  // Any value, which is not kept.
  void skip();
  // `member` gets each name and reads the value; `element` reads each element.
  template <class Member>
  void object(const Member& member) {
    sequence('{', '}', [&] {
      const std::string key = string();
      expect(':', "':' after a name");
      member(key);
    });
  }
  template <class Element>
  void array(const Element& element) {
    sequence('[', ']', element);
  }
  // Nothing but whitespace is left.
  void end();

  [[noreturn]] void fail(const std::string& what) const;  // "NAME:LINE: what"

 private:
  template <class Part>
  void sequence(char opens, char closes, const Part& part) {
    expect(opens, opens == '{' ? "an object, which begins with '{'" : "an array, which begins with '['");
    if (++depth_ > most_depth) fail("expected at most 64 values inside each other");
    bool first = true;
    while (peek() != closes) {
      if (!first) expect(',', closes == '}' ? "',' or '}'" : "',' or ']'");
      first = false;
      part();
    }
    get();
    --depth_;
  }
  int get();
  int peek();  // past whitespace; -1: the end
  void expect(char c, const char* what);
  [[noreturn]] void fail_expecting(const char* what);
  void escape(std::string& text);
  const std::string& number_text();

  static constexpr int most_depth = 64;

  std::streambuf& in_;
  std::string name_, number_;
  std::size_t line_ = 1;
  int depth_ = 0;
};

}  // namespace dcgn::trace
