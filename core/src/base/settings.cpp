// Settings from the environment and from the file that DCGN_CONFIG names.
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "base/toml.hpp"
#include "base/unknown_settings.hpp"

#include <dcgn/config.hpp>
#include <dcgn/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace dcgn::detail {

namespace {

constexpr std::string_view prefix = "DCGN_";
constexpr std::uint64_t most_copy_engine_bytes = 1u << 30;

constexpr std::array known_keys = {"deadline",
                                   "grace",
                                   "eager_bytes",
                                   "lane_bytes",
                                   "unexpected_bytes",
                                   "buffered_bytes",
                                   "collective_bytes",
                                   "communicator_bytes",
                                   "requests",
                                   "seed",
                                   "errors",
                                   "direct",
                                   "p2p",
                                   "share",
                                   "cuda_aware",
                                   "copy_engine",
                                   "fragment_bytes",
                                   "place_threads",
                                   "trace",
                                   "trace_events",
                                   "without",
                                   "mpi",
                                   "progress"};

// Variables that are no keys of the file.
constexpr std::array other_variables = {"config",       "mpi_path",       "secret",       "mpirun",     "emulated_gpus",
                                        "emulated_sms", "wall_layout",    "wall_command", "vgpu_check", "vgpu_emulated",
                                        "vgpu_parts",   "vgpu_placement", "vgpu_report",  "vgpu_split"};

[[noreturn]] void refuse(std::string_view source, std::string_view value, std::string_view expected) {
  throw Error(Code::configuration, "configuration",
              std::string(source) + "=" + base::printable(value) + ": expected " + std::string(expected));
}

// With as many digits as it takes to be read as the same number again.
std::string text_of(double value) {
  std::array<char, 32> text{};  // 24 suffice
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general).ptr};
}

// The file's keys and values as text. Each look-up reads it anew, a dozen of them a Config: nothing is kept that could
// be out of date, and a job's start takes far longer.
std::map<std::string, std::string, std::less<>> read_file(const std::string& path) {
  toml::table table;
  try {
    table = toml::parse(base::read_configuration(path, "DCGN_CONFIG=" + path), path);
  } catch (const toml::parse_error& e) {
    std::ostringstream where;
    where << path << ":" << e.source().begin.line << ": " << e.description();
    throw Error(Code::configuration, "configuration", where.str());
  }
  std::map<std::string, std::string, std::less<>> values;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    std::ostringstream wrong;
    wrong << path << ":" << node.source().begin.line << ": ";
    bool known = false;
    for (const char* k : known_keys) known = known || name == k;
    if (!known) {
      wrong << "unknown key '" << base::printable(name) << "', expected one of";
      for (const char* k : known_keys) wrong << " " << k;
      throw Error(Code::configuration, "configuration", wrong.str());
    }
    if (const auto* string = node.as_string()) {
      values[name] = string->get();
    } else if (const auto* integer = node.as_integer()) {
      values[name] = std::to_string(integer->get());
    } else if (const auto* real = node.as_floating_point()) {
      values[name] = text_of(real->get());
    } else {
      wrong << name << " is neither number nor text";
      throw Error(Code::configuration, "configuration", wrong.str());
    }
  }
  return values;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// How many letters must be added, left out or changed to make one of the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j)
      before = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, before + (a[i] != b[j])}));
  }
  return row.back();
}

struct Found {
  std::string source;  // for messages: the variable, or the file and key
  std::string value;
  std::string origin;
};

std::optional<Found> find(std::string_view name) {
  [[maybe_unused]] static const bool told = [] {
    for (const std::string& text : unknown_settings()) std::fprintf(stderr, "dcgn: %s\n", text.c_str());
    return true;
  }();
  if (const char* value = std::getenv(std::string(name).c_str())) return Found{std::string(name), value, "environment"};
  const char* path = std::getenv("DCGN_CONFIG");
  if (!path) return std::nullopt;
  const auto values = read_file(path);
  const std::string key = lower_case(name.substr(prefix.size()));
  const auto it = values.find(key);
  if (it == values.end()) return std::nullopt;
  return Found{std::string(path) + ": " + key, it->second, path};
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::string> unknown_settings() {
  std::vector<std::string> texts;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view name = std::string_view(*variable).substr(0, std::string_view(*variable).find('='));
    if (!name.starts_with(prefix) || name.starts_with("DCGN_TEST_")) continue;
    const std::string key = lower_case(name.substr(prefix.size()));
    std::string_view nearest;
    std::size_t least = 3;  // letters
    const auto look_at = [&](std::string_view known) {
      if (const std::size_t d = distance(key, known); d < least) {
        least = d;
        nearest = known;
      }
    };
    for (const char* known : known_keys) look_at(known);
    for (const char* known : other_variables) look_at(known);
    if (least == 0) continue;
    std::string text = std::string(name) + " is set, but there is no such setting";
    if (!nearest.empty()) {
      text += "; did you mean " + std::string(prefix);
      for (const char c : nearest) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      text += "?";
    }
    texts.push_back(text);
  }
  return texts;
}

