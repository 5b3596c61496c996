// Steps of driver_program.cpp about code: how it is loaded, launched as a whole, and what graphs have of it.
#include "driver_program.hpp"

// Code as CUDA's runtime loads it: a fat binary, wrapped, as a library of no context, whose kernels are launched as
// they are or by their functions.
std::uint64_t library() {
  const unsigned factor[4] = {1, 2, 3, 4}, offset = 5;
  struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* content = nullptr;
    const void* more = nullptr;
  } wrapper;
  wrapper.content = fat_binary.data();
  CUlibrary loaded = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  CHECK(cuLibraryLoadData(&loaded, &wrapper, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cuLibraryGetKernel(&kernel, loaded, "scale"));
  CHECK(cuKernelGetFunction(&function, kernel));
  CHECK(cuLibraryGetGlobal(&address, &bytes, loaded, "factor"));
  CHECK(cuMemcpyHtoD(address, factor, sizeof factor));
  CHECK(cuLibraryGetGlobal(&address, &bytes, loaded, "offset"));
  CHECK(cuMemcpyHtoD(address, &offset, sizeof offset));
  const Buffer<unsigned> data(large, value_at);
  std::vector<unsigned> expected = data.read();
  launch(reinterpret_cast<CUfunction>(kernel), width / 256, height, 256, nullptr, data.address, width);
  launch(function, width / 256, height, 256, nullptr, data.address, width);
  for (int i = 0; i < 2; ++i) scale_here(expected, factor, offset);
  expect(data.read() == expected, "library");
  CHECK(cuLibraryUnload(loaded));
  return sum(expected);
}

std::uint64_t cooperative() {
  constexpr unsigned n = 4096;
  const Buffer<unsigned> from(large, value_at), through(large), to(large);
  const unsigned offset = 7, before = 100;
  CHECK(cuMemcpyHtoD(code.variable("offset", 4), &offset, 4));
  unsigned count = n;
  void* places[] = {const_cast<CUdeviceptr*>(&from.address), const_cast<CUdeviceptr*>(&through.address),
                    const_cast<CUdeviceptr*>(&to.address), &count};
  CHECK(cuLaunchCooperativeKernel(code.function("reverse"), n / 256, 1, 1, 256, 1, 1, 0, nullptr, places));
  CHECK(cuMemcpyHtoD(code.variable("offset", 4), &before, 4));
  std::vector<unsigned> all = to.read();
  all.resize(n);
  for (unsigned i = 0; i < n; ++i) expect(all[i] == value_at(n - 1 - i) + offset, "cooperative");
  return sum(all);
}

std::uint64_t graph() {
  const unsigned factor[4] = {3, 5, 7, 11};
  const Buffer<unsigned> data(large, value_at);
  std::vector<unsigned> expected = data.read();
  CUstream stream = nullptr;
  CUgraph recorded = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  scale(data, stream);
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  scale(data, stream);
  { const Buffer<unsigned> gone(large); }  // memory may come and go meanwhile
  scale(data, stream);
  CHECK(cuStreamEndCapture(stream, &recorded));
  CHECK(cuGraphInstantiateWithFlags(&exec, recorded, 0));
  for (int i = 0; i < 2; ++i) CHECK(cuGraphLaunch(exec, stream));
  scale(data, stream);
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < 6; ++i) scale_here(expected, factor, 100);
  expect(data.read() == expected, "graph");
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(recorded));
  CHECK(cuStreamDestroy(stream));
  return sum(expected);
}

namespace {

// The fat binary, with these in the head of its one entry.
std::string with_options(std::string options) {
  std::string made = fat_binary;
  const auto add = [&](std::size_t at, std::uint32_t more) {
    std::uint32_t value = 0;
    std::memcpy(&value, made.data() + at, sizeof value);
    value += more;
    std::memcpy(made.data() + at, &value, sizeof value);
  };
  constexpr std::size_t entry = 16, its_options = entry + 0x40;
  const auto bytes = static_cast<std::uint32_t>(options.size());
  options.resize((options.size() + 7) / 8 * 8);
  made.insert(its_options + 8, options);
  add(8, static_cast<std::uint32_t>(options.size()));
  add(entry + 4, static_cast<std::uint32_t>(options.size()));
  add(its_options + 4, bytes);
  return made;
}

void* as_value(unsigned value) { return reinterpret_cast<void*>(std::uintptr_t{value}); }

// Blocks as large as they can be, which need that a thread has 64 registers at most.
std::uint64_t add_by_large_blocks(CUfunction vector_add, unsigned blocks) {
  const unsigned n = blocks * 1024;
  const Buffer<float> a(large, [](std::size_t i) { return static_cast<float>(value_at(i)); }), c(large);
  launch(vector_add, blocks, 1, 1024, nullptr, a.address, a.address, c.address, n);
  const std::vector<float> all = c.read();
  for (unsigned i = 0; i < n; ++i) expect(all[i] == static_cast<float>(2 * value_at(i)), "large blocks");
  return sum(std::vector<float>(all.begin(), all.begin() + n));
}

}  // namespace

