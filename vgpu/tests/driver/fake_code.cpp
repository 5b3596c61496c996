// The driver's calls about code: modules, launches, graphs.
#include "fake_driver.hpp"

#include "vgpu/src/fat_binary.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

using namespace fake;

namespace {

// Of what cuModuleLoadData() takes, with the options that are there beside it.
dcgn::virtual_gpu::FatEntry ptx_of(const void* image) {
  dcgn::virtual_gpu::FatEntry entry;
  std::uint32_t words[4];
  std::memcpy(words, image, sizeof words);  // no image is shorter
  if (words[0] == 0x466243b1) return ptx_of(reinterpret_cast<const void*>(words[2] | std::uint64_t{words[3]} << 32));
  if (words[0] != 0xba55ed50) return entry.text = static_cast<const char*>(image), entry;
  const std::span content(static_cast<const std::byte*>(image), (words[1] >> 16) + words[2]);
  const auto found = dcgn::virtual_gpu::read_fat_binaries("an image", content);
  const auto* const ptx = found.empty() ? nullptr : dcgn::virtual_gpu::newest_ptx(found.front());
  return ptx ? *ptx : entry;
}

std::unique_ptr<Module> load(int device, const void* image, unsigned count = 0, CUjit_option* options = nullptr,
                             void** values = nullptr) {
  const auto entry = ptx_of(image);
  auto module = parse(entry.text, device);
  constexpr std::string_view most = "-maxrregcount=";
  if (const std::size_t found = entry.options.find(most); found != std::string::npos)
    module->registers = static_cast<unsigned>(std::stoul(entry.options.substr(found + most.size())));
  std::string all;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) continue;
    const auto value = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values[i]));
    if (options[i] == CU_JIT_MAX_REGISTERS) module->registers = value;
    if (options[i] == CU_JIT_THREADS_PER_BLOCK) values[i] = nullptr;  // what came of it
    all += " " + std::to_string(options[i]) + "=" + std::to_string(value);
  }
  if (!all.empty()) ++state().counts["loaded on " + std::to_string(device) + " with" + all];
  return module;
}

struct Node {
  Works* graph;
  std::size_t number;
};
Works& works_of(void* graph) { return *static_cast<Works*>(graph); }

CUresult set(std::function<void()>& work, const CUgraphNodeParams& parameters) {
  if (parameters.type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_NOT_SUPPORTED;
  const auto& p = parameters.kernel;
  return prepare(work, p.func, {p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ},
                 p.kernelParams, p.extra);
}

}  // namespace

extern "C" {

// Code.
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  const Lock lock;
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  auto made = load(current()->device, image, count, options, values);
  if (made->kernels.empty()) return CUDA_ERROR_INVALID_IMAGE;
  return *module = reinterpret_cast<CUmodule>(made.release()), CUDA_SUCCESS;
}
// Libraries are of no context, but a kernel of one is launched on the current one's device: here, on the first.
CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* jit, void** jit_values, unsigned jits,
                           CUlibraryOption*, void**, unsigned) {
  const Lock lock;
  return *library = reinterpret_cast<CUlibrary>(load(0, image, jits, jit, jit_values).release()), CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary) { return CUDA_SUCCESS; }
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return cuModuleGetFunction(reinterpret_cast<CUfunction*>(kernel), reinterpret_cast<CUmodule>(library), name);
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return cuModuleGetGlobal_v2(address, bytes, reinterpret_cast<CUmodule>(library), name);
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return *function = reinterpret_cast<CUfunction>(new Function(*reinterpret_cast<Function*>(kernel))), CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  auto* const its = reinterpret_cast<Module*>(module);
  if (its->kernels.count(name) == 0) return CUDA_ERROR_NOT_FOUND;
  return *function = reinterpret_cast<CUfunction>(new Function{its, name}), CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  const auto& all = reinterpret_cast<Module*>(module)->variables;
  const auto found = all.find(name);
  if (found == all.end()) return CUDA_ERROR_NOT_FOUND;
  if (address) *address = reinterpret_cast<CUdeviceptr>(found->second->content.data());
  if (bytes) *bytes = found->second->content.size();
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const auto registers = reinterpret_cast<Function*>(function)->module->registers;
  const bool threads = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
  return *value = threads ? std::min(1024, 65536 / static_cast<int>(registers)) : 0, CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned, CUstream stream, void** values, void** extra) {
  return launch(f, {gx, gy, gz}, {bx, by, bz}, stream, values, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned, CUstream stream, void** values) {
  return launch(f, {gx, gy, gz}, {bx, by, bz}, stream, values, nullptr);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction f, void** values, void** extra) {
  return launch(f, {c->gridDimX, c->gridDimY, c->gridDimZ}, {c->blockDimX, c->blockDimY, c->blockDimZ}, c->hStream,
                values, extra);
}

// Graphs: works in their order, of which some are nodes that the program knows.
CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  return *graph = reinterpret_cast<CUgraph>(new Works()), CUDA_SUCCESS;
}
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode*, const CUgraphEdgeData*, size_t,
                           CUgraphNodeParams* parameters) {
  const Lock lock;
  Works& all = works_of(graph);
  all.emplace_back();
  *node = reinterpret_cast<CUgraphNode>(new Node{&all, all.size() - 1});
  return cuGraphNodeSetParams(*node, parameters);
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  const Lock lock;
  const Node& its = *reinterpret_cast<Node*>(node);
  return set((*its.graph)[its.number], *parameters);
}
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* parameters) {
  const Lock lock;
  return set(works_of(exec)[reinterpret_cast<Node*>(node)->number], *parameters);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return *exec = reinterpret_cast<CUgraphExec>(new Works(works_of(graph))), CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph) { return CUDA_SUCCESS; }
CUresult cuGraphExecDestroy(CUgraphExec) { return CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  const Lock lock;
  for (const auto& run : works_of(exec)) stream_of(stream).give(run);
  return CUDA_SUCCESS;
}

}  // extern "C"
