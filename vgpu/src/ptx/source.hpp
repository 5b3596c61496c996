// The text of a PTX file, and errors that say where in it.
#pragma once

#include <dcgn/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

// From one, as editors count; columns are bytes.
struct Place {
  std::size_t line = 1, column = 1;
};

// Parts of the file are views into it, so it neither moves nor changes.
class Source {
 public:
  Source(std::string name, std::string text);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }

  Place place(std::size_t offset) const;
  // "FILE:LINE:COLUMN".
  std::string where(std::size_t offset) const;
  // Where in text() `part`, a view into it, begins.
  std::size_t offset_of(std::string_view part) const { return static_cast<std::size_t>(part.data() - text_.data()); }

  // Throws Error: "FILE:LINE:COLUMN: found FOUND, expected EXPECTED".
  [[noreturn]] void fail(std::size_t offset, const std::string& found, const std::string& expected,
                         Code code = Code::configuration) const;

 private:
  std::string name_, text_;
  std::vector<std::size_t> lines_;  // where each begins
};

// For messages: 'text', cut where it is long.
std::string quoted(std::string_view text);

}  // namespace dcgn::virtual_gpu::ptx
