#include "tool/settings.hpp"

#include <dcgn/config.hpp>

#include <fmt/format.h>

#include <cstdlib>

namespace dcgn::tool {

std::vector<Setting> settings_in_force() {
  const Config c;  // has looked at all of them, and refused what is wrong
  const auto automatic = [](std::uint64_t value) { return value ? fmt::to_string(value) : "automatic"; };
  std::vector<Setting> settings;
  const auto add = [&](const std::string& name, std::string value) {
    settings.push_back({name, std::move(value), detail::setting_origin(name)});
  };
  const char* path = std::getenv("DCGN_CONFIG");
  const char* gpus = std::getenv("DCGN_EMULATED_GPUS");
  const char* multiprocessors = std::getenv("DCGN_EMULATED_SMS");
  const char* mpi_path = std::getenv("DCGN_MPI_PATH");
  add("DCGN_CONFIG", path ? path : "none");
  add("DCGN_EMULATED_GPUS", gpus ? gpus : "2 where there is no other GPU");
  add("DCGN_EMULATED_SMS", multiprocessors ? multiprocessors : "16");
  add("DCGN_DEADLINE", fmt::format("{} s", c.deadline_s));
  add("DCGN_GRACE", fmt::format("{} s", c.grace_s));
  add("DCGN_EAGER_BYTES",
      c.eager_bytes
          ? fmt::to_string(*c.eager_bytes)
          : "512 in host memory, 2048 to processes that share some, 1024 to others; else 4096 and 128 a thread");
  add("DCGN_LANE_BYTES", automatic(c.lane_bytes));
  add("DCGN_UNEXPECTED_BYTES", automatic(c.unexpected_bytes));
  add("DCGN_BUFFERED_BYTES", automatic(c.buffered_bytes));
  add("DCGN_COLLECTIVE_BYTES", fmt::to_string(c.collective_bytes));
  add("DCGN_COMMUNICATOR_BYTES", automatic(c.communicator_bytes));
  add("DCGN_REQUESTS", automatic(c.requests));
  add("DCGN_SEED", c.seed ? fmt::to_string(*c.seed) : "none: threads");
  add("DCGN_ERRORS", c.errors_fatal ? "fatal" : "returned");
  add("DCGN_DIRECT", c.direct ? "on" : "off");
  add("DCGN_P2P", c.p2p ? "on" : "off");
  add("DCGN_SHARE", c.share ? "on" : "off");
  add("DCGN_CUDA_AWARE", c.cuda_aware ? "on" : "off");
  const auto engine = c.copy_engine_bytes;
  add("DCGN_COPY_ENGINE", !engine ? "on" : engine == Config::never_copied ? "off" : fmt::to_string(*engine));
  add("DCGN_FRAGMENT_BYTES", automatic(c.fragment_bytes));
  add("DCGN_PLACE_THREADS", c.place_threads ? fmt::to_string(c.place_threads) : "none");
  add("DCGN_TRACE", c.trace.empty() ? "none" : c.trace);
  add("DCGN_TRACE_EVENTS", fmt::to_string(c.trace_events));
  const char* without = std::getenv("DCGN_WITHOUT");
  add("DCGN_WITHOUT", !c.without ? "nothing" : without ? without : "as in the file");
  add("DCGN_PROGRESS", c.ranks_progress ? "ranks" : "thread");
  add("DCGN_MPI", c.mpi.empty() ? "the launcher's" : c.mpi);
  add("DCGN_MPI_PATH", mpi_path ? mpi_path : "beside the library or the program");
  add("DCGN_SECRET", std::getenv("DCGN_SECRET") ? "set" : "none");
  const char* layout = std::getenv("DCGN_WALL_LAYOUT");
  const char* command = std::getenv("DCGN_WALL_COMMAND");
  add("DCGN_WALL_LAYOUT", layout ? layout : "none");
  add("DCGN_WALL_COMMAND", command ? command : "dcgn, in PATH");
  return settings;
}

}  // namespace dcgn::tool
