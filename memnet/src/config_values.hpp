// A configuration's keys and values as they were given: read from TOML, checked against config_keys(), each with the
// place that an error names.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

// A channel of KeyType::links: what it has of its own, in the units of topology.latency and topology.bandwidth.
struct ConfigLink {
  int from = 0;
  int to = 0;
  std::optional<double> latency;
  std::optional<double> bandwidth;
};

// Every look-up gives the key's value, or its default, in the unit of the key's type, and notes that the key means
// something. All throw Error(configuration) "FILE:LINE: KEY = VALUE: expected ...".
class ConfigValues {
 public:
  // `settings`: "key=value", which come before what the file says; a value that is no TOML is taken for a text. `file`
  // is what errors call the content; without `lines` they name no line of it, as where it was made from a short form.
  ConfigValues(const std::string& content, const std::string& file, const std::vector<std::string>& settings,
               bool lines = true);
  ConfigValues(const ConfigValues&) = delete;
  ConfigValues& operator=(const ConfigValues&) = delete;
  ~ConfigValues();

  // For loads and times in cycles, from then on.
  void set_scale(double clock_ghz, double gbytes_per_flit);

  bool given(std::string_view key) const;
  bool has_section(std::string_view section) const;  // be it empty

  std::string word(std::string_view key);  // of types text and word
  bool flag(std::string_view key);
  double number(std::string_view key);  // of quantities, counts and reals
  int whole(std::string_view key) { return static_cast<int>(wide(key)); }
  std::int64_t wide(std::string_view key);  // of counts and cycles
  std::vector<int> counts(std::string_view key);
  std::vector<std::vector<int>> lists(std::string_view key);
  std::vector<ConfigLink> links(std::string_view key);
  std::vector<double> reals(std::string_view key);
  std::vector<std::string> words(std::string_view key);
  // A word, or, where it is empty, numbers.
  std::string terminals(std::string_view key, std::vector<int>& numbers);

  // "FILE:LINE: KEY"; without the line where the file does not have the key.
  std::string where(std::string_view key) const;
  // "FILE:LINE"; "--set" of a section that only settings have.
  std::string where_section(std::string_view section) const;
  // "FILE:LINE: KEY = VALUE: expected ..."; of a key that was not given, its default stands there.
  [[noreturn]] void refuse(std::string_view key, const std::string& expected) const;
  // Refuses the first key that was given and never looked up; `why` says of a key what it means nothing with, as in
  // "with topology.kind = mesh".
  void refuse_unused(const std::function<std::string(std::string_view)>& why) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace dcgn::memnet
