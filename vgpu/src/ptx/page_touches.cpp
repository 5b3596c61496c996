#include "vgpu/src/ptx/page_touches.hpp"

#include "vgpu/src/ptx/data_flow.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace dcgn::virtual_gpu::ptx {

namespace {

// Generic addresses may be in global memory.
bool may_be_global(const Instruction& instruction) {
  constexpr std::array<std::string_view, 4> opcodes = {"ld", "st", "atom", "red"};
  if (std::find(opcodes.begin(), opcodes.end(), instruction.opcode) == opcodes.end()) return false;
  constexpr std::array<std::string_view, 4> others = {".shared", ".local", ".param", ".const"};
  return std::none_of(instruction.qualifiers.begin(), instruction.qualifiers.end(), [&](std::string_view qualifier) {
    return std::any_of(others.begin(), others.end(),
                       [&](std::string_view other) { return qualifier.substr(0, other.size()) == other; });
  });
}

}  // namespace

std::string touch_counter_declaration() { return "\n.visible .global .align 8 .b64 dcgn_sample[4];"; }

void count_touches(const Instruction& instruction, Edits& edits) {
  if (!may_be_global(instruction)) return;
  for (const Operand& operand : instruction.operands) {
    const auto [base, offset] = split_address(operand);
    if (base.empty() || base.front() != '%') continue;
    std::string guard;  // as setp takes it
    if (!instruction.guard.empty())
      guard = std::string(instruction.text.find('!') < instruction.text.find(instruction.opcode) ? ", !" : ", ") +
              std::string(instruction.guard);
    std::string text = "{ .reg .b64 %dcgn_s<3>; .reg .b32 %dcgn_h; .reg .pred %dcgn_in; add.s64 %dcgn_s0, ";
    text.append(base).append(", ").append(offset);
    text +=
        "; ld.global.u64 %dcgn_s1, [dcgn_sample]; sub.s64 %dcgn_s0, %dcgn_s0, %dcgn_s1; "
        "ld.global.u64 %dcgn_s1, [dcgn_sample+8]; setp.lt";
    text += (guard.empty() ? "" : ".and") + std::string(".u64 %dcgn_in, %dcgn_s0, %dcgn_s1") + guard;
    text +=
        "; ld.global.u32 %dcgn_h, [dcgn_sample+16]; shr.u64 %dcgn_s0, %dcgn_s0, %dcgn_h; "
        "ld.global.u64 %dcgn_s1, [dcgn_sample+24]; shl.b64 %dcgn_s0, %dcgn_s0, 3; "
        "add.s64 %dcgn_s2, %dcgn_s1, %dcgn_s0; @%dcgn_in red.global.add.u64 [%dcgn_s2], 1; } ";
    edits.insert_before(instruction.text, text);
  }
}

}  // namespace dcgn::virtual_gpu::ptx
