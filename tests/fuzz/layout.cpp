// Layouts of datatypes that another process tells of: none that is let through leaves the memory it is said to be in.
#include "fuzz.hpp"

#include "core/tests/transport/strange_layouts.hpp"

using namespace dcgn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Numbers numbers(data, size);
  const auto origin = numbers.next<std::int64_t>();
  // Walked byte by byte, at worst; a receiver's buffer bounds it, too.
  const std::uint64_t message = numbers.next<std::uint64_t>() % 4096, allocation = numbers.next<std::uint16_t>();
  const auto told = numbers.next<message::ExportedMemory>();
  const test::LookedAt result = test::look_at(told, origin, message, allocation);
  fuzz::require(result.wrong.empty(), result.wrong.c_str());
  fuzz::num_taken += result.let_through;
  return 0;
}
