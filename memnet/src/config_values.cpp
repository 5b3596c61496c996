#include "memnet/src/config_values.hpp"

#include "base/toml.hpp"
#include "memnet/src/config_keys.hpp"
#include "memnet/src/fail.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace dcgn::memnet {

namespace {

std::string text_of(const toml::node& node) {
  if (const auto* real = node.as_floating_point()) {
    // 1e3 is no whole number, and must not look like one.
    const std::string text = number_text(real->get());
    return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
  }
  std::ostringstream text;
  node.visit([&text](const auto& value) { text << value; });
  std::string line = text.str();
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (line.size() > 80) line = line.substr(0, 77) + "...";
  return line;
}

toml::table parse_toml(const std::string& content, const std::string& file) {
  try {
    return toml::parse(content, file);
  } catch (const toml::parse_error& e) {
    std::ostringstream where;
    where << file << ":" << e.source().begin.line << ": " << e.description();
    fail("configuration", where.str());
  }
}

// Keys that are near a misspelt one: those of its section, or the sections.
std::string known_keys(std::string_view name) {
  const std::size_t dot = name.find('.');
  const std::string_view section = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  std::string keys;
  std::set<std::string_view> sections;
  for (const Key& key : config_keys()) {
    sections.insert(key.section());
    if (dot == std::string_view::npos || key.section() != section) continue;
    keys += (keys.empty() ? "" : ", ") + std::string(key.name);
  }
  if (!keys.empty()) return "expected one of " + keys;
  for (const std::string_view one : sections) {
    if (!one.empty()) keys += (keys.empty() ? "" : ", ") + std::string(one);
  }
  return "expected a key of the sections " + keys;
}

[[noreturn]] void fail_unknown(const std::string& where, const std::string& what, const std::string& name) {
  fail("configuration", where + ": unknown " + what + ", " + known_keys(name));
}

}  // namespace

struct ConfigValues::Content {
  struct Entry {
    const toml::node* node = nullptr;
    std::string where;
    mutable bool used = false;
  };

  std::string file;
  bool lines = true;
  std::list<toml::table> tables;  // which own the nodes
  std::map<std::string, Entry, std::less<>> entries;
  std::map<std::string, std::string, std::less<>> sections;  // and where each is
  std::map<std::string, toml::table, std::less<>> fallbacks;
  double clock_ghz = 1.25;
  double gbytes_per_flit = 20;

  void flatten(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string name = prefix + std::string(key.str());
      const std::string where = lines ? file + ":" + std::to_string(node.source().begin.line) : file;
      if (const toml::table* inner = node.as_table(); inner != nullptr && prefix.empty()) {
        if (describe_section(name).empty()) fail_unknown(where, "section [" + name + "]", name);
        sections.emplace(name, where);
        flatten(*inner, name + ".");
        continue;
      }
      add(name, node, where);
    }
  }

  void add(const std::string& name, const toml::node& node, const std::string& where) {
    if (!describe_section(name).empty())
      fail("configuration", where + ": " + name + " is no table, expected a section [" + name + "]");
    const Key* key = find_config_key(name);
    if (key == nullptr) fail_unknown(where, "key " + name, name);
    sections.emplace(key->section(), where);
    entries.insert_or_assign(name, Entry{&node, where});
  }

  void set(const std::string& setting) {
    const std::size_t equals = setting.find('=');
    const std::size_t begin = setting.find_first_not_of(' ');
    const std::string place = "--set " + setting;
    if (equals == std::string::npos || begin == equals)
      fail("configuration", place + ": expected key=value, as in router.stages=3");
    const std::string value = setting.substr(equals + 1);
    const std::string name = setting.substr(begin, setting.find_last_not_of(' ', equals - 1) + 1 - begin);
    if (!describe_section(name).empty())
      fail("configuration", place + ": " + name + " is a section, expected one of its keys, as in " + example_of(name));
    try {
      tables.push_back(toml::parse("value = " + value, place));
    } catch (const toml::parse_error&) {
      toml::table text;
      text.insert("value", value);
      tables.push_back(std::move(text));
    }
    add(name, *tables.back().get("value"), "--set");
  }

  static std::string example_of(const std::string& section) {
    for (const Key& key : config_keys()) {
      if (key.section() == section)
        return std::string(key.name) + "=" + (key.fallback.empty() ? "..." : std::string(key.fallback));
    }
    return {};
  }

  // The node of a key: given, else its default; null where it has neither.
  const toml::node* node(const Key& key) {
    if (const auto at = entries.find(key.name); at != entries.end()) {
      at->second.used = true;
      return at->second.node;
    }
    if (key.fallback.empty()) return nullptr;
    auto at = fallbacks.find(key.name);
    if (at == fallbacks.end()) {
      at = fallbacks.emplace(key.name, toml::parse("value = " + std::string(key.fallback))).first;
    }
    return at->second.get("value");
  }
};

