// What the files that read configurations have in common.
#pragma once

#include "memnet/src/config_values.hpp"
#include "memnet/src/gpu_cores.hpp"
#include "memnet/src/organisation.hpp"
#include "memnet/src/parameters.hpp"
#include "memnet/src/topologies.hpp"

#include <dcgn/error.hpp>

#include <array>
#include <string>
#include <string_view>

namespace dcgn::memnet {

inline constexpr std::array memory_topologies = {MemoryTopology::dragonfly,        MemoryTopology::flattened_butterfly,
                                                 MemoryTopology::sliced_butterfly, MemoryTopology::sliced_mesh,
                                                 MemoryTopology::sliced_torus,     MemoryTopology::sliced_mesh_2x,
                                                 MemoryTopology::sliced_torus_2x,  MemoryTopology::overlay};
inline constexpr std::array terminal_kinds = {TerminalKind::node, TerminalKind::gpu, TerminalKind::cpu,
                                              TerminalKind::hmc};

// The enumerator of that name; the values have made sure that there is one.
template <class Names>
auto named(const std::string& name, const Names& all) {
  for (const auto one : all) {
    if (to_string(one) == name) return one;
  }
  throw Error(Code::configuration, "configuration", "no " + name + " is known");
}

// The error without what it begins with.
inline std::string detail_of(const Error& error) {
  std::string text = error.what();
  const std::string prefix = "dcgn: " + error.operation() + ": ";
  return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
}

// The key that an error's text names by its name alone, as "channels_per_hmc", within the section of `key`; else `key`.
std::string_view key_in(std::string_view text, std::string_view key);

// Repeats what `make` throws with the place of a key: the one of its section that the text names, else `key`.
template <class Make>
auto at_key(const ConfigValues& values, std::string_view key, Make&& make) {
  try {
    return make();
  } catch (const Error& error) {
    if (error.operation() == "configuration") throw;  // names a key already
    const std::string text = detail_of(error);
    throw Error(error.code(), "configuration", values.where(key_in(text, key)) + ": " + text);
  }
}

// [topology].
Topology read_topology(ConfigValues& values, const Parameters& parameters);
// routing.table, which the topology then has. Throws Error(configuration) with file and line, or with the pair of
// routers.
void read_routes(ConfigValues& values, Topology& topology);
// [gpu].
GpuCores read_gpu(ConfigValues& values);

}  // namespace dcgn::memnet
