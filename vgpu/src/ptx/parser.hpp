// PTX text to a Module.
#pragma once

#include "vgpu/src/ptx/module.hpp"

#include <string>

namespace dcgn::virtual_gpu::ptx {

// The versions of the language that are read; a file of another one is refused. What is new in those after 9.0 are
// instructions, which opcodes.hpp does not know.
inline constexpr Version oldest_version{6, 0}, newest_version{9, 5};

// Reads all of `text`; `name` is the file's, for errors. Throws Error(configuration) that says where, what was found
// and what was expected; Error(unsupported) for a .version that is not known. Which operands an instruction takes is
// left to ptxas.
Module parse(std::string name, std::string text);

}  // namespace dcgn::virtual_gpu::ptx
