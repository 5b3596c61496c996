// A buffer's pages, and whose each is.
#pragma once

#include <dcgn/virtual_gpu/placement.hpp>

#include <cstddef>
#include <vector>

namespace dcgn::virtual_gpu {

// Consecutive pages of one part.
struct Extent {
  std::size_t offset = 0, bytes = 0;
  int part = 0;
};

class PageMap {
 public:
  // Of a buffer of `bytes` > 0 bytes. Throws Error(configuration) where `placement` names a part that is not there, or
  // lists other than a part for each page. A replicated buffer's pages are those of its first copy: part 0's.
  PageMap(const Placement& placement, std::size_t bytes, std::size_t page_bytes, int parts);

  std::size_t page_bytes() const { return page_bytes_; }
  std::size_t pages() const { return owners_.size(); }
  std::size_t bytes() const { return owners_.size() * page_bytes_; }
  int owner(std::size_t page) const { return owners_[page]; }
  // In order, as long as they can be.
  const std::vector<Extent>& extents() const { return extents_; }
  // The one that has this byte.
  const Extent& extent_of(std::size_t offset) const;
  // Bytes on each of the parts.
  std::vector<std::size_t> bytes_of_parts(int parts) const;

 private:
  std::size_t page_bytes_;
  std::vector<int> owners_;
  std::vector<Extent> extents_;
};

// Bytes whose part differs.
std::size_t bytes_moved(const PageMap& from, const PageMap& to);

// Each page to the part that touched it most often, of several the one that has fewest pages yet; one that none touched
// goes with the nearest that was, and all as chunks have them where none was. `touches` has a number for each part of
// each page, parts together.
std::vector<int> owners_by_touches(const std::vector<unsigned long long>& touches, int parts);

}  // namespace dcgn::virtual_gpu
