// What the files that read configurations of booksim2 have in common.
#pragma once

#include "memnet/src/booksim.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

enum class BooksimUse : std::uint8_t {
  taken,
  fixed,    // taken if it is one of the values that mean what this simulator does
  ignored,  // changes no result
};

struct BooksimKey {
  std::string_view name;
  BooksimUse use;
  std::string_view fallback;
  std::string_view reason;  // why it is ignored, or what a fixed one has no counterpart for
  std::string_view same{};  // fixed: other values, separated by |, that are as good as the default
};
const std::vector<BooksimKey>& booksim_keys();
const BooksimKey* find_booksim_key(std::string_view name);

struct BooksimValue {
  std::string place;
  std::string text;
};

// Values by key. What does not fit is collected, and thrown together.
class BooksimValues {
 public:
  BooksimValues(const std::string& content, const std::string& file, const std::vector<std::string>& settings);

  const std::map<std::string, BooksimValue, std::less<>>& given() const { return given_; }
  std::string text(std::string_view key);
  // Whether anything has asked for the key.
  bool has_read(std::string_view key) const { return read_.find(key) != read_.end(); }
  // Notes a refusal where the value is none, and returns `least`. A value in braces is the one in them.
  int whole(std::string_view key, int least, int most);
  double real(std::string_view key, double least, double most);

  void refuse(std::string_view key, const std::string& expected);
  // Throws what was refused.
  void check() const;

 private:
  // `statement`: "KEY=VALUE"; `expected` follows it in the error where it is none.
  void assign(const std::string& place, const std::string& statement, const char* expected);

  std::map<std::string, BooksimValue, std::less<>> given_;
  std::set<std::string, std::less<>> read_;
  std::vector<std::string> refused_;
};

// [topology] and what of [routing] and [router] goes with it.
struct BooksimNetwork {
  std::string toml;  // [topology] and [routing]
  std::string file;  // of anynet
  int nodes = 0;
  bool plain_grid = false;     // a mesh or torus with a node a router
  std::vector<int> terminals;  // by booksim2's node: ours; empty where they are the same
};
BooksimNetwork booksim_network(BooksimValues& values);

// [traffic].
std::string booksim_traffic(BooksimValues& values, const BooksimNetwork& network);

// The words of a text between separators, without blanks.
std::vector<std::string> booksim_words(std::string_view text, std::string_view separators);

}  // namespace dcgn::memnet
