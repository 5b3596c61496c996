#include "vgpu/src/ptx/source.hpp"

#include <algorithm>
#include <utility>

namespace dcgn::virtual_gpu::ptx {

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)), lines_{0} {
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') lines_.push_back(i + 1);
}

Place Source::place(std::size_t offset) const {
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), offset);
  const auto line = static_cast<std::size_t>(after - lines_.begin());
  return {line, offset - lines_[line - 1] + 1};
}

std::string Source::where(std::size_t offset) const {
  const Place at = place(offset);
  return name_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

void Source::fail(std::size_t offset, const std::string& found, const std::string& expected, Code code) const {
  throw Error(code, "ptx", where(offset) + ": found " + found + ", expected " + expected);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  const bool cut = text.size() > longest;
  std::string shown(text.substr(0, longest));
  // A message is one line, whatever the file holds.
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  return "'" + shown + (cut ? "...'" : "'");
}

}  // namespace dcgn::virtual_gpu::ptx
