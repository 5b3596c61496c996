// dcgn vgpu: its subcommands, and what they share.
#pragma once

#include "tool/commands.hpp"
#include "vgpu/src/ptx/rewrite.hpp"

#include <string>

namespace dcgn::tool {

void add_vgpu_rewrite(CLI::App& parent, Action& chosen);
void add_vgpu_inspect(CLI::App& parent, Action& chosen);
void add_vgpu_run(CLI::App& parent, Action& chosen);

// A file's content. Throws Error(io) that names it, and says that `expected` was.
std::string read_whole(const std::string& path, const char* expected = "a file of PTX");

// "grid synchronisation: ... (line 12, in k: mov.u32 ...)"
std::string text_of(const virtual_gpu::ptx::Reason& reason);

}  // namespace dcgn::tool
