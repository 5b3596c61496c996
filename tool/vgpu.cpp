// dcgn vgpu
#include "tool/vgpu.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace dcgn::tool {

std::string read_whole(const std::string& path, const char* expected) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))  // a folder can be opened, but not read
    throw Error(Code::io, "vgpu",
                fmt::format("{}: {}: expected {}", path, errno ? std::strerror(errno) : "nothing to read", expected));
  return text.str();
}

std::string text_of(const virtual_gpu::ptx::Reason& reason) {
  return fmt::format("{} (line {}, in {}: {})", reason.construct, reason.line, reason.function, reason.instruction);
}

void add_vgpu(CLI::App& parent, Action& chosen) {
  CLI::App* app = parent.add_subcommand("vgpu", "One kernel over several GPUs: run, inspect, rewrite");
  app->require_subcommand(1);
  app->footer(
      "Examples:\n"
      "  dcgn vgpu run ./program its arguments\n"
      "  dcgn vgpu inspect ./program\n"
      "  dcgn vgpu rewrite kernels.ptx -o split.ptx\n");
  add_vgpu_run(*app, chosen);
  add_vgpu_inspect(*app, chosen);
  add_vgpu_rewrite(*app, chosen);
}

}  // namespace dcgn::tool
