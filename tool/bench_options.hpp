// Options that measurements have in common.
#pragma once

#include "core/bench/ablation.hpp"
#include "core/bench/p2p.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::tool {

// Throws Error(configuration).
[[noreturn]] void refuse(const std::string& text);

// --pairs.
void add_pairs(CLI::App& app, std::string& text);
// The paths that they are on this machine, each once. Throws Error(configuration) where it has too few GPUs.
std::vector<bench::Path> parse_pairs(const std::string& text);

// --scope of slots: thread, warp, block, blocks:N, grid, or several of them, or one of `others`.
CLI::Validator scopes_of_slots(std::vector<std::string> others = {});
// Throws Error(configuration) where a scope has fewer threads than --threads; 0: as many as suit the device.
std::vector<bench::Scope> parse_scopes(const std::string& text, unsigned threads);

// Whole numbers, separated by commas. Throws Error(configuration), naming the option.
std::vector<int> parse_numbers(const char* option, const std::string& text, int least, int most);

// --peers: each once; nothing for none. Throws Error(configuration) where that is among others, which are these.
std::vector<std::string> parse_peers(const std::string& text, const std::vector<std::string>& others);

// A message's size, from 1 B to 1 GiB. Throws Error(configuration), naming the option.
std::int64_t parse_message_bytes(const char* option, const std::string& text);

// -e of rows that are chosen: without one, 1G; 64K on emulated GPUs, which large messages take long.
std::int64_t largest_message(const std::string& text);

// What measures `latency`, `bandwidth`, `bidirectional`, `rate` or `any-source`.
bench::Measurement measurement_of(const std::string& measure);

// The names of all_paths, all_ideas, ...
template <class Things>
std::vector<std::string> names_of(const Things& things) {
  std::vector<std::string> names;
  for (const auto& thing : things) names.emplace_back(name_of(thing));
  return names;
}

}  // namespace dcgn::tool
