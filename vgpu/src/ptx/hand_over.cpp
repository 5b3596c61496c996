#include "vgpu/src/ptx/hand_over.hpp"

#include "vgpu/src/ptx/data_flow.hpp"
#include "vgpu/src/ptx/edits.hpp"
#include "vgpu/src/ptx/global_access.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace dcgn::virtual_gpu::ptx {

namespace {

bool has_order(const Instruction& i) { return i.has(".acquire") || i.has(".release") || i.has(".acq_rel"); }

bool is_access(const Instruction& i) { return i.opcode == "ld" || i.opcode == "atom" || i.opcode == "red"; }

bool is_store(const Instruction& i) { return i.opcode == "st" || i.opcode == "atom" || i.opcode == "red"; }

// Whether what `from` writes decides, by way of registers.
bool decides(const Function& function, const std::vector<Flow>& flows, std::size_t from) {
  std::set<std::string_view> follows(flows[from].writes.begin(), flows[from].writes.end());
  for (std::size_t before = 0; before != follows.size();) {
    before = follows.size();
    for (std::size_t n = 0; n < flows.size(); ++n) {
      const Instruction& i = function.instructions[n];
      if (!i.guard.empty() && follows.count(i.guard) != 0) return true;
      if (n == from) continue;
      // What it says where, as an index does, is not what it stores.
      const std::size_t place = address_at(i);
      bool value = false, any = false;
      for (std::size_t o = 0; o < i.operands.size(); ++o)
        for_each_name(i.operands[o], [&](const Operand& name) {
          any = any || follows.count(name.name) != 0;
          value = value || (o != place && follows.count(name.name) != 0);
        });
      // Into shared memory, the stack or a function's parameters or result, from where it may be read.
      if (value && (i.opcode == "call" || (is_store(i) && !i.has(".global")))) return true;
      if (any && !is_access(i)) follows.insert(flows[n].writes.begin(), flows[n].writes.end());
    }
  }
  return false;
}

}  // namespace

std::vector<std::size_t> deciding_atomics(const Function& function) {
  std::vector<std::size_t> found;
  std::vector<Flow> flows;
  for (std::size_t n = 0; n < function.instructions.size(); ++n) {
    const Instruction& i = function.instructions[n];
    if (i.opcode != "atom" || !is_global_atomic(i) || has_order(i)) continue;
    if (flows.empty())
      for (const Instruction& each : function.instructions) flows.push_back(flow_of(each));
    if (decides(function, flows, n)) found.push_back(n);
  }
  return found;
}

bool has_fence(const Function& function) {
  return std::any_of(function.instructions.begin(), function.instructions.end(), [](const Instruction& i) {
    if (i.opcode == "membar") return !i.has(".cta");
    if (i.opcode == "fence") return !i.has(".cta") && !has_shape(i, ".proxy") && !has_shape(i, ".mbarrier");
    return (is_access(i) || i.opcode == "st") && has_order(i) && !i.has(".cta") && is_global(i);
  });
}

void fence_around(const Module& module, const Instruction& instruction, Edits& edits) {
  const bool has_scoped_fences = std::any_of(module.targets.begin(), module.targets.end(), [](std::string_view target) {
    return target.size() > 4 && target.substr(0, 3) == "sm_" && (target.size() > 5 || target[3] >= '7');
  });
  const std::string guard(
      instruction.text.substr(0, static_cast<std::size_t>(instruction.opcode.data() - instruction.text.data())));
  const std::string fence = guard + (has_scoped_fences ? "fence.acq_rel.sys;" : "membar.sys;");
  edits.insert_before(instruction.text, fence + " ");
  edits.insert_before(instruction.text.substr(instruction.text.size()), " " + fence);
}

}  // namespace dcgn::virtual_gpu::ptx
