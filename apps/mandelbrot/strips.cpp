#include "apps/mandelbrot/strips.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <string>

namespace dcgn::mandelbrot {

StripBook::StripBook(int pixels, int each, int ranks)
    : pixels_(pixels),
      each_(each),
      in_progress_(static_cast<std::size_t>(ranks)),
      owners_(static_cast<std::size_t>((pixels - 1) / each + 1), -1) {}

Strip StripBook::strip(int index) const {
  const int first = index * each_;
  return {first, std::min(each_, pixels_ - first)};
}

Strip StripBook::hand_out(int rank) {
  Strip strip;
  if (handed_out_ < strips()) {
    const int away = (handed_out_ + 1) / 2;
    strip = this->strip(strips() / 2 + (handed_out_ % 2 == strips() % 2 ? away : -away));
    ++handed_out_;
  }
  return in_progress_[static_cast<std::size_t>(rank)] = strip;
}

void StripBook::take_back(int rank, Strip strip) {
  Strip& held = in_progress_[static_cast<std::size_t>(rank)];
  if (held.pixels == 0 || !(held == strip))
    throw Error(Code::configuration, "mandelbrot",
                "rank " + std::to_string(rank) + " returned " + std::to_string(strip.pixels) + " pixels from " +
                    std::to_string(strip.first) + ", expected " + std::to_string(held.pixels) + " from " +
                    std::to_string(held.first));
  held = {};
  owners_[static_cast<std::size_t>(strip.first / each_)] = rank;
  pixels_returned_ += strip.pixels;
}

}  // namespace dcgn::mandelbrot
