// The master's book: which strip is with whom (Stuart and Owens 2009, section 4: a strip is allocated, marked as in
// progress, and returned).
#pragma once

#include "apps/mandelbrot/pixel.hpp"

#include <vector>

namespace dcgn::mandelbrot {

class StripBook {
 public:
  // `pixels` in strips of `each` (the last one may be shorter), for ranks 0 .. ranks - 1.
  StripBook(int pixels, int each, int ranks);

  // The next strip, in progress at `rank` from now on; an empty one where all have been handed out. From the middle of
  // the picture outwards: what takes longest, as a rule, comes first.
  Strip hand_out(int rank);
  // `rank` has returned its strip. Throws Error(configuration) unless that is the one in progress there.
  void take_back(int rank, Strip strip);

  int strips() const { return static_cast<int>(owners_.size()); }
  // Strip number `index` from the top.
  Strip strip(int index) const;
  // Who returned each strip, from the top; -1: nobody yet.
  const std::vector<int>& owners() const { return owners_; }
  int pixels_returned() const { return pixels_returned_; }

 private:
  int pixels_, each_;
  int handed_out_ = 0;
  int pixels_returned_ = 0;
  std::vector<Strip> in_progress_;  // at each rank; empty: nothing
  std::vector<int> owners_;
};

}  // namespace dcgn::mandelbrot
