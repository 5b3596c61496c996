// The instructions of PTX.
#pragma once

#include <string_view>

namespace dcgn::virtual_gpu::ptx {

// Whether PTX ISA 9.0 has the opcode, without qualifiers: "atom", "tcgen05". What a later one does is not known.
bool is_known_opcode(std::string_view opcode);

}  // namespace dcgn::virtual_gpu::ptx
