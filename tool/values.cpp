#include "tool/values.hpp"

#include "base/text.hpp"

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

namespace dcgn::tool {

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return CLI::Validator(
      [=](std::string& text) {
        std::int64_t value = 0;
        if (base::parse(text, value) && value >= least && value <= most) return std::string();
        return fmt::format("'{}': expected a whole number from {} to {}", text, least, most);
      },
      "");
}

CLI::Validator finite_number() {
  return CLI::Validator(
      [](std::string& text) {
        double value = 0;
        if (base::parse(text, value) && std::isfinite(value)) return std::string();
        return fmt::format("'{}': expected a finite number", text);
      },
      "");
}

CLI::Validator positive_number() {
  return CLI::Validator(
      [](std::string& text) {
        double value = 0;
        if (base::parse(text, value) && std::isfinite(value) && value > 0) return std::string();
        return fmt::format("'{}': expected a finite number above 0", text);
      },
      "");
}

CLI::Validator word_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string& text) {
        return std::find(words.begin(), words.end(), text) != words.end()
                   ? std::string()
                   : fmt::format("'{}': expected {}", text, fmt::join(words, ", "));
      },
      "");
}

CLI::Validator words_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string& text) {
        for (const std::string& word : split(text, ','))
          if (std::find(words.begin(), words.end(), word) == words.end())
            return fmt::format("'{}': expected {}", word, fmt::join(words, ", "));
        return std::string();
      },
      "");
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

Extent parse_extent(const char* who, const std::string& text) {
  const std::vector<std::string> parts = split(text, 'x');
  std::string wrong = "not WIDTHxHEIGHT";
  if (parts.size() == 2) {
    std::string width = parts[0], height = parts[1];
    const CLI::Validator extent = whole_number(1, 1 << 15);
    wrong = extent(width);
    if (wrong.empty()) wrong = extent(height);
    if (wrong.empty()) return {std::stoi(width), std::stoi(height)};
  }
  throw Error(Code::configuration, who, "--size " + text + ": " + wrong + ", as in 1200x800");
}

void ShapeOptions::add_to(CLI::App& app) {
  app.add_option("--cpus", cpus, "CPU ranks of each node")
      ->type_name("N")
      ->check(whole_number(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--gpus", gpus, "GPUs of each node [2, or what there is]")
      ->type_name("N")
      ->check(whole_number(0, 1 << 20));
  app.add_option("--slots", slots, "Slots, which are ranks, of each GPU [3; 16 on CUDA]")
      ->type_name("N")
      ->check(whole_number(1, 1 << 20));
  app.add_option("--nodes", nodes, "Nodes, where this process is the only one; under mpirun each process is one")
      ->type_name("N")
      ->check(whole_number(1, 1 << 20))
      ->capture_default_str();
}

NodeShape ShapeOptions::shape() const {
  const int devices = Device::count();
  const bool real = devices > 0 && Device(0).kind() == DeviceKind::cuda;
  return {.cpus = cpus,
          .gpus = gpus >= 0 ? gpus : std::min(2, devices / nodes),
          .slots = slots > 0 ? slots
                   : real    ? 16
                             : 3,
          .count = nodes};
}

NodeShape ShapeOptions::shape_of_each(int processes) const {
  if (processes == 1) return shape();
  const auto refuse = [](const std::string& what) { throw Error(Code::configuration, "demo", what); };
  if (nodes > 1)
    refuse(
        fmt::format("--nodes {} in a job of {} processes: each process is a node there; expected 1", nodes, processes));
  const int devices = Device::count();
  if (gpus > devices)
    refuse(fmt::format("--gpus {}: this machine has {} GPUs; DCGN_EMULATED_GPUS={} gives it emulated ones", gpus,
                       devices, gpus));
  NodeShape each = shape();
  if (gpus < 0) each.gpus = std::clamp(devices / processes, std::min(1, devices), 2);
  each.count = processes;
  return each;
}

void expect_ending(const char* who, const std::string& option, const std::string& file, const std::string& ending) {
  const std::string own = std::filesystem::path(file).extension().string();
  if (!own.empty() && own != ending)
    throw Error(Code::configuration, who, option + " " + file + ": expected a name that ends in " + ending);
}

namespace {

// The file that a name stands for, be it there or not; links are followed as far as they lead.
std::filesystem::path meant_by(const std::string& name) {
  std::error_code none;
  std::filesystem::path path = std::filesystem::absolute(name, none);
  // A link to a file that is not there yet: weakly_canonical() would take the link for the file.
  for (int links = 0; links < 40 && !std::filesystem::exists(path, none); ++links) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, none);
    if (none) break;
    path = path.parent_path() / target;
  }
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, none);
  return none ? path.lexically_normal() : whole;
}

}  // namespace

void expect_different(const char* who, const std::vector<std::pair<std::string, std::string>>& files) {
  std::map<std::filesystem::path, const std::pair<std::string, std::string>*> known;
  for (const auto& file : files) {
    if (file.second.empty()) continue;
    std::error_code none;
    if (std::filesystem::exists(file.second, none) && !std::filesystem::is_regular_file(file.second, none)) continue;
    const std::filesystem::path path = meant_by(file.second);
    const auto [other, is_new] = known.emplace(path, &file);
    if (!is_new)
      throw Error(Code::configuration, who,
                  fmt::format("{} {}: expected another file than {} {}", file.first, file.second, other->second->first,
                              other->second->second));
  }
}

void JsonOption::add_to(CLI::App& app, const std::string& what) {
  option = app.add_option("--json", file, what + " as one JSON document, on stdout or in FILE")
               ->expected(0, 1)
               ->type_name("[FILE]");
}

void JsonOption::open() {
  if (given() && !on_stdout()) {
    output.emplace(file);
    expect_different("output", {{"--trace", trace_file()}, {"--json", file}});
  }
  if (!on_stdout() || kept_stdout >= 0) return;
  std::fflush(stdout);
  kept_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);  // where there is none, write() says so
  if (kept_stdout >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
}

void JsonOption::write(const std::string& document) {
  if (kept_stdout >= 0) {
    std::fflush(stdout);
    if (dup2(kept_stdout, STDOUT_FILENO) < 0)
      throw Error(Code::io, "--json", std::string("stdout cannot be had back: ") + std::strerror(errno));
    close(std::exchange(kept_stdout, -1));
  }
  if (output)
    output->write(document + "\n");
  else if (given())
    fmt::print("{}\n", document);
}

void add_trace_option(CLI::App& app) {
  app.add_option_function<std::string>(
         "--trace", [](const std::string& file) { ::setenv("DCGN_TRACE", file.c_str(), 1); },
         "What each rank calls, and when: a page to look at (FILE.html), or data for dcgn trace and ui.perfetto.dev "
         "(FILE.json);\n"
         "as DCGN_TRACE does")
      ->type_name("FILE");
}

std::string trace_file() {
  const char* const file = std::getenv("DCGN_TRACE");  // as --trace sets it
  return file ? file : "";
}

}  // namespace dcgn::tool
