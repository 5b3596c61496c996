// A launch both ways: split and whole.
#include "vgpu/src/gpu.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

namespace dcgn::virtual_gpu {

namespace {

constexpr std::size_t piece = std::size_t{64} << 20;  // that is compared at a time

using Content = std::vector<std::byte>;

std::vector<Content> read_all(const Device& device, const std::vector<Gpu::OtherMemory>& others) {
  std::vector<Content> all;
  for (const Gpu::OtherMemory& one : others) device.copy(all.emplace_back(one.bytes).data(), one.begin, one.bytes);
  return all;
}

// Adds to `found` where `a` and `b`, which are bytes of it from `offset` on, differ.
void compare(Gpu::Difference& found, const Content& a, const Content& b, std::size_t bytes, std::size_t offset) {
  if (std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(bytes), b.begin())) return;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (a[i] == b[i]) continue;
    if (found.count++ == 0) found.first = offset + i;
  }
}

}  // namespace

std::optional<std::vector<Gpu::Difference>> Gpu::check(Stream& stream, const Kernel& kernel, const Launch& its_launch,
                                                       const std::vector<Argument>& arguments,
                                                       const std::vector<OtherMemory>& others,
                                                       const std::function<void()>& whole) {
  std::vector<Saved> before, split;
  std::vector<Content> others_before, others_split;
  Content a, b;
  const auto has_saved = [&](std::vector<Saved>& buffers, std::vector<Content>& contents) {
    try {
      buffers = save();
      contents = read_all(device(0), others);
      a.resize(piece);
      b.resize(piece);
      return true;
    } catch (const Error&) {  // not enough memory
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
  };
  synchronize_all();
  const bool begun = has_saved(before, others_before);
  launch_beside(stream, kernel, its_launch, arguments);
  if (!begun) return std::nullopt;
  synchronize_all();
  if (!has_saved(split, others_split)) return std::nullopt;
  restore(before);
  for (std::size_t i = 0; i < others.size(); ++i)
    device(0).copy(others[i].begin, others_before[i].data(), others[i].bytes);
  whole();
  synchronize_all();

  std::vector<Difference> differences;
  const auto keep = [&](const Difference& found) {
    if (found.count != 0) differences.push_back(found);
  };
  for (const Saved& one : split) {
    Difference found{static_cast<const std::byte*>(one.buffer), one.bytes};
    for (std::size_t offset = 0; offset < one.bytes; offset += piece) {
      const std::size_t bytes = std::min(piece, one.bytes - offset);
      copy(own_stream(), a.data(), static_cast<const std::byte*>(one.content->address()) + offset, bytes);
      copy(own_stream(), b.data(), static_cast<const std::byte*>(one.buffer) + offset, bytes);
      own_stream().synchronize();
      compare(found, a, b, bytes, offset);
    }
    keep(found);
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    Content& others_whole = others_before[i];
    device(0).copy(others_whole.data(), others[i].begin, others[i].bytes);
    Difference found{others[i].begin, others[i].bytes};
    compare(found, others_split[i], others_whole, others[i].bytes, 0);
    keep(found);
  }
  return differences;
}

}  // namespace dcgn::virtual_gpu
