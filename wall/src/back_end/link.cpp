#include "link.hpp"

#include "balance.hpp"
#include "calls.hpp"
#include "clock.hpp"
#include "loop.hpp"
#include "screen.hpp"
#include "state.hpp"
#include "wall/src/stream.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace dcgn::wall {

bool connected = false;
Setup setup;
std::map<int, Window> windows;
Window* current = nullptr;
bool inside_glut = false;
std::int64_t frame = 0;

namespace {

int input = -1, output = -1;
std::mutex warning;  // of any thread's
std::set<std::string> said;
std::vector<std::string> unsaid;
std::int64_t waited = 0;

std::chrono::milliseconds deadline() { return std::chrono::milliseconds(connected ? setup.deadline_ms : 60'000); }

void say(Kind kind, const std::string& content) {
  if (!send_message(output, kind, content, Clock::now() + deadline())) die("the front end is gone");
}

// `pump`: freeglut sees to its windows meanwhile, which may last as long as nothing happens.
Message hear(bool pump) {
  struct Stopwatch {
    std::int64_t began = host_time_ns();
    ~Stopwatch() { waited += host_time_ns() - began; }
  } const stopwatch;
  auto until = Clock::now() + deadline();
  for (;;) {
    while (pump && !readable(input, Clock::now() + std::chrono::milliseconds(4))) {
      pump_windows();
      if (Clock::now() > until) die("the front end says nothing any more");
    }
    auto message = receive_message(input, until);
    if (!message) die("the front end is gone");
    if (message->kind != Kind::pulse) return std::move(*message);
    until = Clock::now() + deadline();
  }
}

void say_warnings() {
  const std::lock_guard lock(warning);
  for (const std::string& what : unsaid) say(Kind::warning, what);
  unsaid.clear();
}

int descriptor_of(const char* variable) {
  const char* const text = std::getenv(variable);
  const int fd = text ? std::atoi(text) : -1;
  unsetenv(variable);
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

}  // namespace

void warn(const char* what) {
  const std::lock_guard lock(warning);
  if (connected && said.insert(what).second) unsaid.emplace_back(what);
}

void die(const char* what) {
  std::fprintf(stderr, "dcgn: wall: process %d: %s\n", getpid(), what);
  _exit(3);
}

void connect() {
  if (connected) return;
  output = descriptor_of("DCGN_WALL_OUTPUT");
  input = descriptor_of("DCGN_WALL_INPUT");
  unsetenv("LD_PRELOAD");  // programs that this one starts are no back ends
  if (input < 0 || output < 0) die("no front end: expected to be started by dcgn wall run");
  say(Kind::hello, bytes_of(Hello{protocol_version, getpid()}));
  const Message message = hear(false);
  setup = message.as<Setup>();
  if (setup.balanced) {
    const std::size_t screens = sizeof(Setup), cut = screens + static_cast<std::size_t>(setup.balanced) * sizeof(Rect);
    begin_balance(values_at<Rect>(message.content, screens, setup.balanced),
                  values_at<Rect>(message.content, cut, setup.balanced));
  }
  connected = true;
  begin_time(setup);
}

Go begin_frame(std::vector<Event>& events) {
  pump_windows();
  say_warnings();
  for (;;) {
    say(Kind::tick, bytes_of(how_it_is()));
    Message message = hear(true);
    if (message.kind == Kind::show_calls) {
      say(Kind::calls, recorded_calls());
      message = hear(false);
    } else if (message.kind == Kind::show_picture) {
      say(Kind::picture, picture_of_screen());
      message = hear(false);
      if (message.kind == Kind::pixels) continue;
    }
    if (message.kind != Kind::go) die("the front end said something else than that a frame begins");
    const auto go = message.as<Go>();
    events = values_at<Event>(message.content, sizeof go, go.events);
    if (events.size() != static_cast<std::size_t>(go.events)) die("a list of events that is too short");
    if (go.regions) plan_cut(values_at<Rect>(message.content, sizeof go + events.size() * sizeof(Event), go.regions));
    return go;
  }
}

void meet_for_swap(std::int64_t number) {
  say(Kind::swap, bytes_of(Swap{number}));
  if (hear(false).kind != Kind::go) die("the front end said something else than that all are ready to swap");
}

std::string share_pixels(const Read& read, const std::string& rows) { return share(Kind::read, bytes_of(read) + rows); }

std::string share(Kind kind, const std::string& content) {
  say(kind, content);
  Message message = hear(false);
  if (message.kind != Kind::pixels) die("the front end did not send the pixels of all");
  return std::move(message.content);
}

std::int64_t waited_ns() { return waited; }

void tell_event(const Event& event) { say(Kind::event, bytes_of(event)); }

}  // namespace dcgn::wall