namespace {

const Key& key_of(std::string_view name) {
  const Key* key = find_config_key(name);
  if (key == nullptr) throw Error(Code::configuration, "configuration", "no key " + std::string(name) + " is known");
  return *key;
}

std::optional<std::int64_t> whole_of(const toml::node& node, const Key& key) {
  const auto* value = node.as_integer();
  if (value == nullptr) return std::nullopt;
  const auto number = static_cast<double>(value->get());
  if (!(number >= key.least && number <= key.most)) return std::nullopt;
  return value->get();
}

std::optional<double> number_of(const toml::node& node, const Key& key) {
  double number = 0;
  if (const auto* integer = node.as_integer()) {
    number = static_cast<double>(integer->get());
  } else if (const auto* real = node.as_floating_point()) {
    number = real->get();
  } else {
    return std::nullopt;
  }
  // False for NaN as well.
  if (!(number >= key.least && number <= key.most)) return std::nullopt;
  return number;
}

// A number, or a text with a unit.
std::optional<double> quantity_of(const toml::node& node, const Key& key, double clock_ghz, double gbytes_per_flit) {
  const auto* text = node.as_string();
  if (text == nullptr || key.type == KeyType::real) return number_of(node, key);
  double value = 0;
  if (!parse_quantity(text->get(), key.type, clock_ghz, gbytes_per_flit, value)) return std::nullopt;
  if (!(value >= key.least && value <= key.most)) return std::nullopt;
  return value;
}

bool is_choice(std::string_view word, std::string_view choices) {
  std::size_t begin = 0;
  while (begin <= choices.size()) {
    const std::size_t end = std::min(choices.find('|', begin), choices.size());
    if (choices.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

std::optional<std::string> word_of(const toml::node& node, const Key& key) {
  const auto* text = node.as_string();
  if (text == nullptr || (!key.choices.empty() && !is_choice(text->get(), key.choices))) return std::nullopt;
  return text->get();
}

// A list's elements by `read`; nothing where the node is no list, or an element not what it should be.
template <class Value, class Read>
std::optional<std::vector<Value>> list_of(const toml::node& node, Read&& read) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<Value> values;
  for (const toml::node& element : *array) {
    const auto value = read(element);
    if (!value) return std::nullopt;
    values.push_back(static_cast<Value>(*value));
  }
  return values;
}

}  // namespace

ConfigValues::ConfigValues(const std::string& content, const std::string& file,
                           const std::vector<std::string>& settings, bool lines)
    : content_(std::make_unique<Content>()) {
  content_->file = file;
  content_->lines = lines;
  content_->tables.push_back(parse_toml(content, file));
  content_->flatten(content_->tables.front(), "");
  for (const std::string& setting : settings) content_->set(setting);
}

ConfigValues::~ConfigValues() = default;

void ConfigValues::set_scale(double clock_ghz, double gbytes_per_flit) {
  content_->clock_ghz = clock_ghz;
  content_->gbytes_per_flit = gbytes_per_flit;
}

bool ConfigValues::given(std::string_view key) const { return content_->entries.find(key) != content_->entries.end(); }

bool ConfigValues::has_section(std::string_view section) const {
  return content_->sections.find(section) != content_->sections.end();
}

std::string ConfigValues::where_section(std::string_view section) const {
  const auto at = content_->sections.find(section);
  return at == content_->sections.end() ? content_->file : at->second;
}

std::string ConfigValues::where(std::string_view key) const {
  const auto at = content_->entries.find(key);
  return (at == content_->entries.end() ? content_->file : at->second.where) + ": " + std::string(key);
}

void ConfigValues::refuse(std::string_view key, const std::string& expected) const {
  const auto at = content_->entries.find(key);
  const std::string_view fallback = key_of(key).fallback;
  std::string value = " is missing";
  if (at != content_->entries.end()) {
    value = " = " + text_of(*at->second.node);
  } else if (!fallback.empty()) {
    value = " is " + std::string(fallback) + " by default";
  }
  fail("configuration", where(key) + value + ": expected " + expected);
}

void ConfigValues::refuse_unused(const std::function<std::string(std::string_view)>& why) const {
  for (const auto& [name, entry] : content_->entries) {
    if (!entry.used)
      fail("configuration",
           where(name) + " = " + text_of(*entry.node) + ": means nothing " + why(name) + ", expected no such key");
  }
}

std::string ConfigValues::word(std::string_view name) {
  const Key& key = key_of(name);
  const toml::node* node = content_->node(key);
  const auto value = node == nullptr ? std::nullopt : word_of(*node, key);
  if (!value) refuse(name, expected_value(key));
  return *value;
}

bool ConfigValues::flag(std::string_view name) {
  const Key& key = key_of(name);
  const toml::node* node = content_->node(key);
  if (node == nullptr || !node->is_boolean()) refuse(name, expected_value(key));
  return node->as_boolean()->get();
}

double ConfigValues::number(std::string_view name) {
  const Key& key = key_of(name);
  const toml::node* node = content_->node(key);
  if (node == nullptr) refuse(name, expected_value(key));
  if (key.type == KeyType::count) return static_cast<double>(wide(name));
  const auto value = quantity_of(*node, key, content_->clock_ghz, content_->gbytes_per_flit);
  if (!value) refuse(name, expected_value(key));
  return *value;
}

std::int64_t ConfigValues::wide(std::string_view name) {
  const Key& key = key_of(name);
  const toml::node* node = content_->node(key);
  if (node == nullptr) refuse(name, expected_value(key));
  if (key.type == KeyType::cycles && node->is_string()) {
    // 3.2 ns at 1.25 GHz are four cycles, whatever the last bit of the product says.
    return static_cast<std::int64_t>(std::ceil(number(name) - 1e-9));
  }
  if (key.type == KeyType::bytes) {
    const double bytes = number(name);
    if (bytes != std::floor(bytes)) refuse(name, "whole bytes");
    return static_cast<std::int64_t>(bytes);
  }
  const auto value = whole_of(*node, key);
  if (!value) refuse(name, expected_value(key));
  return *value;
}

std::vector<int> ConfigValues::counts(std::string_view name) {
  const Key& key = key_of(name);
  const toml::node* node = content_->node(key);
  const auto read = [&key](const toml::node& element) { return whole_of(element, key); };
  const auto values = node == nullptr ? std::nullopt : list_of<int>(*node, read);
  if (!values) refuse(name, expected_value(key));
  return *values;
}

std::vector<std::vector<int>> ConfigValues::lists(std::string_view name) {
  const Key& key = key_of(name);
  const toml::node* node = content_->node(key);
  const auto read = [&key](const toml::node& element) {
    return list_of<int>(element, [&key](const toml::node& inner) { return whole_of(inner, key); });
  };
  const auto values = node == nullptr ? std::nullopt : list_of<std::vector<int>>(*node, read);
  if (!values) refuse(name, expected_value(key));
  return *values;
}

std::vector<ConfigLink> ConfigValues::links(std::string_view name) {
  const Key& key = key_of(name);
  const toml::node* node = content_->node(key);
  if (node == nullptr || !node->is_array()) refuse(name, expected_value(key));
  std::vector<ConfigLink> links;
  for (const toml::node& element : *node->as_array()) {
    const auto refuse_element = [&](const std::string& expected) {
      fail("configuration", where(name) + ": number " + std::to_string(links.size()) + " is " + text_of(element) +
                                ", expected " + expected);
    };
    std::optional<std::int64_t> from, to;
    ConfigLink link;
    if (const toml::array* pair = element.as_array()) {
      if (pair->size() != 2) refuse_element("two routers for each channel");
      from = whole_of((*pair)[0], key);
      to = whole_of((*pair)[1], key);
    } else if (const toml::table* table = element.as_table()) {
      for (const auto& [part, value] : *table) {
        const auto quantity = [&, &what = value, &its = part](const char* like) {
          const Key& same = key_of(like);
          const auto read = quantity_of(what, same, content_->clock_ghz, content_->gbytes_per_flit);
          if (!read) refuse_element(std::string(its.str()) + " to be " + expected_value(same));
          return read;
        };
        if (part == "from") {
          from = whole_of(value, key);
        } else if (part == "to") {
          to = whole_of(value, key);
        } else if (part == "latency") {
          link.latency = quantity("topology.latency");
        } else if (part == "bandwidth") {
          link.bandwidth = quantity("topology.bandwidth");
        } else {
          refuse_element("from, to, latency and bandwidth: no " + std::string(part.str()) + " is known");
        }
      }
    }
    if (!from || !to) refuse_element("[from, to] or {from, to, latency, bandwidth}, with the numbers of routers");
    link.from = static_cast<int>(*from);
    link.to = static_cast<int>(*to);
    links.push_back(link);
  }
  return links;
}

std::vector<double> ConfigValues::reals(std::string_view name) {
  const Key& key = key_of(name);
  const toml::node* node = content_->node(key);
  const auto read = [&key](const toml::node& element) { return number_of(element, key); };
  const auto values = node == nullptr ? std::nullopt : list_of<double>(*node, read);
  if (!values) refuse(name, expected_value(key));
  return *values;
}

std::vector<std::string> ConfigValues::words(std::string_view name) {
  const Key& key = key_of(name);
  const toml::node* node = content_->node(key);
  const auto read = [&key](const toml::node& element) { return word_of(element, key); };
  const auto values = node == nullptr ? std::nullopt : list_of<std::string>(*node, read);
  if (!values) refuse(name, expected_value(key));
  return *values;
}

std::string ConfigValues::terminals(std::string_view name, std::vector<int>& numbers) {
  const Key& key = key_of(name);
  const toml::node* node = content_->node(key);
  if (node != nullptr && node->is_array()) {
    numbers = counts(name);
    return {};
  }
  return word(name);
}

}  // namespace dcgn::memnet
