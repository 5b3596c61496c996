// Loads, stores, atomics and copies.
#include "vgpu/src/interpreter/asynchronous.hpp"
#include "vgpu/src/interpreter/decoder.hpp"
#include "vgpu/src/interpreter/literal.hpp"
#include "vgpu/src/interpreter/operations.hpp"

#include <string>

namespace dcgn::virtual_gpu::interpreter {

namespace {

void make_address(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) {
    switch (op.addressing) {
      case Addressing::absolute: d[lane] = a[lane] + static_cast<Word>(op.offset); break;
      case Addressing::shared: d[lane] = static_cast<std::uint32_t>(a[lane] + static_cast<Word>(op.offset)); break;
      case Addressing::frame:
      case Addressing::parameters: d[lane] = reinterpret_cast<std::uintptr_t>(warp.at(op, lane, a, 1)); break;
    }
  });
}

bool is_shared(const Qualified& q) { return q.has(".shared") || q.has(".shared::cta") || q.has(".shared::cluster"); }

}  // namespace

// [a], [a+4], [4]
void Decoder::address(const Operand& operand, bool shared, Op& op) {
  if (operand.kind != Operand::Kind::address || operand.parts.size() != 1) fail(std::string(operand.text));
  const Operand& inner = operand.parts.front();
  op.addressing = shared ? Addressing::shared : Addressing::absolute;
  if (inner.kind == Operand::Kind::number) {
    op.a = source(inner, Type::b64);
    return;
  }
  const Operand& named = inner.kind == Operand::Kind::name || inner.parts.empty() ? inner : inner.parts.front();
  if (named.kind != Operand::Kind::name) fail(std::string(operand.text));
  const std::optional<std::int64_t> more = sum(inner.text.substr(named.text.size()));
  if (!more || inner.text.data() != named.text.data()) fail(std::string(operand.text));
  op.offset = *more;
  if (const std::optional<Row> row = names_.find_register(named.name, at_->scope)) {
    op.a = *row;
    return;
  }
  const std::optional<Symbol> symbol = names_.find_symbol(named.name, at_->scope);
  if (!symbol) fail("the name " + std::string(named.name));
  switch (symbol->kind) {
    case Symbol::Kind::memory: op.a = program_.constant(symbol->value); break;
    case Symbol::Kind::shared:
      op.addressing = Addressing::shared;
      op.a = program_.constant(symbol->value);
      break;
    case Symbol::Kind::dynamic:
      op.addressing = Addressing::shared;
      op.a = {Row::special, static_cast<std::uint32_t>(Special::dynamic_begin)};
      break;
    case Symbol::Kind::frame:
    case Symbol::Kind::parameter:
      op.addressing = symbol->kind == Symbol::Kind::frame ? Addressing::frame : Addressing::parameters;
      op.offset += static_cast<std::int64_t>(symbol->value);
      break;
  }
}

Row Decoder::whole_address(const Operand& operand, bool shared) {
  Op op = begin(*at_);
  address(operand, shared, op);
  if (op.addressing == (shared ? Addressing::shared : Addressing::absolute) && op.offset == 0) return op.a;
  op.d = names_.add_row();
  op.run = &make_address;
  emit(op);
  return op.d;
}

// The elements of {a, b}, in Program::rows.
void Decoder::vector(const Operand& operand, Type type, bool is_result) {
  std::vector<Row> rows;
  for (const Operand& part : operand.parts) rows.push_back(is_result ? result(part) : source(part, type));
  program_.rows.insert(program_.rows.end(), rows.begin(), rows.end());
}

// Whether what is touched of a frame or of parameters is there.
bool Decoder::fits(const Qualified& q, const Op& op) const {
  if (op.addressing != Addressing::frame && op.addressing != Addressing::parameters) return true;
  std::size_t end = code_.frame_bytes;
  if (op.addressing == Addressing::parameters)
    end = code_.parameters.empty() ? 0 : code_.parameters.back().offset + std::size_t{code_.parameters.back().bytes};
  return op.offset >= 0 && static_cast<std::size_t>(op.offset) + bytes_of(q.type()) * op.count <= end;
}

