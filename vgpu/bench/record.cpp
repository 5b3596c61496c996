#include "vgpu/bench/record.hpp"

#include "vgpu/src/interpreter/recorder.hpp"

#include <dcgn/error.hpp>

namespace dcgn::workloads {

namespace {

namespace interpreter = virtual_gpu::interpreter;

// While it is there, launches are recorded.
class Recording {
 public:
  explicit Recording(interpreter::Recorder& recorder) { interpreter::record_with(&recorder); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { interpreter::record_with(nullptr); }
};

}  // namespace

base::KernelTrace record(const WorkloadKind& kind, int scale, std::uint64_t most_blocks, std::uint64_t most_launches) {
  if (Device(0).kind() != DeviceKind::emulated)
    throw Error(Code::device, "record", "GPU 0 is real, expected an emulated one: DCGN_EMULATED_GPUS=1 makes one");
  VirtualGpu gpu({Device(0)});
  const std::unique_ptr<Workload> workload = kind.make(gpu, scale);
  workload->reset();
  interpreter::Recorder recorder(most_blocks, most_launches);
  const std::uint64_t copied_in = workload->copied_in();
  recorder.copied(base::KernelStep::Kind::to_gpu, copied_in);
  {
    const Recording recording(recorder);
    VirtualGpu::Stream stream(gpu);
    workload->run(stream);
    stream.synchronize();
  }
  recorder.copied(base::KernelStep::Kind::to_gpu, workload->copied_in() - copied_in);
  recorder.copied(base::KernelStep::Kind::to_host, workload->copied_out());
  for (const Result& result : workload->results())
    if (!result.on_host) recorder.copied(base::KernelStep::Kind::to_host, result.bytes);
  base::KernelTrace trace = recorder.take();
  trace.program = kind.name;
  return trace;
}

}  // namespace dcgn::workloads
