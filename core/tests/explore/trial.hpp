// Trials: whole jobs in deterministic mode, each made from a few numbers alone, that know what must come out.
//
// All of a trial's ranks make the same rounds, one after the other. What a round does follows from the trial's seed and
// the round's number; so a trial of fewer rounds is the beginning of that of more.
#pragma once

#include "device/emulated/schedule.hpp"

#include <dcgn/config.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace dcgn::test {

enum class Subject { messages, collectives, communicators, datatypes, stencils };
inline constexpr Subject all_subjects[] = {Subject::messages, Subject::collectives, Subject::communicators,
                                           Subject::datatypes, Subject::stencils};

inline const char* to_string(Subject subject) {
  switch (subject) {
    case Subject::messages: return "messages";
    case Subject::collectives: return "collectives";
    case Subject::communicators: return "communicators";
    case Subject::datatypes: return "datatypes";
    case Subject::stencils: return "stencils";
  }
  return "?";
}

struct Trial {
  Subject subject = Subject::messages;
  device::Strategy strategy = device::Strategy::chance;
  std::uint64_t seed = 0;
  int ranks = 2, rounds = 1;
};

// What a rank found to be wrong.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Number `number` of those that a round draws, from 0 to below `bound`: the same at all ranks.
DCGN_HOST_DEVICE inline std::uint32_t draw(std::uint64_t seed, int round, int number, std::uint32_t bound) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(round) * 0xbf58476d1ce4e5b9u +
                    static_cast<std::uint64_t>(number) * 0x94d049bb133111ebu;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>((x ^ x >> 31) >> 32) % bound;
}

// The settings that a trial's seed chooses: FIFOs of sixteen packets among them, which one message fills, and of which
// each credit is for a few packets.
inline Config config_of(const Trial& t) {
  const auto choose = [&](int number, std::uint32_t bound) { return draw(t.seed, -1, number, bound); };
  Config c;
  constexpr std::uint64_t fifos[] = {256, 256, 512, 4096, 0}, eager[] = {0, 64, 1000, 65536};
  constexpr std::uint64_t engine[] = {Config::never_copied, 0, 700};
  c.lane_bytes = fifos[choose(0, 5)];
  c.eager_bytes = eager[choose(1, 4)];
  c.direct = choose(2, 2);
  c.p2p = choose(3, 4);
  if (const auto i = choose(4, 4); i < 3) c.copy_engine_bytes = engine[i];
  c.place_threads = choose(5, 2);
  c.seed = t.seed;
  c.deadline_s = 10;
  return c;
}

// Each runs the trial's job and throws what went wrong.
void run_messages(const Trial& trial);
void run_collectives(const Trial& trial);
void run_communicators(const Trial& trial);
void run_datatypes(const Trial& trial);
// That of another module, where it is linked, which sets it.
inline void (*run_stencils)(const Trial& trial) = nullptr;

}  // namespace dcgn::test
