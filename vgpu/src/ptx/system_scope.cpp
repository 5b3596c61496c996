#include "vgpu/src/ptx/system_scope.hpp"

#include <string_view>

namespace dcgn::virtual_gpu::ptx {

namespace {

bool is_order(std::string_view word) {
  return word == ".relaxed" || word == ".acquire" || word == ".release" || word == ".acq_rel";
}

bool replace_word(const Instruction& instruction, std::string_view word, Edits& edits) {
  for (const std::string_view qualifier : instruction.qualifiers)
    if (qualifier == word) {
      edits.replace(qualifier, ".sys");
      return true;
    }
  return false;
}

ScopeChange widen_atomic(const Instruction& instruction, Edits& edits) {
  // The scope stands behind the order, wherever that is: compilers write both atom.relaxed.gpu.add and
  // atom.add.relaxed.gpu.
  std::string_view before = instruction.opcode;
  for (const std::string_view qualifier : instruction.qualifiers) {
    if (qualifier.substr(0, 7) == ".shared" || qualifier == ".cta" || qualifier == ".cluster" || qualifier == ".sys")
      return ScopeChange::none;
    if (is_order(qualifier)) before = qualifier;
  }
  if (!replace_word(instruction, ".gpu", edits)) edits.replace(before, std::string(before) + ".sys");
  return ScopeChange::atomic;
}

}  // namespace

ScopeChange widen_scope(const Instruction& instruction, Edits& edits) {
  const std::string_view op = instruction.opcode;
  if (op == "atom" || op == "red") return widen_atomic(instruction, edits);
  if (op == "membar" && replace_word(instruction, ".gl", edits)) return ScopeChange::fence;
  if (op == "fence" && replace_word(instruction, ".gpu", edits)) return ScopeChange::fence;
  if ((op == "ld" || op == "st") && replace_word(instruction, ".gpu", edits)) return ScopeChange::access;
  return ScopeChange::none;
}

}  // namespace dcgn::virtual_gpu::ptx
