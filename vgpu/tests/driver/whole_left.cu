// A module that no virtual GPU takes: it has a managed variable. What its kernels allocate is of the first GPU's heap.
#include "whole_program.hpp"

__managed__ int lists_made;

__global__ void make_lists(int** lists, int n) {
  int* const mine = static_cast<int*>(malloc(n * sizeof(int)));
  for (int i = 0; i < n; ++i) mine[i] = static_cast<int>(blockIdx.x) + i;
  lists[blockIdx.x] = mine;
  atomicAdd(&lists_made, 1);
}

void make_left_lists(int** lists, int count, int n) {
  make_lists<<<count, 1>>>(lists, n);
  CHECK(cudaDeviceSynchronize());
  expect(lists_made == count, "lists made");
}
