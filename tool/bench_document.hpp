// What a measurement leaves behind: a `#` head over its tables, and a document with every row.
#pragma once

#include "bench/row.hpp"
#include "tool/values.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace dcgn::tool {

class BenchDocument {
 public:
  // Opens the file, if there is to be one, and prints the head, if there are to be tables: not if `quiet`.
  BenchDocument(const std::string& what, JsonOption& json, bool quiet = false);

  // Whether stdout has a document, this or another, and then nothing else.
  bool quiet() const { return quiet_; }
  // A row, to which more may be added until the next one.
  nlohmann::ordered_json& add(const bench::Row& row);
  // The same for a row that is JSON already, of which so much was wrong.
  nlohmann::ordered_json& add(nlohmann::ordered_json row, std::uint64_t wrong);
  // What stands beside the rows.
  nlohmann::ordered_json& operator[](const char* key) { return document_[key]; }
  // Writes it and returns the exit code: whether anything was wrong.
  int finish();

 private:
  JsonOption& json_;
  bool quiet_;
  nlohmann::ordered_json document_, rows_ = nlohmann::ordered_json::array();
  std::uint64_t wrong_ = 0;
};

}  // namespace dcgn::tool
