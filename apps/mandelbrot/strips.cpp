#include "apps/mandelbrot/strips.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <string>

namespace dcgn::mandelbrot {

StripBook::StripBook(int height, int rows, int ranks)
    : height_(height),
      rows_(rows),
      in_progress_(static_cast<std::size_t>(ranks)),
      owners_(static_cast<std::size_t>((height - 1) / rows + 1), -1) {}

Strip StripBook::hand_out(int rank) {
  const Strip strip{next_row_, std::min(rows_, height_ - next_row_)};
  next_row_ += strip.rows;
  return in_progress_[static_cast<std::size_t>(rank)] = strip;
}

void StripBook::take_back(int rank, Strip strip) {
  Strip& held = in_progress_[static_cast<std::size_t>(rank)];
  if (held.rows == 0 || !(held == strip))
    throw Error(Code::configuration, "mandelbrot",
                "rank " + std::to_string(rank) + " returned rows " + std::to_string(strip.first) + " to " +
                    std::to_string(strip.first + strip.rows - 1) + ", expected " + std::to_string(held.rows) +
                    " rows from " + std::to_string(held.first));
  held = {};
  owners_[static_cast<std::size_t>(strip.first / rows_)] = rank;
  rows_returned_ += strip.rows;
}

}  // namespace dcgn::mandelbrot
