// dcgn bench pixels
#include "tool/commands.hpp"

#include <dcgn/error.hpp>

#include <memory>

#if defined(DCGN_HAS_PIXELS)

#include "bench/sizes.hpp"
#include "pixels/bench/pixels.hpp"
#include "tool/bench_document.hpp"
#include "tool/bench_gates.hpp"
#include "tool/bench_options.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dcgn::tool {

namespace {

using bench::PixelsRow, bench::PixelsWork;

struct PixelsArguments {
  std::string measures = "transfer,frame,output,compression", paths = "copy,pinned,interop", sizes, ranks = "1,2,4",
              devices, frame = "3840x2160", tile = "4M";
  double seconds = 0.2;
  JsonOption json;
};

std::int64_t parse_pixel_bytes(const char* option, const std::string& text) {
  const auto bytes = bench::parse_size(text);
  if (!bytes || *bytes < 4 || *bytes % 4 || *bytes > 1 << 28)
    refuse(fmt::format("{} '{}': expected whole pixels of 4 bytes, 4 to 256M, as 4K or 1M", option, text));
  return *bytes;
}

PixelsWork work_of(const PixelsArguments& a) {
  PixelsWork work;
  for (const std::string& size : split(a.sizes.empty() ? "4K,16K,64K,256K,1M,4M,16M,32M" : a.sizes, ','))
    work.sizes.push_back(parse_pixel_bytes("--sizes", size));
  for (const std::string& name : split(a.paths, ','))
    for (const pixels::Path path : {pixels::Path::copy, pixels::Path::pinned, pixels::Path::interop})
      if (name == to_string(path)) work.paths.push_back(path);
  work.ranks = parse_numbers("--ranks", a.ranks, 1, 64);
  const std::vector<int> there = bench::gpus_of_egl();
  if (there.empty()) refuse("pixels: EGL has no device here, expected one: scripts/install-packages pixels");
  work.devices = a.devices.empty() ? there : parse_numbers("--devices", a.devices, 0, 1023);
  const Extent frame = parse_extent("bench pixels", a.frame);
  work.width = frame.width;
  work.height = frame.height;
  work.tile_bytes = a.tile == "0" ? 0 : parse_pixel_bytes("--tile", a.tile);
  work.seconds = a.seconds;
  return work;
}

bool asks(const PixelsArguments& a, const char* measure) {
  const std::vector<std::string> measures = split(a.measures, ',');
  return std::ranges::find(measures, measure) != measures.end();
}

void print_head(const std::string& measure) {
  if (measure == "output")
    fmt::print("\n#{:>5} {:>8} {:>12} {:>14} {:>12} {:>10} {:>6}\n", "ranks", "path", "output", "computation",
               "network", "efficiency", "wrong");
  else if (measure == "compression")
    fmt::print("\n#{:<9} {:<9} {:>10} {:>7} {:>12} {:>14} {:>20} {:>6}\n", "pixels", "by", "bytes", "ratio", "compress",
               "decompress", "pays on links below", "wrong");
  else
    fmt::print("\n#{:<9} {:<8} {:<14} {:>7} {:>7} {:>10} {:>10} {:>8}  {:<30} {:>5}\n", "measure", "path", "", "bytes",
               "rounds", "p50 us", "p99 us", "GB/s", "by", "wrong");
}

void print_row(const PixelsRow& row) {
  if (row.measure == "output")
    fmt::print(" {:>5} {:>8} {:>7.2f} Gpix/s {:>11.2f} ms {:>9.2f} ms {:>9.0f}% {:>6}\n", row.ranks, row.path,
               gpixels_per_s(row), row.compute_us * 1e-3, row.network_us * 1e-3, row.efficiency * 100, row.wrong);
  else if (row.measure == "compression")
    fmt::print(" {:<9} {:<9} {:>10} {:>7.3f} {:>7.2f} ns/B {:>9.2f} ns/B {:>15.3f} GB/s {:>6}\n", row.scope, row.path,
               bench::size_text(row.bytes), row.ratio, row.compress_ns, row.decompress_ns, break_even_gb_per_s(row),
               row.wrong);
  else
    fmt::print(" {:<9} {:<8} {:<14} {:>7} {:>7} {:>10.2f} {:>10.2f} {:>8.2f}  {:<30} {:>5}\n", row.measure, row.path,
               row.scope, bench::size_text(row.bytes), row.rounds, row.p50_us, row.p99_us, gb_per_s(row), row.whose,
               row.wrong);
  std::fflush(stdout);
}

// Of each series of sizes: what the slides of 2009 say of theirs.
nlohmann::ordered_json fits_of(const std::vector<PixelsRow>& rows) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::pair<double, double>>> series;
  for (const PixelsRow& row : rows)
    series[{row.measure, row.path, row.whose}].emplace_back(static_cast<double>(row.bytes), row.p50_us);
  auto fits = nlohmann::ordered_json::array();
  for (const auto& [key, points] : series) {
    const bench::LatencyFit fit = bench::fit_latency(points);
    const auto& [measure, path, whose] = key;
    if (fit.gb_per_s > 0)
      fits.push_back({{"measure", measure},
                      {"path", path},
                      {"whose", whose},
                      {"latency_us", fit.latency_us},
                      {"GBps", fit.gb_per_s}});
  }
  return fits;
}

