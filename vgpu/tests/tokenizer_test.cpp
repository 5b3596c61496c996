// Tokens of PTX: literals of every kind, words, comments, and what is none of these.
#include "vgpu/src/ptx/tokenizer.hpp"
#include "corpus.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using dcgn::test::error_of;
using namespace dcgn::virtual_gpu::ptx;

namespace {

using Pairs = std::vector<std::pair<TokenKind, std::string>>;

Pairs tokens_of(const std::string& text) {
  const Source source("x.ptx", text);
  Pairs pairs;
  for (const Token& token : tokenize(source)) pairs.emplace_back(token.kind, token.text);
  pairs.pop_back();
  return pairs;
}

std::string error_of_text(const std::string& text) {
  return error_of([&] { tokens_of(text); });
}

}  // namespace

TEST(Tokenizer, knows_all_literals) {
  for (const char* literal : {"0", "7", "123U", "017", "017U", "0x1fAb", "0xFFU", "0b1011", "0b1U", "1.5", "1.", "1e10",
                              "2.5E-3", "0f3F800000", "0F3f800000", "0d3FF0000000000000", "0D0000000000000000", "9.0"})
    EXPECT_EQ(tokens_of(literal), (Pairs{{TokenKind::number, literal}})) << literal;
}

TEST(Tokenizer, refuses_what_is_no_literal) {
  EXPECT_EQ(error_of_text("mov 0f3F80;"),
            "dcgn: ptx: x.ptx:1:5: found '0f3F80', expected 8 hexadecimal digits after 0f");
  EXPECT_NE(error_of_text("0d3F800000").find("16 hexadecimal digits"), std::string::npos);
  EXPECT_NE(error_of_text("0x").find("'0x', expected a hexadecimal digit"), std::string::npos);
  EXPECT_NE(error_of_text("0b2").find("'0b2'"), std::string::npos);
  EXPECT_NE(error_of_text("089").find("octal"), std::string::npos);
  EXPECT_NE(error_of_text("12abc").find("'12abc'"), std::string::npos);
  EXPECT_NE(error_of_text("1e+").find("exponent"), std::string::npos);
}

TEST(Tokenizer, tells_words_names_and_numbers_apart) {
  EXPECT_EQ(tokens_of("tex.1d.v4.f32 %r1.x"), (Pairs{{TokenKind::name, "tex"},
                                                     {TokenKind::word, ".1d"},
                                                     {TokenKind::word, ".v4"},
                                                     {TokenKind::word, ".f32"},
                                                     {TokenKind::name, "%r1"},
                                                     {TokenKind::word, ".x"}}));
  EXPECT_EQ(tokens_of("cp.async.bulk.shared::cluster.mbarrier::complete_tx::bytes").size(), 5U);
  EXPECT_EQ(tokens_of("$L__BB0_1: _").size(), 3U);
  EXPECT_EQ(tokens_of("a%b"), (Pairs{{TokenKind::name, "a"}, {TokenKind::name, "%b"}}));
  EXPECT_EQ(tokens_of("4 % 3"), (Pairs{{TokenKind::number, "4"}, {TokenKind::symbol, "%"}, {TokenKind::number, "3"}}));
}

TEST(Tokenizer, skips_comments_but_not_in_strings) {
  EXPECT_EQ(tokens_of("a // b\n/* c\n ; */ \"d // e\" f").size(), 3U);
  EXPECT_NE(error_of_text("a /* b").find("x.ptx:1:3: found a comment that does not end"), std::string::npos);
  EXPECT_NE(error_of_text("\n \"b\n\"").find("x.ptx:2:2: found a string that does not end"), std::string::npos);
}

TEST(Tokenizer, names_what_is_no_token) {
  EXPECT_EQ(error_of_text("a\n  #b"), "dcgn: ptx: x.ptx:2:3: found '#', expected a token of PTX");
  EXPECT_EQ(error_of_text(std::string("a\0", 2)), "dcgn: ptx: x.ptx:1:2: found '?', expected a token of PTX");
}
