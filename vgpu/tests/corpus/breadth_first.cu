// A level of a breadth-first search; the frontier grows by an atomic counter.
extern "C" __global__ void bfs_level(const int* first, const int* edges, int* level, int now, const int* frontier, int size,
                                     int* next, int* next_size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const int node = frontier[i];
  for (int e = first[node]; e < first[node + 1]; ++e)
    if (atomicCAS(&level[edges[e]], -1, now + 1) == -1) next[atomicAdd(next_size, 1)] = edges[e];
}
