#include "memnet/src/booksim.hpp"

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "memnet/src/booksim_parts.hpp"
#include "memnet/src/config_keys.hpp"
#include "memnet/src/fail.hpp"

#include <algorithm>
#include <utility>

namespace dcgn::memnet {

namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Without the blanks that part no words: those at the ends and beside = , { } ( ). Others are one blank each.
std::string compact(std::string_view text) {
  constexpr std::string_view alone = "=,{}()";
  std::string made;
  bool parted = false;
  for (const char c : text) {
    if (blank(c)) {
      parted = !made.empty();
      continue;
    }
    if (parted && alone.find(c) == alone.npos && alone.find(made.back()) == alone.npos) made += ' ';
    parted = false;
    made += c;
  }
  return made;
}

// Keys of this simulator have a section; those of booksim2 have none.
bool is_own(const std::string& setting) {
  const std::string key = compact(setting.substr(0, setting.find('=')));
  return key == "title" || key.find('.') != std::string::npos;
}

// Numbers are the same however they are written: 1 and 1.0.
bool same_value(std::string_view a, std::string_view b) {
  double x = 0;
  double y = 0;
  return base::parse(a, x) && base::parse(b, y) ? x == y : a == b;
}

bool one_of(const std::string& value, const BooksimKey& key) {
  if (same_value(value, key.fallback)) return true;
  const std::vector<std::string> others = booksim_words(key.same, "|");
  return std::any_of(others.begin(), others.end(), [&](const std::string& other) { return other == value; });
}

// {5} is 5.
std::string_view unwrapped(std::string_view text) {
  while (text.size() > 1 && text.front() == '{' && text.back() == '}') text = text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

std::vector<std::string> booksim_words(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (separators.find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

BooksimValues::BooksimValues(const std::string& content, const std::string& file,
                             const std::vector<std::string>& settings) {
  int line = 1;
  int first = 1;  // line of the statement
  std::string statement;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const char c = content[i];
    if (c == '/' && i + 1 < content.size() && content[i + 1] == '/') {
      while (i + 1 < content.size() && content[i + 1] != '\n') ++i;
      continue;
    }
    if (c == '\n') ++line;
    if (statement.empty()) {
      if (blank(c)) continue;
      first = line;
    }
    if (c != ';') {
      statement += c;
      continue;
    }
    assign(file + ":" + std::to_string(first), compact(statement), ";: expected KEY = VALUE; as in booksim2's");
    statement.clear();
  }
  if (!statement.empty()) {
    fail("configuration", file + ":" + std::to_string(first) + ": " + compact(statement) + ": expected ; at the end");
  }
  for (const std::string& setting : settings) assign("--set", compact(setting), ": expected KEY=VALUE");
}

void BooksimValues::assign(const std::string& place, const std::string& statement, const char* expected) {
  const std::size_t equals = statement.find('=');
  if (equals == std::string::npos || equals == 0) fail("configuration", place + ": " + statement + expected);
  const std::string key = statement.substr(0, equals);
  const std::string value = statement.substr(equals + 1);
  if (find_booksim_key(key) == nullptr) {
    fail("configuration", place + ": " + key + ": unknown, expected a key of booksim2");
  }
  if (value.find(' ') != std::string::npos) {
    fail("configuration", place + ": " + key + " = " + value + ": expected a value without blanks, and ; behind it");
  }
  given_.insert_or_assign(key, BooksimValue{place, value});
}

std::string BooksimValues::text(std::string_view key) {
  read_.emplace(key);
  const auto at = given_.find(key);
  return at == given_.end() ? std::string(find_booksim_key(key)->fallback) : std::string(unwrapped(at->second.text));
}

int BooksimValues::whole(std::string_view key, int least, int most) {
  int value = 0;
  if (base::parse(text(key), value) && value >= least && value <= most) return value;
  refuse(key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return least;
}

double BooksimValues::real(std::string_view key, double least, double most) {
  double value = 0;
  if (base::parse(text(key), value) && value >= least && value <= most) return value;
  refuse(key, "a number from " + number_text(least) + " to " + number_text(most));
  return least;
}

void BooksimValues::refuse(std::string_view key, const std::string& expected) {
  const auto at = given_.find(key);
  const bool given = at != given_.end();
  refused_.push_back((given ? at->second.place : "booksim2's default") + ": " + std::string(key) + " = " +
                     (given ? at->second.text : text(key)) + ": expected " + expected);
}

void BooksimValues::check() const {
  if (refused_.empty()) return;
  std::string all;
  for (const std::string& one : refused_) all += (all.empty() ? "" : "; ") + one;
  fail("configuration", all);
}

namespace {

std::string booksim_router(BooksimValues& values) {
  const int speculative = values.whole("speculative", 0, 1);
  const int stages = 3 + values.whole("routing_delay", 0, 1) - speculative;
  std::string toml = "[network]\nclock = \"1 GHz\"\nchannel_bandwidth = \"16 GB/s\"  # flits of 16 B\n\n[router]\n";
  toml += "stages = " + std::to_string(stages) + "\nmessage_classes = 1\n";
  toml += "vcs_per_class = " + std::to_string(values.whole("num_vcs", 1, 64)) + "\n";
  toml += "vc_buffer = " + std::to_string(16 * values.whole("vc_buf_size", 1, 65536)) + "\n";
  toml += "credit_delay = " + std::to_string(values.whole("credit_delay", 0, 1000)) + "\n\n";
  return toml;
}

std::string booksim_run(BooksimValues& values) {
  constexpr std::int64_t most_cycles = 100000000000;  // a tenth of what run.max takes
  const std::int64_t period = values.whole("sample_period", 1, 100000000);
  const std::int64_t periods = values.whole("warmup_periods", 0, 1000);
  const std::int64_t warmup = std::max<std::int64_t>(1, period * periods);  // 0 would be: as long as it takes
  if (warmup + 3 * period > most_cycles) {
    values.refuse("sample_period", "at most " + std::to_string(most_cycles / (periods + 3)) +
                                       " with warmup_periods = " + std::to_string(periods));
  }
  const double limit = values.real("latency_thres", -1, 1e9);
  std::string toml = "[run]\nseed = " + std::to_string(values.whole("seed", 0, 2147483647)) + "\n";
  toml += "warmup = " + std::to_string(warmup) + "\nmeasure = " + std::to_string(3 * period) + "\n";
  toml += "max = " + std::to_string(std::max<std::int64_t>(1000000, 10 * (warmup + 3 * period))) + "\n";
  toml += "latency_limit = " + number_text(limit > 0 ? std::max(limit, 1e-3) : 1e9) + "\n";
  return toml;
}

}  // namespace

bool is_booksim(std::string_view file) { return file.size() > 4 && file.substr(file.size() - 4) == ".cfg"; }

BooksimConfiguration read_booksim(const std::string& content, const std::string& file,
                                  const std::vector<std::string>& settings) {
  BooksimValues values(content, file, settings);
  for (const BooksimKey& key : booksim_keys()) {
    if (key.use != BooksimUse::fixed || one_of(values.text(key.name), key)) continue;
    std::string expected;
    for (const std::string& word : booksim_words(key.same, "|")) expected += " or " + word;
    values.refuse(key.name, (key.fallback.empty() ? "nothing" : std::string(key.fallback)) + expected + ": " +
                                std::string(key.reason));
  }
  const BooksimNetwork network = booksim_network(values);
  BooksimConfiguration made;
  made.toml = network.toml + booksim_router(values);
  made.network_file = network.file;
  if (network.nodes > 0) made.toml += booksim_traffic(values, network);
  made.toml += booksim_run(values);
  values.check();
  for (const auto& [name, value] : values.given()) {
    const BooksimKey& key = *find_booksim_key(name);
    const bool taken = key.use != BooksimUse::ignored && values.has_read(name);
    std::string reason = taken ? "" : std::string(key.reason);
    if (!taken && reason.empty()) {
      reason = "means nothing with topology = " + values.text("topology") + ", traffic = " + values.text("traffic");
    }
    made.notes.push_back({value.place, name, value.text, taken, std::move(reason)});
  }
  return made;
}

BooksimConfiguration load_booksim(const std::string& file, const std::vector<std::string>& settings) {
  std::vector<std::string> own;
  std::vector<std::string> its;
  for (const std::string& setting : settings) (is_own(setting) ? own : its).push_back(setting);
  BooksimConfiguration made = read_booksim(base::read_configuration(file, file), file, its);
  made.own = std::move(own);
  return made;
}

}  // namespace dcgn::memnet
