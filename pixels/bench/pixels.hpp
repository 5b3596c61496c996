// OpenGL's memory as messages, measured: the tables of the slides of 2009 (Lawlor, "cudaMPI and glMPI") anew.
#pragma once

#include "pixels/bench/pixels_row.hpp"

#include <dcgn/pixels.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dcgn::bench {

struct PixelsWork {
  std::vector<std::int64_t> sizes;    // bytes of RGBA8, whole pixels
  std::vector<pixels::Path> paths;    // those that are not there are left out
  std::vector<int> ranks;             // numbers of ranks of an output
  std::vector<int> devices;           // EGL's, dealt out to the ranks
  int width = 3840, height = 2160;    // of a frame
  std::int64_t tile_bytes = 4 << 20;  // of frames in tiles; 0: none
  double seconds = 0.2;               // that a row should take, five rounds at least
};

using PixelsSink = std::function<void(const PixelsRow&)>;

// EGL's devices that are GPUs; all, where none is.
std::vector<int> gpus_of_egl();
// What GL says it is, on such a device.
std::string renderer_of(int device);

// Out of a texture into memory, and back, for each size and path. The limit is a plain copy of as many bytes: to pinned
// memory where a CUDA device is used, within the device for interop, of the host's memory otherwise.
void measure_transfers(const PixelsWork& work, const PixelsSink& sink);
// A frame from a texture into another rank's by each path: half of a round trip, whole and in tiles; and in a stream
// of frames, two at a time. The limit is a plain copy between the
// memories of these ranks.
void measure_frames(const PixelsWork& work, const PixelsSink& sink);
// A picture of which each rank draws a strip, in the first one's texture in the end.
void measure_outputs(const PixelsWork& work, const PixelsSink& sink);
// What compressing a drawn picture costs, and noise.
void measure_compression(const PixelsWork& work, const PixelsSink& sink);

}  // namespace dcgn::bench
