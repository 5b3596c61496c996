#include "vgpu/src/ptx/token_stream.hpp"

#include <algorithm>
#include <charconv>

namespace dcgn::virtual_gpu::ptx {

const Token& TokenStream::peek(std::size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

const Token& TokenStream::take() {
  const Token& token = peek();
  if (token.kind != TokenKind::end) ++at_;
  return token;
}

bool TokenStream::accept(std::string_view text) {
  if (!at(text)) return false;
  take();
  return true;
}

std::string_view TokenStream::expect(std::string_view text) {
  if (!at(text)) fail(std::string(text));
  return take().text;
}

std::string_view TokenStream::expect(TokenKind kind, const char* what) {
  if (!at(kind)) fail(what);
  return take().text;
}

std::uint64_t TokenStream::expect_count(const char* what) {
  bool fits = at(TokenKind::number);
  const std::uint64_t value = fits ? whole_value(peek().text, fits) : 0;
  if (!fits) fail(what);
  take();
  return value;
}

std::string_view TokenStream::since(std::size_t begin) const {
  const std::string_view last = tokens_[at_ - 1].text;
  return source_.text().substr(begin, source_.offset_of(last) + last.size() - begin);
}

void TokenStream::fail(const std::string& expected) const {
  source_.fail(offset(), at_end() ? "the end of the file" : quoted(peek().text), expected);
}

std::uint64_t whole_value(std::string_view literal, bool& fits) {
  if (!literal.empty() && literal.back() == 'U') literal.remove_suffix(1);
  int base = 10;
  if (literal.size() > 1 && literal[0] == '0') {
    const char mark = literal[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
    literal.remove_prefix(base == 8 ? 1 : 2);
  }
  std::uint64_t value = 0;
  const char* end = literal.data() + literal.size();
  const auto [stop, error] = std::from_chars(literal.data(), end, value, base);
  fits = error == std::errc() && stop == end;
  return value;
}

}  // namespace dcgn::virtual_gpu::ptx