bool Decoder::access(const Qualified& q) {
  const bool loads = q.is("ld") || q.is("ldu"), stores = q.is("st"), atomics = q.is("atom"), reduces = q.is("red");
  if (!loads && !stores && !atomics && !reduces) return false;
  if (q.has(".async")) fail(std::string(at_->text));
  Op op = begin(*at_);
  const bool has_result = loads || atomics;
  const Operand& place = operand(has_result ? 1 : 0);
  address(place, is_shared(q), op);
  const Operand* const given = loads ? &operand(0) : &operand(atomics ? 2 : 1);
  if (given->kind == Operand::Kind::vector) {
    op.count = static_cast<std::uint8_t>(given->parts.size());
    if (op.count > 8) fail(std::string(at_->text));
    op.list = static_cast<std::uint32_t>(program_.rows.size());
    vector(*given, q.type(), loads);
    if (atomics) vector(operand(0), q.type(), true);
    if (reduces) program_.rows.insert(program_.rows.end(), op.count, Row{Row::frame, 0});
    if (op.count == 1) {  // as if there were no braces
      (loads ? op.d : op.b) = program_.rows[op.list];
      if (atomics) op.d = program_.rows[op.list + 1];
    }
  } else {
    if (has_result) op.d = result(operand(0));
    if (!loads) op.b = source(*given, q.type());
    if (atomics && q.has(".cas")) op.c = source(operand(3), q.type());
  }
  if (!(op.run = find_access(q, op)) || !fits(q, op)) fail(std::string(at_->text));
  if (!q.has(".const") && !q.has(".param") && !q.has(".local")) {
    op.access = loads ? Access::load : stores ? Access::store : Access::atomic;
    op.access_bytes = static_cast<std::uint8_t>(bytes_of(q.type()));
  }
  return emit(op), true;
}

bool Decoder::asynchronous(const Qualified& q) {
  if (q.is("createpolicy")) {  // a hint, which nobody looks at
    return true;
  }
  if (q.is("mbarrier")) {
    std::size_t next = 0;
    Op op = begin(*at_);
    if (operand(0).kind != Operand::Kind::address) op.d = result(operand(next++));
    address(operand(next++), true, op);
    op.b = next < at_->operands.size() ? source(operand(next), Type::b64) : program_.constant(1);
    if (!q.has(".shared") && !q.has(".shared::cta")) op.addressing = Addressing::absolute;
    if (!(op.run = find_memory_barrier(q, op))) fail(std::string(at_->text));
    emit(op);
    if (!q.has(".try_wait")) return true;
    Op pause = begin(*at_);
    pause.flow = Flow::yield;
    return emit(pause), true;
  }
  if (!q.is("cp")) return false;
  if (q.has(".commit_group") || q.has(".wait_group") || q.has(".wait_all")) {  // what was copied is there
    if (q.has(".bulk")) return true;
    Op op = begin(*at_);
    op.access = q.has(".commit_group") ? Access::commit_copies
                : q.has(".wait_all")   ? Access::wait_for_copies
                                       : Access::wait_for_groups;
    if (op.access == Access::wait_for_groups) op.offset = std::stoll(std::string(operand(0).text));
    return emit(op), true;
  }
  if (!q.has(".async") || q.has(".tensor") || q.has(".mbarrier")) fail(std::string(at_->text));
  if (!q.has(".bulk")) {  // cp.async.cg.shared.global [a], [b], bytes{, bytes that are read}
    const Row from = whole_address(operand(1), false);
    Op op = begin(*at_);
    address(operand(0), true, op);
    op.b = from;
    op.c = source(operand(2), Type::u32);
    op.count = at_->operands.size() > 3;
    if (op.count != 0) op.e = source(operand(3), Type::u32);
    op.run = &copy_small;
    op.access = Access::copy;
    return emit(op), true;
  }
  // cp.async.bulk.to.from [a], [b], bytes, [barrier]
  const bool to_global =
      !at_->qualifiers.empty() && q.has(".global") && at_->operands.size() == 3 && q.has(".bulk_group");
  const bool with_barrier = q.has(".mbarrier::complete_tx::bytes");
  if ((!to_global && !with_barrier) || q.has(".multicast::cluster") || q.has(".prefetch")) fail(std::string(at_->text));
  const bool from_shared = to_global || (q.has(".shared::cluster") && q.has(".shared::cta"));
  const Row a = whole_address(operand(0), !to_global), b = whole_address(operand(1), from_shared);
  const Row barrier = with_barrier ? whole_address(operand(3), true) : Row{};
  Op op = begin(*at_);
  op.a = a, op.b = b, op.e = barrier;
  op.c = source(operand(2), Type::u32);
  op.count = with_barrier;
  op.list = (to_global ? 0 : 1) | (from_shared ? 2 : 0);
  op.run = &copy_bulk;
  op.access = !from_shared ? Access::bulk_load : to_global ? Access::bulk_store : Access::none;
  return emit(op), true;
}

}  // namespace dcgn::virtual_gpu::interpreter
