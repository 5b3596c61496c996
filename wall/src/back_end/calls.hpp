// The program's GL calls of a frame: recorded where the front end checks it, so that the first that is not alike on all
// back ends can be named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace dcgn::wall {

// What a pointer points to, where its size is known.
struct Contents {
  const void* from;
  std::size_t bytes;
};

// An argument: a number by its value, a pointer by its being null or not, contents by their digest.
struct Argument {
  enum class Kind : std::uint8_t { whole, real, pointer, contents };

  template <class T>
    requires std::is_integral_v<T> Argument(T value)
        : kind(Kind::whole), bits(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))) {}
    Argument(float value) : Argument(static_cast<double>(value)) {}
    Argument(double value) : kind(Kind::real) { std::memcpy(&bits, &value, sizeof bits); }
    template <class T>
    Argument(T* value) : kind(Kind::pointer), bits(value ? 1 : 0) {}
    Argument(Contents contents);

    Kind kind;
    std::uint64_t bits = 0;
};

extern bool recording;

// Of the function of that number.
void note_call(int function, std::initializer_list<Argument> arguments);

void begin_recording();
// Ends it; never 0.
std::uint64_t end_recording();
// What was recorded, a line a call.
std::string recorded_calls();

extern const char* const function_names[];  // generated

}  // namespace dcgn::wall
