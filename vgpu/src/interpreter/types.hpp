// An instruction's qualifiers, as those who choose its function need them.
#pragma once

#include "vgpu/src/ptx/module.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::interpreter {

enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  u8,
  s8,
  b16,
  u16,
  s16,
  f16,
  bf16,
  b32,
  u32,
  s32,
  f32,
  f16x2,
  bf16x2,
  b64,
  u64,
  s64,
  f64
};

Type type_of(std::string_view word);  // none where it is no type, or one that is not interpreted
std::size_t bytes_of(Type type);
bool is_float(Type type);  // f32 or f64

struct Qualified {
  explicit Qualified(const ptx::Instruction& its_instruction);

  bool has(std::string_view qualifier) const { return instruction.has(qualifier); }
  bool is(std::string_view opcode) const { return instruction.opcode == opcode; }
  // The n-th type, none where there are not so many.
  Type type(std::size_t n = 0) const { return n < types.size() ? types[n] : Type::none; }

  const ptx::Instruction& instruction;
  std::vector<Type> types;
};

// Of what the host computes: as <cfenv> has it. Nearest where none is given.
int rounding_of(const Qualified& q);

}  // namespace dcgn::virtual_gpu::interpreter
