#include "vgpu/src/ptx/tokenizer.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace dcgn::virtual_gpu::ptx {

namespace {

// The C library's depend on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool continues_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

class Tokenizer {
 public:
  explicit Tokenizer(const Source& source) : source_(source), text_(source.text()) {}

  std::vector<Token> run() {
    for (;;) {
      skip_space();
      if (at_ == text_.size()) break;
      const std::size_t begin = at_;
      const TokenKind kind = next();
      tokens_.push_back({kind, text_.substr(begin, at_ - begin)});
    }
    tokens_.push_back({TokenKind::end, text_.substr(at_, 0)});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_space() {
    while (at_ < text_.size()) {
      if (is_space(peek())) {
        ++at_;
      } else if (peek() == '/' && peek(1) == '/') {
        const std::size_t end = text_.find('\n', at_);
        at_ = end == std::string_view::npos ? text_.size() : end;
      } else if (peek() == '/' && peek(1) == '*') {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) source_.fail(at_, "a comment that does not end", "*/");
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  TokenKind next() {
    const char c = peek();
    if (is_letter(c) || c == '_' || c == '$' || (c == '%' && (is_letter(peek(1)) || peek(1) == '_' || peek(1) == '$')))
      return name();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)) && !follows_name())) return number();
    if (c == '.' && continues_name(peek(1))) return word();
    if (c == '"') return string();
    constexpr std::array<std::string_view, 8> pairs = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    for (const std::string_view pair : pairs)
      if (text_.substr(at_, 2) == pair) {
        at_ += 2;
        return TokenKind::symbol;
      }
    constexpr std::string_view symbols = ",;:{}[]()<>@!=+-*/%&|^~?";
    if (symbols.find(c) == std::string_view::npos) source_.fail(at_, quoted(text_.substr(at_, 1)), "a token of PTX");
    ++at_;
    return TokenKind::symbol;
  }

  // Whether what stands right before is a name or a word: `.1d` in tex.1d is a word, and no number.
  bool follows_name() const {
    return !tokens_.empty() && (tokens_.back().kind == TokenKind::name || tokens_.back().kind == TokenKind::word) &&
           tokens_.back().text.end() == text_.begin() + static_cast<std::ptrdiff_t>(at_);
  }

  TokenKind name() {
    ++at_;
    while (continues_name(peek())) ++at_;
    return TokenKind::name;
  }

  TokenKind word() {
    ++at_;
    for (;;) {
      while (continues_name(peek())) ++at_;
      if (peek() != ':' || peek(1) != ':' || !continues_name(peek(2))) return TokenKind::word;
      at_ += 2;
    }
  }

  TokenKind string() {
    const std::size_t begin = at_++;
    while (peek() != '"') {
      if (at_ == text_.size() || peek() == '\n') source_.fail(begin, "a string that does not end", "\"");
      at_ += peek() == '\\' && at_ + 1 < text_.size() ? 2 : 1;
    }
    ++at_;
    return TokenKind::string;
  }

  TokenKind number() {
    const std::size_t begin = at_;
    const char mark = peek() == '0' ? peek(1) : '\0';
    if (mark == 'f' || mark == 'F' || mark == 'd' || mark == 'D') {
      const std::size_t digits = mark == 'f' || mark == 'F' ? 8 : 16;
      at_ += 2;
      std::size_t count = 0;
      for (; is_hex(peek()); ++at_) ++count;
      if (count != digits) fail_number(begin, std::to_string(digits) + " hexadecimal digits after 0" + mark);
    } else if (mark == 'x' || mark == 'X') {
      at_ += 2;
      if (!is_hex(peek())) fail_number(begin, "a hexadecimal digit after 0x");
      while (is_hex(peek())) ++at_;
      if (peek() == 'U') ++at_;
    } else if (mark == 'b' || mark == 'B') {
      at_ += 2;
      if (peek() != '0' && peek() != '1') fail_number(begin, "0 or 1 after 0b");
      while (peek() == '0' || peek() == '1') ++at_;
      if (peek() == 'U') ++at_;
    } else {
      decimal(begin);
    }
    if (continues_name(peek())) fail_number(begin, "a number of PTX");
    return TokenKind::number;
  }

  void decimal(std::size_t begin) {
    while (is_digit(peek())) ++at_;
    bool real = false;
    if (peek() == '.' && (is_digit(peek(1)) || !continues_name(peek(1)))) {
      real = true;
      for (++at_; is_digit(peek());) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      real = true;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!is_digit(peek())) fail_number(begin, "a digit in the exponent");
      while (is_digit(peek())) ++at_;
    }
    if (real) return;
    const std::string_view digits = text_.substr(begin, at_ - begin);
    if (digits[0] == '0' && digits.find_first_of("89") != std::string_view::npos)
      fail_number(begin, "octal digits after a leading 0");
    if (peek() == 'U') ++at_;
  }

  [[noreturn]] void fail_number(std::size_t begin, const std::string& expected) {
    while (continues_name(peek())) ++at_;
    source_.fail(begin, quoted(text_.substr(begin, at_ - begin)), expected);
  }

  const Source& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const Source& source) { return Tokenizer(source).run(); }

}  // namespace dcgn::virtual_gpu::ptx
