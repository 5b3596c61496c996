#include "clock.hpp"

#include "real.hpp"
#include "state.hpp"

#include <dlfcn.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <type_traits>

namespace dcgn::wall {

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t since_boot = 1000 * second;

std::atomic<std::int64_t> time_ns{0};
std::mt19937_64 chance(0);

// Of GL, X and the like, whose questions are their own affair: how many there are depends on the machine.
bool is_system_library(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const std::string_view name = slash ? slash + 1 : path;
  for (const std::string_view of :
       {"libGL", "libOpenGL", "libEGL", "libX", "libxcb", "libglut", "libglapi", "libgallium", "libLLVM", "libdrm",
        "libdcgn", "libnvidia", "libstdc++", "libc.so", "ld-linux", "libvulkan"})
    if (name.substr(0, of.size()) == of) return true;
  return name.size() > 7 && name.substr(name.size() - 7) == "_dri.so";
}

void fill_by_chance(void* to, std::size_t bytes) {
  auto* const at = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<unsigned char>(chance());
}

// In a run of a script time goes by frames: a program that sleeps is there at once.
bool pass(std::int64_t ns) {
  if (setup.users) return false;
  time_ns += ns;
  return true;
}

timespec in_timespec(std::int64_t ns) { return {ns / second, ns % second}; }

}  // namespace

bool asked_by_program(const void* caller) {
  if (!connected) return false;
  struct Known {
    std::uintptr_t page;
    bool program;
  };
  static thread_local Known known[16];
  const auto page = reinterpret_cast<std::uintptr_t>(caller) >> 12;
  Known& k = known[page % 16];
  if (k.page != page) {
    Dl_info where{};
    k = {page, !dladdr(caller, &where) || !where.dli_fname || !is_system_library(where.dli_fname)};
  }
  return k.program;
}

bool on_main_thread() {
  static thread_local const bool is_main = gettid() == getpid();
  return is_main;
}

void begin_time(const Setup& s) {
  setup = s;
  chance.seed(static_cast<std::uint64_t>(s.epoch_ns));
}

void advance_time(std::int64_t to_ns) {
  if (to_ns > time_ns) time_ns = to_ns;
}

std::int64_t ask_time_ns() { return on_main_thread() ? time_ns += 1000 : time_ns.load(); }

std::int64_t frame_time_ns() { return time_ns; }

std::int64_t host_time_ns() {
  timespec now{};
  DCGN_REAL_AS(int(clockid_t, timespec*), "clock_gettime")(CLOCK_MONOTONIC, &now);
  return now.tv_sec * second + now.tv_nsec;
}

}  // namespace dcgn::wall

using namespace dcgn::wall;

