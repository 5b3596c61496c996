#include "vgpu/src/driver/report.hpp"

#include "vgpu/src/driver/program.hpp"
#include "vgpu/src/kernel_name.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace dcgn::virtual_gpu::driver {

void Report::note_whole_program(const std::string& why) { why_whole_ = why; }
void Report::note_split(const std::string& kernel) { ++kernels_[kernel].split; }
void Report::note_whole(const std::string& kernel, const std::string& why) { ++kernels_[kernel].whole[why]; }
void Report::note_remark(const std::string& text) { ++remarks_[text]; }

void Report::note_error(const char* call, const char* text) {
  const std::lock_guard lock(errors_mutex_);
  ++errors_[std::string(call) + ": " + text];
}

void Report::write(const Program& program, std::uint64_t copies, std::uint64_t copied_bytes) const {
  using Json = nlohmann::ordered_json;
  const char* const folder = std::getenv("DCGN_VGPU_REPORT");
  if (!folder) return;
  Json kernels = Json::array();
  std::uint64_t split = 0, launches = 0;
  for (const auto& [name, kernel] : kernels_) {
    Json whole = Json::array();
    std::uint64_t all = kernel.split;
    for (const auto& [why, count] : kernel.whole) {
      whole.push_back({{"why", why}, {"launches", count}});
      all += count;
    }
    split += kernel.split;
    launches += all;
    kernels.push_back({{"name", name},
                       {"plain_name", plain_name(name)},
                       {"launches", all},
                       {"split", kernel.split},
                       {"whole", whole}});
    if (kernel.checked == 0) continue;
    Json differences = Json::array();
    for (const auto& [what, count] : kernel.differences) differences.push_back({{"what", what}, {"launches", count}});
    kernels.back()["checked"] = kernel.checked;
    kernels.back()["differences"] = differences;
  }
  Json remarks = Json::array(), errors = Json::array();
  for (const auto& [text, count] : remarks_) remarks.push_back({{"what", text}, {"times", count}});
  {
    const std::lock_guard lock(errors_mutex_);
    for (const auto& [text, count] : errors_) errors.push_back({{"what", text}, {"times", count}});
  }
  Json document = {
      {"process", getpid()},
      {"gpus", program.parts().size()},
      {"launches", launches},
      {"split", split},
      {"kernels", kernels},
      {"buffers", {{"count", buffers_}, {"bytes", buffer_bytes_}}},
      {"small_buffers", {{"count", small_buffers_}, {"bytes", small_bytes_}}},
      {"link_bytes", {{"copies_made_by_themselves", copied_bytes}, {"copies_of_the_program", copied_between_}}},
      {"copies_made_by_themselves", copies},
      {"remarks", remarks},
      {"errors", errors}};
  if (!why_whole_.empty()) document["why_whole"] = why_whole_;
  std::ofstream file(std::string(folder) + "/" + std::to_string(getpid()) + ".json");
  file << document.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';  // dcgn misses what cannot be written
}

}  // namespace dcgn::virtual_gpu::driver
