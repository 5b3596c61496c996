// A cache's lines, of which the least recently used one of a set makes way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::memnet {

class Cache {
 public:
  Cache(int bytes, int ways, int line_bytes)
      : ways_(static_cast<std::size_t>(ways)),
        sets_(std::max<std::size_t>(1, static_cast<std::size_t>(bytes / line_bytes) / ways_)),
        mask_((sets_ & (sets_ - 1)) == 0 ? sets_ - 1 : 0),
        places_(sets_ * ways_) {}

  // Whether the line is there; it is the latest then.
  bool touch(std::uint64_t line) {
    Place* const found = find(line);
    if (found) found->used = ++clock_;
    return found != nullptr;
  }
  void insert(std::uint64_t line) {
    if (touch(line)) return;
    Place* const set = set_of(line);
    *std::min_element(set, set + ways_, [](const Place& a, const Place& b) { return a.used < b.used; }) = {line,
                                                                                                           ++clock_};
  }
  void remove(std::uint64_t line) {
    if (Place* const found = find(line)) *found = {};
  }
  void clear() { std::fill(places_.begin(), places_.end(), Place{}); }

 private:
  struct Place {
    std::uint64_t line = ~std::uint64_t{0};
    std::uint64_t used = 0;
  };

  // Most have a power of two of sets: a division would take longer than all the rest.
  Place* set_of(std::uint64_t line) { return places_.data() + (mask_ != 0 ? line & mask_ : line % sets_) * ways_; }
  Place* find(std::uint64_t line) {
    Place* const set = set_of(line);
    Place* const end = set + ways_;
    Place* const found = std::find_if(set, end, [line](const Place& place) { return place.line == line; });
    return found == end ? nullptr : found;
  }

  std::size_t ways_, sets_, mask_;
  std::vector<Place> places_;
  std::uint64_t clock_ = 0;
};

}  // namespace dcgn::memnet
