#include "vgpu/src/interpreter/decoder.hpp"
#include "vgpu/src/interpreter/literal.hpp"
#include "vgpu/src/interpreter/operations.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace dcgn::virtual_gpu::interpreter {

namespace {

// d = a + offset, all of it.
void copy(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) { d[lane] = a[lane] + static_cast<Word>(op.offset); });
}
void frame_address(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  for_lanes(mask, [&](int lane) {
    d[lane] = reinterpret_cast<std::uintptr_t>(warp.frame_bytes(lane)) + static_cast<Word>(op.offset);
  });
}
void parameter_address(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  for_lanes(mask, [&](int lane) {
    d[lane] = reinterpret_cast<std::uintptr_t>(warp.block.grid.parameters) + static_cast<Word>(op.offset);
  });
}
// An address in shared memory as one of all memory, and back.
void from_shared(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  const Word base = reinterpret_cast<std::uintptr_t>(warp.block.shared());
  for_lanes(mask,
            [&](int lane) { d[lane] = static_cast<std::uint32_t>(a[lane] + static_cast<Word>(op.offset)) + base; });
}
void to_shared(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  const Word base = reinterpret_cast<std::uintptr_t>(warp.block.shared());
  for_lanes(mask, [&](int lane) { d[lane] = a[lane] + static_cast<Word>(op.offset) - base; });
}
void is_shared(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  const Word base = reinterpret_cast<std::uintptr_t>(warp.block.shared());
  for_lanes(mask, [&](int lane) { d[lane] = (a[lane] - base < warp.block.shared_bytes) != (op.offset != 0); });
}

template <bool GivesNanoseconds>
void read_clock(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const auto now = GivesNanoseconds ? std::chrono::system_clock::now().time_since_epoch()
                                    : std::chrono::steady_clock::now().time_since_epoch();
  const auto count = static_cast<Word>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  for_lanes(mask, [&](int lane) { d[lane] = op.offset != 0 ? count >> 32 : count; });
}

// {a, b, ...} = d: op.offset bits each; and back.
void split(Warp& warp, const Op& op, Mask mask) {
  const Row* const rows = warp.block.grid.program.rows.data() + op.list;
  const Word* const a = warp.row(op.a);
  const Word ones = (Word{1} << op.offset) - 1;
  for_lanes(mask, [&](int lane) {
    const Word value = a[lane];
    for (unsigned i = 0; i < op.count; ++i)
      warp.row(rows[i])[lane] = value >> (i * static_cast<unsigned>(op.offset)) & ones;
  });
}
void join(Warp& warp, const Op& op, Mask mask) {
  const Row* const rows = warp.block.grid.program.rows.data() + op.list;
  Word* const d = warp.row(op.d);
  const Word ones = (Word{1} << op.offset) - 1;
  for_lanes(mask, [&](int lane) {
    Word value = 0;
    for (unsigned i = 0; i < op.count; ++i)
      value |= (warp.row(rows[i])[lane] & ones) << (i * static_cast<unsigned>(op.offset));
    d[lane] = value;
  });
}

bool is_clock(std::string_view name) { return name.substr(0, 6) == "%clock" || name.substr(0, 12) == "%globaltimer"; }

}  // namespace

Decoder::Decoder(Program& program, std::uint32_t function)
    : program_(program),
      number_(function),
      code_(program.functions[function]),
      function_(*code_.source),
      names_(program, code_) {}

void Decoder::run() {
  code_.begin = static_cast<std::uint32_t>(program_.ops.size());
  for (const ptx::Instruction& one : function_.instructions) {
    begins_.push_back(static_cast<std::uint32_t>(program_.ops.size()));
    instruction(one);
  }
  begins_.push_back(static_cast<std::uint32_t>(program_.ops.size()));
  Op end;  // a function may end without a return
  end.flow = Flow::ret;
  end.function = number_;
  emit(end);
  fix_targets();
}

void Decoder::fail(const std::string& what) const {
  const ptx::Source& source = *program_.module.source;
  throw Unsupported(source.name() + ":" + std::to_string(source.place(source.offset_of(at_->text)).line) + ": " + what +
                    " is not interpreted");
}

const ptx::Operand& Decoder::operand(std::size_t number) const {
  if (number >= at_->operands.size()) fail(std::string(at_->text) + " with so few operands");
  return at_->operands[number];
}

