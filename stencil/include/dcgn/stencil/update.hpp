// An update of one cell applied: its result, and what a stage makes of it.
#pragma once

#include <dcgn/element.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/stencil/neighbourhood.hpp>
#include <dcgn/stencil/stage.hpp>

#include <utility>

namespace dcgn {

// What an update of several fields returns: a value for each.
template <class T, int Fields>
struct Values {
  T value[Fields];
};

namespace stencil {

template <class T>
DCGN_HOST_DEVICE constexpr T scaled(typename RealOf<T>::type factor, T value) {
  if constexpr (std::is_same_v<T, typename RealOf<T>::type>)
    return dcgn::detail::times(factor, value);
  else
    return {dcgn::detail::times(factor, value.real()), dcgn::detail::times(factor, value.imag())};
}

// base + factor k, the product and the sum rounded each.
template <class T>
DCGN_HOST_DEVICE constexpr T advanced(T base, typename RealOf<T>::type factor, T k) {
  return base + scaled(factor, k);
}

// The update of the neighbourhoods of(0), of(1), ... (Those of HostSweep are for the host; nvcc need not warn.)
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
template <class T, int Fields, class Update, class Of>
DCGN_HOST_DEVICE inline Values<T, Fields> updated(const Update& update, const Of& of) {
  if constexpr (Fields == 1)
    return {{update(of(0))}};
  else if constexpr (Fields == 2)
    return update(of(0), of(1));
  else if constexpr (Fields == 3)
    return update(of(0), of(1), of(2));
  else
    return update(of(0), of(1), of(2), of(3));
}

// The same on the host, row by row. `at` is the place of a cell of `in`.
template <class T, int Fields, class Update>
class HostSweep {
 public:
  static constexpr int radius = Update::radius;
  using Real = typename RealOf<T>::type;

  HostSweep(const Update& update, const Part& part, const Stage& stage)
      : update_(update),
        part_(part),
        stage_(stage),
        out_factor_(static_cast<Real>(stage.out_factor)),
        sum_factor_(static_cast<Real>(stage.sum_factor)) {}

  void operator()(const Cells& box) const {
    int cell[most_dims];
    for (cell[3] = box.begin[3]; cell[3] < box.end[3]; ++cell[3])
      for (cell[2] = box.begin[2]; cell[2] < box.end[2]; ++cell[2])
        for (cell[1] = box.begin[1]; cell[1] < box.end[1]; ++cell[1]) row(cell, box.begin[0], box.end[0]);
  }

 private:
  bool is_deep(int dim, int place) const {
    return place - radius >= part_.stored_begin[dim] && place + radius < part_.stored_end[dim];
  }

  void row(int (&cell)[most_dims], int begin, int end) const {
    std::int64_t at = 0;
    bool deep = true;
    for (int d = 1; d < most_dims; ++d) {
      at += cell[d] * part_.stride[d];
      deep = deep && (d >= Update::dims || is_deep(d, cell[d]));
    }
    const auto anywhere = [&](int from, int to) {
      for (cell[0] = from; cell[0] < to; ++cell[0])
        put(at + cell[0], updated<T, Fields>(update_, [&](int f) { return Anywhere<T>(in(f), part_, cell); }));
    };
    if (!deep) return anywhere(begin, end);
    const int first = part_.stored_begin[0] + radius, last = part_.stored_end[0] - radius;
    const int deep_begin = begin > first ? begin : first < end ? first : end;
    const int deep_end = end < last ? end : last > deep_begin ? last : deep_begin;
    anywhere(begin, deep_begin);
    for (int x = deep_begin; x < deep_end; ++x)
      put(at + x, updated<T, Fields>(update_, [&](int f) { return InMemory<T>(in(f) + at + x, part_); }));
    anywhere(deep_end, end);
  }

  void put(std::int64_t at, const Values<T, Fields>& k) const {
    for (int f = 0; f < Fields; ++f) {
      const T base = static_cast<const T*>(stage_.base[f])[at];
      if (stage_.sum[f])
        static_cast<T*>(stage_.sum[f])[at] =
            advanced(static_cast<const T*>(stage_.sum_base[f])[at], sum_factor_, k.value[f]);
      static_cast<T*>(stage_.out[f])[at - stage_.out_shift] =
          stage_.is_next ? k.value[f] : advanced(base, out_factor_, k.value[f]);
    }
  }

  const T* in(int field) const { return static_cast<const T*>(stage_.in[field]); }

  const Update& update_;
  const Part& part_;
  const Stage& stage_;
  const Real out_factor_, sum_factor_;
};

}  // namespace stencil
}  // namespace dcgn
