// Tables of text: every column as wide as its widest cell.
#pragma once

#include <string>
#include <vector>

namespace dcgn::tool {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // The titles, then a line a row; two spaces between columns, none at the end of a line.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Bytes in the unit that suits them: 512 B, 4 KiB, 1.5 MiB.
std::string bytes_text(double bytes);

}  // namespace dcgn::tool
