#include "vgpu/src/ptx/function_body.hpp"

#include "vgpu/src/ptx/declarations.hpp"

#include <utility>

namespace dcgn::virtual_gpu::ptx {

namespace {

constexpr std::size_t deepest_operand = 100;

Operand parse_operand(TokenStream& tokens, std::size_t depth);

void parse_parts(TokenStream& tokens, Operand& operand, std::string_view close, std::size_t depth) {
  tokens.take();
  if (!tokens.at(close)) {
    do {
      operand.parts.push_back(parse_operand(tokens, depth + 1));
    } while (tokens.accept(","));
  }
  tokens.expect(close);
}

Operand parse_name(TokenStream& tokens, std::size_t begin) {
  Operand name;
  name.kind = Operand::Kind::name;
  name.name = tokens.take().text;
  if (tokens.at(TokenKind::word)) name.selector = tokens.take().text;
  name.text = tokens.since(begin);
  return name;
}

// a, 4, -4, a+4, !p, p|q
Operand parse_expression(TokenStream& tokens, std::size_t depth) {
  Operand whole;
  const std::size_t begin = tokens.offset();
  bool negative = false, plain = true, complete = false;  // plain: a name or a number and nothing else
  std::size_t numbers = 0;
  for (;;) {
    if (!complete && tokens.at(TokenKind::name)) {
      whole.parts.push_back(parse_name(tokens, tokens.offset()));
      complete = true;
    } else if (!complete && tokens.at(TokenKind::number)) {
      tokens.take();
      ++numbers;
      complete = true;
    } else if (!complete && tokens.at("(")) {
      Operand inner;
      parse_parts(tokens, inner, ")", depth);
      for (Operand& part : inner.parts) whole.parts.push_back(std::move(part));
      plain = false;
      complete = true;
    } else if (is_operator(tokens.peek())) {
      if (tokens.offset() == begin && tokens.at("-"))
        negative = true;
      else
        plain = false;
      tokens.take();
      complete = false;
    } else {
      break;
    }
  }
  if (!complete) tokens.fail("an operand");
  if (plain && !negative && numbers == 0) return std::move(whole.parts.front());
  if (plain && whole.parts.empty()) whole.kind = Operand::Kind::number;
  whole.text = tokens.since(begin);
  return whole;
}

Operand parse_operand(TokenStream& tokens, std::size_t depth) {
  if (depth > deepest_operand) tokens.fail("fewer brackets around each other");
  Operand operand;
  const std::size_t begin = tokens.offset();
  if (tokens.at("{")) {
    operand.kind = Operand::Kind::vector;
    parse_parts(tokens, operand, "}", depth);
  } else if (tokens.at("[")) {
    operand.kind = Operand::Kind::address;
    parse_parts(tokens, operand, "]", depth);
  } else if (tokens.at("(")) {
    operand.kind = Operand::Kind::list;
    parse_parts(tokens, operand, ")", depth);
  } else {
    return parse_expression(tokens, depth);
  }
  operand.text = tokens.since(begin);
  return operand;
}

Instruction parse_instruction(TokenStream& tokens) {
  Instruction instruction;
  const std::size_t begin = tokens.offset();
  if (tokens.accept("@")) {
    tokens.accept("!");
    instruction.guard = tokens.expect(TokenKind::name, "a predicate");
  }
  instruction.opcode = tokens.expect(TokenKind::name, "an instruction");
  while (tokens.at(TokenKind::word)) instruction.qualifiers.push_back(tokens.take().text);
  if (!tokens.at(";")) {
    do {
      instruction.operands.push_back(parse_operand(tokens, 0));
    } while (tokens.accept(","));
  }
  if (!tokens.at(";")) tokens.fail(", or ;");
  tokens.take();
  instruction.text = tokens.since(begin);
  return instruction;
}

// .branchtargets a, b; .calltargets f, g; .callprototype (.param .b32 _) _ (.param .b64 _);
TargetList parse_targets(TokenStream& tokens, std::string_view label) {
  TargetList list{label, tokens.take().text, {}};
  if (list.directive == ".callprototype") {
    while (!tokens.at(";")) {
      if (tokens.at_end() || tokens.at("{") || tokens.at("}")) tokens.fail(";");
      tokens.take();
    }
  } else {
    do {
      list.targets.push_back(tokens.expect(TokenKind::name, "a label or a function"));
    } while (tokens.accept(","));
  }
  tokens.expect(";");
  return list;
}

bool is_target_list(const Token& token) {
  return token.text == ".branchtargets" || token.text == ".calltargets" || token.text == ".callprototype";
}

class Body {
 public:
  Body(TokenStream& tokens, Function& function) : tokens_(tokens), function_(function) {}

