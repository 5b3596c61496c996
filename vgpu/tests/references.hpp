// The workloads' kernels in plain C++. Products and sums are fused where nvcc has fused them in corpus/*.ptx, and what
// a GPU approximates is rounded correctly, as the interpreter does it: so the results are equal bit for bit.
#pragma once

#include "vgpu/bench/workloads/workload.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace dcgn::test {

// Of a workload, words of 4 bytes in the order of Workload::results().
using Words = std::vector<std::vector<std::uint32_t>>;

Words reference(const std::string& workload, const workloads::Snapshot& from);

// Each is a workload's.
Words vector_add(const workloads::Snapshot& from);
Words back_propagation(const workloads::Snapshot& from);
Words scan(const workloads::Snapshot& from);
Words walsh(const workloads::Snapshot& from);
Words fourier(const workloads::Snapshot& from);
Words srad(const workloads::Snapshot& from);
Words finite_difference(const workloads::Snapshot& from);
Words rays(const workloads::Snapshot& from);
Words coulomb(const workloads::Snapshot& from);
Words breadth_first(const workloads::Snapshot& from);
Words k_means(const workloads::Snapshot& from);
Words histogram(const workloads::Snapshot& from);
Words conjugate_gradient(const workloads::Snapshot& from);
Words k_means_features(const workloads::Snapshot& from);
Words survey_propagation(const workloads::Snapshot& from);
Words barnes_hut(const workloads::Snapshot& from);
Words store_gpu(const workloads::Snapshot& from);

// RFC 1321, of words as they lie in memory.
std::array<std::uint32_t, 4> md5(std::span<const std::uint32_t> words);

template <class T>
std::vector<T> values_of(const workloads::Snapshot::Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}
template <class T>
std::vector<std::uint32_t> words_of(const std::vector<T>& values) {
  std::vector<std::uint32_t> words(values.size() * sizeof(T) / 4);
  std::memcpy(words.data(), values.data(), words.size() * 4);
  return words;
}

}  // namespace dcgn::test
