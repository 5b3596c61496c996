// The keys of a simulation's configuration: what readers, `dcgn sim keys` and the guide know of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

// Quantities are numbers in the type's unit, or texts with one of its units: 20 or "20 GB/s".
enum class KeyType : std::uint8_t {
  text,
  word,       // one of Key::choices
  flag,       // true or false
  count,      // a whole number
  real,       // a number
  load,       // flits per source and cycle; or a bandwidth of each source
  bandwidth,  // GB/s
  time,       // ns
  cycles,     // whole cycles; times are rounded up to them
  latency,    // ns; or a text in cycles
  bytes,      // B
  frequency,  // GHz
  energy,     // pJ/bit
  counts,     // a list of whole numbers
  lists,      // a list of lists of whole numbers
  links,      // a list of pairs of whole numbers, or of tables {from, to, latency, bandwidth}
  reals,      // a list of numbers
  words,      // a list of words of Key::choices
  terminals,  // a word of Key::choices, or a list of terminals' numbers
};
std::string_view to_string(KeyType type) noexcept;

struct Key {
  std::string_view name;  // "section.key"; without a dot at the top
  KeyType type;
  std::string_view fallback;  // as the file would have it; empty: there is none
  double least = 0;           // of numbers, and of the numbers of lists, in the type's unit
  double most = 0;
  std::string_view choices{};  // separated by |
  std::string_view meaning{};

  std::string_view section() const;
};

// All keys, section by section.
const std::vector<Key>& config_keys();
// Null where there is none of that name.
const Key* find_config_key(std::string_view name);
// What a section is for; empty for one that is not there.
std::string_view describe_section(std::string_view section);

// The shortest text that reads as this number.
std::string number_text(double value);

// "a bandwidth in GB/s (or with its unit, as in "20 GB/s") from 0.001 to 1000": what a value of the key must be.
std::string expected_value(const Key& key);

// A number in the type's unit from "20 GB/s"; false where the text is none. `clock_ghz` turns times into cycles, and
// `gbytes_per_flit` bandwidths into loads.
bool parse_quantity(std::string_view text, KeyType type, double clock_ghz, double gbytes_per_flit, double& value);

}  // namespace dcgn::memnet
