// The inside of a kernel or device function.
#pragma once

#include "vgpu/src/ptx/module.hpp"
#include "vgpu/src/ptx/token_stream.hpp"

namespace dcgn::virtual_gpu::ptx {

// From the opening brace to the closing one.
void parse_body(TokenStream& tokens, const Source& source, Function& function);

// .file, .loc, .pragma and .section, inside of functions and outside. Whether there was one.
bool parse_debug_directive(TokenStream& tokens);

}  // namespace dcgn::virtual_gpu::ptx
