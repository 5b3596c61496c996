// What the peers' programs of datatypes have in common: arguments, and the rows that they print.
#pragma once

#include "core/bench/ddt_buffers.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace dcgn::bench::peer {

// SHAPE[,SHAPE...] BYTES SECONDS: one work after the other. Throws std::runtime_error, one line, where these make no
// sense.
inline std::vector<DdtWork> ddt_works(int argc, char** argv, const char* place) {
  std::vector<DdtWork> works;
  std::istringstream words(argc == 4 ? argv[1] : "");
  for (std::string word; std::getline(words, word, ',');) {
    const auto shape = parse_ddt_shape(word);
    if (!shape) throw std::runtime_error(word + ": expected " + ddt_shape_words);
    works.push_back({.shape = *shape, .bytes = std::atoll(argv[2]), .place = place, .seconds = std::atof(argv[3])});
  }
  if (works.empty())
    throw std::runtime_error(std::string("expected SHAPE,... BYTES SECONDS, SHAPE one of ") + ddt_shape_words);
  if (works[0].bytes < 1 || works[0].seconds <= 0)
    throw std::runtime_error(std::string(argv[2]) + " " + argv[3] + ": expected BYTES and SECONDS above 0");
  return works;
}

// Prints the rows that `measured` returns for each of the works that the arguments name; the exit code.
inline int print_ddt_rows(const char* program, const char* place, int argc, char** argv,
                          const std::function<std::vector<DdtRow>(const DdtWork&)>& measured) {
  try {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const DdtWork& work : ddt_works(argc, argv, place))
      for (const DdtRow& row : measured(work)) rows.push_back(to_json(row));
    std::printf("%s\n", rows.dump().c_str());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program, e.what());
    return 1;
  }
}

}  // namespace dcgn::bench::peer
