// Numbers as PTX writes them.
#pragma once

#include "vgpu/src/interpreter/program.hpp"
#include "vgpu/src/interpreter/types.hpp"

#include <optional>
#include <string_view>

namespace dcgn::virtual_gpu::interpreter {

// The word of a literal with its sign, where a value of this type is expected; nothing for what is no literal.
std::optional<Word> literal(std::string_view text, Type type);
// What a sum of signed whole numbers, "+4", "-4", "+-4" or "", comes to.
std::optional<std::int64_t> sum(std::string_view text);

}  // namespace dcgn::virtual_gpu::interpreter
