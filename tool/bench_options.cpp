#include "tool/bench_options.hpp"

#include "bench/sizes.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace dcgn::tool {

using bench::Path;

void refuse(const std::string& text) { throw Error(Code::configuration, "bench", text); }

void add_pairs(CLI::App& app, std::string& text) {
  app.add_option(
         "--pairs", text,
         "Kinds of the two ranks: cpu-cpu; cpu-slot; slot-slot, of two GPUs; slot-slot-staged, the same through\n"
         "pinned host memory; slot-slot-local, of one GPU; device-device, CPU ranks with messages in the memory\n"
         "of two GPUs; device-device-local, of one. Where there is one GPU, those of two are of one")
      ->check(words_of(names_of(bench::all_paths)))
      ->type_name("WORDS")
      ->capture_default_str();
}

std::vector<Path> parse_pairs(const std::string& text) {
  std::vector<Path> paths;
  for (const std::string& name : split(text, ',')) {
    const Path path =
        bench::path_here(*std::ranges::find(bench::all_paths, name, [](Path p) { return bench::name_of(p); }));
    const int devices = Device::count(), needed = bench::gpus_of(path);
    if (devices < needed)
      refuse(
          fmt::format("--pairs {}: this machine has {} GPUs, expected {}; DCGN_EMULATED_GPUS={} gives it emulated ones",
                      name, devices, needed, needed));
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  }
  return paths;
}

std::int64_t parse_message_bytes(const char* option, const std::string& text) {
  const std::optional<std::int64_t> bytes = bench::parse_size(text);
  if (!bytes || *bytes < 1 || *bytes > 1 << 30)
    refuse(fmt::format("{} {}: expected a size from 1 to 1G, as in 8, 4K, 1M", option, text));
  return *bytes;
}

std::int64_t largest_message(const std::string& text) {
  const bool emulated = Device::count() && Device(0).kind() == DeviceKind::emulated;
  return parse_message_bytes("-e", !text.empty() ? text : emulated ? "64K" : "1G");
}

bench::Measurement measurement_of(const std::string& measure) {
  using bench::Measure, bench::Workload;
  if (measure == "rate") return bench::measure_rate;
  if (measure == "any-source") return bench::measure_any_source;
  if (measure == bench::name_of(Measure::bandwidth))
    return [](const Workload& work) { return bench::measure_windows(work, Measure::bandwidth); };
  if (measure == bench::name_of(Measure::bidirectional))
    return [](const Workload& work) { return bench::measure_windows(work, Measure::bidirectional); };
  return bench::measure_latency;
}

}  // namespace dcgn::tool
