#include "vgpu/src/ptx/declarations.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace dcgn::virtual_gpu::ptx {

namespace {

// Bytes of a scalar; nothing for what is no type.
std::optional<std::uint64_t> type_bytes(std::string_view word) {
  using Row = std::pair<std::string_view, std::uint64_t>;
  constexpr std::array<Row, 25> rows = {
      {{".b8", 1},   {".u8", 1},     {".s8", 1},         {".b16", 2},    {".u16", 2}, {".s16", 2},   {".f16", 2},
       {".bf16", 2}, {".b32", 4},    {".u32", 4},        {".s32", 4},    {".f32", 4}, {".f16x2", 4}, {".bf16x2", 4},
       {".tf32", 4}, {".b64", 8},    {".u64", 8},        {".s64", 8},    {".f64", 8}, {".b128", 16}, {".e4m3x2", 2},
       {".pred", 0}, {".texref", 0}, {".samplerref", 0}, {".surfref", 0}}};
  for (const auto& [name, bytes] : rows)
    if (name == word) return bytes;
  return std::nullopt;
}

std::uint64_t vector_width(std::string_view word) {
  return word == ".v2" ? 2 : word == ".v4" ? 4 : word == ".v8" ? 8 : 0;
}

void skip_parentheses(TokenStream& tokens) {
  tokens.expect("(");
  for (std::size_t depth = 1; depth != 0;) {
    if (tokens.at_end()) tokens.fail(")");
    const std::string_view token = tokens.take().text;
    if (token == "(") ++depth;
    if (token == ")") --depth;
  }
}

// What stands between the state space and the names, in whatever order.
Variable parse_kind(TokenStream& tokens, Space space, Linkage linkage) {
  Variable kind;
  kind.space = space;
  kind.linkage = linkage;
  std::uint64_t width = 1, alignment = 0;
  bool pointer = false;
  while (tokens.at(TokenKind::word)) {
    const std::string_view word = tokens.peek().text;
    if (word == ".align") {
      tokens.take();
      const std::uint64_t given = tokens.expect_count("an alignment");
      if (!pointer) alignment = given;  // behind .ptr it is that of what is pointed to
    } else if (word == ".ptr") {
      tokens.take();
      pointer = true;
      if (tokens.at(TokenKind::word) && space_of(tokens.peek().text)) tokens.take();
    } else if (word == ".attribute") {
      tokens.take();
      if (tokens.peek(1).text == ".managed") kind.managed = true;
      skip_parentheses(tokens);
    } else if (vector_width(word) != 0) {
      width = vector_width(tokens.take().text);
    } else if (const auto bytes = type_bytes(word); bytes && kind.type.empty()) {
      kind.type = tokens.take().text;
      kind.element = *bytes;
    } else {
      tokens.fail(kind.type.empty() ? "a type such as .u32" : "a name");
    }
  }
  if (kind.type.empty()) tokens.fail("a type such as .u32");
  kind.element *= width;
  kind.alignment = alignment != 0 ? alignment : std::max<std::uint64_t>(kind.element, 1);
  return kind;
}

// Takes an expression and notes whose address it has: 1, -2.5, x+4, generic(x)+8, 0xFF00(x).
void parse_value(TokenStream& tokens, Variable& variable, std::size_t element) {
  std::size_t depth = 0;
  bool any = false, later_byte = false;
  for (;; any = true) {
    if (tokens.at("(")) {
      ++depth;
    } else if (tokens.at(TokenKind::number) && tokens.peek(1).text == "(") {
      later_byte = std::strtoull(std::string(tokens.peek().text).c_str(), nullptr, 0) != 0xff;
    } else if (tokens.at(")") && depth > 0) {
      --depth;
    } else if (tokens.at(TokenKind::name)) {
      if (const std::string_view name = tokens.peek().text; name != "generic")
        variable.addresses.push_back({name, element, later_byte});
    } else if (!tokens.at(TokenKind::number) && !is_operator(tokens.peek())) {
      break;
    }
    tokens.take();
  }
  if (!any || depth != 0) tokens.fail(any ? ")" : "a value");
}

void parse_initializer(TokenStream& tokens, Variable& variable) {
  variable.initialized = true;
  std::size_t element = 0, depth = 0;
  for (;;) {
    if (tokens.accept("{")) {
      ++depth;
      if (!tokens.at("}")) continue;
    } else {
      parse_value(tokens, variable, element++);
    }
    while (depth > 0 && tokens.accept("}")) --depth;
    if (depth == 0) return;
    tokens.expect(",");
  }
}

void parse_declarator(TokenStream& tokens, Variable& variable) {
  variable.name = tokens.expect(TokenKind::name, "a name");
  if (tokens.accept("<")) {
    variable.count = tokens.expect_count("a number of registers");
    tokens.expect(">");
  }
  while (tokens.accept("[")) {
    std::uint64_t extent = 0;
    if (!tokens.at("]")) extent = tokens.expect_count("a number of elements");
    if (__builtin_mul_overflow(variable.count, extent, &variable.count)) tokens.fail("an array that fits 64 bits");
    tokens.expect("]");
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(variable.count, variable.element, &bytes)) tokens.fail("an array that fits 64 bits");
}

}  // namespace

std::optional<Space> space_of(std::string_view word) {
  if (word == ".const") return Space::constant;
  if (word == ".global") return Space::global;
  if (word == ".local") return Space::local;
  if (word == ".param") return Space::parameter;
  if (word == ".shared") return Space::shared;
  if (word == ".tex") return Space::texture;
  if (word == ".reg") return Space::reg;
  return std::nullopt;
}

bool is_operator(const Token& token) {
  if (token.kind != TokenKind::symbol) return false;
  return token.text.size() == 2 || std::string_view("+-*/%&|^~!<>").find(token.text) != std::string_view::npos;
}

std::vector<Variable> parse_variables(TokenStream& tokens, Space space, Linkage linkage) {
  std::vector<Variable> variables;
  const Variable kind = parse_kind(tokens, space, linkage);
  do {
    Variable& variable = variables.emplace_back(kind);
    parse_declarator(tokens, variable);
    if (tokens.accept("=")) parse_initializer(tokens, variable);
  } while (tokens.accept(","));
  return variables;
}

std::vector<Variable> parse_parameters(TokenStream& tokens) {
  std::vector<Variable> parameters;
  tokens.expect("(");
  while (!tokens.at(")")) {
    const std::optional<Space> space = tokens.at(TokenKind::word) ? space_of(tokens.peek().text) : std::nullopt;
    if (!space) tokens.fail(parameters.empty() ? ".param, .reg or )" : ".param or .reg");
    tokens.take();
    Variable& parameter = parameters.emplace_back(parse_kind(tokens, *space, Linkage::local));
    parse_declarator(tokens, parameter);
    if (!tokens.at(")")) tokens.expect(",");
  }
  tokens.expect(")");
  return parameters;
}

}  // namespace dcgn::virtual_gpu::ptx
