// Division by a number that is known beforehand, as a multiplication: a GPU has no instruction for division.
//
// For 0 <= n < 2^N, N = 63 or 31, and a divisor d <= 2^N with 2^(l-1) < d <= 2^l: m = ceil(2^(N+l) / d) fits into N + 1
// bits, and m n / 2^(N+l) exceeds n / d by less than 1 / d.
#pragma once

#include <dcgn/host_device.hpp>

#include <cstdint>
#include <type_traits>

namespace dcgn::datatype {

template <class Index>  // std::uint64_t or std::uint32_t
class Divider {
 public:
  Divider() = default;
  explicit Divider(std::int64_t divisor) : divisor_(static_cast<Index>(divisor)) {
    int log = 0;
    while (log < digits && Index{1} << log < divisor_) ++log;
    shift_ = log - 1;
    const Wide power = Wide{1} << (digits + log);
    multiplier_ = static_cast<Index>((power + divisor_ - 1) / divisor_);
  }

  DCGN_HOST_DEVICE Index divisor() const { return divisor_; }
  DCGN_HOST_DEVICE Index operator()(Index n) const {
    if (divisor_ == 1) return n;
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<Index, std::uint32_t>)
      return __umulhi(n, multiplier_) >> shift_;
    else
      return __umul64hi(n, multiplier_) >> shift_;
#else
    return static_cast<Index>(static_cast<Wide>(n) * multiplier_ >> (digits + 1 + shift_));
#endif
  }

 private:
  static constexpr int digits = static_cast<int>(8 * sizeof(Index)) - 1;
  __extension__ using Wide = unsigned __int128;

  Index divisor_ = 1, multiplier_ = 0;
  int shift_ = 0;
};

}  // namespace dcgn::datatype
