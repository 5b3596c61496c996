#include "vgpu/src/ptx/shared_variables.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

namespace {

constexpr std::uint64_t constant_memory = 64 * 1024;

// Bytes of constants if each is aligned on its own, with a pointer for each other variable.
bool constants_fit(const Module& module) {
  std::uint64_t bytes = 0;
  for (const Variable& v : module.variables)
    bytes += v.space == Space::constant ? v.bytes() + v.alignment - 1 : v.space == Space::global ? 8 : 0;
  return bytes <= constant_memory;
}

std::string_view linkage_word(Linkage linkage) {
  switch (linkage) {
    case Linkage::local: return "";
    case Linkage::visible: return ".visible ";
    case Linkage::external: return ".extern ";
    case Linkage::weak:
    case Linkage::common: return ".weak ";  // common ones have no initial value
  }
  return "";
}

}  // namespace

SharedVariables::SharedVariables(const Module& module) : module_(module), constants_fit_(constants_fit(module)) {
  for (const Variable& v : module.variables)
    for (auto* const variables : {&all_, &shared_})
      if ((variables == &all_ || why_not(v).empty()) &&
          (v.linkage != Linkage::external || variables->count(v.name) == 0))
        (*variables)[v.name] = &v;
}

std::string SharedVariables::why_not(const Variable& v) const {
  if (v.space == Space::constant) return "constant";
  if (v.space != Space::global) return "not global";
  if (v.element == 0) return "opaque";
  if (v.name.substr(0, 4) == "$str" || v.name.substr(0, 9) == "__unnamed") return "compiler's string";
  return holds_functions(v) ? "holds functions" : "";
}

bool SharedVariables::holds_functions(const Variable& v) const {
  const auto is_function = [&](const AddressUse& use) {
    return module_.find_function(use.symbol) != nullptr ||
           std::any_of(module_.aliases.begin(), module_.aliases.end(),
                       [&](const Alias& alias) { return alias.name == use.symbol; });
  };
  return std::any_of(v.addresses.begin(), v.addresses.end(), is_function) ||
         (v.linkage == Linkage::external && v.name.substr(0, 4) == "_ZTV");
}

bool SharedVariables::is_own(const Variable& v) const {
  return (v.space == Space::global || v.space == Space::constant) && !why_not(v).empty();
}

bool SharedVariables::leads_to_functions(const Variable& variable) const {
  const std::vector<const Variable*> reached = reached_from(variable);
  return std::any_of(reached.begin(), reached.end(), [&](const Variable* v) { return holds_functions(*v); });
}

std::optional<SharedVariables::ForeignAddress> SharedVariables::foreign_address(const Variable& variable) const {
  for (const Variable* holder : reached_from(variable))
    for (const AddressUse& use : holder->addresses)
      if (const Variable* held = find(use.symbol); held && is_own(*held) && !is_own(*holder))
        return ForeignAddress{holder->name, held->name};
  return std::nullopt;
}

std::vector<const Variable*> SharedVariables::reached_from(const Variable& variable) const {
  std::vector<const Variable*> reached = {&variable};
  std::set<const Variable*> seen = {&variable};
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const AddressUse& use : reached[i]->addresses)
      if (const Variable* held = find(use.symbol); held && seen.insert(held).second) reached.push_back(held);
  return reached;
}

const Variable* SharedVariables::find(std::string_view name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : found->second;
}

std::string SharedVariables::pointer_of(const Variable& variable) const {
  return shared_.count(variable.name) != 0 ? "dcgn_at_" + std::string(variable.name) : "";
}

void SharedVariables::declare(Edits& edits) const {
  for (const auto& [name, variable] : shared_) {
    const bool external = variable->linkage == Linkage::external;
    edits.insert(variable->end, "\n" + std::string(linkage_word(variable->linkage)) +
                                    (in_constant_memory(*variable) ? ".const" : ".global") + " .align 8 .u64 dcgn_at_" +
                                    std::string(name) + (external ? ";" : " = " + std::string(name) + ";"));
  }
}

std::size_t SharedVariables::replace(const Function& function, const Instruction& instruction, Edits& edits) const {
  std::size_t uses = 0;
  std::string before;
  const auto pointer = [&](const Variable& variable, std::string_view part, std::string_view offset) {
    const std::string reg = "%dcgn_a" + std::to_string(uses++);
    before += std::string(in_constant_memory(variable) ? "ld.const" : "ld.global") + ".u64 " + reg + ", [dcgn_at_" +
              std::string(variable.name) + "]; ";
    if (!offset.empty()) before += "add.s64 " + reg + ", " + reg + ", " + std::string(offset) + "; ";
    edits.replace(part, reg);
  };
  const auto find = [&](const Operand& name) -> const Variable* {
    const auto found = shared_.find(name.name);
    return found == shared_.end() || function.declares(name.name) ? nullptr : found->second;
  };
  for (const Operand& operand : instruction.operands) {
    // x+4 outside of an address: a register takes no offset there.
    const bool sum = operand.kind == Operand::Kind::expression && operand.parts.size() == 1;
    const Variable* whole = sum ? find(operand.parts.front()) : nullptr;
    if (whole) {
      std::string_view offset = operand.text.substr(operand.parts.front().text.size());
      offset.remove_prefix(std::min(offset.find_first_not_of(" \t"), offset.size()));
      if (!offset.empty() && offset.front() == '+') offset.remove_prefix(1);
      pointer(*whole, operand.text, offset);
      continue;
    }
    for_each_name(operand, [&](const Operand& name) {
      if (const Variable* variable = find(name)) pointer(*variable, name.name, {});
    });
  }
  if (uses != 0) {
    const std::size_t begin = module_.source->offset_of(instruction.text);
    edits.insert(begin, "{ .reg .b64 %dcgn_a<" + std::to_string(uses) + ">; " + before);
    edits.insert(begin + instruction.text.size(), " }");
  }
  return uses;
}

}  // namespace dcgn::virtual_gpu::ptx
