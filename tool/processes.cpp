#include "tool/processes.hpp"

#include "apps/meeting/meeting.hpp"
#include "tool/exit_code.hpp"
#include "transport/mpi_library.hpp"

#include <dcgn/config.hpp>
#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace dcgn::tool {

namespace {

// What each process tells process 0 at the beginning.
struct Start {
  NodeShape node;
  Code code = Code::ok;
  char why[512] = {};
};

std::string shape_text(const NodeShape& n) {
  return fmt::format("{} CPU ranks and {} GPUs of {} slots", n.cpus, n.gpus, n.slots);
}

// `mine` is process 0's own.
std::optional<Error> first_mistake(const std::optional<Error>& mine, const std::vector<Start>& all) {
  if (mine) return mine;
  for (std::size_t p = 1; p < all.size(); ++p) {
    const std::string who = fmt::format("process {}", p);
    if (all[p].code != Code::ok) return Error(all[p].code, who, all[p].why);
    const std::string theirs = shape_text(all[p].node), ours = shape_text(all[0].node);
    if (theirs != ours)
      return Error(Code::configuration, who, fmt::format("{}: expected {}, as process 0 has", theirs, ours));
  }
  return std::nullopt;
}

}  // namespace

Process this_process() {
  const std::string mpi = Config{}.mpi;
  const auto launch = mpi == "off" ? std::nullopt : transport::find_launch(mpi);
  return launch ? Process{launch->rank, launch->size} : Process{};
}

bool tells_usage() {
  try {
    return this_process().first();
  } catch (const Error&) {
    return true;  // what is wrong with the settings is not what was asked for
  }
}

int after_the_first(int code) {
  if (code != exit_ok) std::this_thread::sleep_for(std::chrono::seconds(2));
  return code;
}

int expect_one(const char* what, const char* instead) {
  const Process here = this_process();
  if (here.count == 1) return exit_ok;
  if (!here.first()) return after_the_first(exit_usage);
  throw Error(Code::configuration, what, fmt::format("{} processes: expected 1, {}", here.count, instead));
}

int begin_together(const std::function<NodeShape()>& prepare) {
  const Process here = this_process();
  Start start;
  std::optional<Error> mistake;
  try {
    start.node = prepare();
  } catch (const Error& e) {
    mistake = e;
    start.code = e.code();
    std::string(e.what()).copy(start.why, sizeof start.why - 1);
  }
  std::vector<Code> found;
  {
    apps::Meeting meeting(here.count);
    const std::vector<Start> all = meeting.gather(std::vector{start});
    if (here.first()) mistake = first_mistake(mistake, all);
    found.push_back(mistake ? mistake->code() : Code::ok);
    meeting.broadcast(found);
  }  // has ended for all before one throws
  if (here.first() && mistake) throw *mistake;
  return after_the_first(found[0] == Code::ok ? exit_ok : exit_code_of(found[0]));
}

}  // namespace dcgn::tool
