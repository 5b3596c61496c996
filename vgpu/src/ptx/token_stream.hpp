// The tokens of a file, read one after the other.
#pragma once

#include "vgpu/src/ptx/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

class TokenStream {
 public:
  explicit TokenStream(const Source& source) : source_(source), tokens_(tokenize(source)) {}

  const Token& peek(std::size_t ahead = 0) const;
  bool at_end() const { return peek().kind == TokenKind::end; }
  bool at(std::string_view text) const { return peek().kind != TokenKind::string && peek().text == text; }
  bool at(TokenKind kind) const { return peek().kind == kind; }

  const Token& take();
  // Takes it where it is next.
  bool accept(std::string_view text);
  std::string_view expect(std::string_view text);
  std::string_view expect(TokenKind kind, const char* what);
  // A whole number of any base. Throws where it does not fit 64 bits.
  std::uint64_t expect_count(const char* what);

  std::size_t offset() const { return source_.offset_of(peek().text); }
  // All text from `begin` to the end of the token that was taken last.
  std::string_view since(std::size_t begin) const;
  [[noreturn]] void fail(const std::string& expected) const;

 private:
  const Source& source_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

// The value of a literal that is a whole number. `fits` is false where it does not fit or is no whole number.
std::uint64_t whole_value(std::string_view literal, bool& fits);

}  // namespace dcgn::virtual_gpu::ptx
