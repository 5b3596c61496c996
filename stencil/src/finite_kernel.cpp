#include "finite_kernel.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/error.hpp>
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

  // Rows begin at lines, so that their words come by 16 bytes.
  struct alignas(16) Four {
    static constexpr int width = 16 / sizeof(Word);
    Word word[width];
  };

  // Looks at every `step`th 16 bytes of a row of cells, from the `first` on, and at as many of the words after the last
  // 16 bytes. The first cell of these, or -1.
  DCGN_HOST_DEVICE std::int64_t in_row(std::int64_t row, int first, int step) const {
    constexpr int together = 4;  // loads under way
    const std::int64_t y = row % part.own[1], z = row / part.own[1] % part.own[2], w = row / part.own[1] / part.own[2];
    const Word* const reals = array + (y * part.stride[1] + z * part.stride[2] + w * part.stride[3]) * reals_each;
    const int count = part.own[0] * reals_each, fours = count / Four::width;
    for (int i = first; i < fours; i += together * step) {
      bool all_finite = true;
      for (int t = 0; t < together; ++t) {
        if (i + t * step >= fours) continue;
        const Four four = reinterpret_cast<const Four*>(reals)[i + t * step];
        for (const Word word : four.word) all_finite &= is_finite(word);
      }
      for (int t = 0; !all_finite && t < together; ++t)
        for (int at = (i + t * step) * Four::width, end = at + Four::width; at < end && at < count; ++at)
          if (!is_finite(reals[at])) return cell(row, at);
    }
    for (int at = fours * Four::width + first; at < count; at += step)
      if (!is_finite(reals[at])) return cell(row, at);
    return -1;
  }
  DCGN_HOST_DEVICE std::int64_t rows() const {
    return static_cast<std::int64_t>(part.own[1]) * part.own[2] * part.own[3];
  }

 private:
  DCGN_HOST_DEVICE static bool is_finite(Word word) { return (word & exponent) != exponent; }
  DCGN_HOST_DEVICE std::int64_t cell(std::int64_t row, int real) const { return row * part.own[0] + real / reals_each; }
};

constexpr std::uint64_t none = UINT64_MAX;

template <class Word>
struct SearchKernel {
  static constexpr unsigned max_threads = 256;
  // `any` becomes 1 where there is one; only then is `first` looked at.
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, Search<Word> search, std::uint64_t* first,
                                   std::uint32_t* any) const {
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
      store_relaxed(*any, 1u);
      return;  // later rows have later cells
    }
  }
};

}  // namespace

struct FiniteSearch::OnDevice {
  explicit OnDevice(const Device& of)
      : device(of),
        stream(of),
        first(of, 1),
        any(static_cast<std::uint32_t*>(of.allocate_host(sizeof(std::uint32_t))), [of](std::uint32_t* word) {
          try {
            of.free_host(word);
          } catch (const Error&) {  // a device that has faulted; that was reported where it was met
          }
        }) {
    first.upload(&none);
  }

  template <class Word>
  std::int64_t search(const Search<Word>& what) {
    const bool emulated = device.kind() == DeviceKind::emulated;
    const std::int64_t most = emulated ? 2 : std::int64_t{8} * device.properties().multiprocessors;
    device.launch(
        stream,
        {.grid = static_cast<unsigned>(std::min(what.rows(), most)), .block = emulated ? 2u : 256u, .resident = false},
        SearchKernel<Word>{}, what, first.data(), any.get());
    stream.synchronize();
    if (!*any) return -1;
    std::uint64_t found = none;
    first.download(&found);
    first.upload(&none);
    *any = 0;
    return static_cast<std::int64_t>(found);
  }

  Device device;
  Stream stream;
  DeviceBuffer<std::uint64_t> first;   // `none` between searches
  std::shared_ptr<std::uint32_t> any;  // in pinned memory, 0 between searches: nothing is copied where nothing is found
};

namespace {

template <class Word>
std::int64_t on_host(const Search<Word>& search) {
  for (std::int64_t row = 0; row < search.rows(); ++row)
    if (const std::int64_t found = search.in_row(row, 0, 1); found >= 0) return found;
  return -1;
}

}  // namespace

FiniteSearch::FiniteSearch(const std::optional<Device>& device)
    : on_device_(device ? std::make_unique<OnDevice>(*device) : nullptr) {}
FiniteSearch::FiniteSearch(FiniteSearch&&) noexcept = default;
FiniteSearch::~FiniteSearch() = default;

std::int64_t FiniteSearch::first(const Part& part, const void* array, int real_bytes, int reals_each) {
  const auto searched = [&](const auto& search) { return on_device_ ? on_device_->search(search) : on_host(search); };
  if (real_bytes == 4)
    return searched(Search<std::uint32_t>{static_cast<const std::uint32_t*>(array), part, reals_each});
  return searched(Search<std::uint64_t>{static_cast<const std::uint64_t*>(array), part, reals_each});
}

}  // namespace dcgn::stencil
