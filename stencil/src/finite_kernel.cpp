#include "finite_kernel.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/gpu/kernel.hpp>

#include <algorithm>

namespace dcgn::stencil {

namespace {

// Numbers by their bits: the exponent of what is not finite has ones only.
template <class Word>
struct Search {
  const Word* array;
  Part part;
  int reals_each;
  static constexpr Word exponent = sizeof(Word) == 4 ? Word{0x7f800000} : static_cast<Word>(0x7ff0000000000000);

  // The first of a row of cells, or -1.
  DCGN_HOST_DEVICE std::int64_t in_row(std::int64_t row, int first, int step) const {
    const std::int64_t y = row % part.own[1], z = row / part.own[1] % part.own[2], w = row / part.own[1] / part.own[2];
    const Word* const reals = array + (y * part.stride[1] + z * part.stride[2] + w * part.stride[3]) * reals_each;
    for (int i = first; i < part.own[0] * reals_each; i += step)
      if ((reals[i] & exponent) == exponent) return row * part.own[0] + i / reals_each;
    return -1;
  }
  DCGN_HOST_DEVICE std::int64_t rows() const {
    return static_cast<std::int64_t>(part.own[1]) * part.own[2] * part.own[3];
  }
};

constexpr std::uint64_t none = UINT64_MAX;

template <class Word>
struct SearchKernel {
  static constexpr unsigned max_threads = 256;
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, Search<Word> search, std::uint64_t* first) const {
    for (std::int64_t row = context.block_rank(); row < search.rows(); row += context.num_blocks()) {
      const std::int64_t found =
          search.in_row(row, static_cast<int>(context.thread_rank()), static_cast<int>(context.num_threads()));
      if (found < 0) continue;
      const auto mine = static_cast<std::uint64_t>(found);
      std::uint64_t least = load_relaxed(*first);
      while (mine < least) {
        const std::uint64_t before = compare_exchange(*first, least, mine);
        if (before == least) break;
        least = before;
      }
      return;  // later rows have later cells
    }
  }
};

template <class Word>
std::int64_t first_of(const Part& part, const void* array, int reals_each, const Device* device) {
  const Search<Word> search{static_cast<const Word*>(array), part, reals_each};
  if (!device) {
    for (std::int64_t row = 0; row < search.rows(); ++row)
      if (const std::int64_t found = search.in_row(row, 0, 1); found >= 0) return found;
    return -1;
  }
  const DeviceBuffer<std::uint64_t> first(*device, 1);
  first.upload(&none);
  Stream stream(*device);
  const bool emulated = device->kind() == DeviceKind::emulated;
  const std::int64_t most = emulated ? 2 : std::int64_t{8} * device->properties().multiprocessors;
  device->launch(
      stream,
      {.grid = static_cast<unsigned>(std::min(search.rows(), most)), .block = emulated ? 2u : 256u, .resident = false},
      SearchKernel<Word>{}, search, first.data());
  stream.synchronize();
  std::uint64_t found = none;
  first.download(&found);
  return found == none ? -1 : static_cast<std::int64_t>(found);
}

}  // namespace

std::int64_t first_not_finite(const Part& part, const void* array, int real_bytes, int reals_each,
                              const Device* device) {
  return real_bytes == 4 ? first_of<std::uint32_t>(part, array, reals_each, device)
                         : first_of<std::uint64_t>(part, array, reals_each, device);
}

}  // namespace dcgn::stencil
