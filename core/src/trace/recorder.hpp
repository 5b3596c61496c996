// Records what a world does, while Config::trace names a file for it, and writes that at the end: the logs that the
// ranks keep of their calls (dcgn/message/trace_log.hpp), kernels and copies of devices, and how their clocks differ.
#pragma once

#include "base/clock_map.hpp"
#include "base/output_file.hpp"
#include "device/copier.hpp"
#include "message/memory.hpp"
#include "trace/document.hpp"
#include "transport/processes.hpp"

#include <dcgn/config.hpp>
#include <dcgn/device.hpp>
#include <dcgn/placement.hpp>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::trace {

class Recorder {
 public:
  // `processes` is null where there is one. Throws Error(configuration) for a name that ends in neither .json nor
  // .html, io where the file cannot be written, as far as the first process can tell.
  Recorder(const Config& config, transport::Processes* processes, std::vector<dcgn::Device> devices);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // By all processes together, before the ranks make calls: looks at the clocks, of GPUs here that have slots.
  void begin(const std::function<bool(int gpu)>& has_slots);
  // From any thread: what GPU `gpu` of this process did, by now_ns() of the host.
  void add(int gpu, Activity activity);
  void add(const device::CopyRecords& copies);

  // When kernels and threads have ended, once: the file is there whole when this returns, or a line on stderr says why
  // it is not. `has_ended`: whether a rank's log may be read. Of several processes the first one writes what all have,
  // if they are `together`; else, the job having been stopped, each writes what it has, the others with their number in
  // the name.
  void write(const message::RankMemory& memory, const Placement& placement, const std::function<bool(int)>& has_ended,
             bool together) noexcept;

 private:
  Document document_of(const message::RankMemory& memory, const Placement& placement,
                       const std::function<bool(int)>& has_ended, bool together);
  void write(const Document& document);

  transport::Processes* const processes_;
  const std::vector<dcgn::Device> devices_;
  const std::uint64_t capacity_;
  const std::string path_;
  std::optional<base::OutputFile> file_;                     // the first process's
  std::uint64_t origin_ = 0;                                 // the first process's clock at the beginning
  std::optional<base::Reading> first_clock_;                 // of the first process; none where it is this one's
  base::Reading ticks_;                                      // of events of this host, by its time
  std::vector<std::optional<base::Reading>> device_clocks_;  // of GPUs whose clock is none of the host's
  std::mutex mutex_;
  std::vector<std::vector<Activity>> activities_;  // by GPU
  std::uint64_t dropped_copies_ = 0;
  bool written_ = false;
};

}  // namespace dcgn::trace
