// What the peers' programs of datatypes have in common: arguments, and the rows that they print.
#pragma once

#include "bench/ddt_buffers.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>

namespace dcgn::bench::peer {

// SHAPE BYTES SECONDS. Throws std::runtime_error, one line, where these make no sense.
inline DdtWork ddt_work(int argc, char** argv, const char* place) {
  const auto shape = argc == 4 ? parse_ddt_shape(argv[1]) : std::nullopt;
  if (!shape) throw std::runtime_error(std::string("expected SHAPE BYTES SECONDS, SHAPE one of ") + ddt_shape_words);
  DdtWork work{.shape = *shape, .bytes = std::atoll(argv[2]), .place = place, .seconds = std::atof(argv[3])};
  if (work.bytes < 1 || work.seconds <= 0)
    throw std::runtime_error(std::string(argv[2]) + " " + argv[3] + ": expected BYTES and SECONDS above 0");
  return work;
}

// Prints the rows that `measured` returns; its exit code.
inline int print_ddt_rows(const char* program, const std::function<std::vector<DdtRow>()>& measured) {
  try {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const DdtRow& row : measured()) rows.push_back(to_json(row));
    std::printf("%s\n", rows.dump().c_str());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program, e.what());
    return 1;
  }
}

}  // namespace dcgn::bench::peer
