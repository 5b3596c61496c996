// References of the workloads that go through their data in the order of their blocks.
#include "references.hpp"

#include <cmath>
#include <numeric>

namespace dcgn::test {

using workloads::Snapshot;

Words vector_add(const Snapshot& from) {
  const auto a = values_of<float>(from.buffers[0]), b = values_of<float>(from.buffers[1]);
  std::vector<float> c(a.size());
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = a[i] + b[i];
  return {words_of(c)};
}

// Tiles of 16 x 16 weights are multiplied with their rows' inputs and added up by halves.
Words back_propagation(const Snapshot& from) {
  const auto input = values_of<float>(from.buffers[0]), delta = values_of<float>(from.buffers[4]);
  auto weights = values_of<float>(from.buffers[1]);
  const auto old = values_of<float>(from.buffers[2]);
  const std::size_t outputs = delta.size(), rows = input.size();
  std::vector<float> partial(rows / 16 * outputs);
  for (std::size_t tile = 0; tile < rows / 16; ++tile)
    for (std::size_t x = 0; x < outputs; ++x) {
      float products[16];
      for (std::size_t y = 0; y < 16; ++y) {
        const std::size_t row = 16 * tile + y;
        products[y] = weights[row * outputs + x] * input[row];
      }
      for (std::size_t half = 8; half > 0; half /= 2)
        for (std::size_t y = 0; y < half; ++y) products[y] += products[y + half];
      partial[tile * outputs + x] = products[0];
    }
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t x = 0; x < outputs; ++x) {
      const std::size_t at = row * outputs + x;
      weights[at] += std::fma(0.3F * delta[x], input[row], 0.3F * old[at]);
    }
  return {words_of(partial), words_of(weights)};
}

Words scan(const Snapshot& from) {
  auto values = values_of<int>(from.buffers[0]);
  std::partial_sum(values.begin(), values.end(), values.begin());
  return {words_of(values)};
}

Words walsh(const Snapshot& from) {
  auto data = values_of<float>(from.buffers[0]);
  for (std::size_t stride = 1; stride < data.size(); stride *= 2)
    for (std::size_t first = 0; first < data.size(); first += 2 * stride)
      for (std::size_t low = first; low < first + stride; ++low) {
        const float a = data[low], b = data[low + stride];
        data[low] = a + b;
        data[low + stride] = a - b;
      }
  return {words_of(data)};
}

namespace {

struct Complex {
  float re, im;
};

// 64 values, `stride` from each other.
void transform(Complex* data, std::size_t stride, const std::vector<Complex>& roots) {
  Complex v[64];
  for (std::size_t i = 0; i < 64; ++i) {
    std::size_t reversed = 0;
    for (std::size_t bit = 0; bit < 6; ++bit) reversed |= (i >> bit & 1) << (5 - bit);
    v[reversed] = data[i * stride];
  }
  for (std::size_t half = 1; half < 64; half *= 2)
    for (std::size_t first = 0; first < 64; first += 2 * half)
      for (std::size_t low = 0; low < half; ++low) {
        const Complex w = roots[low * (32 / half)], p = v[first + low], q = v[first + low + half];
        const float re = w.re * q.re - w.im * q.im, im = std::fma(w.im, q.re, w.re * q.im);
        v[first + low] = {p.re + re, p.im + im};
        v[first + low + half] = {p.re - re, p.im - im};
      }
  for (std::size_t i = 0; i < 64; ++i) data[i * stride] = v[i];
}

}  // namespace

Words fourier(const Snapshot& from) {
  auto data = values_of<Complex>(from.buffers[0]);
  const auto roots = values_of<Complex>(from.constants[0]);
  for (const int one : from.sizes) {
    const auto stride = static_cast<std::size_t>(one);
    for (std::size_t first = 0; first < data.size(); first += 64 * stride)
      for (std::size_t i = 0; i < stride; ++i) transform(data.data() + first + i, stride, roots);
  }
  return {words_of(data)};
}

}  // namespace dcgn::test
