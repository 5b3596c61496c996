#include "vgpu/src/interpreter/types.hpp"

#include <array>
#include <cfenv>
#include <utility>

namespace dcgn::virtual_gpu::interpreter {

Type type_of(std::string_view word) {
  using Entry = std::pair<std::string_view, Type>;
  static constexpr std::array<Entry, 19> types = {{{".pred", Type::pred},
                                                   {".b8", Type::b8},
                                                   {".u8", Type::u8},
                                                   {".s8", Type::s8},
                                                   {".b16", Type::b16},
                                                   {".u16", Type::u16},
                                                   {".s16", Type::s16},
                                                   {".f16", Type::f16},
                                                   {".bf16", Type::bf16},
                                                   {".b32", Type::b32},
                                                   {".u32", Type::u32},
                                                   {".s32", Type::s32},
                                                   {".f32", Type::f32},
                                                   {".f16x2", Type::f16x2},
                                                   {".bf16x2", Type::bf16x2},
                                                   {".b64", Type::b64},
                                                   {".u64", Type::u64},
                                                   {".s64", Type::s64},
                                                   {".f64", Type::f64}}};
  for (const auto& [name, type] : types)
    if (name == word) return type;
  return Type::none;
}

std::size_t bytes_of(Type type) {
  switch (type) {
    case Type::none:
    case Type::pred: return 0;
    case Type::b8:
    case Type::u8:
    case Type::s8: return 1;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16: return 2;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2: return 4;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64: return 8;
  }
  return 0;
}

bool is_float(Type type) { return type == Type::f32 || type == Type::f64; }

Qualified::Qualified(const ptx::Instruction& its_instruction) : instruction(its_instruction) {
  for (const std::string_view word : instruction.qualifiers)
    if (const Type type = type_of(word); type != Type::none) types.push_back(type);
}

int rounding_of(const Qualified& q) {
  if (q.has(".rz") || q.has(".rzi")) return FE_TOWARDZERO;
  if (q.has(".rm") || q.has(".rmi")) return FE_DOWNWARD;
  if (q.has(".rp") || q.has(".rpi")) return FE_UPWARD;
  return FE_TONEAREST;
}

}  // namespace dcgn::virtual_gpu::interpreter
