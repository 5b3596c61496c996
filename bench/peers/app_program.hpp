// What the peers' programs of applications have in common: their arguments, and how MPI starts them.
#pragma once

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>

namespace dcgn::bench::peer {

// `--name VALUE`, whole numbers. Throws std::runtime_error, one line, where one is missing or makes no sense.
class AppArguments {
 public:
  AppArguments(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
      const std::string name = argv[i];
      char* end = nullptr;
      if (name.rfind("--", 0) != 0 || i + 1 == argc)
        throw std::runtime_error(name + ": expected --name VALUE, as in --size 1024");
      const long value = std::strtol(argv[i + 1], &end, 10);
      if (*end || value < 0 || value > 1 << 30)
        throw std::runtime_error(name + " " + argv[i + 1] + ": expected a whole number");
      values_[name.substr(2)] = static_cast<int>(value);
    }
  }
  int operator[](const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end() || found->second == 0) throw std::runtime_error("--" + name + ": expected, and above 0");
    return found->second;
  }

 private:
  std::map<std::string, int> values_;
};

}  // namespace dcgn::bench::peer
