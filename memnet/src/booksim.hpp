// Configurations of the public simulator booksim2, as far as both simulators have the same thing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

// What became of a key that the file, or a setting, gives.
struct BooksimNote {
  std::string place;  // "FILE:LINE"; "--set" of a setting
  std::string key;
  std::string value;
  bool taken = false;
  std::string reason;  // of a key that is not taken
};

struct BooksimConfiguration {
  std::string toml;          // for parse_configuration()
  std::string network_file;  // of anynet; else empty
  std::vector<BooksimNote> notes;
  std::vector<std::string> own;  // of load_booksim(): settings that are this simulator's, for parse_configuration()
};

// Reads `key = value;` statements; keys that are not there have booksim2's defaults. `settings`: "key=value", which
// come before what the file says. A network_file is looked for where the program runs, as booksim2 does. Throws
// Error(configuration) for text that is none, an unknown key, and all values at once that have no counterpart here,
// each "FILE:LINE: KEY = VALUE: expected ..."; Error(io) where the network_file cannot be read.
BooksimConfiguration read_booksim(const std::string& content, const std::string& file,
                                  const std::vector<std::string>& settings = {});

// The same of a file, with settings of both: keys of this simulator have a section, or are `title`. Throws Error(io)
// where the file cannot be read.
BooksimConfiguration load_booksim(const std::string& file, const std::vector<std::string>& settings = {});

// Whether a configuration's name is that of a booksim2 one: it ends in .cfg.
bool is_booksim(std::string_view file);

}  // namespace dcgn::memnet
