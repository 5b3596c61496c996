#include "vgpu/src/ptx/call_graph.hpp"

#include <algorithm>
#include <array>

namespace dcgn::virtual_gpu::ptx {

// None of it reads the block's index.
bool is_driver_function(std::string_view name) {
  constexpr std::array<std::string_view, 6> names = {"vprintf",      "malloc",        "free",
                                                     "__assertfail", "__assert_fail", "memset"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_device_runtime(std::string_view name) {
  constexpr std::array<std::string_view, 3> beginnings = {"cuda", "__cudaCDP", "cnp"};
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view with) { return name.substr(0, with.size()) == with; });
}

std::string_view callee_of(const Instruction& call) {
  for (const Operand& operand : call.operands)
    if (operand.kind != Operand::Kind::list) return operand.name;
  return {};
}

CallGraph::CallGraph(const Module& module) : module_(module), nodes_(module.functions.size()) {
  find_taken();
  for (std::size_t f = 0; f < nodes_.size(); ++f)
    for (const Instruction& instruction : module_.functions[f].instructions) {
      if (instruction.opcode != "call") continue;
      Node& node = nodes_[f];
      const std::string_view callee = callee_of(instruction);
      const bool direct = !is_by_pointer(instruction);
      if (!direct) node.by_pointer = true;
      const std::vector<std::size_t> found = targets(f, instruction);
      node.calls.insert(found.begin(), found.end());
      if (direct && found.empty() && !is_driver_function(callee) && !is_device_runtime(callee))
        node.strangers.insert(callee);
    }
}

std::string_view CallGraph::resolve(std::string_view name) const {
  for (const Alias& alias : module_.aliases)
    if (alias.name == name) return alias.target;
  return name;
}

std::vector<std::size_t> CallGraph::defined(std::string_view name) const {
  const Function* function = module_.find_function(resolve(name));
  if (!function || !function->body) return {};
  return {static_cast<std::size_t>(function - module_.functions.data())};
}

void CallGraph::find_taken() {
  const auto note = [&](std::string_view name) {
    if (is_function(name)) taken_.insert(resolve(name));
  };
  for (const Variable& variable : module_.variables)
    for (const AddressUse& use : variable.addresses) note(use.symbol);
  for (const Function& function : module_.functions) {
    for (const TargetList& list : function.target_lists)
      if (list.directive == ".calltargets")
        for (const std::string_view target : list.targets) note(target);
    for (const Instruction& instruction : function.instructions) {
      const std::string_view callee = instruction.opcode == "call" ? callee_of(instruction) : std::string_view();
      for (const Operand& operand : instruction.operands)
        for_each_name(operand, [&](const Operand& name) {
          if (name.name.data() != callee.data() && !function.declares(name.name)) note(name.name);
        });
    }
  }
}

std::vector<std::size_t> CallGraph::targets(std::size_t function, const Instruction& call) const {
  const std::string_view callee = callee_of(call);
  if (!is_by_pointer(call)) return defined(callee);
  std::vector<std::size_t> found;
  const auto add = [&](std::string_view name) {
    for (const std::size_t f : defined(name)) found.push_back(f);
  };
  for (const TargetList& list : module_.functions[function].target_lists)
    if (list.directive == ".calltargets" && call.operands.back().name == list.label) {
      for (const std::string_view target : list.targets) add(target);
      return found;
    }
  for (const std::string_view name : taken_) add(name);
  return found;
}

std::vector<std::size_t> CallGraph::reach(std::size_t function) const {
  std::vector<std::size_t> reached = {function};
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const std::size_t next : nodes_[reached[i]].calls)
      if (std::find(reached.begin(), reached.end(), next) == reached.end()) reached.push_back(next);
  return reached;
}

bool CallGraph::is_by_pointer(const Instruction& call) const { return !is_function(callee_of(call)); }

bool CallGraph::calls_by_pointer(const std::vector<std::size_t>& functions) const {
  return std::any_of(functions.begin(), functions.end(), [&](std::size_t f) { return nodes_[f].by_pointer; });
}

std::set<std::string_view> CallGraph::strangers(const std::vector<std::size_t>& functions) const {
  std::set<std::string_view> all;
  for (const std::size_t f : functions) all.insert(nodes_[f].strangers.begin(), nodes_[f].strangers.end());
  return all;
}

}  // namespace dcgn::virtual_gpu::ptx
