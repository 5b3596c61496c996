// PTX as a row of tokens. Spaces and comments are between them and stay in the text.
#pragma once

#include "vgpu/src/ptx/source.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

enum class TokenKind : std::uint8_t {
  name,    // add, vector_add, %r1, $L__BB0_1, _
  word,    // .global, .x, .shared::cta, .L2::128B
  number,  // 12, 012, 0x1fU, 0b101, 1.5, 0f3F800000, 0d3FF0000000000000
  string,  // "x.cu", quotes included
  symbol,  // one of , ; : { } [ ] ( ) < > @ ! = + - * / % & | ^ ~ ? << >> <= >= == != && ||
  end,     // of the file
};

struct Token {
  TokenKind kind;
  std::string_view text;  // into the source
};

// All tokens of `source`, the last of which is the end. Throws Error(configuration) that says where, for a character
// that PTX has not, a literal that is none, a comment or a string without an end.
std::vector<Token> tokenize(const Source& source);

}  // namespace dcgn::virtual_gpu::ptx
