#include "vgpu/src/driver/report.hpp"

#include "vgpu/src/driver/program.hpp"
#include "vgpu/src/kernel_name.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <utility>

namespace dcgn::virtual_gpu::driver {

void Report::note_whole_program(const std::string& why) { why_whole_ = why; }
void Report::note_split(const std::string& kernel) { ++kernels_[kernel].split; }
void Report::note_whole(const std::string& kernel, const std::string& why) { ++kernels_[kernel].whole[why]; }
void Report::note_remark(const std::string& text) { ++remarks_[text]; }

void Report::note_error(const char* call, const char* text) {
  const std::lock_guard lock(errors_mutex_);
  ++errors_[std::string(call) + ": " + text];
}

Report::Kernel Report::count(const SplitPolicy& policy, const Measured::OfKernel& measured) {
  Kernel all;
  double most = -1;
  for (const Measured::Entry& entry : measured.entries) {
    const SplitPolicy::Kind& kind = *entry.kind;
    all.split += entry.split;
    std::string why = !entry.why.empty() ? entry.why : measured.why;
    if (why.empty()) why = policy.why(kind);
    if (why.empty()) why = entry.split != 0 ? "before it was split first, or to time it whole" : "not split yet";
    if (entry.whole != 0) all.whole[why] += entry.whole;
    if (kind.seconds <= most) continue;
    most = kind.seconds;
    using Form = SplitPolicy::Form;
    const Form whole = kind.of(Form::local).count() != 0 ? Form::local : Form::spread;
    all.whole_us = 1e6 * kind.seconds_of(whole, kind.last_blocks);
    all.split_us = 1e6 * kind.seconds_of(Form::split, kind.last_blocks);
  }
  return all;
}

void Report::write(const Program& program, std::uint64_t copies, std::uint64_t copied_bytes) const {
  using Json = nlohmann::ordered_json;
  const char* const folder = std::getenv("DCGN_VGPU_REPORT");
  if (!folder) return;
  Json kernels = Json::array();
  std::uint64_t split = 0, launches = 0;
  auto all_kernels = kernels_;
  const Measured& measured = program.measured();
  for (const auto& [name, one] : measured.kernels()) {
    Kernel& kernel = all_kernels[name];
    const auto before = std::move(kernel.whole);
    kernel = count(measured.policy(), one);
    for (const auto& [why, count] : before) kernel.whole[why] += count;  // nodes of graphs
  }
  for (const auto& [name, kernel] : all_kernels) {
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
    if (kernel.whole_us > 0) kernels.back()["whole_us"] = kernel.whole_us;
    if (kernel.split_us > 0) kernels.back()["split_us"] = kernel.split_us;
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
      {"splits", measured.on() ? "measured" : "always"},
      {"launches", launches},
      {"split", split},
      {"kernels", kernels},
      {"buffers", {{"count", buffers_}, {"bytes", buffer_bytes_}}},
      {"small_buffers", {{"count", small_buffers_}, {"bytes", small_bytes_}}},
      {"link_bytes", {{"copies_made_by_themselves", copied_bytes}, {"copies_of_the_program", copied_between_}}},
      {"copies_made_by_themselves", copies},
      {"remarks", remarks},
      {"errors", errors}};
  if (measured.on())
    document["measured"] = {{"trials", measured.policy().trials()},
                            {"seconds_lost", measured.policy().lost()},
                            {"buffers", measured.local() ? "on the first GPU" : "over all GPUs"}};
  if (!why_whole_.empty()) document["why_whole"] = why_whole_;
  std::ofstream file(std::string(folder) + "/" + std::to_string(getpid()) + ".json");
  file << document.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';  // dcgn misses what cannot be written
}

}  // namespace dcgn::virtual_gpu::driver
