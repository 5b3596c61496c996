// The file that DCGN_CONFIG names.
#include "fuzz.hpp"

#include <dcgn/config.hpp>

using namespace dcgn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile file;
  file.write(data, size);
  fuzz::require(setenv("DCGN_CONFIG", file.path().c_str(), 1) == 0, "the variable is set");
  fuzz::is_taken([] {
    const Config config;
    fuzz::require(config.deadline_s >= 1e-3 && config.deadline_s <= 1e9, "a deadline is in its range");
    fuzz::require(config.collective_bytes >= 4096 && config.collective_bytes <= 1u << 30, "so are bytes");
  });
  return 0;
}
