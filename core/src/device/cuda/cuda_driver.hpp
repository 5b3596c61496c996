// Calls of the CUDA driver that the runtime has no equal of, looked up at run time: the library does not link the
// driver, which machines without a GPU lack.
#pragma once

#include <dcgn/error.hpp>

#include <cuda.h>

#include <string>

namespace dcgn::device {

// As cuda.h declares them.
struct Driver {
  decltype(&cuGetErrorName) get_error_name;
  decltype(&cuStreamWriteValue32) stream_write_value;
  decltype(&cuCtxGetCurrent) context_get;
  decltype(&cuCtxSetCurrent) context_set;
  decltype(&cuDeviceGetAttribute) device_get_attribute;
  decltype(&cuPointerGetAttribute) pointer_attribute;
  decltype(&cuPointerGetAttributes) pointer_attributes;
  decltype(&cuMemGetAddressRange) address_range;

  decltype(&cuMemGetAllocationGranularity) memory_granularity;
  decltype(&cuMemAddressReserve) address_reserve;
  decltype(&cuMemAddressFree) address_free;
  decltype(&cuMemCreate) memory_create;
  decltype(&cuMemRelease) memory_release;
  decltype(&cuMemMap) memory_map;
  decltype(&cuMemUnmap) memory_unmap;
  decltype(&cuMemSetAccess) memory_set_access;
  decltype(&cuMemPoolGetAccess) pool_get_access;

  decltype(&cuModuleLoadDataEx) module_load;
  decltype(&cuModuleUnload) module_unload;
  decltype(&cuModuleGetFunction) module_get_function;
  decltype(&cuModuleGetGlobal) module_get_global;
  decltype(&cuFuncGetAttribute) function_get_attribute;
  decltype(&cuFuncSetAttribute) function_set_attribute;
  decltype(&cuLaunchKernel) launch;
  decltype(&cuLaunchCooperativeKernel) launch_cooperative;

  decltype(&cuEventCreate) event_create;
  decltype(&cuEventDestroy) event_destroy;
  decltype(&cuEventRecord) event_record;
  decltype(&cuEventQuery) event_query;
  decltype(&cuEventSynchronize) event_synchronize;
  decltype(&cuEventElapsedTime) event_elapsed;
  decltype(&cuStreamWaitEvent) stream_wait;

  decltype(&cuStreamBeginCapture) stream_begin_capture;
  decltype(&cuStreamEndCapture) stream_end_capture;
  decltype(&cuGraphInstantiateWithFlags) graph_instantiate;
  decltype(&cuGraphLaunch) graph_launch;
  decltype(&cuGraphDestroy) graph_destroy;
  decltype(&cuGraphExecDestroy) graph_exec_destroy;
};

// Throws Error(device) where the driver lacks one of them.
const Driver& driver();

// An error that the driver has returned, with its own code.
class DriverError : public Error {
 public:
  DriverError(Code code, const std::string& operation, const std::string& detail, CUresult result)
      : Error(code, operation, detail), result_(result) {}
  CUresult result() const noexcept { return result_; }

 private:
  CUresult result_;
};

// Throws DriverError(code) that names the driver's call and the device it was for.
void check_driver(CUresult result, const char* operation, const char* call, int device, Code code = Code::device);

// The context that the CUDA runtime uses for a device.
CUcontext context_of(int device);

// Makes it the calling thread's current one, and in the end what was current before.
class CurrentContext {
 public:
  explicit CurrentContext(CUcontext context) {
    static_cast<void>(driver().context_get(&before_));
    if (before_ != context) check_driver(driver().context_set(context), "VirtualGpu", "cuCtxSetCurrent", 0);
    changed_ = before_ != context;
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext() {
    // It was current a moment ago; if the driver has failed since, the next checked call says so.
    if (changed_) static_cast<void>(driver().context_set(before_));
  }

 private:
  CUcontext before_ = nullptr;
  bool changed_ = false;
};

}  // namespace dcgn::device
