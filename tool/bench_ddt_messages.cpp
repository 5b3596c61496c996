// dcgn bench ddt --messages
#include "core/bench/ddt_messages.hpp"

#include "tool/bench_ddt.hpp"
#include "tool/bench_document.hpp"
#include "tool/bench_options.hpp"
#include "tool/exit_code.hpp"

#include <dcgn/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

using bench::DdtMessage, bench::DdtPath, bench::DdtRow, bench::DdtShape;

void head(DdtPath path, const std::string& device) {
  const char* between = "";
  switch (path) {
    case DdtPath::host: between = "in the host's memory"; break;
    case DdtPath::one_gpu: between = "in the memory of one GPU"; break;
    case DdtPath::two_gpus: between = "in the memory of two GPUs"; break;
    case DdtPath::two_gpus_staged: between = "in the memory of two GPUs, through the host's"; break;
    case DdtPath::two_processes: between = "in the memory of two GPUs, each in a process of its own"; break;
  }
  fmt::print("\n# messages between two CPU ranks, {}{}; half a round trip\n", between,
             gpus_of(path) ? " (" + device + ")" : "");
  fmt::print("#{:<15} {:<16} {:>11}  {:<32} {:>8} {:>11} {:>11} {:>9} {:>13} {:>6}\n", "shape", "other end", "bytes",
             "by", "rounds", "p50 us", "p99 us", "GB/s", "of contiguous", "wrong");
  std::fflush(stdout);
}

void line(const DdtRow& row, const DdtRow* contiguous) {
  const std::string share =
      contiguous ? fmt::format("{:.1f} %", 100 * row.gb_per_s / contiguous->gb_per_s) : std::string("-");
  fmt::print("{:<16} {:<16} {:>11}  {:<32} {:>8} {:>11.2f} {:>11.2f} {:>9.2f} {:>13} {:>6}\n", row.shape, row.other,
             row.bytes, row.whose, row.rounds, row.p50_us, row.p99_us, row.gb_per_s, share, row.wrong);
  std::fflush(stdout);
}

}  // namespace

int run_ddt_messages(DdtArguments& a) {
  std::vector<DdtPath> paths;
  for (const std::string& word : split(a.messages, ',')) {
    const DdtPath path = *bench::parse_ddt_path(word);  // the option has checked it
    if (const int gpus = gpus_of(path); gpus > Device::count())
      refuse(fmt::format("--messages {}: expected {} GPU{}, found {}; DCGN_EMULATED_GPUS={} emulates as many", word,
                         gpus, gpus == 1 ? "" : "s", Device::count(), gpus));
    paths.push_back(path);
  }
  const std::vector<DdtShape> shapes = ddt_shapes_of("--shapes", a.shapes);
  const std::vector<DdtShape> others = a.other.empty() ? shapes : ddt_shapes_of("--other", a.other);
  if (others.size() != 1 && others.size() != shapes.size())
    refuse(fmt::format("--other {}: {} shapes, expected one or as many as --shapes has, {}", a.other, others.size(),
                       shapes.size()));
  const std::vector<int> shares = parse_numbers("--occupied", a.occupied, 0, 100);
  std::vector<DdtMessage> work;
  for (const DdtPath path : paths)
    for (std::size_t i = 0; i < shapes.size(); ++i)
      for (const std::int64_t bytes :
           ddt_sizes_of(a, path == DdtPath::host || Device(0).kind() == DeviceKind::emulated))
        for (const int occupied : shares) {
          if (occupied && path == DdtPath::host) continue;
          const DdtMessage message{.shape = shapes[i],
                                   .other = others.size() == 1 ? others[0] : others[i],
                                   .bytes = bytes,
                                   .path = path,
                                   .seconds = a.seconds > 0 ? a.seconds : 0.2,
                                   .occupied = occupied};
          if (!bench::fit(message))
            refuse(
                fmt::format("--other {}: has not as many bytes as {} at {}: expected the same shape, one of as many "
                            "bytes, or contiguous at one end",
                            message.other.name, message.shape.name, bytes));
          work.push_back(message);
        }

  BenchDocument document("ddt", a.json);
  const DdtMessage* before = nullptr;
  for (const DdtMessage& message : work) {
    if (!document.quiet() && (!before || before->path != message.path))
      head(message.path, gpus_of(message.path) ? Device(0).properties().name : "");
    before = &message;
    const DdtRow* contiguous = nullptr;
    const std::vector<DdtRow> rows = bench::measure_ddt_message(message);
    for (const DdtRow& row : rows) {
      if (row.action == "message" && !contiguous) contiguous = &row;
      document.add(bench::to_json(row), row.wrong);
      if (!document.quiet()) line(row, contiguous);
    }
  }
  return document.finish();
}

}  // namespace dcgn::tool
