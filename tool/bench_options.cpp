#include "tool/bench_options.hpp"

#include "bench/sizes.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace dcgn::tool {

using bench::Path, bench::Scope, bench::ScopeKind;

namespace {

std::optional<int> parse_number(std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

std::optional<Scope> parse_scope(const std::string& name) {
  if (name == "thread") return Scope{.kind = ScopeKind::thread};
  if (name == "warp") return Scope{.kind = ScopeKind::warp};
  if (name == "block") return Scope{.kind = ScopeKind::block};
  if (name == "grid") return Scope{.kind = ScopeKind::blocks, .blocks = 0};
  constexpr std::string_view several = "blocks:";
  if (name.rfind(several, 0) != 0) return std::nullopt;
  const std::optional<int> blocks = parse_number(std::string_view(name).substr(several.size()), 1, 1 << 16);
  if (!blocks) return std::nullopt;
  return Scope{.kind = ScopeKind::blocks, .blocks = static_cast<unsigned>(*blocks)};
}

}  // namespace

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

CLI::Validator scopes_of_slots(std::vector<std::string> others) {
  return CLI::Validator(
      [others = std::move(others)](std::string& text) {
        if (std::ranges::find(others, text) != others.end()) return std::string();
        for (const std::string& name : split(text, ','))
          if (!parse_scope(name))
            return fmt::format("'{}': expected thread, warp, block, blocks:N or grid{}{}", name,
                               others.empty() ? "" : ", or ", fmt::join(others, ", "));
        return std::string();
      },
      "");
}

std::vector<Scope> parse_scopes(const std::string& text, unsigned threads) {
  std::vector<Scope> scopes;
  for (const std::string& name : split(text, ',')) {
    scopes.push_back(*parse_scope(name));
    Scope& scope = scopes.back();
    const bool by_blocks = scope.kind == ScopeKind::block || scope.kind == ScopeKind::blocks;
    if (const unsigned most = bench::most_threads(scope.kind); by_blocks && threads > most)
      refuse(fmt::format("--threads {}: expected at most {} for --scope {}", threads, most, name));
    scope.threads = threads;
  }
  return scopes;
}

std::vector<int> parse_numbers(const char* option, const std::string& text, int least, int most) {
  std::vector<int> numbers;
  for (const std::string& word : split(text, ',')) {
    const std::optional<int> value = parse_number(word, least, most);
    if (!value) refuse(fmt::format("{} {}: expected whole numbers from {} to {}", option, word, least, most));
    numbers.push_back(*value);
  }
  return numbers;
}

std::vector<std::string> parse_peers(const std::string& text, const std::vector<std::string>& others) {
  std::vector<std::string> names;
  for (const std::string& name : split(text, ','))
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  const bool none = std::ranges::find(names, "none") != names.end();
  if (none && names.size() > 1)
    refuse(fmt::format("--peers {}: expected none alone, or {}", text, fmt::join(others, ", ")));
  if (none) names.clear();
  return names;
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
