// Variables, parameters and their initializers, which stand in modules, in heads of functions and inside of them.
#pragma once

#include "vgpu/src/ptx/module.hpp"
#include "vgpu/src/ptx/token_stream.hpp"

#include <optional>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

// .global and so on; nothing for any other word.
std::optional<Space> space_of(std::string_view word);

// Operators of constant expressions.
bool is_operator(const Token& token);

// What follows a state space: .align 4 .b8 x[16] = {1}, y; without the semicolon.
std::vector<Variable> parse_variables(TokenStream& tokens, Space space, Linkage linkage);

// (.param .u64 a, .reg .u32 %b), from the opening parenthesis to the closing one.
std::vector<Variable> parse_parameters(TokenStream& tokens);

}  // namespace dcgn::virtual_gpu::ptx