// Of the assembler: those of a fat binary, and those of a call, which come first.
std::uint64_t options() {
  const std::string image = with_options(" -maxrregcount=128 -O2 -dlcm=cg -dscm=wb ");
  CUjit_option names[] = {CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_THREADS_PER_BLOCK};
  void* values[] = {as_value(64)};
  Code its;
  CHECK(cuModuleLoadDataEx(&its.module, image.data(), 1, names, values));
  const std::uint64_t split = add_by_large_blocks(its.function("vector_add"), 64);
  const std::uint64_t whole = add_by_large_blocks(its.function("vector_add"), 1);
  CHECK(cuModuleUnload(its.module));

  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  void* others[] = {as_value(32), as_value(1), as_value(256)};
  CHECK(cuLibraryLoadData(&library, ptx.c_str(), names, others, 3, nullptr, nullptr, 0));
  CHECK(cuLibraryGetKernel(&kernel, library, "vector_add"));
  CHECK(cuKernelGetFunction(&function, kernel));
  const std::uint64_t by_library = add_by_large_blocks(function, 64);
  CHECK(cuLibraryUnload(library));
  return sum(std::vector<std::uint64_t>{split, whole, by_library});
}

// Nodes whose parameters are set again, in a graph and in what was made of it. Their kernels see the variables that the
// program sees.
std::uint64_t graph_nodes() {
  const unsigned factor[4] = {3, 5, 7, 11}, offset = 9, before = 100;
  const Buffer<unsigned> first(large, value_at), second(large, value_at), third(large, value_at);
  std::vector<unsigned> expected = first.read();
  const auto scaling = [](const Buffer<unsigned>& data) {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
    auto& kernel = parameters.kernel;
    kernel.func = code.function("scale");
    kernel.gridDimX = width / 256, kernel.gridDimY = height, kernel.gridDimZ = 1;
    kernel.blockDimX = 256, kernel.blockDimY = kernel.blockDimZ = 1;
    static unsigned columns = width;
    static void* places[2];
    places[0] = const_cast<CUdeviceptr*>(&data.address), places[1] = &columns;
    kernel.kernelParams = places;
    return parameters;
  };
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuMemcpyHtoD(code.variable("offset", 4), &offset, 4));
  CHECK(cuGraphCreate(&graph, 0));
  CUgraphNodeParams parameters = scaling(first);
  CHECK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters));
  parameters = scaling(second);
  CHECK(cuGraphNodeSetParams(node, &parameters));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, nullptr));
  parameters = scaling(third);
  CHECK(cuGraphExecNodeSetParams(exec, node, &parameters));
  CHECK(cuGraphLaunch(exec, nullptr));
  expect(first.read() == expected, "a node's first parameters");
  scale_here(expected, factor, offset);
  expect(second.read() == expected, "a node's parameters in a graph");
  expect(third.read() == expected, "a node's parameters in an executable graph");
  CHECK(cuMemcpyHtoD(code.variable("offset", 4), &before, 4));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
  return sum(expected);
}

// What the driver says of launches that it refuses: other things of other GPUs, but the same of two as of one.
std::uint64_t failures() {
  const CUfunction vector_add = code.function("vector_add");
  const Buffer<float> data(large, [](std::size_t i) { return static_cast<float>(i % 8); });
  std::vector<int> results;
  for (const unsigned blocks : {1u, 64u})
    for (const unsigned threads : {2048u, 1024u, 256u}) {
      unsigned n = blocks * threads;
      void* places[] = {const_cast<CUdeviceptr*>(&data.address), const_cast<CUdeviceptr*>(&data.address),
                        const_cast<CUdeviceptr*>(&data.address), &n};
      results.push_back(cuLaunchKernel(vector_add, blocks, 1, 1, threads, 1, 1, 0, nullptr, places, nullptr));
      std::printf("%u blocks of %u threads: %d\n", blocks, threads, results.back());
    }
  expect(results.back() == CUDA_SUCCESS, "a launch after those that failed");
  return sum(results) ^ sum(data.read());
}
