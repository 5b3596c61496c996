// Sorting, reducing and scanning as libraries of templates do it, whose kernels wait for each other in part.
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

#include <cstdio>
#include <vector>

int main() {
  std::vector<unsigned> values(1 << 21);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned>(i * 2654435761u);
  thrust::device_vector<unsigned> data(values.begin(), values.end());
  std::printf("reduce %u\n", thrust::reduce(data.begin(), data.end(), 0u));
  thrust::sort(data.begin(), data.end());
  thrust::device_vector<unsigned> sums(data.size());
  thrust::inclusive_scan(data.begin(), data.end(), sums.begin());
  thrust::copy(data.begin(), data.end(), values.begin());
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i - 1] > values[i]) return std::printf("wrong at %zu\n", i), 1;
  unsigned long long all = 0;
  for (std::size_t i = 0; i < values.size(); i += 997) all = all * 31 + values[i];
  std::printf("sort %llu\nscan %u\n", all, static_cast<unsigned>(sums.back()));
  return 0;
}
