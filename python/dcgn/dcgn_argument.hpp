// What Python gives to code that the package compiles from source.
#pragma once

#include <dcgn/datatype.hpp>
#include <dcgn/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

namespace dcgn::python {

// As Python gives it; the type that is taken decides what becomes of it.
struct Argument {
  enum class Kind { integer, real, memory } kind = Kind::integer;
  std::int64_t integer = 0;
  double real = 0;
  void* memory = nullptr;
  void* on_device = nullptr;  // where a kernel finds what is in the host's memory, for which it is copied
  std::int64_t bytes = 0;     // of the memory
  bool writable = true;
  ElementKind element = ElementKind::byte;
};

[[noreturn]] inline void refuse(std::size_t index, const std::string& what) {
  throw Error(Code::invalid_type, "compiled", "argument " + std::to_string(index) + " is " + what);
}

inline void check_count(std::size_t given, std::size_t taken) {
  if (given == taken) return;
  throw Error(Code::invalid_type, "compiled",
              "the kernel got " + std::to_string(given) + " arguments, expected " + std::to_string(taken));
}

template <class T>
T pointer(const Argument& a, std::size_t index) {
  if (a.kind != Argument::Kind::memory) refuse(index, "a number, expected an array");
  constexpr ElementKind wanted = detail::element_kind<std::remove_cv_t<std::remove_pointer_t<T>>>();
  if (wanted != ElementKind::byte && a.element != ElementKind::byte && wanted != a.element)
    refuse(index, "an array of " + to_string(a.element) + ", expected " + to_string(wanted));
  if (!std::is_const_v<std::remove_pointer_t<T>> && !a.writable)
    refuse(index, "a read-only array, expected one that may be written, or a parameter that is a pointer to const");
  return static_cast<T>(a.on_device ? a.on_device : a.memory);
}

template <class T>
T number(const Argument& a, std::size_t index) {
  if (a.kind == Argument::Kind::memory) refuse(index, "an array, expected a number");
  if (std::is_integral_v<T> && a.kind == Argument::Kind::real)
    refuse(index, std::to_string(a.real) + ", expected an integer");
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < sizeof a.integer) {
    using Limits = std::numeric_limits<T>;
    if (a.integer < std::int64_t{Limits::min()} || a.integer > std::int64_t{Limits::max()})
      refuse(index, std::to_string(a.integer) + ", expected an integer from " + std::to_string(Limits::min()) + " to " +
                        std::to_string(Limits::max()));
  }
  return a.kind == Argument::Kind::real ? static_cast<T>(a.real) : static_cast<T>(a.integer);
}

// A structure, of the bytes of an array.
template <class T>
T structure(const Argument& a, std::size_t index) {
  static_assert(std::is_trivially_copyable_v<T>, "numbers, pointers and trivially copyable structures are taken");
  if (a.kind != Argument::Kind::memory || a.bytes != static_cast<std::int64_t>(sizeof(T)))
    refuse(index, "not the structure that is taken, expected its " + std::to_string(sizeof(T)) + " bytes");
  T value;
  std::memcpy(&value, a.memory, sizeof(T));
  return value;
}

template <class T>
T value_of(const Argument& a, std::size_t index) {
  if constexpr (std::is_pointer_v<T>)
    return pointer<T>(a, index);
  else if constexpr (std::is_arithmetic_v<T>)
    return number<T>(a, index);
  else
    return structure<T>(a, index);
}

// A member of an aggregate, whose type decides.
struct Member {
  const Argument& argument;
  std::size_t index;

  template <class T>
  operator T() const {
    return value_of<T>(argument, index);
  }
};

}  // namespace dcgn::python
