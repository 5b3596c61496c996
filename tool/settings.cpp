#include "tool/settings.hpp"

#include <dcgn/config.hpp>

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstdlib>

namespace dcgn::tool {

std::vector<Setting> settings_in_force() {
  const Config c;  // has looked at all of them, and refused what is wrong
  const char* path = std::getenv("DCGN_CONFIG");
  const toml::table file = path ? toml::parse_file(path) : toml::table();
  const auto from = [&](const std::string& name, bool in_file) -> std::string {
    if (std::getenv(name.c_str())) return "environment";
    std::string key = name.substr(std::string("DCGN_").size());
    for (char& letter : key) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return in_file && file.contains(key) ? path : "default";
  };
  const auto automatic = [](std::uint64_t value) { return value ? fmt::to_string(value) : "automatic"; };
  std::vector<Setting> settings;
  const auto add = [&](const std::string& name, std::string value, bool in_file = true) {
    settings.push_back({name, std::move(value), from(name, in_file)});
  };
  const char* gpus = std::getenv("DCGN_EMULATED_GPUS");
  const char* multiprocessors = std::getenv("DCGN_EMULATED_SMS");
  add("DCGN_CONFIG", path ? path : "none", false);
  add("DCGN_EMULATED_GPUS", gpus ? gpus : "2 where there is no other GPU", false);
  add("DCGN_EMULATED_SMS", multiprocessors ? multiprocessors : "16", false);
  add("DCGN_DEADLINE", fmt::format("{} s", c.deadline_s));
  add("DCGN_EAGER_BYTES", c.eager_bytes ? fmt::to_string(*c.eager_bytes) : "512 in host memory, 4096 elsewhere");
  add("DCGN_LANE_BYTES", automatic(c.lane_bytes));
  add("DCGN_UNEXPECTED_BYTES", automatic(c.unexpected_bytes));
  add("DCGN_BUFFERED_BYTES", automatic(c.buffered_bytes));
  add("DCGN_REQUESTS", automatic(c.requests));
  add("DCGN_SEED", c.seed ? fmt::to_string(*c.seed) : "none: threads");
  add("DCGN_ERRORS", c.errors_fatal ? "fatal" : "returned");
  add("DCGN_DIRECT", c.direct ? "on" : "off");
  return settings;
}

}  // namespace dcgn::tool
