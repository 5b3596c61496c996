#include "pixels/bench/pixels.hpp"

#include "bench/sizes.hpp"
#include "pixels/bench/pixels_ranks.hpp"
#include "pixels/bench/pixels_scene.hpp"
#include "pixels/src/access.hpp"
#include "pixels/src/fence.hpp"
#include "pixels/src/staging.hpp"

#include <cstring>
#include <memory>
#include <optional>

namespace dcgn::bench {

namespace {

using pixels::Checked, pixels::Image, pixels::ImageComm, pixels::Pixels, pixels::StagingPool;

// Of so many pixels as nearly a square as can be, of powers of two.
std::pair<int, int> shape_of(std::int64_t bytes) {
  const std::int64_t all = bytes / 4;
  std::int64_t width = 1;
  while (all % (2 * width) == 0 && 4 * width * width <= all * 2 && width < 8192) width *= 2;
  return {static_cast<int>(width), static_cast<int>(all / width)};
}

Pixels all_of(unsigned texture) { return {Image::texture(texture), GL_RGBA, GL_UNSIGNED_BYTE}; }

std::vector<unsigned char> content_of(unsigned texture) {
  const Checked pixels = pixels::check(pixels_bench, all_of(texture));
  std::vector<unsigned char> content(static_cast<std::size_t>(pixels.bytes()));
  pixels::read_image(pixels_bench, pixels, content.data());
  return content;
}

// Memory of the path's messages, as the host sees it.
void copy_staged(pixels::Path path, void* to, const void* from, std::size_t bytes, int device) {
  if (path == pixels::Path::interop)
    Device(device).copy(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

// A plain copy of so many bytes: what no transfer of that path can beat.
PixelsRow limit_of(const PixelsWork& work, const char* measure, pixels::Path path, std::int64_t bytes, int device,
                   bool is_read) {
  PixelsRow row{.measure = measure, .path = to_string(path), .bytes = bytes};
  const auto n = static_cast<std::size_t>(bytes);
  const auto timed = [&](const auto& copy) {
    set_figures(row, time_pixel_rounds(work.seconds, [&] {
                  const auto begin = PixelsClock::now();
                  copy();
                  return pixels_us_since(begin);
                }));
  };
  if (device < 0) {
    row.whose = "limit: memcpy";
    std::vector<unsigned char> from(n, 1), to(n);
    timed([&] { std::memcpy(to.data(), from.data(), n); });
    row.wrong = count_different(from.data(), to.data(), n);
    return row;
  }
  const Device gpu(device);
  const DeviceBuffer<unsigned char> here(gpu, n);
  gpu.fill(here.data(), 1, n);
  if (path == pixels::Path::interop) {
    row.whose = "limit: copy within the GPU";
    const DeviceBuffer<unsigned char> there(gpu, n);
    timed([&] { gpu.copy(there.data(), here.data(), n); });
    return row;
  }
  row.whose = is_read ? "limit: copy to pinned memory" : "limit: copy from pinned memory";
  void* const host = gpu.allocate_host(n);
  timed([&] { is_read ? gpu.copy(host, here.data(), n) : gpu.copy(here.data(), host, n); });
  gpu.free_host(host);
  return row;
}

void measure_transfer(const PixelsWork& work, pixels::Path path, std::int64_t bytes, int device,
                      const PixelsSink& sink) {
  const auto [width, height] = shape_of(bytes);
  const auto n = static_cast<std::size_t>(bytes);
  const std::vector<unsigned char> content = noise(bytes, 1), other = noise(bytes, 2);
  const pixels::Owned texture(make_texture(width, height, content), pixels::gl().delete_textures);
  const Checked pixels = pixels::check(pixels_bench, all_of(texture.name()));
  StagingPool pool(path);
  constexpr std::uint64_t deadline_ns = 60'000'000'000;
  const StagingPool::Lease staging = pool.get(pixels_bench, bytes);
  const auto finish = [] { pixels::gl().finish(); };

  PixelsRow read{.whose = ours(), .measure = "read-back", .path = to_string(path), .bytes = bytes};
  set_figures(read, time_pixel_rounds(work.seconds, [&] {
                finish();
                const auto begin = PixelsClock::now();
                staging->begin_read(pixels_bench, pixels);
                wait_ready(pixels_bench, *staging, deadline_ns);
                return pixels_us_since(begin);
              }));
  std::vector<unsigned char> came(n);
  copy_staged(path, came.data(), staging->memory(), n, device);
  read.wrong = count_different(came.data(), content.data(), n);
  sink(read);
  sink(limit_of(work, "read-back", path, bytes, device, true));

  PixelsRow upload{.whose = ours(), .measure = "upload", .path = to_string(path), .bytes = bytes};
  copy_staged(path, staging->to_fill(pixels_bench, deadline_ns), other.data(), n, device);
  set_figures(upload, time_pixel_rounds(work.seconds, [&] {
                staging->to_fill(pixels_bench, deadline_ns);
                finish();
                const auto begin = PixelsClock::now();
                staging->finish_write(pixels_bench, pixels);
                finish();
                return pixels_us_since(begin);
              }));
  upload.wrong = count_different(content_of(texture.name()).data(), other.data(), n);
  sink(upload);
  sink(limit_of(work, "upload", path, bytes, device, false));
}

// Between the memories of two ranks, as messages of that path are.
PixelsRow limit_of_frame(const PixelsWork& work, pixels::Path path, std::int64_t bytes, int from, int to) {
  if (path != pixels::Path::interop) return limit_of(work, "frame", path, bytes, -1, true);
  PixelsRow row{.whose = from == to ? "limit: copy within the GPU" : "limit: copy between GPUs",
                .measure = "frame",
                .path = to_string(path),
                .bytes = bytes};
  const auto n = static_cast<std::size_t>(bytes);
  const DeviceBuffer<unsigned char> here(Device(from), n), there(Device(to), n);
  set_figures(row, time_pixel_rounds(work.seconds, [&] {
                const auto begin = PixelsClock::now();
                Device(to).copy(there.data(), here.data(), n);
                return pixels_us_since(begin);
              }));
  return row;
}

void measure_frame(const PixelsWork& work, Comm& comm, const pixels::Options& options, const PixelsSink& sink) {
  ImageComm images(comm, options);
  const std::int64_t bytes = std::int64_t{work.width} * work.height * 4;
  const std::vector<unsigned char> content = noise(bytes, 3);
  const bool first = comm.rank() == 0;
  const pixels::Owned texture(make_texture(work.width, work.height, first ? content : noise(bytes, 4)),
                              pixels::gl().delete_textures);
  const Pixels frame = all_of(texture.name());
  const auto round_trip = [&] {
    const auto begin = PixelsClock::now();
    if (first) images.send(frame, 1);
    images.recv(frame, 1 - comm.rank());
    if (!first) images.send(frame, 0);
    pixels::gl().finish();
    return pixels_us_since(begin) / 2;
  };
  const std::vector<double> us = time_pixel_rounds_together(comm, work.seconds, 2, round_trip);
  std::uint64_t wrong = count_different(content_of(texture.name()).data(), content.data(), content.size());
  comm.all_reduce(wrong, Sum{});
  if (!first) return;
  PixelsRow row{.whose = ours(), .measure = "frame", .path = to_string(options.path), .bytes = bytes, .wrong = wrong};
  if (options.tile_bytes) row.scope = "tiles of " + size_text(options.tile_bytes);
  set_figures(row, us);
  sink(row);
}

// One way, of two textures in turn, two frames at a time.
void measure_stream(const PixelsWork& work, Comm& comm, const pixels::Options& options, const PixelsSink& sink) {
  ImageComm images(comm, options);
  const std::int64_t bytes = std::int64_t{work.width} * work.height * 4;
  const bool sends = comm.rank() == 0;
  std::vector<pixels::Owned> textures;
  for (unsigned k = 0; k < 2; ++k)
    textures.emplace_back(make_texture(work.width, work.height, noise(bytes, sends ? k : k + 10)),
                          pixels::gl().delete_textures);
  constexpr int frames = 16;  // of a round
  const auto round = [&] {
    comm.barrier();
    const auto begin = PixelsClock::now();
    pixels::ImageRequest requests[2];
    for (int f = 0; f < frames; ++f) {
      pixels::ImageRequest& request = requests[f % 2];
      images.wait(request);
      const Pixels frame = all_of(textures[static_cast<std::size_t>(f % 2)].name());
      request = sends ? images.isend(frame, 1) : images.irecv(frame, 0);
    }
    for (const pixels::ImageRequest& request : requests) images.wait(request);
    pixels::gl().finish();
    comm.barrier();
    return pixels_us_since(begin) / frames;
  };
  const std::vector<double> us = time_pixel_rounds_together(comm, work.seconds, frames, round);
  std::uint64_t wrong = 0;
  for (unsigned k = 0; k < 2; ++k)
    wrong +=
        count_different(content_of(textures[k].name()).data(), noise(bytes, k).data(), static_cast<std::size_t>(bytes));
  comm.all_reduce(wrong, Sum{});
  PixelsRow row{.whose = ours(), .measure = "stream", .path = to_string(options.path), .bytes = bytes, .wrong = wrong};
  set_figures(row, us);
  if (sends) sink(row);
}

}  // namespace

std::vector<int> gpus_of_egl() {
  std::vector<int> all, gpus;
  for (int device = 0; device < pixels::Context::devices(); ++device) {
    all.push_back(device);
    if (pixels::Context::cuda_device(device) >= 0) gpus.push_back(device);
  }
  return gpus.empty() ? all : gpus;
}

std::string renderer_of(int device) {
  const pixels::Context context({.device = device});
  return context.renderer() + ", OpenGL " + context.version();
}

void measure_transfers(const PixelsWork& work, const PixelsSink& sink) {
  on_pixel_ranks(work, 1, [&](Comm& comm) {
    const int device = has_cuda() ? pixels::Context::cuda_device(work.devices[0]) : -1;
    for (const pixels::Path path : work.paths) {
      if (!can_take(comm, path)) continue;
      for (const std::int64_t bytes : work.sizes) measure_transfer(work, path, bytes, device, sink);
    }
  });
}

void measure_frames(const PixelsWork& work, const PixelsSink& sink) {
  on_pixel_ranks(work, 2, [&](Comm& comm) {
    const auto device_of = [&](std::size_t rank) {
      return has_cuda() ? pixels::Context::cuda_device(work.devices[rank % work.devices.size()]) : -1;
    };
    for (const pixels::Path path : work.paths) {
      int can = can_take(comm, path);
      comm.all_reduce(can, Min{});
      if (!can) continue;
      measure_frame(work, comm, {.path = path}, sink);
      measure_stream(work, comm, {.path = path}, sink);
      if (work.tile_bytes > 0) measure_frame(work, comm, {.path = path, .tile_bytes = work.tile_bytes}, sink);
      if (comm.rank() == 0)
        sink(limit_of_frame(work, path, std::int64_t{work.width} * work.height * 4, device_of(0), device_of(1)));
      comm.barrier();
    }
  });
}

}  // namespace dcgn::bench
