#include "bench/machine.hpp"

#include "dcgn_commit.hpp"

#include <dcgn/device.hpp>

#include <fmt/format.h>
#include <sched.h>

#include <ctime>
#include <fstream>

namespace dcgn::bench {

namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

int usable_cores() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

std::string machine() {
  const int devices = Device::count();
  const std::string gpus = devices ? fmt::format("{} x {}", devices, Device(0).properties().name) : "no GPU";
  return fmt::format("{}, {} cores, {}, {}", processor(), usable_cores(), gpus, bench_compiler);
}

std::string commit() { return bench_commit; }

std::string command() {
  std::ifstream file("/proc/self/cmdline");
  std::string words, word;
  while (std::getline(file, word, '\0')) words += (words.empty() ? "" : " ") + word;
  return words;
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace dcgn::bench
