#include "vgpu/src/ptx/edits.hpp"

#include <algorithm>

namespace dcgn::virtual_gpu::ptx {

std::string Edits::apply() const {
  std::vector<Edit> sorted = edits_;
  // What is inserted before a part comes before what replaces it.
  std::stable_sort(sorted.begin(), sorted.end(), [](const Edit& a, const Edit& b) {
    return a.offset != b.offset ? a.offset < b.offset : (a.length == 0) > (b.length == 0);
  });
  std::string text;
  std::size_t at = 0;
  for (const Edit& edit : sorted) {
    text += source_.text().substr(at, edit.offset - at);
    text += edit.text;
    at = edit.offset + edit.length;
  }
  return text += source_.text().substr(at);
}

}  // namespace dcgn::virtual_gpu::ptx
