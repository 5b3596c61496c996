#include "tool/vgpu_report.hpp"

#include "tool/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace dcgn::tool {

namespace {

using Json = nlohmann::ordered_json;

std::string times(const Json& entry) {
  const auto count = entry.at("times").get<std::uint64_t>();
  return count > 1 ? fmt::format(" ({} times)", count) : std::string();
}

// Names of templates may be thousands of letters long.
std::string shortened(const std::string& name) {
  constexpr std::size_t most = 60;
  return name.size() <= most ? name : name.substr(0, most - 3) + "...";
}

// Where launches were timed, what one took, of those of one size that took most.
std::string kernels_text(const Json& kernels) {
  using enum Table::Align;
  const bool timed = std::any_of(kernels.begin(), kernels.end(), [](const Json& k) { return k.contains("whole_us"); });
  std::vector<Table::Column> columns{{"kernel", left}, {"launches"}, {"split"}, {"whole"}};
  if (timed) columns.insert(columns.end(), {{"us split"}, {"us whole"}});
  columns.push_back({"why", left});
  Table table(columns);
  for (const Json& kernel : kernels) {
    const auto number = [&](const char* key) { return fmt::to_string(kernel.at(key).get<std::uint64_t>()); };
    const auto us = [&](const char* key) {
      return kernel.contains(key) ? fmt::format("{:.1f}", kernel.at(key).get<double>()) : std::string();
    };
    std::vector<std::string> begin{shortened(kernel.at("plain_name")), number("launches"), number("split")};
    std::vector<std::string> taken;
    if (timed) taken = {us("split_us"), us("whole_us")};
    const auto add = [&](std::uint64_t launches, const std::string& why) {
      std::vector<std::string> row = begin;
      row.push_back(fmt::to_string(launches));
      row.insert(row.end(), taken.begin(), taken.end());
      row.push_back(why);
      table.add(std::move(row));
      begin.assign(begin.size(), "");
      taken.assign(taken.size(), "");
    };
    if (kernel.at("whole").empty()) add(0, "");
    for (const Json& whole : kernel.at("whole")) add(whole.at("launches").get<std::uint64_t>(), whole.at("why"));
  }
  return kernels.empty() ? std::string() : table.text();
}

// Of those that --check has made both ways.
std::string checks_text(const Json& kernels) {
  std::uint64_t checked = 0;
  std::string text;
  for (const Json& kernel : kernels) {
    if (!kernel.contains("checked")) continue;
    checked += kernel.at("checked").get<std::uint64_t>();
    for (const Json& difference : kernel.at("differences"))
      text += fmt::format("differs, split and whole: {}: {}, in {} launches\n", shortened(kernel.at("plain_name")),
                          difference.at("what").get<std::string>(), difference.at("launches").get<std::uint64_t>());
  }
  if (checked != 0)
    text += fmt::format("made split and whole: {} launches, {}\n", checked,
                        text.empty() ? "no memory differs" : "see above");
  return text;
}

std::string process_text(const Json& p) {
  const auto number = [](const Json& value) { return value.get<double>(); };
  std::string text = kernels_text(p.at("kernels")) + checks_text(p.at("kernels"));
  if (p.contains("why_whole")) text += fmt::format("nothing was split: {}\n", p.at("why_whole").get<std::string>());
  std::string where = "over all GPUs";
  if (p.contains("measured")) {
    const Json& measured = p.at("measured");
    where = measured.at("buffers").get<std::string>();
    text += fmt::format("buffers now {}; launches were tried split {} times, which cost {:.1f} ms\n", where,
                        measured.at("trials").get<std::uint64_t>(), 1e3 * measured.at("seconds_lost").get<double>());
  }
  const Json &buffers = p.at("buffers"), &small = p.at("small_buffers"), &links = p.at("link_bytes");
  text += fmt::format("buffers {}: {}, {}; smaller than a page, on the first: {}, {}\n", where,
                      buffers.at("count").get<std::uint64_t>(), bytes_text(number(buffers.at("bytes"))),
                      small.at("count").get<std::uint64_t>(), bytes_text(number(small.at("bytes"))));
  text += fmt::format(
      "between GPUs: {} by copies made by themselves, {} by copies of the program; not counted: what kernels read and "
      "write there\n",
      bytes_text(number(links.at("copies_made_by_themselves"))), bytes_text(number(links.at("copies_of_the_program"))));
  for (const Json& remark : p.at("remarks"))
    text += fmt::format("remark: {}{}\n", remark.at("what").get<std::string>(), times(remark));
  for (const Json& error : p.at("errors"))
    text += fmt::format("error: {}{}\n", error.at("what").get<std::string>(), times(error));
  return text;
}

}  // namespace

Json read_vgpu_reports(const std::string& folder) {
  std::vector<Json> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    Json one = Json::parse(file, nullptr, false);  // a process may have been ended while it wrote
    if (!one.is_discarded()) found.push_back(std::move(one));
  }
  std::sort(found.begin(), found.end(),
            [](const Json& a, const Json& b) { return a.at("process").get<long>() < b.at("process").get<long>(); });
  return found;
}

std::string vgpu_report_text(const Json& processes, std::size_t gpus) {
  std::string text;
  if (processes.empty())
    text = "dcgn: vgpu: no report: the program did not use a GPU, or ended without its exit handlers\n";
  for (const Json& p : processes) {
    const std::string who = processes.size() > 1 ? fmt::format("process {}: ", p.at("process").get<long>()) : "";
    text += fmt::format("dcgn: vgpu: {}{} GPU{}, {} of {} launches split\n", who, gpus, gpus == 1 ? "" : "s as one",
                        p.at("split").get<std::uint64_t>(), p.at("launches").get<std::uint64_t>());
    text += process_text(p);
  }
  return text;
}

}  // namespace dcgn::tool
