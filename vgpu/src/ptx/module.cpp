#include "vgpu/src/ptx/module.hpp"

#include <algorithm>

namespace dcgn::virtual_gpu::ptx {

bool Instruction::has(std::string_view qualifier) const {
  return std::find(qualifiers.begin(), qualifiers.end(), qualifier) != qualifiers.end();
}

std::optional<std::size_t> Function::find_label(std::string_view label, std::uint32_t scope) const {
  for (;; scope = scopes[scope]) {
    for (const Label& l : labels)
      if (l.scope == scope && l.name == label) return l.instruction;
    if (scope == 0) return std::nullopt;
  }
}

bool Function::declares(std::string_view symbol) const {
  const auto named = [&](const Variable& v) { return v.name == symbol; };
  return std::any_of(parameters.begin(), parameters.end(), named) ||
         std::any_of(results.begin(), results.end(), named) || std::any_of(variables.begin(), variables.end(), named);
}

const Function* Module::find_function(std::string_view name) const {
  const Function* declared = nullptr;
  for (const Function& f : functions) {
    if (f.name != name) continue;
    if (f.body) return &f;
    declared = &f;
  }
  return declared;
}

}  // namespace dcgn::virtual_gpu::ptx
