// `dcgn vgpu run --emulate --record`: what kernels do to memory, and copies between host and GPUs, as a kernel trace.
#include "base/output_file.hpp"

#include "vgpu/src/emulated_driver/driver.hpp"
#include "vgpu/src/interpreter/recorder.hpp"

#include <dcgn/error.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace dcgn::virtual_gpu::emulated {

namespace {

pid_t recorded_process = 0;

// DCGN_VGPU_RECORD: the folder where each process writes its trace as PID.kernels, when it ends.
void write_trace() {
  if (getpid() != recorded_process) return;  // of a process that was forked from it
  // What the program waits for no longer.
  if (Guard guard(state().mutex); !await_all(guard, std::chrono::seconds(10)))
    std::fprintf(stderr, "dcgn: --record: left out what had not ended 10 s after the program's end\n");
  const base::KernelTrace trace = interpreter::active_recorder()->take();
  interpreter::record_with(nullptr);
  if (trace.steps.empty()) return;
  try {
    base::OutputFile file(std::string(std::getenv("DCGN_VGPU_RECORD")) + "/" + std::to_string(getpid()) + ".kernels");
    base::write_kernel_trace(file, trace);
  } catch (const Error& error) {
    std::fprintf(stderr, "dcgn: %s\n", error.what());
  }
}

bool is_of_device(const void* memory) {
  CUdeviceptr begin = 0;
  Piece piece;
  return find_piece(reinterpret_cast<CUdeviceptr>(memory), begin, piece) && piece.owner >= 0;
}

}  // namespace

void begin_recording() {
  static const bool once = [] {
    if (!std::getenv("DCGN_VGPU_RECORD")) return false;
    recorded_process = getpid();
    const auto number = [](const char* variable) {
      const char* const text = std::getenv(variable);
      return text ? std::strtoull(text, nullptr, 10) : 0;
    };
    // Never destroyed: kernels may run until the very end.
    interpreter::record_with(
        new interpreter::Recorder(number("DCGN_VGPU_RECORD_BLOCKS"), number("DCGN_VGPU_RECORD_LAUNCHES")));
    return std::atexit(&write_trace) == 0;
  }();
  static_cast<void>(once);
}

void record_copy(const void* to, const void* from, std::size_t bytes) {
  interpreter::Recorder* const recorder = interpreter::active_recorder();
  if (!recorder) return;
  const bool to_device = is_of_device(to), from_device = is_of_device(from);
  if (to_device != from_device)
    recorder->copied(to_device ? base::KernelStep::Kind::to_gpu : base::KernelStep::Kind::to_host, bytes);
}

}  // namespace dcgn::virtual_gpu::emulated
