#include "vgpu/src/kernel_name.hpp"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace dcgn::virtual_gpu {

std::string plain_name(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> found(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                          &std::free);
  if (status != 0) return name;
  std::string plain = found.get();
  // Templates have their result before them; a parenthesis within <> is no parameter list.
  if (plain.rfind("void ", 0) == 0) plain.erase(0, 5);
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  for (std::size_t at = plain.find(unnamed); at != std::string::npos; at = plain.find(unnamed, at))
    plain.erase(at, unnamed.size());
  int depth = 0;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    depth += plain[at] == '<' ? 1 : plain[at] == '>' ? -1 : 0;
    if (plain[at] == '(' && depth == 0) return plain.substr(0, at);
  }
  return plain;
}

}  // namespace dcgn::virtual_gpu
