// The package python/dcgn, which draws what the command computes.
#pragma once

#include <string>
#include <vector>

namespace dcgn::tool {

// Becomes `python3 -m MODULE WORDS...`, whose exit code and lines on stderr are as this command's; `who` is what errors
// are called by ("bench: plot"). Throws Error(io) where there is no package or no python3.
[[noreturn]] void become_python(const std::string& who, const std::string& module,
                                const std::vector<std::string>& words);

// Runs the same with `input` on its stdin, and waits: its exit code. Throws Error(io) likewise.
int run_python(const std::string& who, const std::string& module, const std::vector<std::string>& words,
               const std::string& input);

}  // namespace dcgn::tool
