// A level of a breadth-first search without atomics: all nodes look whether they are in the frontier, and mark their neighbours; then all
// nodes that were marked are the next frontier.
extern "C" __global__ void bfs_visit(const int* first, const int* edges, int nodes, unsigned char* frontier, unsigned char* marked,
                                     const unsigned char* visited, int* level) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || !frontier[node]) return;
  frontier[node] = 0;
  const int next = level[node] + 1;
  for (int e = first[node]; e < first[node + 1]; ++e) {
    const int to = edges[e];
    if (visited[to]) continue;
    level[to] = next;
    marked[to] = 1;
  }
}

extern "C" __global__ void bfs_advance(int nodes, unsigned char* frontier, unsigned char* marked, unsigned char* visited, int* more) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || !marked[node]) return;
  marked[node] = 0;
  frontier[node] = 1;
  visited[node] = 1;
  *more = 1;
}
