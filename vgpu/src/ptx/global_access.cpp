#include "vgpu/src/ptx/global_access.hpp"

#include "vgpu/src/ptx/data_flow.hpp"

#include <algorithm>

namespace dcgn::virtual_gpu::ptx {

bool has_shape(const Instruction& i, std::string_view with) {
  return std::any_of(i.qualifiers.begin(), i.qualifiers.end(),
                     [&](std::string_view q) { return q.substr(0, with.size()) == with; });
}

bool is_plain_copy(const Instruction& i) {
  return i.opcode == "cp" && i.has(".async") && i.has(".global") && has_shape(i, ".shared") && !i.has(".bulk") &&
         i.operands.size() > 1 && i.operands[1].kind == Operand::Kind::address;
}

std::vector<bool> global_addresses(const Instruction& i) {
  std::vector<bool> global;
  std::vector<bool> spaces;  // of a copy, in the order of its addresses
  for (const std::string_view q : i.qualifiers)
    if (q == ".global" || q.substr(0, 7) == ".shared") spaces.push_back(q == ".global");
  std::size_t addresses = 0;
  for (const Operand& operand : i.operands) {
    const bool address = operand.kind == Operand::Kind::address;
    const bool told = i.opcode == "cp" && !spaces.empty();
    global.push_back(address && (told ? addresses < spaces.size() && spaces[addresses] : is_global(i)));
    if (address) ++addresses;
  }
  return global;
}

bool is_global_atomic(const Instruction& i) {
  return (i.opcode == "atom" || i.opcode == "red") && is_global(i) && !i.has(".cta") &&
         address_at(i) != i.operands.size();
}

}  // namespace dcgn::virtual_gpu::ptx
