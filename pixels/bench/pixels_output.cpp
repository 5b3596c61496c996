// How fast ranks draw a picture together, and what compressing it costs.
#include "pixels/bench/pixels.hpp"
#include "pixels/bench/pixels_ranks.hpp"
#include "pixels/bench/pixels_scene.hpp"
#include "pixels/src/access.hpp"
#include "pixels/src/frame.hpp"

namespace dcgn::bench {

namespace {

using pixels::Checked, pixels::Compression, pixels::Image, pixels::ImageComm, pixels::Pixels, pixels::Rectangle;

Pixels part_of(unsigned texture, const Rectangle& rectangle) {
  return {Image::texture(texture), GL_RGBA, GL_UNSIGNED_BYTE, rectangle};
}

std::vector<unsigned char> content_of(const Checked& pixels) {
  std::vector<unsigned char> content(static_cast<std::size_t>(pixels.bytes()));
  pixels::read_image(pixels_bench, pixels, content.data());
  return content;
}

// Of the picture's rows, from the lowest on.
struct Strip {
  int first, rows;
};
Strip strip_of(int height, int rank, int ranks) {
  const int first = height * rank / ranks;
  return {first, height * (rank + 1) / ranks - first};
}

// The row of so many ranks, at rank 0.
PixelsRow measure_output(const PixelsWork& work, Comm& comm) {
  const int width = work.width, height = work.height, ranks = comm.size();
  ImageComm images(comm);
  const Strip mine = strip_of(height, comm.rank(), ranks);
  const PixelsScene scene(width, height, mine.first, mine.rows);
  const bool is_root = comm.rank() == 0;
  const pixels::Owned picture(is_root ? make_texture(width, height, {}) : 0, pixels::gl().delete_textures);
  std::vector<Pixels> places;
  if (is_root)
    for (int r = 0; r < ranks; ++r) {
      const Strip strip = strip_of(height, r, ranks);
      places.push_back(part_of(picture.name(), {0, strip.first, width, strip.rows}));
    }
  const Pixels strip = part_of(scene.texture(), {0, 0, width, mine.rows});

  std::vector<double> computing, network;
  const std::vector<double> frames = time_pixel_rounds_together(comm, work.seconds, 1, [&] {
    comm.barrier();
    const auto begin = PixelsClock::now();
    scene.draw();
    pixels::gl().finish();
    double computed = pixels_us_since(begin);
    if (ranks > 1) images.gather(strip, places, 0);
    if (is_root) pixels::gl().finish();
    const double took = pixels_us_since(begin);
    comm.all_reduce(computed, Max{});  // whom all others wait for
    computing.push_back(computed);
    network.push_back(std::max(0.0, took - computed));
    return took;
  });

  PixelsRow row{.whose = ours(),
                .measure = "output",
                .path = to_string(images.path()),
                .bytes = std::int64_t{width} * height * 4,
                .ranks = ranks};
  if (!is_root) return row;
  set_figures(row, frames);
  row.compute_us = percentile(computing, 50);
  row.network_us = percentile(network, 50);
  // What one rank draws by itself.
  const PixelsScene whole(width, height, 0, height);
  whole.draw();
  const auto expected = content_of(pixels::check(pixels_bench, part_of(whole.texture(), {0, 0, width, height})));
  const unsigned found_in = ranks > 1 ? picture.name() : scene.texture();
  const auto found = content_of(pixels::check(pixels_bench, part_of(found_in, {0, 0, width, height})));
  row.wrong = count_different(found.data(), expected.data(), expected.size());
  return row;
}

}  // namespace

void measure_outputs(const PixelsWork& work, const PixelsSink& sink) {
  double alone = 0;  // of one rank, a frame
  for (const int ranks : work.ranks)
    on_pixel_ranks(work, ranks, [&](Comm& comm) {
      PixelsRow row = measure_output(work, comm);
      if (comm.rank() != 0) return;
      if (ranks == 1) alone = row.p50_us;
      row.efficiency = alone > 0 ? alone / row.p50_us / ranks : 0;
      sink(row);
    });
}

void measure_compression(const PixelsWork& work, const PixelsSink& sink) {
  on_pixel_ranks(work, 1, [&](Comm&) {
    const PixelsScene scene(work.width, work.height, 0, work.height);
    scene.draw();
    const Checked pixels = pixels::check(pixels_bench, part_of(scene.texture(), {0, 0, work.width, work.height}));
    struct Content {
      const char* name;
      std::vector<unsigned char> bytes;
    };
    const Content contents[] = {{"scene", content_of(pixels)}, {"noise", noise(pixels.bytes(), 5)}};
    struct Kind {
      Compression compression;
      int quality;
      const char* name;
    };
    const Kind kinds[] = {
        {Compression::lossless, 0, "lossless"}, {Compression::jpeg, 95, "jpeg 95"}, {Compression::jpeg, 75, "jpeg 75"}};
    for (const Content& content : contents)
      for (const Kind& kind : kinds) {
        if (!is_available(kind.compression)) continue;
        const auto* const memory = reinterpret_cast<const std::byte*>(content.bytes.data());
        PixelsRow row{.whose = ours(),
                      .measure = "compression",
                      .path = kind.name,
                      .scope = content.name,
                      .bytes = pixels.bytes()};
        std::vector<double> us, compress, decompress;
        const auto bytes = static_cast<double>(pixels.bytes());
        set_figures(row, time_pixel_rounds(work.seconds, [&] {
                      const auto cost =
                          pixels::measure_cost(pixels_bench, pixels, memory, kind.compression, kind.quality);
                      compress.push_back(cost.compress_s * 1e9);
                      decompress.push_back(cost.decompress_s * 1e9);
                      row.ratio = cost.ratio;
                      return (cost.compress_s + cost.decompress_s) * bytes * 1e6;
                    }));
        row.compress_ns = percentile(compress, 50);
        row.decompress_ns = percentile(decompress, 50);
        const pixels::Framed framed = pixels::frame(pixels_bench, pixels, memory, kind.compression, kind.quality);
        std::vector<std::byte> back(content.bytes.size());
        pixels::unframe(pixels_bench, pixels, framed.bytes.data(), static_cast<std::int64_t>(framed.bytes.size()),
                        back.data());
        // JPEG's colors are near, its alpha is exact.
        for (std::size_t i = 0; i < back.size(); ++i)
          if (framed.compression != Compression::jpeg || i % 4 == 3)
            row.wrong += static_cast<unsigned char>(back[i]) != content.bytes[i];
        sink(row);
      }
  });
}

}  // namespace dcgn::bench
