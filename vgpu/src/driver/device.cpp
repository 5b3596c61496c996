// Devices, contexts and streams, as the program sees them.
#include "device/cuda/cuda_driver.hpp"
#include "vgpu/src/driver/program.hpp"
#include "vgpu/src/driver/real.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

using namespace dcgn::virtual_gpu::driver;

// Contexts that the program made are its GPU's primary one, as all work of a virtual GPU is.
int made_contexts = 0;

bool takes_contexts(CUdevice device) {
  const Program& program = Program::get();
  return program.parts().size() > 1 && device == program.first_device();
}

CUresult make_context(CUcontext* context) {
  return guarded("cuCtxCreate", [&] {
    CUcontext primary = nullptr;
    {
      const Call call;
      primary = dcgn::device::context_of(Program::get().first_device());
      ++made_contexts;
    }
    const CUresult result = DCGN_REAL(cuCtxPushCurrent_v2)(primary);
    if (result == CUDA_SUCCESS && context) *context = primary;
    return result;
  });
}

// Whether it is one that make_context() gave.
bool end_of_made_context(CUcontext context) {
  const Call call;
  if (made_contexts == 0 || context != dcgn::device::context_of(Program::get().first_device())) return false;
  --made_contexts;
  return true;
}

// All that a virtual GPU has stands in it.
bool keeps_context(CUdevice device) {
  Call call;
  if (!call.program().gpu_if_made() || device != call.program().first_device()) return false;
  call.program().report().note_remark("a reset of the GPU, which was not done");
  return true;
}

pid_t started_by = 0;

void write_report() {
  if (getpid() != started_by) return;  // of a fork, which has done nothing of that
  Program& program = Program::get();
  std::uint64_t copies = 0, copied_bytes = 0;
  if (const auto* const gpu = program.gpu_if_made()) {
    copies = gpu->statistics.copies;
    copied_bytes = gpu->statistics.copied_bytes;
    // What kernels of the other GPUs have printed.
    for (const int device : program.parts()) {
      if (device == program.first_device() || !gpu->awake()) continue;
      const dcgn::device::CurrentContext current(dcgn::device::context_of(device));
      static_cast<void>(DCGN_REAL(cuCtxSynchronize)());
    }
  }
  {
    const Call call(Call::Lightly{});  // another thread may have it made
    program.measured().end();
  }
  program.report().write(program, copies, copied_bytes);
}

CUresult keep_stream(CUresult result, const CUstream* stream) {
  if (result != CUDA_SUCCESS) return result;
  Call call(Call::Lightly{});
  call.program().measured().add_stream(*stream);
  return result;
}

// The first error of those that `call` returns in the contexts of the other devices.
template <class Real>
CUresult in_other_contexts(const Program& program, const Real& call) {
  CUresult first = CUDA_SUCCESS;
  std::vector<int> seen{program.first_device()};
  for (const int device : program.parts()) {
    if (std::find(seen.begin(), seen.end(), device) != seen.end()) continue;
    seen.push_back(device);
    const dcgn::device::CurrentContext current(dcgn::device::context_of(device));
    const CUresult result = call();
    if (first == CUDA_SUCCESS) first = result;
  }
  return first;
}

CUresult synchronize_others() {
  if (Program::get().measured().local()) return CUDA_SUCCESS;  // they have nothing to do
  return guarded("cuCtxSynchronize", [&] {
    {
      Call call;
      if (!call.program().gpu_if_made() || !call.program().on_first_device()) return CUDA_SUCCESS;
    }
    // Without a Call: another thread may have to let go what this waits for.
    return in_other_contexts(Program::get(), [] { return DCGN_REAL(cuCtxSynchronize)(); });
  });
}

CUstream per_thread(CUstream stream) { return stream ? stream : CU_STREAM_PER_THREAD; }

