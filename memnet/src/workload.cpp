// The traffic of each workload. M is 2^20 where the problem is a power of two. "Derived" follows from the problem's
// size and the benchmark's arrays and passes; "assumed" is a guess at what size and source do not say, and is repeated
// in Workload::assumed, which figures print. Instructions an element are estimates from the algorithms' inner loops.
#include "memnet/src/workload.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace dcgn::memnet {

namespace {

constexpr double mega = 1 << 20;

// Back propagation, one layer of 1 M inputs to 16 hidden units. Derived: weights are (1 M + 1) * 17 floats, 71 MB. The
// forward kernel reads weights and inputs and writes both back; the update reads weights, old weights and inputs and
// writes both. Weights come in twice (the host adds up in between) and old weights once; weights, inputs and partial
// sums go out.
Workload back_propagation() {
  const double weights = (mega + 1) * 17 * 4, inputs = mega * 4;
  return {.name = "BP",
          .problem = "1M points",
          .copied_in = 3 * weights + inputs,
          .copied_out = weights + 2 * inputs,
          .read = 3 * weights + 2 * inputs,
          .written = 3 * weights + inputs,
          .operations = mega * 16 * (80 + 30),
          .launches = 2,
          .blocks = mega / 16,
          .assumed = "one pass forward and one update"};
}

// Breadth-first search. Derived: 1 M nodes of 8 bytes, edges of 4, three byte masks and 4 bytes of cost a node. Each
// level scans two masks. Assumed: 6 edges a node and 12 levels (Rodinia's generator gives about that), lines of nodes
// and edges fetched twice because frontier nodes are apart, a quarter of the look-ups of a neighbour's mask miss.
Workload breadth_first_search() {
  const double nodes = mega, edges = 6 * nodes;
  const int levels = 12;
  return {.name = "BFS",
          .problem = "1M nodes",
          .copied_in = nodes * (8 + 3 + 4) + edges * 4,
          .copied_out = nodes * 4,
          .read = levels * 2 * nodes + 2 * (nodes * 8 + edges * 4) + edges * 0.25 * 128,
          .written = 3 * nodes * 32,
          .write_bytes = 32,
          .operations = levels * 2 * nodes * 10 + edges * 15 * 5,
          .launches = 2 * levels,
          .blocks = nodes / 512,
          .random = 0.7,
          .assumed = "6 edges a node, 12 levels, 1/4 of neighbour look-ups miss, 1/5 of lanes active on edges"};
}

// Speckle-reducing anisotropic diffusion. Derived: the first kernel reads the image and writes four derivatives and the
// coefficient, the second reads these and the image and writes the image; the image goes in and out each iteration.
// Assumed: two iterations, as the benchmark's script has.
Workload anisotropic_diffusion() {
  const double image = 4 * mega * 4;
  const int iterations = 2;
  return {.name = "SRAD",
          .problem = "2K x 2K grids",
          .copied_in = iterations * image,
          .copied_out = iterations * image,
          .read = iterations * 7 * image,
          .written = iterations * 6 * image,
          .operations = iterations * 4 * mega * 150,
          .launches = 2 * iterations,
          .blocks = 4 * mega / 256,
          .assumed = "2 iterations"};
}

// K-means. Derived: 484 K objects of 34 floats, transposed once by a kernel; each iteration reads all features once per
// centre, since 64 cores hold more objects than the L2 holds features, and sends memberships back. Assumed: 5 centres
// (the benchmark's default) and 3 iterations.
Workload k_means() {
  const double objects = 494020, features = objects * 34 * 4;
  const int centres = 5, iterations = 3;
  return {.name = "KMN",
          .problem = "484K objects, 34 features",
          .copied_in = features + objects * 4,
          .copied_out = iterations * objects * 4,
          .read = features + iterations * centres * features,
          .written = features + iterations * objects * 4,
          .operations = iterations * objects * centres * 34 * 6,
          .launches = 1 + iterations,
          .blocks = objects / 256,
          .assumed = "5 centres, 3 iterations"};
}

// Barnes-Hut. Derived: 8 K bodies of 10 floats and as many tree cells of 12 words. Assumed: two time steps of six
// kernels, each of which loads bodies and tree into each of four L2s once; a warp walks the union of its bodies' paths
// through the tree, 1500 cells, with all lanes.
Workload barnes_hut() {
  const double bodies = 8192, tree = bodies * (10 + 12) * 4;
  const int steps = 2;
  return {.name = "BH",
          .problem = "8K bodies",
          .copied_in = bodies * 7 * 4,
          .copied_out = bodies * 6 * 4,
          .read = steps * 6 * 4 * tree,
          .written = steps * 3 * bodies * 32,
          .write_bytes = 32,
          .operations = steps * bodies * 1500 * 20,
          .launches = steps * 6,
          .blocks = 192,
          .random = 1,
          .assumed = "2 steps, 1500 cells of the tree a body, sorted bodies"};
}

// Survey propagation. Derived: 300 K edges of a 3-SAT formula with 16 bytes each, 100 K clauses and 300 K literals with
// 16. Assumed: 20 sweeps of three kernels, each of which touches every edge through a clause and through a literal:
// lines are fetched twice, and the surveys are written scattered.
Workload survey_propagation() {
  const double edges = 300e3, data = edges * 16 + (100e3 + 300e3) * 16;
  const int sweeps = 20;
  return {.name = "SP",
          .problem = "100K clauses, 300K literals",
          .copied_in = data,
          .copied_out = 300e3 * 4,
          .read = sweeps * 2 * data,
          .written = sweeps * edges * 32,
          .write_bytes = 32,
          .operations = sweeps * edges * 100,
          .launches = 3 * sweeps,
          .blocks = 100e3 / 256,
          .random = 0.8,
          .assumed = "20 sweeps, lines fetched twice"};
}

// Prefix sum. Derived: 64 MB in, 64 MB out; one kernel scans blocks, one adds the blocks' sums: each reads and writes
// all.
Workload prefix_sum() {
  const double array = 16 * mega * 4;
  return {.name = "SCAN",
          .problem = "16M elements",
          .copied_in = array,
          .copied_out = array,
          .read = 2 * array,
          .written = 2 * array,
          .operations = 4 * mega * 150,
          .launches = 2,
          .blocks = 16 * mega / 1024,
          .assumed = "nothing"};
}

// Finite differences of eighth order. Derived: field and velocities go in, the field out; a step reads the field with
// its halo, velocities and the older field, and writes the field. Assumed: one step (with more, copying could not take
// longer than the kernel, as the paper says it does); a quarter of the halo misses.
Workload finite_difference() {
  const double field = 1024.0 * 1024 * 4 * 4;
  return {.name = "3DFD",
          .problem = "1024 x 1024 x 4 grid",
          .copied_in = 2 * field,
          .copied_out = field,
          .read = 3.25 * field,
          .written = field,
          .operations = 4 * mega * 60,
          .blocks = mega / 256,
          .assumed = "1 step, 1/4 of halo reads miss"};
}

// Fast Walsh transform. Derived: log2 of 8 M is 23: six radix-4 passes through memory down to 2 K elements, one pass
// more in shared memory; transforms of data and kernel, their product, and one transform back; the kernel's own input
// is small.
Workload walsh_transform() {
  const double data = 8 * mega * 4;
  const int passes = 3 * 7;
  return {.name = "FWT",
          .problem = "8M data",
          .copied_in = data,
          .copied_out = data,
          .read = (passes + 2) * data,
          .written = (passes + 1) * data,
          .operations = passes * 8 * mega * 12,
          .launches = passes + 1,
          .blocks = 8 * mega / 2048,
          .assumed = "nothing"};
}

// Conjugate gradient, class S. Derived: 1400 rows, 78 K non-zeros of 12 bytes; 15 iterations of 26 products, each with
// some ten passes over vectors, counted into its launch; caches start each kernel empty, since nothing keeps them
// coherent. From the paper's text: the busiest HMC gets 11.7 times the least busy one's traffic. Assumed: each GPU has
// one busiest cluster and the others are equal (of two shapes tried the one with which routing matters as Figure 15
// says; a geometric series gains less); 64 rows a CTA, a thread and thus a line each; the host reads the matrix once an
// iteration and the vectors after each product, and misses on all of it because GPUs have written since.
Workload conjugate_gradient() {
  const double matrix = 78148 * 12, vector = 1400 * 8;
  const int products = 15 * 26;
  return {.name = "CG.S",
          .problem = "class S (1400 rows)",
          .copied_in = matrix + 5 * vector,
          .copied_out = 15 * vector,
          .read = products * (matrix + 10 * vector),
          .written = products * 5 * vector,
          .operations = products * 78148.0 * 10,
          .launches = products,
          .blocks = 1400.0 / 64,
          .block_lines = 64,
          .random = 0.3,
          .imbalance = 11.7,
          .host_misses = (15 * matrix + products * vector) / 64,
          .host_window = 1,
          .assumed =
              "64 rows a CTA; imbalance 11.7 is the paper's, its shape is not: each GPU has one busiest cluster, "
              "another GPU's, and the others are equal"};
}

// Fast Fourier transform, class S. Derived: 64^3 complex numbers of 16 bytes; a transform forward and six iterations,
// each a pass of evolution and three of transforms. Assumed: 64 lines of 64 points a CTA, a thread and thus a memory
// line each; the host reads the field once an iteration.
Workload fourier_transform() {
  const double points = 64.0 * 64 * 64, field = points * 16;
  const int passes = 3 + 6 * 4;
  return {.name = "FT.S",
          .problem = "class S (64 x 64 x 64)",
          .copied_in = 1.5 * field,
          .copied_out = field,
          .read = passes * field + 6 * field / 2,
          .written = passes * field,
          .operations = 7 * points * 180 * 2,
          .launches = passes,
          .blocks = 64,
          .block_lines = 64,
          .host_misses = 6 * field / 64,
          .host_window = 4,
          .assumed = "64 lines a CTA; double precision at half rate"};
}

// Ray tracing. Derived: a pixel of 4 bytes each goes out; the scene is small. Assumed: 1000 instructions a ray with
// half of the lanes active, and 10 bytes of stack a ray that miss.
Workload ray_tracing() {
  return {.name = "RAY",
          .problem = "1024 x 1024 screen",
          .copied_in = 10e3,
          .copied_out = mega * 4,
          .read = mega * 10,
          .written = mega * 4,
          .operations = mega * 1000 * 2,
          .blocks = mega / 128,
          .assumed = "1000 instructions a ray, 1/2 of lanes active"};
}

// Store GPU: hashes of a file's blocks. Derived: 26 MB in and read once; 12 operations a byte. Assumed: 16 bytes of
// hash for each 512, 384 CTAs; shared memory lets so few threads run that a third of the issue slots is filled.
Workload store_gpu() {
  const double file = 26 * mega;
  return {.name = "STO",
          .problem = "26MB file",
          .copied_in = file,
          .copied_out = file / 32,
          .read = file,
          .written = file / 32,
          .operations = file * 12 * 3,
          .blocks = 384,
          .assumed = "16 bytes of hash for 512, 384 CTAs, 1/3 of issue slots"};
}

// Coulombic potential. Derived: every point of the grid against every atom, 9 operations each; the grid goes out.
Workload coulombic_potential() {
  const double points = 512 * 256;
  return {.name = "CP",
          .problem = "512 x 256 grid, 100 atoms",
          .copied_in = 100 * 16,
          .copied_out = points * 4,
          .read = 100 * 16 * 64,
          .written = points * 4,
          .operations = points * 100 * 9,
          .blocks = points / 128,
          .assumed = "nothing"};
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all{back_propagation(),
                                         breadth_first_search(),
                                         anisotropic_diffusion(),
                                         k_means(),
                                         barnes_hut(),
                                         survey_propagation(),
                                         prefix_sum(),
                                         finite_difference(),
                                         walsh_transform(),
                                         conjugate_gradient(),
                                         fourier_transform(),
                                         ray_tracing(),
                                         store_gpu(),
                                         coulombic_potential()};
  return all;
}

const Workload& workload(std::string_view name) {
  std::string names;
  for (const Workload& one : workloads()) {
    if (one.name == name) return one;
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  }
  throw Error(Code::configuration, "memnet", "workload \"" + std::string(name) + "\", expected one of " + names);
}

double compute_ns(const Workload& workload, int gpus, const GpuModel& gpu) {
  const double slots_per_ns = gpu.cores * gpu.lanes * gpu.clock_ghz * gpu.issue_share;
  const double a_core = workload.blocks / gpus / gpu.cores;
  const double filled = a_core / std::ceil(a_core);
  return workload.operations / gpus / slots_per_ns / filled;
}

int request_window(const Workload& workload, int gpus, const GpuModel& gpu) {
  const double resident = std::min<double>(std::ceil(workload.blocks / gpus), gpu.cores * gpu.blocks_per_core);
  return static_cast<int>(std::min<double>(gpu.lines, workload.block_lines * resident));
}

double request_count(const Workload& workload, int line_bytes) {
  return workload.read / line_bytes + workload.written / workload.write_bytes;
}

double read_share(const Workload& workload, int line_bytes) {
  return workload.read / line_bytes / request_count(workload, line_bytes);
}

std::vector<double> cluster_weights(const Workload& workload, int clusters, int busiest) {
  std::vector<double> weights(static_cast<std::size_t>(clusters), 1.0);
  weights[static_cast<std::size_t>(busiest)] = workload.imbalance;
  return weights;
}

}  // namespace dcgn::memnet
