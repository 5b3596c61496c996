// A step of Barnes and Hut's method: an octree of bodies, level by level, the masses of its cells from the leaves up, bodies in the order of
// the tree, and forces, for which the threads of a warp walk through the tree together. Cells are numbered level by level; in which
// order within one does not matter to what is computed. Sums go in the order of octants.
//
// A cell's eight children: -1 none, a body, or bodies + a cell. `nodes` are x, y, z and mass, of bodies first, then of cells.

// A side's half of the cube round all bodies, as a float's bits.
extern "C" __global__ void bound_bodies(const float4* nodes, int bodies, unsigned* half) {
  __shared__ unsigned most;
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  const int body = blockIdx.x * blockDim.x + threadIdx.x;
  if (body < bodies) {
    const float4 p = nodes[body];
    atomicMax(&most, __float_as_uint(fmaxf(fabsf(p.x), fmaxf(fabsf(p.y), fabsf(p.z)))));
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(half, most);
}

// Where each body is, in 2^20 parts of a side; all are in the root.
extern "C" __global__ void place_bodies(const float4* nodes, int bodies, const unsigned* half, int3* places, int* slots) {
  const int body = blockIdx.x * blockDim.x + threadIdx.x;
  if (body >= bodies) return;
  const float4 p = nodes[body];
  const float side = __uint_as_float(*half), scale = __fdiv_rn(524287.0f, side);
  places[body] = make_int3(static_cast<int>(__fmul_rn(p.x + side, scale)), static_cast<int>(__fmul_rn(p.y + side, scale)),
                           static_cast<int>(__fmul_rn(p.z + side, scale)));
  slots[body] = -1;
}

// A body goes on from its slot of the level before, 8 * cell + octant: it stays as its only one, or enters the cell that others made there.
extern "C" __global__ void enter_level(const int3* places, int bodies, int level, int* children, int* counts, int* slots) {
  const int body = blockIdx.x * blockDim.x + threadIdx.x;
  if (body >= bodies) return;
  int cell = 0;
  if (level > 0) {
    const int slot = slots[body];
    if (slot < 0) return;
    if (counts[slot] == 1) {
      children[slot] = body;
      slots[body] = -1;
      return;
    }
    cell = children[slot] - bodies;
  }
  const int3 p = places[body];
  const int bit = 19 - level, octant = (p.x >> bit & 1) << 2 | (p.y >> bit & 1) << 1 | (p.z >> bit & 1);
  slots[body] = 8 * cell + octant;
  atomicAdd(&counts[8 * cell + octant], 1);
}

// A cell for each slot of the level's cells that holds several bodies.
extern "C" __global__ void open_cells(int begin, int end, int bodies, int* children, const int* counts, int* cells) {
  const int slot = 8 * begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (slot < 8 * end && counts[slot] > 1) children[slot] = bodies + atomicAdd(cells, 1);
}

// Mass and its centre, of a level's cells; those below have theirs.
extern "C" __global__ void sum_masses(int begin, int end, int bodies, const int* children, float4* nodes) {
  const int cell = begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= end) return;
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 1
  for (int octant = 0; octant < 8; ++octant) {
    const int child = children[8 * cell + octant];
    if (child < 0) continue;
    const float4 p = nodes[child];
    sum.x = __fmaf_rn(p.w, p.x, sum.x);
    sum.y = __fmaf_rn(p.w, p.y, sum.y);
    sum.z = __fmaf_rn(p.w, p.z, sum.z);
    sum.w = __fadd_rn(sum.w, p.w);
  }
  nodes[bodies + cell] = make_float4(__fdiv_rn(sum.x, sum.w), __fdiv_rn(sum.y, sum.w), __fdiv_rn(sum.z, sum.w), sum.w);
}

// Bodies in the order of the tree, from the root down: of each cell where its first one goes.
extern "C" __global__ void sort_bodies(int begin, int end, int bodies, const int* children, const int* counts, int* starts, int* order) {
  const int cell = begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= end) return;
  int at = starts[cell];
#pragma unroll 1
  for (int octant = 0; octant < 8; ++octant) {
    const int child = children[8 * cell + octant];
    if (child >= bodies) starts[child - bodies] = at;
    if (child >= 0 && child < bodies) order[at] = child;
    at += counts[8 * cell + octant];
  }
}

// A warp opens a cell if any of its bodies is nearer than the cell's side over the angle.
extern "C" __global__ void add_forces(const float4* __restrict__ nodes, int bodies, const int* __restrict__ children, const int* order, const unsigned* half,
                                      float angle, float softening, float4* forces) {
  constexpr int depth = 21 * 8;
  __shared__ int stack[depth];
  __shared__ float sides[depth];
  const int at = blockIdx.x * 32 + threadIdx.x, body = order[min(at, bodies - 1)];
  const float4 own = nodes[body];
  float4 force = make_float4(0, 0, 0, 0);
  const float root = __fdiv_rn(2 * __uint_as_float(*half), angle);
  int top = 1;
  if (threadIdx.x == 0) stack[0] = bodies, sides[0] = __fmul_rn(root, root);
  __syncwarp();
  while (top > 0) {
    --top;
    const int node = stack[top];
    const float side = sides[top];
    __syncwarp();
    const float4 p = nodes[node];
    const float dx = p.x - own.x, dy = p.y - own.y, dz = p.z - own.z;
    const float squared = __fmaf_rn(dx, dx, __fmaf_rn(dy, dy, __fmaf_rn(dz, dz, softening)));
    if (node < bodies || __all_sync(~0u, squared >= side)) {
      const float inverse = rsqrtf(squared), pull = __fmul_rn(p.w, __fmul_rn(inverse, __fmul_rn(inverse, inverse)));
      force.x = __fmaf_rn(pull, dx, force.x);
      force.y = __fmaf_rn(pull, dy, force.y);
      force.z = __fmaf_rn(pull, dz, force.z);
    } else {
      const int child = threadIdx.x < 8 ? children[8 * (node - bodies) + threadIdx.x] : -1;
      const unsigned there = __ballot_sync(~0u, child >= 0);
      if (child >= 0) {
        const int place = top + __popc(there & ((1u << threadIdx.x) - 1));
        stack[place] = child, sides[place] = __fmul_rn(side, 0.25f);
      }
      top += __popc(there);
      __syncwarp();
    }
  }
  if (at < bodies) forces[body] = force;
}

extern "C" __global__ void move_bodies(float4* nodes, float4* speeds, const float4* forces, int bodies, float step) {
  const int body = blockIdx.x * blockDim.x + threadIdx.x;
  if (body >= bodies) return;
  float4 p = nodes[body], v = speeds[body];
  const float4 f = forces[body];
  v.x = __fmaf_rn(f.x, step, v.x), v.y = __fmaf_rn(f.y, step, v.y), v.z = __fmaf_rn(f.z, step, v.z);
  p.x = __fmaf_rn(v.x, step, p.x), p.y = __fmaf_rn(v.y, step, p.y), p.z = __fmaf_rn(v.z, step, p.z);
  speeds[body] = v;
  nodes[body] = p;
}