Op Decoder::begin(const ptx::Instruction& instruction) {
  Op op;
  op.function = number_;
  op.instruction = static_cast<std::uint32_t>(&instruction - function_.instructions.data());
  if (!instruction.guard.empty()) {
    op.guarded = true;
    op.negated_guard = instruction.text.find('!') < instruction.text.find(instruction.guard);
    const std::optional<Row> row = names_.find_register(instruction.guard, instruction.scope);
    if (!row) fail("the guard " + std::string(instruction.guard));
    op.guard = *row;
  }
  return op;
}

void Decoder::instruction(const ptx::Instruction& instruction) {
  at_ = &instruction;
  const Qualified q(instruction);
  if (wide(q) || flow(q) || collective(q) || asynchronous(q) || access(q)) return;
  if (q.is("mov")) return move(q);
  if (q.is("cvta")) return convert_address(q);
  if (q.is("isspacep")) return find_space(q);
  calculation(q);
}

// d, d|p = f(a, b, c, e)
void Decoder::calculation(const Qualified& q) {
  Op op = begin(*at_);
  results(operand(0), op);
  const bool has_source_type = q.is("cvt") || q.is("set");
  const Type type = q.type(has_source_type && q.types.size() > 1 ? 1 : 0);
  Row* const places[] = {&op.a, &op.b, &op.c, &op.e};
  const std::size_t count = at_->operands.size() - 1;
  if (count > 4) fail(std::string(at_->opcode) + " with so many operands");
  const bool combines = q.is("setp") || q.is("set");
  for (std::size_t i = 0; i < count; ++i) {
    const Operand& one = operand(i + 1);
    const bool takes_predicate = (combines && i == 2) || (q.is("selp") && i == 2);
    *places[i] = takes_predicate ? predicate(one, op) : source(one, q.is("slct") && i == 2 ? q.type(1) : type);
  }
  op.run = find_half(q, op);
  if (!op.run) op.run = find_float(q, op);
  if (!op.run) op.run = find_conversion(q, op);
  if (!op.run) op.run = find_eight(q, op);
  if (!op.run) op.run = find_comparison(q, op);
  if (!op.run && !is_float(q.type())) op.run = find_bits(q, op);
  if (!op.run && !is_float(q.type())) op.run = find_integer(q, op);
  if (!op.run) fail(std::string(at_->text));
  emit(op);
}

void Decoder::move(const Qualified& q) {
  const Operand &to = operand(0), &from = operand(1);
  if (to.kind == Operand::Kind::vector || from.kind == Operand::Kind::vector) return move_vector(q);
  Op op = begin(*at_);
  op.d = result(to);
  if (from.kind == Operand::Kind::name && is_clock(from.name)) {
    const bool timer = from.name.substr(0, 12) == "%globaltimer";
    op.run = timer ? &read_clock<true> : &read_clock<false>;
    op.offset = from.name.substr(from.name.size() - 3) == "_hi";
  } else {
    op.run = &copy;
    op.a = source(from, q.type(), &op);
  }
  emit(op);
}

void Decoder::move_vector(const Qualified& q) {
  const bool joins = operand(1).kind == Operand::Kind::vector;
  const Operand& parts = operand(joins ? 1 : 0);
  const std::size_t bits = 8 * bytes_of(q.type()), count = parts.parts.size();
  if (operand(joins ? 0 : 1).kind == Operand::Kind::vector || bits == 0 || count == 0 || bits % count != 0 ||
      bits / count > 32)
    fail(std::string(at_->text));
  std::vector<Row> rows;
  for (const Operand& part : parts.parts) rows.push_back(joins ? source(part, Type::b32) : result(part));
  Op op = begin(*at_);
  op.list = static_cast<std::uint32_t>(program_.rows.size());
  op.count = static_cast<std::uint8_t>(count);
  program_.rows.insert(program_.rows.end(), rows.begin(), rows.end());
  op.offset = static_cast<std::int64_t>(bits / count);
  if (joins) {
    op.d = result(operand(0));
    op.run = &join;
  } else {
    op.a = source(operand(1), q.type());
    op.run = &split;
  }
  emit(op);
}

// Addresses of all memories but the shared one are the same in them and in all of memory.
void Decoder::convert_address(const Qualified& q) {
  Op op = begin(*at_);
  op.d = result(operand(0));
  op.a = source(operand(1), Type::b64, &op);
  const bool shared = q.has(".shared") || q.has(".shared::cta");
  if (op.run && shared) fail(std::string(at_->text));  // of what is in the frame
  if (!op.run) op.run = !shared ? &copy : q.has(".to") ? &to_shared : &from_shared;
  emit(op);
}