double setting(std::string_view name, double fallback, double least) {
  const auto found = find(name);
  if (!found) return fallback;
  const auto value = parse<double>(found->value);
  // The comparison is false for NaN too.
  if (!value || !(*value >= least && *value <= 1e9)) {
    std::ostringstream expected;
    expected << "a number of seconds from " << least << " to 1e9";
    refuse(found->source, found->value, expected.str());
  }
  return *value;
}

std::uint64_t setting(std::string_view name, std::uint64_t fallback, std::uint64_t least, std::uint64_t most) {
  const auto found = find(name);
  if (!found) return fallback;
  const auto value = parse<std::uint64_t>(found->value);
  if (!value || *value < least || *value > most)
    refuse(found->source, found->value, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return *value;
}

std::uint64_t size_setting(std::string_view name, std::uint64_t least, std::uint64_t most) {
  const auto found = find(name);
  if (!found) return 0;
  const auto value = parse<std::uint64_t>(found->value);
  if (!value || (*value && (*value < least || *value > most)))
    refuse(found->source, found->value,
           "a whole number from " + std::to_string(least) + " to " + std::to_string(most) + ", or 0");
  return *value;
}

std::optional<std::uint64_t> optional_setting(std::string_view name) {
  const auto found = find(name);
  if (!found) return std::nullopt;
  const auto value = parse<std::uint64_t>(found->value);
  if (!value) refuse(found->source, found->value, "a whole number");
  return value;
}

bool flag_setting(std::string_view name, std::string_view yes, std::string_view no, bool fallback) {
  const auto found = find(name);
  if (!found) return fallback;
  if (found->value == yes) return true;
  if (found->value == no) return false;
  refuse(found->source, found->value, std::string(yes) + " or " + std::string(no));
}

std::optional<std::uint64_t> copy_engine_setting(std::string_view name) {
  const auto found = find(name);
  if (!found || found->value == "on") return std::nullopt;
  if (found->value == "off") return Config::never_copied;
  const auto bytes = parse<std::uint64_t>(found->value);
  if (!bytes || *bytes > most_copy_engine_bytes)
    refuse(found->source, found->value,
           "on, off or a whole number of bytes from 0 to " + std::to_string(most_copy_engine_bytes));
  return bytes;
}

std::uint32_t without_setting(std::string_view name) {
  constexpr std::array words = {"quick",  "checks", "relaxed",   "bells", "batches",
                                "rounds", "teams",  "addresses", "hosts"};  // in the order of their bits
  const auto found = find(name);
  std::uint32_t bits = 0;
  if (!found) return bits;
  std::istringstream list(found->value);
  for (std::string word; std::getline(list, word, ',');) {
    const auto at = std::find(words.begin(), words.end(), word);
    if (at == words.end())
      refuse(
          found->source, found->value,
          "words of quick, checks, relaxed, bells, batches, rounds, teams, addresses, hosts, with commas between them");
    bits |= 1u << (at - words.begin());
  }
  return bits;
}

std::string word_setting(std::string_view name, std::initializer_list<std::string_view> words) {
  const auto found = find(name);
  if (!found) return {};
  std::string expected;
  for (const std::string_view word : words) {
    if (found->value == word) return found->value;
    expected += (expected.empty() ? "" : " or ") + std::string(word);
  }
  refuse(found->source, found->value, expected);
}

std::string text_setting(std::string_view name) {
  const auto found = find(name);
  return found ? found->value : std::string();
}

std::string setting_origin(std::string_view name) {
  const auto found = find(name);
  return found ? found->origin : "default";
}

}  // namespace dcgn::detail
