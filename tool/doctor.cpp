// dcgn doctor
#include "tool/commands.hpp"
#include "tool/doctor_checks.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"

#include <dcgn/version.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

namespace dcgn::tool {

namespace {

using State = Finding::State;

void print(const Finding& finding) {
  fmt::print("{:<8} {:<18} {}\n", to_string(finding.state), finding.what, finding.found);
  if (!finding.advice.empty()) fmt::print("{:<27} -> {}\n", "", finding.advice);
  std::fflush(stdout);
}

int run(JsonOption& json) {
  json.open();
  nlohmann::ordered_json document = {{"version", version}, {"checks", nlohmann::ordered_json::array()}};
  int notes = 0, problems = 0;
  for (const auto& check : doctor_checks())
    for (const Finding& finding : check()) {
      notes += finding.state == State::note;
      problems += finding.state == State::problem;
      document["checks"].push_back({{"what", finding.what},
                                    {"state", to_string(finding.state)},
                                    {"found", finding.found},
                                    {"advice", finding.advice}});
      if (!json.on_stdout()) print(finding);
    }
  document["notes"] = notes;
  document["problems"] = problems;
  if (json.given()) json.write(document.dump(2));
  if (!json.on_stdout())
    fmt::print("\n{}\n", problems ? fmt::format("{} problem{}, to be mended first", problems, problems == 1 ? "" : "s")
                         : notes  ? "Works; the notes say what else could be had."
                                  : "Works.");
  return problems ? exit_job_failed : exit_ok;
}

}  // namespace

void add_doctor(CLI::App& parent, Action& chosen) {
  const auto json = std::make_shared<JsonOption>();
  CLI::App* app = parent.add_subcommand(
      "doctor",
      "Looks whether Decagon works on this machine, and says what to do where it does not\n\n"
      "Settings, processors, driver, GPUs and the ways between them, MPI, shared memory, limits, headers, what plots\n"
      "and walls need; and a few messages between ranks of each kind. A note is something that could be had; a\n"
      "problem is something that does not work.");
  json->add_to(*app, "All findings");
  app->footer(
      "Examples:\n"
      "  dcgn doctor\n"
      "  dcgn doctor --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"problems\"])'\n\n"
      "Exit codes:\n"
      "  0  it works, whatever the notes say\n"
      "  1  there are problems\n"
      "  2  an option or a value that makes no sense\n"
      "  3  a file could not be written\n");
  app->callback([json, &chosen] { chosen = [json] { return run(*json); }; });
}

}  // namespace dcgn::tool
