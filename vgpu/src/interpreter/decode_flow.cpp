// Branches, calls, barriers, and what the threads of a warp do together.
#include "vgpu/src/interpreter/decoder.hpp"
#include "vgpu/src/interpreter/operations.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace dcgn::virtual_gpu::interpreter {

namespace {

void trap(Warp& warp, const Op& op, Mask mask) { warp.fail(op, __builtin_ctz(mask), Fault::Kind::trap, "trap"); }

// What orders or prefetches memory that is in order and near already.
bool does_nothing(const Qualified& q) {
  constexpr std::array<std::string_view, 9> opcodes = {"membar",    "fence",          "prefetch",
                                                       "prefetchu", "discard",        "applypriority",
                                                       "pmevent",   "griddepcontrol", "setmaxnreg"};
  return std::find(opcodes.begin(), opcodes.end(), q.instruction.opcode) != opcodes.end();
}

}  // namespace

bool Decoder::flow(const Qualified& q) {
  if (does_nothing(q)) return true;
  Op op = begin(*at_);
  if (q.is("bra")) return branch(op), true;
  if (q.is("brx")) return branch_by_table(op), true;
  if (q.is("call")) return call(op), true;
  if (q.is("ret") || q.is("exit")) {
    op.flow = q.is("ret") ? Flow::ret : Flow::exit;
    return emit(op), true;
  }
  if (q.is("trap") || q.is("brkpt")) {
    op.run = &trap;
    return emit(op), true;
  }
  if (q.is("nanosleep")) {
    op.flow = Flow::yield;
    return emit(op), true;
  }
  if ((q.is("bar") || q.is("barrier")) && !q.has(".warp")) {
    if (q.has(".cluster")) fail(std::string(at_->text));
    return barrier(q, op), true;
  }
  return false;
}

void Decoder::branch(Op op) {
  op.flow = Flow::branch;
  patches_.push_back({false, program_.ops.size(), operand(0).name, at_->scope});
  emit(op);
}

void Decoder::branch_by_table(Op op) {
  op.flow = Flow::branch_table;
  op.a = source(operand(0), Type::u32);
  op.list = static_cast<std::uint32_t>(program_.targets.size());
  for (const ptx::TargetList& list : function_.target_lists) {
    if (list.label != operand(1).name) continue;
    for (const std::string_view label : list.targets) {
      patches_.push_back({true, program_.targets.size(), label, at_->scope});
      program_.targets.push_back(0);
    }
    op.target = static_cast<std::uint32_t>(list.targets.size());
  }
  emit(op);
}

void Decoder::fix_targets() {
  for (const Patch& patch : patches_) {
    const std::optional<std::size_t> to = function_.find_label(patch.label, patch.scope);
    if (!to) throw Unsupported("the label " + std::string(patch.label) + " is not in the function");
    (patch.in_table ? program_.targets[patch.where] : program_.ops[patch.where].target) = begins_[*to];
  }
}

// A call's argument or result: a parameter of this frame, or a register.
Slot Decoder::argument(const Operand& operand) {
  Slot slot;
  if (operand.kind == Operand::Kind::name)
    if (const std::optional<Symbol> symbol = names_.find_symbol(operand.name, at_->scope);
        symbol && symbol->kind == Symbol::Kind::frame) {
      slot.offset = static_cast<std::uint32_t>(symbol->value);
      slot.bytes = symbol->bytes;
      return slot;
    }
  slot.in_register = true;
  slot.bytes = sizeof(Word);
  slot.row = operand.name == "_" ? Row{Row::frame, 0} : source(operand, Type::b64);
  return slot;
}

// call (results), function, (arguments), prototype;
void Decoder::call(Op op) {
  op.flow = Flow::call;
  CallSite site;
  std::size_t next = 0;
  if (operand(next).kind == Operand::Kind::list)
    for (const Operand& one : operand(next++).parts) site.results.push_back(argument(one));
  const Operand& callee = operand(next++);
  if (next < at_->operands.size() && operand(next).kind == Operand::Kind::list)
    for (const Operand& one : operand(next).parts) site.arguments.push_back(argument(one));
  if (const std::optional<Row> pointer = names_.find_register(callee.name, at_->scope)) {
    op.offset = 1;
    op.a = *pointer;
  } else {
    const auto found = program_.function_numbers.find(callee.name);
    if (found == program_.function_numbers.end()) fail("a call of " + std::string(callee.name));
    op.target = found->second;
    code_.callees.push_back(found->second);
  }
  op.list = static_cast<std::uint32_t>(program_.call_sites.size());
  program_.call_sites.push_back(std::move(site));
  emit(op);
}

// bar.sync a, b; bar.arrive a, b; bar.red.op d, a, b, c: b, how many threads, may be missing.
void Decoder::barrier(const Qualified& q, Op op) {
  op.flow = Flow::barrier;
  std::size_t next = 0, end = at_->operands.size();
  if (q.has(".red")) {
    op.d = result(operand(next++));
    op.c = predicate(operand(--end), op);
    op.offset = q.has(".and") ? reduce_all : q.has(".or") ? reduce_any : reduce_count;
  }
  if (next < end) op.a = source(operand(next++), Type::u32);
  if (next < end) op.b = source(operand(next), Type::u32);
  if (q.has(".arrive")) op.count = 0;
  emit(op);
}

// shfl.sync d|p, a, b, c, members; vote.sync d, p, members; match.sync d|p, a, members; redux.sync d, a, members;
// elect.sync d|p, members; bar.warp.sync members. Those without .sync are of the threads that come together.
bool Decoder::collective(const Qualified& q) {
  Op op = begin(*at_);
  if (q.is("bar") || q.is("barrier")) {  // .warp
    op.flow = Flow::collective;
    op.e = source(operand(0), Type::b32);
    return emit(op), true;
  }
  if (!(op.run = find_warp_wide(q, op))) return false;
  results(operand(0), op);
  std::size_t next = 1;
  if (q.is("vote")) {
    op.a = predicate(operand(next++), op);
  } else if (q.is("shfl")) {
    for (Row* row : {&op.a, &op.b, &op.c}) *row = source(operand(next++), Type::b32);
  } else if (!q.is("activemask") && !q.is("elect")) {
    op.a = source(operand(next++), q.type());
  }
  if (q.has(".sync")) {
    op.flow = Flow::collective;
    op.e = source(operand(next), Type::b32);
  }
  return emit(op), true;
}

}  // namespace dcgn::virtual_gpu::interpreter
