// Survey propagation for formulas of three literals a clause. A literal is 2 * variable + 1 where it is negated, an edge 3 * clause + place.
// Products are rounded one by one, in the order of edges, so that every machine finds the same surveys.

// Of the surveys that clauses send to a variable: the products of 1 - survey over clauses where it stands as in `literal`, and the others.
// `but`: an edge that does not count.
__device__ float2 products(const int* first, const int* edges, const int* literals, const float* surveys, int literal, int but) {
  float same = 1, other = 1;
  const int variable = literal / 2;
#pragma unroll 1
  for (int i = first[variable]; i < first[variable + 1]; ++i) {
    const int edge = edges[i];
    if (edge == but) continue;
    const float quiet = 1 - surveys[edge];
    if (literals[edge] == literal)
      same = __fmul_rn(same, quiet);
    else
      other = __fmul_rn(other, quiet);
  }
  return make_float2(same, other);
}

// How likely it is that a literal cannot satisfy its clause.
__device__ float warning(const int* first, const int* edges, const int* literals, const float* surveys, const int* settled, int edge) {
  const int literal = literals[edge];
  if (settled[literal / 2] >= 0) return 0;
  const float2 p = products(first, edges, literals, surveys, literal, edge);
  const float against = __fmul_rn(1 - p.y, p.x), in_favour = __fmul_rn(1 - p.x, p.y);
  const float sum = __fadd_rn(__fadd_rn(against, in_favour), __fmul_rn(p.x, p.y));
  return sum == 0 ? 0 : __fdiv_rn(against, sum);
}

// A clause surveys each literal by the warnings of the other two: one sweep, from `old` to `surveys`. Clauses that are satisfied and
// variables that are settled send nothing.
extern "C" __global__ void update_surveys(const int* literals, const int* first, const int* edges, const int* settled, const int* satisfied,
                                          const float* old, float* surveys, int clauses, unsigned* change) {
  const int clause = blockIdx.x * blockDim.x + threadIdx.x;
  if (clause >= clauses) return;
  const int edge = 3 * clause;
  float sent[3] = {};
  if (!satisfied[clause]) {
    const float a = warning(first, edges, literals, old, settled, edge), b = warning(first, edges, literals, old, settled, edge + 1),
                c = warning(first, edges, literals, old, settled, edge + 2);
    sent[0] = __fmul_rn(b, c), sent[1] = __fmul_rn(c, a), sent[2] = __fmul_rn(a, b);
  }
  float most = 0;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    most = fmaxf(most, fabsf(sent[k] - old[edge + k]));
    surveys[edge + k] = sent[k];
  }
  if (most > 0.01f) atomicMax(change, __float_as_uint(most));
}

// Variables that lean to one side by more than `least` are settled so: 0 false, 1 true.
extern "C" __global__ void settle(const int* first, const int* edges, const int* literals, const float* surveys, int* settled, float* biases,
                                  int variables, float least) {
  const int variable = blockIdx.x * blockDim.x + threadIdx.x;
  if (variable >= variables || settled[variable] >= 0) return;
  const float2 p = products(first, edges, literals, surveys, 2 * variable, -1);
  const float is_true = __fmul_rn(1 - p.x, p.y), is_false = __fmul_rn(1 - p.y, p.x);
  const float sum = __fadd_rn(__fadd_rn(is_true, is_false), __fmul_rn(p.x, p.y));
  const float bias = sum == 0 ? 0 : __fdiv_rn(is_true - is_false, sum);
  biases[variable] = bias;
  if (fabsf(bias) > least) settled[variable] = bias > 0;
}

// Clauses that a settled variable satisfies.
extern "C" __global__ void satisfy(const int* literals, const int* settled, int* satisfied, int clauses) {
  const int clause = blockIdx.x * blockDim.x + threadIdx.x;
  if (clause >= clauses) return;
  for (int k = 0; k < 3; ++k) {
    const int literal = literals[3 * clause + k], value = settled[literal / 2];
    if (value >= 0 && value != literal % 2) satisfied[clause] = 1;
  }
}