// Behind the driver's call. What has failed to end may have ended all the same.
CUresult begin_capture(CUresult result, CUstream stream) {
  if (result == CUDA_SUCCESS) {
    Call call;
    call.program().note_capture(stream);
  }
  return result;
}
CUresult end_capture(CUresult result, CUstream stream) {
  Call call;
  if (!captures(stream)) call.program().end_capture(stream);
  return result;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuInit(unsigned flags) {
  const CUresult result = DCGN_REAL(cuInit)(flags);
  if (result == CUDA_SUCCESS) {
    const Call call;
    if (started_by != getpid()) {
      started_by = getpid();
      static_cast<void>(std::atexit(&write_report));
    }
  }
  return result;
}

// Who asks cuGetProcAddress() for it, as CUDA's runtime does, is told of all GPUs: the runtime holds what it is told
// against what the driver knows, and refuses to work where they differ.
CUresult cuDeviceGetCount(int* count) {
  const CUresult result = DCGN_REAL(cuDeviceGetCount)(count);
  if (result == CUDA_SUCCESS && Program::get().parts().size() > 1) *count = std::min(*count, 1);
  return result;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  const Program& program = Program::get();
  if (!bytes || device != program.first_device()) return DCGN_REAL(cuDeviceTotalMem_v2)(bytes, device);
  std::size_t sum = 0;
  std::vector<int> seen;
  for (const int part : program.parts()) {
    if (std::find(seen.begin(), seen.end(), part) != seen.end()) continue;
    seen.push_back(part);
    std::size_t its = 0;
    const CUresult result = DCGN_REAL(cuDeviceTotalMem_v2)(&its, part);
    if (result != CUDA_SUCCESS) return result;
    sum += its;
  }
  *bytes = sum;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  using Create = CUresult(CUcontext*, unsigned, CUdevice);
  return takes_contexts(device) ? make_context(context)
                                : DCGN_REAL_AS(Create, "cuCtxCreate_v2")(context, flags, device);
}
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count, unsigned flags, CUdevice device) {
  using Create = CUresult(CUcontext*, CUexecAffinityParam*, int, unsigned, CUdevice);
  return takes_contexts(device) && count == 0
             ? make_context(context)
             : DCGN_REAL_AS(Create, "cuCtxCreate_v3")(context, affinity, count, flags, device);
}
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned flags, CUdevice device) {
  return takes_contexts(device) && !parameters ? make_context(context)
                                               : DCGN_REAL(cuCtxCreate_v4)(context, parameters, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  if (!end_of_made_context(context)) return DCGN_REAL(cuCtxDestroy_v2)(context);
  // It stays until the process ends, but is no more current.
  CUcontext current = nullptr;
  const CUresult result = DCGN_REAL(cuCtxGetCurrent)(&current);
  return result == CUDA_SUCCESS && current == context ? DCGN_REAL(cuCtxPopCurrent_v2)(&current) : result;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return keeps_context(device) ? cuCtxSynchronize() : DCGN_REAL(cuDevicePrimaryCtxReset_v2)(device);
}

CUresult cuStreamSynchronize(CUstream stream) {
  const Waiting waiting;
  const CUresult result = DCGN_REAL(cuStreamSynchronize)(stream);
  return result == CUDA_SUCCESS ? error_of_others() : result;
}
CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  const Waiting waiting;
  const CUresult result = DCGN_REAL_AS(decltype(cuStreamSynchronize), "cuStreamSynchronize_ptsz")(stream);
  return result == CUDA_SUCCESS ? error_of_others() : result;
}
CUresult cuEventSynchronize(CUevent event) {
  const Waiting waiting;
  const CUresult result = DCGN_REAL(cuEventSynchronize)(event);
  return result == CUDA_SUCCESS ? error_of_others() : result;
}
// What another GPU's part has done wrong, these tell as well.
CUresult cuStreamQuery(CUstream stream) {
  const CUresult result = DCGN_REAL(cuStreamQuery)(stream);
  return result == CUDA_SUCCESS ? error_of_others() : result;
}
CUresult cuStreamQuery_ptsz(CUstream stream) {
  const CUresult result = DCGN_REAL_AS(decltype(cuStreamQuery), "cuStreamQuery_ptsz")(stream);
  return result == CUDA_SUCCESS ? error_of_others() : result;
}
CUresult cuEventQuery(CUevent event) {
  const CUresult result = DCGN_REAL(cuEventQuery)(event);
  return result == CUDA_SUCCESS ? error_of_others() : result;
}

CUresult cuCtxSynchronize() {
  const Waiting waiting;
  const CUresult result = DCGN_REAL(cuCtxSynchronize)();
  return result == CUDA_SUCCESS ? synchronize_others() : result;
}
CUresult cuCtxSynchronize_v2(CUcontext context) {
  const Waiting waiting;
  const CUresult result = DCGN_REAL(cuCtxSynchronize_v2)(context);
  return result == CUDA_SUCCESS ? synchronize_others() : result;
}

// The other devices' contexts are there from then on, whether the virtual GPU is made already or not.
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const CUresult result = DCGN_REAL(cuCtxSetLimit)(limit, value);
  if (result != CUDA_SUCCESS) return result;
  return guarded("cuCtxSetLimit", [&] {
    Call call;
    Program& program = call.program();
    if (!program.on_first_device()) return CUDA_SUCCESS;
    if (program.measured().on()) {
      program.set_limit(limit, value);
      return CUDA_SUCCESS;
    }
    return in_other_contexts(program, [&] { return DCGN_REAL(cuCtxSetLimit)(limit, value); });
  });
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return keep_stream(DCGN_REAL(cuStreamCreate)(stream, flags), stream);
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return keep_stream(DCGN_REAL(cuStreamCreateWithPriority)(stream, flags, priority), stream);
}
CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx context, unsigned flags, int priority) {
  return keep_stream(DCGN_REAL(cuGreenCtxStreamCreate)(stream, context, flags, priority), stream);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begin_capture(DCGN_REAL(cuStreamBeginCapture_v2)(stream, mode), stream);
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  const auto real = DCGN_REAL_AS(decltype(::cuStreamBeginCapture_v2), "cuStreamBeginCapture_v2_ptsz");
  return begin_capture(real(stream, mode), per_thread(stream));
}
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* after,
                                     const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  return begin_capture(DCGN_REAL(cuStreamBeginCaptureToGraph)(stream, graph, after, edges, count, mode), stream);
}
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* after,
                                          const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  const auto real = DCGN_REAL_AS(decltype(::cuStreamBeginCaptureToGraph), "cuStreamBeginCaptureToGraph_ptsz");
  return begin_capture(real(stream, graph, after, edges, count, mode), per_thread(stream));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return end_capture(DCGN_REAL(cuStreamEndCapture)(stream, graph), stream);
}
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  const auto real = DCGN_REAL_AS(decltype(::cuStreamEndCapture), "cuStreamEndCapture_ptsz");
  return end_capture(real(stream, graph), per_thread(stream));
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  static_cast<void>(guarded("cuStreamDestroy", [&] {
    Call call;
    call.program().forget_stream(stream);
    return CUDA_SUCCESS;
  }));
  return DCGN_REAL(cuStreamDestroy_v2)(stream);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
