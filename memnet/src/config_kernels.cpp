// [gpu]: the GPUs that run kernel traces.
#include "memnet/src/config_parts.hpp"

namespace dcgn::memnet {

GpuCores read_gpu(ConfigValues& values) {
  GpuCores gpu;
  gpu.cores = values.whole("gpu.cores");
  gpu.blocks_per_core = values.whole("gpu.blocks_per_core");
  gpu.threads_per_core = values.whole("gpu.threads_per_core");
  gpu.shared_bytes_per_core = static_cast<int>(values.wide("gpu.shared_memory"));
  gpu.clock_ghz = values.number("gpu.clock");
  gpu.issue_gap = values.whole("gpu.issue_gap");
  gpu.l1_bytes = static_cast<int>(values.wide("gpu.l1"));
  gpu.l1_ways = values.whole("gpu.l1_ways");
  gpu.l1_latency = values.whole("gpu.l1_latency");
  gpu.l1_misses = values.whole("gpu.l1_misses");
  gpu.crossbar_ns = values.number("gpu.crossbar");
  gpu.l2_bytes = static_cast<int>(values.wide("gpu.l2"));
  gpu.l2_ways = values.whole("gpu.l2_ways");
  gpu.l2_banks = values.whole("gpu.l2_banks");
  gpu.l2_clock_ghz = values.number("gpu.l2_clock");
  gpu.l2_latency = values.whole("gpu.l2_latency");
  gpu.outstanding = values.whole("gpu.outstanding");
  try {
    gpu.validate();
  } catch (const Error& error) {  // whose text begins with the key's name
    const std::string text = detail_of(error), key = "gpu." + text.substr(0, text.find(' '));
    throw Error(error.code(), "configuration", values.where(key) + ": " + text);
  }
  return gpu;
}

}  // namespace dcgn::memnet
