// What kernels.cu does, on the host.
#include "fake_driver.hpp"

#include <unordered_map>

namespace fake {

namespace {

template <class Each>
void for_each_thread(const Blocks& blocks, const Each& each) {
  for (std::uint64_t n = 0; n < blocks.count(); ++n)
    for (unsigned thread = 0; thread < blocks.threads(); ++thread) each(blocks.at(n), thread);
}

void vector_add(const Blocks& blocks) {
  const auto *a = blocks.memory<const float>(0), *b = blocks.memory<const float>(1);
  auto* const c = blocks.memory<float>(2);
  const int n = blocks.parameter<int>(3);
  for_each_thread(blocks, [&](Blocks::Index block, unsigned thread) {
    const int i = static_cast<int>(block.x * blocks.threads() + thread);
    if (i < n) c[i] = a[i] + b[i];
  });
}

void histogram(const Blocks& blocks) {
  const auto* const data = blocks.memory<const unsigned char>(0);
  const unsigned n = blocks.parameter<unsigned>(1);
  auto* const bins = blocks.memory<unsigned>(2);
  auto* const seen = static_cast<unsigned long long*>(blocks.variable("blocks_seen"));
  for_each_thread(blocks, [&](Blocks::Index block, unsigned thread) {
    for (unsigned i = block.x * blocks.threads() + thread; i < n; i += blocks.grid().x * blocks.threads())
      ++bins[data[i]];
    if (thread == 0) ++*seen;
  });
}

void scale(const Blocks& blocks) {
  auto* const data = blocks.memory<unsigned>(0);
  const unsigned width = blocks.parameter<unsigned>(1);
  const auto* const factor = static_cast<const unsigned*>(blocks.variable("factor"));
  const unsigned offset = *static_cast<const unsigned*>(blocks.variable("offset"));
  for_each_thread(blocks, [&](Blocks::Index block, unsigned thread) {
    unsigned& value = data[block.y * width + block.x * blocks.threads() + thread];
    value = value * factor[block.y & 3] + offset;
  });
}

void reverse(const Blocks& blocks) {
  const auto* const from = blocks.memory<const unsigned>(0);
  auto *const through = blocks.memory<unsigned>(1), *const to = blocks.memory<unsigned>(2);
  const unsigned n = blocks.parameter<unsigned>(3), offset = *static_cast<const unsigned*>(blocks.variable("offset"));
  for (const bool first : {true, false})
    for_each_thread(blocks, [&](Blocks::Index block, unsigned thread) {
      const unsigned i = block.x * blocks.threads() + thread;
      if (i >= n) return;
      if (first)
        through[i] = from[i] + offset;
      else
        to[i] = through[n - 1 - i];
    });
}

}  // namespace

Kernel find_kernel(const std::string& name) {
  static const std::unordered_map<std::string, Kernel> all = {
      {"vector_add", &vector_add}, {"histogram", &histogram}, {"scale", &scale}, {"reverse", &reverse}};
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace fake
