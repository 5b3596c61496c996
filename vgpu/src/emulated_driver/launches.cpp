// The driver's calls about kernels: what is known of them, and launches.
#include "vgpu/src/emulated_driver/driver.hpp"
#include "vgpu/src/emulated_driver/graph.hpp"
#include "vgpu/src/kernel_name.hpp"

#include <algorithm>
#include <cstring>

using namespace dcgn::virtual_gpu::emulated;
namespace interpreter = dcgn::virtual_gpu::interpreter;
using dcgn::Launch;
using dcgn::virtual_gpu::plain_name;

namespace dcgn::virtual_gpu::emulated {

namespace {

CUresult result_of(const interpreter::Fault& fault) {
  switch (fault.kind()) {
    case interpreter::Fault::Kind::illegal_address: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case interpreter::Fault::Kind::misaligned_address: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case interpreter::Fault::Kind::trap:
      return std::string_view(fault.what()).find("ssert") != std::string_view::npos ? CUDA_ERROR_ASSERT
                                                                                    : CUDA_ERROR_LAUNCH_FAILED;
    case interpreter::Fault::Kind::deadlock: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case interpreter::Fault::Kind::unsupported: return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_LAUNCH_FAILED;
}

// What it says behind the name that PTX has for the kernel.
std::string text_of(const interpreter::Fault& fault, const Function& function) {
  const std::string all = fault.what(), mangled = function.name + ": ";
  const std::size_t found = all.find(mangled);
  return plain_name(function.name) + ": " + (found == std::string::npos ? all : all.substr(found + mangled.size()));
}

int threads_allowed(const Function& function) {
  const Module& module = *function.module;
  const int by_registers = registers_per_multiprocessor / static_cast<int>(module.registers);
  return std::min(static_cast<int>(module.details(function).most_threads), by_registers);
}

int dynamic_shared_allowed(const Function& function) {
  const auto its = static_cast<int>(function.module->details(function).shared_bytes);
  return std::max(function.dynamic_shared.load(), shared_bytes_unasked - its);
}

}  // namespace

int blocks_per_multiprocessor(const Function& function, int threads, std::size_t dynamic_shared) {
  if (threads <= 0 || threads > threads_allowed(function)) return 0;
  const int warps = (threads + 31) / 32;
  int blocks = std::min({interpreter::blocks_per_multiprocessor, interpreter::threads_per_multiprocessor / (32 * warps),
                         registers_per_multiprocessor / (static_cast<int>(function.module->registers) * 32 * warps)});
  const std::size_t shared = function.module->details(function).shared_bytes + dynamic_shared;
  if (shared != 0) blocks = std::min<int>(blocks, static_cast<int>(interpreter::shared_bytes_per_block / shared));
  return blocks;
}

void KernelLaunch::run() const {
  const int device = function->module->device;
  const ReachedMemory memory(device);
  try {
    function->module->code->run(function->kernel, launch, parameters.data(), &memory);
  } catch (const interpreter::Fault& fault) {
    device_at(device).error = result_of(fault);
    complain(device,
             text_of(fault, *function) + (memory.refused() ? "; it touches memory that it does not reach" : ""));
  }
}

CUresult prepare(KernelLaunch& made, CUfunction handle, const Launch& launch, void** values, void** extra) {
  CUresult result = CUDA_SUCCESS;
  Function* const function = resolve(handle, result);
  if (!function) return result;
  const interpreter::KernelDetails& details = function->module->details(*function);
  const Dim3 grid = launch.grid, block = launch.block;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0 || threads > 1024 || block.z > 64 ||
      grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    return CUDA_ERROR_INVALID_VALUE;
  if (threads > details.most_threads) return CUDA_ERROR_INVALID_VALUE;
  if (threads * function->module->registers > registers_per_multiprocessor) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (launch.shared_bytes > static_cast<std::size_t>(dynamic_shared_allowed(*function)) ||
      launch.shared_bytes + details.shared_bytes > interpreter::shared_bytes_per_block)
    return CUDA_ERROR_INVALID_VALUE;
  if (launch.resident) {
    const auto most =
        static_cast<std::uint64_t>(interpreter::multiprocessors) *
        static_cast<unsigned>(blocks_per_multiprocessor(*function, static_cast<int>(threads), launch.shared_bytes));
    if (std::uint64_t{grid.x} * grid.y * grid.z > most) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  if (!details.unsupported.empty()) {
    complain(function->module->device, plain_name(function->name) + ": " + details.unsupported);
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  made.function = function;
  made.handle = handle;
  made.launch = launch;
  made.parameters.assign(details.parameter_bytes, std::byte{});
  const std::byte* packed = nullptr;
  std::size_t packed_bytes = 0;
  for (void** word = values ? nullptr : extra; word && *word != CU_LAUNCH_PARAM_END; word += 2) {
    if (*word == CU_LAUNCH_PARAM_BUFFER_POINTER) packed = static_cast<const std::byte*>(word[1]);
    if (*word == CU_LAUNCH_PARAM_BUFFER_SIZE) packed_bytes = *static_cast<std::size_t*>(word[1]);
  }
  if (!details.parameters.empty() && !values && !packed) return CUDA_ERROR_INVALID_VALUE;
  if (!values && packed) {
    std::memcpy(made.parameters.data(), packed, std::min(packed_bytes, made.parameters.size()));
  } else if (values) {
    for (std::size_t i = 0; i < details.parameters.size(); ++i)
      std::memcpy(made.parameters.data() + details.parameters[i].offset, values[i], details.parameters[i].bytes);
  }
  made.places.clear();
  for (const auto& parameter : details.parameters) made.places.push_back(made.parameters.data() + parameter.offset);
  count("launched on " + std::to_string(function->module->device) + " " + function->name);
  return CUDA_SUCCESS;
}

}  // namespace dcgn::virtual_gpu::emulated

namespace {

Launch shape(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
             bool cooperative) {
  Launch launch;
  launch.grid = {gx, gy, gz};
  launch.block = {bx, by, bz};
  launch.shared_bytes = shared;
  launch.resident = cooperative;
  return launch;
}

CUresult launch(CUfunction handle, const Launch& its_launch, CUstream stream, void** values, void** extra) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  KernelLaunch made;
  if (const CUresult wrong = prepare(made, handle, its_launch, values, extra); wrong != CUDA_SUCCESS) return wrong;
  const Guard guard(state().mutex);
  Stream& its = *stream_of(stream);
  if (its.device != made.function->module->device) return CUDA_ERROR_INVALID_HANDLE;
  if (its.capture) {
    Node& node = record_node(its, CU_GRAPH_NODE_TYPE_KERNEL, {});
    node.kernel = std::move(made);  // with what `places` points to
  } else {
    give(its, [&its, made = std::move(made)] {
      const dcgn::Dim3 grid = made.launch.grid;
      its.simulated = its.simulated.load() + std::int64_t{grid.x} * grid.y * grid.z * made.function->module->block_time;
      made.run();
    });
  }
  return CUDA_SUCCESS;
}

CUresult attribute_of(int* value, CUfunction_attribute attribute, const Function& function) {
  const Module& module = *function.module;
  const interpreter::KernelDetails& details = module.details(function);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = threads_allowed(function); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(details.shared_bytes); break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = static_cast<int>(details.constant_bytes); break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = static_cast<int>(details.local_bytes); break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = static_cast<int>(module.registers); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = module.architecture; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = dynamic_shared_allowed(function); break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = -1; break;
    default: *value = 0; break;
  }
  return CUDA_SUCCESS;
}

CUresult set_attribute(Function& function, const Function& here, CUfunction_attribute attribute, int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
  const auto its = static_cast<int>(here.module->details(here).shared_bytes);
  if (value < 0 || value + its > static_cast<int>(interpreter::shared_bytes_per_block)) return CUDA_ERROR_INVALID_VALUE;
  return function.dynamic_shared = value, CUDA_SUCCESS;
}

CUfunction as_function(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void** values, void** extra) {
  return launch(f, shape(gx, gy, gz, bx, by, bz, shared, false), stream, values, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, CUstream stream, void** values) {
  return launch(f, shape(gx, gy, gz, bx, by, bz, shared, true), stream, values, nullptr);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction f, void** values, void** extra) {
  bool cooperative = false;
  for (unsigned i = 0; i < c->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = c->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) cooperative = attribute.value.cooperative != 0;
    const auto& cluster = attribute.value.clusterDim;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && cluster.x * cluster.y * cluster.z > 1) {
      complain(-1, plain_name(function_of(f).name) + ": a launch in clusters, which is not emulated");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return launch(f,
                shape(c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                      c->sharedMemBytes, cooperative),
                c->hStream, values, extra);
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  CUresult result = CUDA_SUCCESS;
  const Function* const its = resolve(function, result);
  return its ? attribute_of(value, attribute, *its) : result;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  CUresult result = CUDA_SUCCESS;
  Function* const its = resolve(function, result);
  return its ? set_attribute(function_of(function), *its, attribute, value) : result;
}
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
  return cuFuncGetAttribute(value, attribute, as_function(kernel));
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
  return cuFuncSetAttribute(as_function(kernel), attribute, value);
}
CUresult cuKernelSetCacheConfig(CUkernel, CUfunc_cache, CUdevice) { return CUDA_SUCCESS; }
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  CUresult result = CUDA_SUCCESS;
  const Function* const its = resolve(function, result);
  if (!its) return result;
  const auto& all = its->module->details(*its).parameters;
  if (index >= all.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = all[index].offset;
  if (bytes) *bytes = all[index].bytes;
  return CUDA_SUCCESS;
}
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return cuFuncGetParamInfo(as_function(kernel), index, offset, bytes);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int threads,
                                                              size_t shared, unsigned) {
  CUresult result = CUDA_SUCCESS;
  const Function* const its = resolve(function, result);
  if (!its) return result;
  if (threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  return *blocks = blocks_per_multiprocessor(*its, threads, shared), CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, size_t shared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function, CUoccupancyB2DSize size,
                                                   size_t shared, int most, unsigned) {
  CUresult result = CUDA_SUCCESS;
  const Function* const its = resolve(function, result);
  if (!its) return result;
  int best = 0;
  for (int threads = most > 0 ? std::min(most, 1024) : 1024; threads > 0; threads -= 32) {
    const int blocks = blocks_per_multiprocessor(*its, threads, size ? size(threads) : shared);
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * interpreter::multiprocessors;
  }
  return best > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, CUoccupancyB2DSize size,
                                          size_t shared, int most) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, size, shared, most, 0);
}
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks, int) {
  CUresult result = CUDA_SUCCESS;
  const Function* const its = resolve(function, result);
  if (!its) return result;
  if (blocks <= 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t each = interpreter::shared_bytes_per_block / static_cast<unsigned>(blocks);
  const std::size_t own = its->module->details(*its).shared_bytes;
  return *bytes = each > own ? each - own : 0, CUDA_SUCCESS;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
