// Changes to a text that leave the rest of it as it is.
#pragma once

#include "vgpu/src/ptx/source.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

class Edits {
 public:
  explicit Edits(const Source& source) : source_(source) {}

  // Several at one offset stand in the order in which they came.
  void insert(std::size_t offset, std::string text) { edits_.push_back({offset, 0, std::move(text)}); }
  // `part` is a view into the source; parts that are replaced do not overlap.
  void replace(std::string_view part, std::string text) {
    edits_.push_back({source_.offset_of(part), part.size(), std::move(text)});
  }

  // In front of `part`.
  void insert_before(std::string_view part, std::string text) { insert(source_.offset_of(part), std::move(text)); }

  // The text with all of it.
  std::string apply() const;

 private:
  struct Edit {
    std::size_t offset, length;
    std::string text;
  };
  const Source& source_;
  std::vector<Edit> edits_;
};

}  // namespace dcgn::virtual_gpu::ptx
