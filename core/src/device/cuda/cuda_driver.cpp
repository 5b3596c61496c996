#include "cuda_driver.hpp"

#include "cuda_check.hpp"

#include <cuda_runtime_api.h>

namespace dcgn::device {

namespace {

template <class Function>
void find(const char* name, Function& function) {
  void* found = nullptr;
  // The version whose declarations this was compiled with, not the newest that the driver has.
#if CUDART_VERSION >= 12050
  check_cuda(cudaGetDriverEntryPointByVersion(name, &found, CUDA_VERSION, cudaEnableLegacyStream), "driver",
             "cudaGetDriverEntryPointByVersion", 0);
#else
  check_cuda(cudaGetDriverEntryPoint(name, &found, cudaEnableLegacyStream), "driver", "cudaGetDriverEntryPoint", 0);
#endif
  if (!found)
    throw Error(Code::device, "driver",
                std::string("the driver has no ") + name + ", expected that of CUDA 12 or newer");
  function = reinterpret_cast<Function>(found);
}

Driver load_driver() {
  Driver d{};
  find("cuGetErrorName", d.get_error_name);
  find("cuStreamWriteValue32", d.stream_write_value);
  find("cuCtxGetCurrent", d.context_get);
  find("cuCtxSetCurrent", d.context_set);
  find("cuDeviceGetAttribute", d.device_get_attribute);
  find("cuPointerGetAttribute", d.pointer_attribute);
  find("cuPointerGetAttributes", d.pointer_attributes);
  find("cuMemGetAddressRange", d.address_range);
  find("cuMemGetAllocationGranularity", d.memory_granularity);
  find("cuMemAddressReserve", d.address_reserve);
  find("cuMemAddressFree", d.address_free);
  find("cuMemCreate", d.memory_create);
  find("cuMemRelease", d.memory_release);
  find("cuMemMap", d.memory_map);
  find("cuMemUnmap", d.memory_unmap);
  find("cuMemSetAccess", d.memory_set_access);
  find("cuMemPoolGetAccess", d.pool_get_access);
  find("cuModuleLoadDataEx", d.module_load);
  find("cuModuleUnload", d.module_unload);
  find("cuModuleGetFunction", d.module_get_function);
  find("cuModuleGetGlobal", d.module_get_global);
  find("cuFuncGetAttribute", d.function_get_attribute);
  find("cuFuncSetAttribute", d.function_set_attribute);
  find("cuLaunchKernel", d.launch);
  find("cuLaunchCooperativeKernel", d.launch_cooperative);
  find("cuEventCreate", d.event_create);
  find("cuEventDestroy", d.event_destroy);
  find("cuEventRecord", d.event_record);
  find("cuEventQuery", d.event_query);
  find("cuEventSynchronize", d.event_synchronize);
  find("cuEventElapsedTime", d.event_elapsed);
  find("cuStreamWaitEvent", d.stream_wait);
  find("cuStreamBeginCapture", d.stream_begin_capture);
  find("cuStreamEndCapture", d.stream_end_capture);
  find("cuGraphInstantiateWithFlags", d.graph_instantiate);
  find("cuGraphLaunch", d.graph_launch);
  find("cuGraphDestroy", d.graph_destroy);
  find("cuGraphExecDestroy", d.graph_exec_destroy);
  return d;
}

}  // namespace

const Driver& driver() {
  static const Driver all = load_driver();
  return all;
}

CUcontext context_of(int device) {
  const CurrentDevice current(device, "VirtualGpu");
  check_cuda(cudaFree(nullptr), "VirtualGpu", "cudaFree", device);  // has the runtime make it
  CUcontext context = nullptr;
  check_driver(driver().context_get(&context), "VirtualGpu", "cuCtxGetCurrent", device);
  return context;
}

}  // namespace dcgn::device
