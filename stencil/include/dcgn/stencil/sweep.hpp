// An update as the library runs it: on cells of the host, and by kernels. One object of functions for each update, so
// that all else is compiled once.
#pragma once

#include <dcgn/gpu/kernel.hpp>
#include <dcgn/stencil/exchange_sweep.hpp>
#include <dcgn/stencil/gpu_sweep.hpp>
#include <dcgn/stencil/stage.hpp>
#include <dcgn/stencil/update.hpp>

#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <typeinfo>

namespace dcgn::stencil {

struct UpdateCode {
  const std::type_info* type;
  int dims, radius, fields;
  int width;                           // cells of a thread of a GPU, next to each other
  unsigned blocks_per_multiprocessor;  // of such threads, that a GPU has room for at least
  bool has_rate;                       // of change: false for cells of integers, which have next values only
  std::optional<double> fastest_rate;  // of decay, in 1/time

  std::function<void(const Part&, const Stage&, const Cells&)> on_host;
  std::function<dcgn::detail::KernelImage(const Part&, const Stage&, const Boxes&, const Tiling&)> sweep;
  std::function<dcgn::detail::KernelImage(const ExchangeWork&, Exchanger*, const Tiling&, int stages)> exchange_sweep;
};

template <class Update>
concept StencilUpdate = requires {
  { Update::dims } -> std::convertible_to<int>;
  { Update::radius } -> std::convertible_to<int>;
};

template <class T, int Fields, class Update>
UpdateCode code_of(const Update& update) {
  static_assert(StencilUpdate<Update>, "an update says `static constexpr int dims = ..., radius = ...;`");
  static_assert(Update::dims >= 1 && Update::dims <= most_dims, "an update has 1 to 4 dimensions");
  static_assert(Update::radius >= 0, "a radius is not negative");
  static_assert(std::is_trivially_copyable_v<Update>, "an update is copied to GPUs");
  UpdateCode code{.type = &typeid(Update),
                  .dims = Update::dims,
                  .radius = Update::radius,
                  .fields = Fields,
                  .width = Quad<T>::width,
                  .blocks_per_multiprocessor = GpuSweep<T, Fields, Update>::blocks_per_multiprocessor,
                  .has_rate = !std::is_integral_v<T>,
                  .fastest_rate = {},
                  .on_host = {},
                  .sweep = {},
                  .exchange_sweep = {}};
  if constexpr (requires {
                  { update.fastest_rate() } -> std::convertible_to<double>;
                })
    code.fastest_rate = update.fastest_rate();
  code.on_host = [update](const Part& part, const Stage& stage, const Cells& box) {
    HostSweep<T, Fields, Update>(update, part, stage)(box);
  };
  code.sweep = [update](const Part& part, const Stage& stage, const Boxes& boxes, const Tiling& tiling) {
    return dcgn::detail::make_image(SweepKernel<T, Fields, Update>{update}, part, stage, boxes, tiling);
  };
  code.exchange_sweep = [update](const ExchangeWork& work, Exchanger* exchanger, const Tiling& tiling, int stages) {
    return dcgn::detail::make_image(ExchangeSweepKernel<T, Fields, Update>{update}, work, exchanger, tiling, stages);
  };
  return code;
}

}  // namespace dcgn::stencil
