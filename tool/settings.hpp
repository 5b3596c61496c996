// The settings in force, and where each comes from.
#pragma once

#include <string>
#include <vector>

namespace dcgn::tool {

struct Setting {
  std::string name;   // the environment variable
  std::string value;  // as it takes effect
  std::string from;   // "environment", "FILE", or "default"
};

// Throws Error(configuration) where one makes no sense.
std::vector<Setting> settings_in_force();

}  // namespace dcgn::tool