int run(PixelsArguments& a) {
  const PixelsWork work = work_of(a);
  BenchDocument document("pixels", a.json);
  document["renderer"] = bench::renderer_of(work.devices[0]);
  if (!document.quiet()) fmt::print("# renderer {}\n", document["renderer"].get<std::string>());
  std::vector<PixelsRow> rows;
  std::string last;
  const auto sink = [&](const PixelsRow& row) {
    rows.push_back(row);
    document.add(bench::to_json(row), row.wrong);
    if (document.quiet()) return;
    const std::string table = row.measure == "upload" ? "read-back" : row.measure == "stream" ? "frame" : row.measure;
    if (table != last) print_head(row.measure);
    last = table;
    print_row(row);
  };
  bool failed = false;
  if (asks(a, "transfer")) {
    attempt("transfer", failed, [&] { bench::measure_transfers(work, sink); });
    document["fits"] = fits_of(rows);
    if (!document.quiet())
      for (const auto& fit : document["fits"])
        fmt::print("# {:<9} {:<8} time = {:.1f} us + bytes / {:.2f} GB/s  {}\n", fit["measure"].get<std::string>(),
                   fit["path"].get<std::string>(), fit["latency_us"].get<double>(), fit["GBps"].get<double>(),
                   fit["whose"].get<std::string>());
  }
  if (asks(a, "frame")) attempt("frame", failed, [&] { bench::measure_frames(work, sink); });
  if (asks(a, "output")) attempt("output", failed, [&] { bench::measure_outputs(work, sink); });
  if (asks(a, "compression")) attempt("compression", failed, [&] { bench::measure_compression(work, sink); });
  const int result = document.finish();
  return failed ? exit_job_failed : result;
}

constexpr const char* pixels_description =
    "OpenGL's memory as messages\n\n"
    "Each rank is a thread with a context of EGL, on the GPUs in turn, or on Mesa's llvmpipe where there are none:\n"
    "  transfer     read-back and upload by size and path, fitted to latency + bytes / bandwidth\n"
    "  frame        a frame from a texture to another rank's, half a round trip, whole and in tiles; a stream of "
    "frames\n"
    "  output       a picture that ranks draw a strip of each, in one texture in the end\n"
    "  compression  what compressing pixels costs and gains\n"
    "Beside each stands a plain copy of as many bytes. `wrong` counts bytes that differ from what they should be; "
    "JPEG's\n"
    "colors are not compared.";

}  // namespace

void add_bench_pixels(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<PixelsArguments>();
  CLI::App* app = parent.add_subcommand("pixels", pixels_description);
  app->add_option("--measure", a->measures, "What to measure")
      ->check(words_of({"transfer", "frame", "output", "compression"}))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option("--sizes", a->sizes, "Bytes of transfers, of 4 a pixel [4K,16K,...,32M]")->type_name("SIZE,...");
  app->add_option("--paths", a->paths, "How pixels come out of GL and back; what cannot be is left out")
      ->check(words_of({"copy", "pinned", "interop"}))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option("--frame", a->frame, "Pixels of a frame")->type_name("WIDTHxHEIGHT")->capture_default_str();
  app->add_option("--tile", a->tile, "Bytes of a tile of a frame; 0: none")->type_name("SIZE")->capture_default_str();
  app->add_option("--ranks", a->ranks, "Numbers of ranks that draw")->type_name("N,...")->capture_default_str();
  app->add_option("--devices", a->devices, "EGL's devices, dealt out to the ranks [the GPUs, else all]")
      ->type_name("N,...");
  app->add_option("--time", a->seconds, "Seconds that a row should take, five rounds at least")
      ->type_name("S")
      ->check(positive_number())
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench pixels\n"
                          "  dcgn bench pixels --measure transfer --sizes 64K,1M,32M --json pixels.json\n"
                          "  dcgn bench pixels --measure frame --paths interop --devices 0,1\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool

#else

namespace dcgn::tool {

void add_bench_pixels(CLI::App& parent, Action& chosen) {
  CLI::App* app = parent.add_subcommand("pixels", "OpenGL's memory as messages (not in this build)");
  app->allow_extras();
  app->callback([&chosen] {
    chosen = []() -> int {
      throw Error(Code::unsupported, "bench pixels",
                  "this build has no pixels, expected one with headers of GL and EGL: scripts/install-packages pixels");
    };
  });
}

}  // namespace dcgn::tool

#endif