void Decoder::find_space(const Qualified& q) {
  Op op = begin(*at_);
  op.d = result(operand(0));
  op.a = source(operand(1), Type::b64);
  op.offset = q.has(".global");
  // A cluster is one block.
  const bool shared = q.has(".shared") || q.has(".shared::cta") || q.has(".shared::cluster");
  if (!q.has(".global") && !shared) fail(std::string(at_->text));
  op.run = &is_shared;
  emit(op);
}

Row Decoder::result(const Operand& operand) {
  if (operand.kind != Operand::Kind::name) fail(std::string(at_->text));
  if (operand.name == "_") return {Row::frame, 0};
  const std::optional<Row> row = names_.find_register(operand.name, at_->scope);
  if (!row || !operand.selector.empty()) {
    const ptx::Source& source = *program_.module.source;
    source.fail(source.offset_of(operand.text), ptx::quoted(operand.text), "a register that the function declares");
  }
  return *row;
}

void Decoder::results(const Operand& operand, Op& op) {
  if (operand.kind == Operand::Kind::name) {
    op.d = result(operand);
    return;
  }
  if (operand.kind != Operand::Kind::expression || operand.parts.size() != 2) fail(std::string(at_->text));
  op.d = result(operand.parts[0]);
  op.p = result(operand.parts[1]);
}

bool Decoder::is_predicate(const Operand& operand) const {
  return operand.kind == Operand::Kind::expression && operand.text.substr(0, 1) == "!" && operand.parts.size() == 1;
}

Row Decoder::predicate(const Operand& operand, Op& op) {
  op.negated_predicate = is_predicate(operand);
  return source(op.negated_predicate ? operand.parts[0] : operand, Type::pred);
}

// `op`: where more than a row is needed, the address of what is in a frame, it is made ready for that.
Row Decoder::source(const Operand& operand, Type type, Op* op) {
  if (operand.kind == Operand::Kind::number) {
    const std::optional<Word> value = literal(operand.text, type);
    if (!value) fail(std::string(operand.text));
    return program_.constant(type == Type::pred ? *value != 0 : *value);
  }
  const Operand* named = &operand;
  std::int64_t more = 0;
  if (operand.kind == Operand::Kind::expression) {  // a+4, generic(a)+4
    named = nullptr;
    for (const Operand& part : operand.parts)
      if (part.name != "generic") named = &part;
    if (!named) fail(std::string(operand.text));
    std::string_view rest =
        operand.text.substr(static_cast<std::size_t>(named->text.data() - operand.text.data()) + named->text.size());
    if (!rest.empty() && rest.front() == ')') rest.remove_prefix(1);
    const std::optional<std::int64_t> sum_of_rest = sum(rest);
    if (!sum_of_rest || operand.text.front() == '!') fail(std::string(operand.text));
    more = *sum_of_rest;
  }
  if (named->kind != Operand::Kind::name) fail(std::string(operand.text));
  if (named->name == "WARP_SZ") return program_.constant(lanes);
  if (const std::optional<Row> row = names_.find_register(named->name, at_->scope); row && named->selector.empty()) {
    if (more != 0) fail(std::string(operand.text));
    return *row;
  }
  if (named->name.front() == '%') {
    const std::optional<Special> special = Names::find_special(named->name, named->selector);
    if (!special) fail(std::string(operand.text));
    if (*special >= Special::reserved_begin && *special <= Special::reserved_cap) program_.uses_reserved_shared = true;
    return {Row::special, static_cast<std::uint32_t>(*special)};
  }
  const std::optional<Symbol> symbol = names_.find_symbol(named->name, at_->scope);
  if (!symbol) fail("the name " + std::string(named->name));
  switch (symbol->kind) {
    case Symbol::Kind::memory:
    case Symbol::Kind::shared: return program_.constant(symbol->value + static_cast<Word>(more));
    case Symbol::Kind::dynamic:
      if (op) op->offset = more;
      if (!op && more != 0) break;
      return {Row::special, static_cast<std::uint32_t>(Special::dynamic_begin)};
    case Symbol::Kind::frame:
    case Symbol::Kind::parameter:
      if (!op) break;
      op->run = symbol->kind == Symbol::Kind::frame ? &frame_address : &parameter_address;
      op->offset = static_cast<std::int64_t>(symbol->value) + more;
      return {};
  }
  fail(std::string(operand.text));
}

void decode(Program& program, std::uint32_t function) {
  const std::size_t ops = program.ops.size();
  try {
    Decoder(program, function).run();
  } catch (const Unsupported& error) {
    program.ops.resize(ops);
    program.functions[function].unsupported = error.what();
  }
}

}  // namespace dcgn::virtual_gpu::interpreter
