// What the programs that `dcgn vgpu run` started have left behind: vgpu/src/driver/report.hpp writes it.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace dcgn::tool {

// The reports in a folder, one for each process that called the driver, in the order of their numbers.
nlohmann::ordered_json read_vgpu_reports(const std::string& folder);

// For people. `gpus` of them were given.
std::string vgpu_report_text(const nlohmann::ordered_json& processes, std::size_t gpus);

}  // namespace dcgn::tool
