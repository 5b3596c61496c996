#include "calls.hpp"

#include "state.hpp"

#include <cstdio>
#include <vector>

namespace dcgn::wall {

bool recording = false;

namespace {

struct Call {
  int function;
  std::size_t first, count;  // of the arguments
};

constexpr std::size_t most_arguments = 16 << 20;  // of a frame: what comes after them counts in the digest alone

std::vector<Call> calls;
std::vector<Argument> arguments;
std::uint64_t digest = 0;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15u;
  return x ^ (x >> 32);
}

std::string text_of_argument(const Argument& a) {
  char text[40];
  switch (a.kind) {
    case Argument::Kind::whole: return std::to_string(static_cast<std::int64_t>(a.bits));
    case Argument::Kind::pointer: return a.bits ? "pointer" : "null";
    case Argument::Kind::contents:
      std::snprintf(text, sizeof text, "data %08x", static_cast<unsigned>(a.bits));
      return text;
    case Argument::Kind::real: break;
  }
  double value = 0;
  std::memcpy(&value, &a.bits, sizeof value);
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

Argument::Argument(Contents contents) : kind(Kind::contents), bits(contents.bytes) {
  if (!contents.from) return;
  const auto* const from = static_cast<const unsigned char*>(contents.from);
  for (std::size_t i = 0; i < contents.bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + i, contents.bytes - i < 8 ? contents.bytes - i : 8);
    bits = mixed(bits, word);
  }
}

void note_call(int function, std::initializer_list<Argument> of) {
  if (inside_glut || !on_main_thread()) return;
  digest = mixed(digest + 1, static_cast<std::uint64_t>(function));
  for (const Argument& a : of) digest = mixed(digest, a.bits);
  if (arguments.size() > most_arguments) return;
  calls.push_back({function, arguments.size(), of.size()});
  arguments.insert(arguments.end(), of.begin(), of.end());
}

void begin_recording() {
  calls.clear();
  arguments.clear();
  digest = 0;
  recording = true;
}

std::uint64_t end_recording() {
  recording = false;
  return digest | 1;
}

std::string recorded_calls() {
  std::string text;
  for (const Call& call : calls) {
    text += function_names[call.function];
    for (std::size_t i = 0; i < call.count; ++i) text += (i ? ", " : "(") + text_of_argument(arguments[call.first + i]);
    text += call.count ? ")\n" : "()\n";
  }
  return text;
}

}  // namespace dcgn::wall