extern "C" {

int clock_gettime(clockid_t clock, timespec* to) noexcept {
  if (!asked_by_program(__builtin_return_address(0)))
    return DCGN_REAL_AS(int(clockid_t, timespec*), "clock_gettime")(clock, to);
  const bool date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  const bool up = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW ||
                  clock == CLOCK_BOOTTIME;
  *to = in_timespec(ask_time_ns() + (date ? setup.epoch_ns : up ? since_boot : 0));
  return 0;
}

int gettimeofday(timeval* to, void* zone) noexcept {
  if (!asked_by_program(__builtin_return_address(0)))
    return DCGN_REAL_AS(int(timeval*, void*), "gettimeofday")(to, zone);
  const std::int64_t now = ask_time_ns() + setup.epoch_ns;
  *to = {now / second, now % second / 1000};
  return 0;
}

time_t time(time_t* to) noexcept {
  const bool program = asked_by_program(__builtin_return_address(0));
  const time_t now =
      program ? (ask_time_ns() + setup.epoch_ns) / second : DCGN_REAL_AS(time_t(time_t*), "time")(nullptr);
  if (to) *to = now;
  return now;
}

clock_t clock() noexcept {
  if (!asked_by_program(__builtin_return_address(0))) return DCGN_REAL_AS(clock_t(), "clock")();
  return ask_time_ns() / 1000 * (CLOCKS_PER_SEC / 1'000'000);
}

// Seeds are often made of it.
pid_t getpid() noexcept {
  if (asked_by_program(__builtin_return_address(0))) return setup.process;
  return DCGN_REAL_AS(pid_t(), "getpid")();
}

ssize_t getrandom(void* to, size_t bytes, unsigned flags) {
  if (!asked_by_program(__builtin_return_address(0)))
    return DCGN_REAL_AS(ssize_t(void*, size_t, unsigned), "getrandom")(to, bytes, flags);
  fill_by_chance(to, bytes);
  return static_cast<ssize_t>(bytes);
}

int getentropy(void* to, size_t bytes) {
  if (!asked_by_program(__builtin_return_address(0))) return DCGN_REAL_AS(int(void*, size_t), "getentropy")(to, bytes);
  fill_by_chance(to, bytes);
  return 0;
}

// libstdc++'s clocks, which others than the program use as well, and std::random_device, which asks the processor.
std::int64_t dcgn_wall_steady_clock() asm("_ZNSt6chrono3_V212steady_clock3nowEv");
std::int64_t dcgn_wall_steady_clock() {
  if (asked_by_program(__builtin_return_address(0))) return ask_time_ns() + since_boot;
  return DCGN_REAL_AS(std::int64_t(), "_ZNSt6chrono3_V212steady_clock3nowEv")();
}

std::int64_t dcgn_wall_system_clock() asm("_ZNSt6chrono3_V212system_clock3nowEv");
std::int64_t dcgn_wall_system_clock() {
  if (asked_by_program(__builtin_return_address(0))) return ask_time_ns() + setup.epoch_ns;
  return DCGN_REAL_AS(std::int64_t(), "_ZNSt6chrono3_V212system_clock3nowEv")();
}

unsigned dcgn_wall_random_device(void*) asm("_ZNSt13random_device9_M_getvalEv");
unsigned dcgn_wall_random_device(void* device) {
  if (asked_by_program(__builtin_return_address(0))) return static_cast<unsigned>(chance());
  return DCGN_REAL_AS(unsigned(void*), "_ZNSt13random_device9_M_getvalEv")(device);
}

int nanosleep(const timespec* how_long, timespec* left) {
  if (asked_by_program(__builtin_return_address(0)) && how_long && pass(how_long->tv_sec * second + how_long->tv_nsec))
    return 0;
  return DCGN_REAL_AS(int(const timespec*, timespec*), "nanosleep")(how_long, left);
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* how_long, timespec* left) {
  if (asked_by_program(__builtin_return_address(0)) && how_long) {
    std::int64_t ns = how_long->tv_sec * second + how_long->tv_nsec;
    if (flags & TIMER_ABSTIME) ns -= frame_time_ns() + (clock == CLOCK_REALTIME ? setup.epoch_ns : since_boot);
    if (ns <= 0 || pass(ns)) return 0;
    const timespec relative = in_timespec(ns);
    return DCGN_REAL_AS(int(clockid_t, int, const timespec*, timespec*), "clock_nanosleep")(CLOCK_MONOTONIC, 0,
                                                                                            &relative, left);
  }
  return DCGN_REAL_AS(int(clockid_t, int, const timespec*, timespec*), "clock_nanosleep")(clock, flags, how_long, left);
}

int usleep(useconds_t us) {
  if (asked_by_program(__builtin_return_address(0)) && pass(std::int64_t{us} * 1000)) return 0;
  return DCGN_REAL_AS(int(useconds_t), "usleep")(us);
}

unsigned sleep(unsigned seconds) {
  if (asked_by_program(__builtin_return_address(0)) && pass(seconds * second)) return 0;
  return DCGN_REAL_AS(unsigned(unsigned), "sleep")(seconds);
}

}  // extern "C"
