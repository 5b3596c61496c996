// What instructions read and write: registers, and places in memory that only one thread or block sees.
#pragma once

#include "vgpu/src/ptx/module.hpp"

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

// Names of registers and parameters; the text of an address, brackets included, for shared and local memory.
struct Flow {
  std::vector<std::string_view> writes, reads;  // a guard is read; what is written under one is read too
};
Flow flow_of(const Instruction& instruction);
// Registers that follow from each other have one number: the strongly connected components of what follows from what
// (Kosaraju and Sharir).
std::map<std::string_view, std::size_t> find_rounds(const std::vector<Flow>& flows);

// Whether it may access global memory: its space is .global or is not told.
bool is_global(const Instruction& access);
// Which operand is an address; the number of operands where none is.
std::size_t address_at(const Instruction& access);
// Names in it.
std::vector<std::string_view> address_names(const Instruction& access);

// Bytes of the type that an access moves for each register; 0 for one that is not told by two digits, as .b128 or
// .f16x2. Of .f64 it is 4: that is no address.
std::size_t type_bytes(const Instruction& access);

// "[%rd1+8]" as the name and "8"; the name is empty where it is something else.
struct Address {
  std::string_view base, offset;
};
Address split_address(const Operand& operand);

}  // namespace dcgn::virtual_gpu::ptx
