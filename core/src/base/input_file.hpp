// Files that are read whole.
#pragma once

#include <string>

namespace dcgn::base {

// What is in a file of configuration. `name` is what errors call it. Throws Error(io) where it cannot be read, and
// where it has no end within 64 MiB, as a device may.
std::string read_configuration(const std::string& path, const std::string& name);
// What is in a file of data. Throws Error(io), of `operation`, where it cannot be read.
std::string read_file(const std::string& path, const std::string& operation);

}  // namespace dcgn::base
