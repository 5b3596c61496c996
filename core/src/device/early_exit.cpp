#include "early_exit.hpp"

#include "emulated/carrier.hpp"

#include <cstdio>
#include <cstdlib>

namespace dcgn::device {

namespace {

constinit thread_local const std::string* running = nullptr;

void at_exit(int status, void*) {
  const std::string who = who_runs();
  if (who.empty()) return;
  std::fprintf(stderr, "dcgn: exit(%d) was called by %s while its job was running; expected its kernel to return\n",
               status, who.c_str());
  std::fflush(nullptr);
  std::_Exit(status ? status : EXIT_FAILURE);
}

}  // namespace

void refuse_early_exit() {
  static const int registered = on_exit(at_exit, nullptr);
  static_cast<void>(registered);
}

std::string who_runs() {
  const Carrier* carrier = Carrier::current();
  std::string who = carrier ? carrier->running().who() : std::string();
  return who.empty() && running ? *running : who;
}

EarlyExit::EarlyExit(const std::string& who) {
  refuse_early_exit();
  running = &who;
}

EarlyExit::~EarlyExit() { running = nullptr; }

}  // namespace dcgn::device
