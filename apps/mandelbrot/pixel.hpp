// The Mandelbrot set, pixel by pixel: what every rank computes, the same to the last bit on a CPU and on a GPU.
#pragma once

#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn::mandelbrot {

// The part of the plane that is drawn.
struct Region {
  double xmin, xmax, ymin, ymax;
};

// The picture to compute; kernels take it by value.
struct Task {
  Region region;
  int width, height;         // in pixels
  std::uint32_t iterations;  // at most, for a pixel
};

struct Pixel {
  std::uint32_t iterations = 0;  // until z left the circle of radius 256; Task::iterations where it never did
  float norm = 0;                // |z|^2 then, for a smooth colour

  bool operator==(const Pixel&) const = default;
};

// Some pixels of the picture, counted row by row from the top left; none: nothing (left) to do.
struct Strip {
  int first = 0;
  int pixels = 0;

  bool operator==(const Strip&) const = default;
};

// Rounded one by one: compilers that fuse a product into a sum would make the last bits differ between devices.
// (On the host the build says so: -ffp-contract=off.)
DCGN_HOST_DEVICE inline double product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
DCGN_HOST_DEVICE inline double sum(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

// z -> z^2 + c, from 0.
DCGN_HOST_DEVICE inline Pixel iterate(double cx, double cy, std::uint32_t limit) {
  constexpr double escape = 256.0 * 256.0;
  double x = 0, y = 0, xx = 0, yy = 0;
  std::uint32_t n = 0;
  for (; n < limit && sum(xx, yy) <= escape; ++n) {
    y = sum(product(sum(x, x), y), cy);
    x = sum(sum(xx, -yy), cx);
    xx = product(x, x);
    yy = product(y, y);
  }
  return {n, n == limit ? 0.0f : static_cast<float>(sum(xx, yy))};
}

// The pixel in this row and column, from the top left; its centre counts.
DCGN_HOST_DEVICE inline Pixel pixel_at(const Task& task, int row, int column) {
  const Region& r = task.region;
  const double dx = sum(r.xmax, -r.xmin) / task.width;
  const double dy = sum(r.ymax, -r.ymin) / task.height;
  return iterate(sum(r.xmin, product(column + 0.5, dx)), sum(r.ymax, -product(row + 0.5, dy)), task.iterations);
}

// The pixels of a strip into `out`: the share of one of `threads` threads.
DCGN_HOST_DEVICE inline void compute(const Task& task, Strip strip, Pixel* out, unsigned thread, unsigned threads) {
  const auto pixels = static_cast<unsigned>(strip.pixels);
  for (unsigned i = thread; i < pixels; i += threads) {
    const int at = strip.first + static_cast<int>(i);
    out[i] = pixel_at(task, at / task.width, at % task.width);
  }
}

}  // namespace dcgn::mandelbrot
