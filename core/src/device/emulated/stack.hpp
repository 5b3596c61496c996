// Stacks for fibers: mapped, with a guard page below, kept by the carrier for the next fiber.
#pragma once

#include <cstddef>

namespace dcgn::device {

struct Stack {
  std::byte* low = nullptr;  // above the guard page
  std::size_t bytes = 0;

  std::byte* high() const { return low + bytes; }
  explicit operator bool() const { return low; }
};

enum class StackSize { kernel, rank };  // 64 KB and 256 KB; four times that under sanitizers

// From this thread's pool, or newly mapped. A process that is out of address space ends here with a message: in the
// middle of a switch nobody is there to catch.
Stack acquire_stack(StackSize size);
// To this thread's pool.
void release_stack(Stack stack) noexcept;

}  // namespace dcgn::device
