#include "stack.hpp"

#include "sanitizer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace dcgn::device {

namespace {

constexpr std::size_t scale = sanitizer::any ? 4 : 1;       // instrumented frames are larger
constexpr std::size_t at_once = 16;                         // stacks mapped together
constexpr std::size_t kept = sanitizer::tsan ? 4096 : 256;  // of each size in a thread's pool

constexpr std::size_t bytes_of(StackSize size) {
  return (size == StackSize::kernel ? std::size_t{64} : std::size_t{256}) * 1024 * scale;
}

std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Fills an empty list: many stacks in one mapping, since a process may have no more than 65530 of those.
void map(std::vector<Stack>& free, std::size_t bytes) {
  const std::size_t each = bytes + page();
  void* base =
      mmap(nullptr, at_once * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    std::fprintf(stderr, "dcgn: emulated GPU: no memory for stacks of %zu bytes: %s (see vm.max_map_count)\n", bytes,
                 std::strerror(errno));
    std::abort();
  }
  for (std::size_t i = 0; i < at_once; ++i) {
    std::byte* guard = static_cast<std::byte*>(base) + i * each;
    // A guard splits the mapping. Where there can be no more mappings, a stack does without; and under
    // ThreadSanitizer, which needs several for each of its threads.
    if constexpr (!sanitizer::tsan) {
      [[maybe_unused]] const int unguarded = mprotect(guard, page(), PROT_NONE);
    }
    free.push_back({guard + page(), bytes});
  }
}

void unmap(Stack stack) noexcept {
#if defined(DCGN_ASAN)
  __asan_unpoison_memory_region(stack.low, stack.bytes);  // for whatever is mapped here next
#endif
  munmap(stack.low - page(), stack.bytes + page());
}

struct FreeStacks {
  std::vector<Stack> free[2];

  FreeStacks() {
    for (auto& list : free) list.reserve(kept);
  }
  ~FreeStacks() {
    for (auto& list : free)
      for (const Stack stack : list) unmap(stack);
  }
};

FreeStacks& free_stacks() {
  static thread_local FreeStacks own;
  return own;
}

}  // namespace

Stack acquire_stack(StackSize size) {
  const sanitizer::Unobserved here;
  auto& free = free_stacks().free[static_cast<int>(size)];
  if (free.empty()) map(free, bytes_of(size));
  const Stack stack = free.back();
  free.pop_back();
#if defined(DCGN_ASAN)
  __asan_unpoison_memory_region(stack.low, stack.bytes);  // the frames of an ended fiber never returned
#endif
  return stack;
}

void release_stack(Stack stack) noexcept {
  const sanitizer::Unobserved here;
  auto& free = free_stacks().free[stack.bytes == bytes_of(StackSize::kernel) ? 0 : 1];
  if (free.size() < kept)
    free.push_back(stack);
  else
    unmap(stack);
}

}  // namespace dcgn::device