  // Up to the brace that closes it.
  void run() {
    function_.scopes = {0};
    while (scope_ != 0 || !tokens_.at("}")) {
      if (tokens_.at_end()) tokens_.fail("}");
      statement();
    }
  }

 private:
  void statement() {
    if (tokens_.accept("{")) {
      function_.scopes.push_back(scope_);
      scope_ = static_cast<std::uint32_t>(function_.scopes.size() - 1);
    } else if (tokens_.accept("}")) {
      scope_ = function_.scopes[scope_];
    } else if (tokens_.at(TokenKind::name) && tokens_.peek(1).text == ":") {
      label();
    } else if (tokens_.at(TokenKind::word)) {
      directive();
    } else if (tokens_.at("@") || tokens_.at(TokenKind::name)) {
      Instruction& instruction = function_.instructions.emplace_back(parse_instruction(tokens_));
      instruction.scope = scope_;
    } else if (!tokens_.accept(";")) {
      tokens_.fail("an instruction, a directive or }");
    }
  }

  void label() {
    const std::string_view name = tokens_.take().text;
    tokens_.take();
    if (is_target_list(tokens_.peek()))
      function_.target_lists.push_back(parse_targets(tokens_, name));
    else
      function_.labels.push_back({name, function_.instructions.size(), scope_});
  }

  void directive() {
    if (parse_debug_directive(tokens_)) return;
    Linkage linkage = Linkage::local;
    if (tokens_.accept(".extern")) linkage = Linkage::external;
    const std::optional<Space> space = space_of(tokens_.peek().text);
    if (!space) tokens_.fail("an instruction or a directive such as .reg");
    tokens_.take();
    for (Variable& variable : parse_variables(tokens_, *space, linkage)) {
      variable.scope = scope_;
      function_.variables.push_back(std::move(variable));
    }
    tokens_.expect(";");
  }

  TokenStream& tokens_;
  Function& function_;
  std::uint32_t scope_ = 0;
};

void parse_location(TokenStream& tokens) {
  tokens.expect_count("a file's number");
  tokens.expect_count("a line");
  tokens.expect_count("a column");
  // , function_name LABEL + 4, inlined_at FILE LINE COLUMN
  while (tokens.at(",")) {
    tokens.take();
    const std::string_view what = tokens.expect(TokenKind::name, "function_name or inlined_at");
    if (what == "function_name") {
      tokens.expect(TokenKind::name, "a label");
      if (tokens.accept("+")) tokens.expect_count("an offset");
    } else {
      for (const char* number : {"a file's number", "a line", "a column"}) tokens.expect_count(number);
    }
  }
}

// Kept as it is, so its content does not matter.
void parse_section(TokenStream& tokens) {
  tokens.expect(TokenKind::word, "a section's name");
  tokens.expect("{");
  for (std::size_t depth = 1; depth != 0;) {
    if (tokens.at_end()) tokens.fail("}");
    const Token& token = tokens.take();
    if (token.kind != TokenKind::symbol) continue;
    if (token.text == "{") ++depth;
    if (token.text == "}") --depth;
  }
}

}  // namespace

bool parse_debug_directive(TokenStream& tokens) {
  if (tokens.accept(".loc")) {
    parse_location(tokens);
  } else if (tokens.accept(".file")) {
    tokens.expect_count("a file's number");
    tokens.expect(TokenKind::string, "a file's name");
    while (tokens.accept(",")) tokens.expect_count("a time or a size");
  } else if (tokens.accept(".pragma")) {
    do {
      tokens.expect(TokenKind::string, "a string");
    } while (tokens.accept(","));
    tokens.expect(";");
  } else if (tokens.accept(".section")) {
    parse_section(tokens);
  } else {
    return false;
  }
  return true;
}

void parse_body(TokenStream& tokens, const Source& source, Function& function) {
  const std::string_view open = tokens.expect("{");
  function.body = source.offset_of(open) + 1;
  Body(tokens, function).run();
  function.body_close = tokens.offset();
  tokens.take();
}

}  // namespace dcgn::virtual_gpu::ptx
