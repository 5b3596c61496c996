#include "vgpu/src/assembler_options.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace dcgn::virtual_gpu {

namespace {

// They change messages, debug information or what a debugger sees. "--fmad false" is nvcc's own, whose PTX then says
// of each operation how it is rounded; "-fmad=false" was given to ptxas alone.
constexpr std::string_view harmless =
    " v verbose w disable-warnings Werror warning-as-error c compile-only lineinfo generate-line-info no-bb-merge "
    "dont-merge-basicblocks ret-end return-at-end m m64 machine arch gpu-name split-compile annotate "
    "compiler-annotations suppress-debug-info preserve-relocs ";

bool is_harmless(const std::string& name) {
  return name.starts_with("warn-") || (name.starts_with("suppress-") && name.ends_with("warning")) ||
         harmless.find(" " + name + " ") != std::string_view::npos;
}

AssemblerOptions::Value number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Whether it has an equal here.
bool keep(AssemblerOptions& options, std::string_view name, std::string_view value) {
  const auto set = [](AssemblerOptions::Value& option, AssemblerOptions::Value found) {
    if (found) option = found;
    return found.has_value();
  };
  if (name == "maxrregcount") return set(options.max_registers, number(value));
  if (name == "O" || name == "opt-level") {
    const AssemblerOptions::Value level = number(value);
    return level && *level <= 4 && set(options.optimization_level, level);
  }
  if (name == "g" || name == "device-debug") return set(options.optimization_level, 0);
  if (name == "dlcm" || name == "def-load-cache") {
    if (value == "cg") return set(options.cache_mode, 1);
    return value == "ca" && set(options.cache_mode, 2);
  }
  return false;
}

struct Option {
  std::string as_it_stands, name, value;
};

// -name=value, --name value, -O1.
std::vector<Option> split(std::string_view text) {
  std::vector<Option> options;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (word.front() != '-') {
      if (options.empty() || !options.back().value.empty()) options.emplace_back();
      Option& its = options.back();
      its.as_it_stands += (its.as_it_stands.empty() ? "" : " ") + word;
      its.value = word;
      continue;
    }
    std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size())), value;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (name.size() == 2 && name.front() == 'O') {
      value = name.substr(1);
      name.resize(1);
    }
    options.push_back({word, name, value});
  }
  return options;
}

}  // namespace

StoredOptions read_assembler_options(std::string_view text) {
  StoredOptions stored;
  for (const Option& option : split(text))
    if (!is_harmless(option.name) && option.as_it_stands != "--fmad false" &&
        !keep(stored.kept, option.name, option.value))
      stored.lost.push_back(option.as_it_stands);
  return stored;
}

}  // namespace dcgn::virtual_gpu
