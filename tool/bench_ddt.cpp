// dcgn bench ddt
#include "bench/ddt.hpp"
#include "bench/sizes.hpp"
#include "tool/bench_document.hpp"
#include "tool/bench_options.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

using bench::DdtRow, bench::DdtShape, bench::DdtWork;

struct Arguments {
  std::string shapes =
      "rows:512/1024,rows:4096/8192,triangle,stair:256,transpose:8,transpose:4,random:8-4096,rows:40/64,rows:12/24,"
      "rows:8/256,scatter:4";
  std::string sizes, places = "device", peers = "none", units;
  double seconds = 0.2;
  JsonOption json;
};

std::vector<DdtShape> shapes_of(const std::string& text) {
  std::vector<DdtShape> shapes;
  for (const std::string& word : split(text, ',')) {
    const std::optional<DdtShape> shape = bench::parse_ddt_shape(word);
    if (!shape) refuse(fmt::format("--shapes {}: expected {}", word, bench::ddt_shape_words));
    shapes.push_back(*shape);
  }
  return shapes;
}

// The paper's scheme: units of so many bytes.
struct Units {
  std::int64_t bytes;
  bool cached;
};
std::vector<Units> units_of(const std::string& text) {
  std::vector<Units> units;
  for (const std::string& word : text.empty() ? std::vector<std::string>{} : split(text, ',')) {
    const std::string size = word.substr(0, word.find(':'));
    const std::optional<std::int64_t> bytes = bench::parse_size(size);
    const std::string left = word.substr(size.size());
    if (!bytes || *bytes < 256 || *bytes > 1 << 20 || (!left.empty() && left != ":cached"))
      refuse(fmt::format("--units {}: expected sizes from 256 to 1M, each with :cached or without, as in 1K,2K:cached",
                         word));
    units.push_back({*bytes, !left.empty()});
  }
  return units;
}

void head(const std::string& place) {
  fmt::print("\n# {}\n",
             place == "device" ? "in the memory of GPU 0, by its kernels" : "in the host's memory, by one thread");
  fmt::print("#{:<15} {:>11} {:>7}  {:<38} {:>8} {:>11} {:>11} {:>9} {:>10} {:>10} {:>6}\n", "shape", "bytes", "action",
             "by", "rounds", "p50 us", "p99 us", "GB/s", "of memcpy", "of ceiling", "wrong");
  std::fflush(stdout);
}

// `copied`: GB/s of the plain copy.
void line(const DdtRow& row, double copied) {
  const auto of = [&](double limit) {
    return limit > 0 ? fmt::format("{:.1f} %", 100 * row.gb_per_s / limit) : std::string("-");
  };
  // What the copy moves a second, spent on what this layout makes the memory move.
  const double ceiling = row.moved ? copied * 2 * static_cast<double>(row.bytes) / static_cast<double>(row.moved) : 0;
  fmt::print("{:<16} {:>11} {:>7}  {:<38} {:>8} {:>11.2f} {:>11.2f} {:>9.2f} {:>10} {:>10} {:>6}\n", row.shape,
             row.bytes, row.action, row.whose, row.rounds, row.p50_us, row.p99_us, row.gb_per_s, of(copied),
             of(ceiling), row.wrong);
  std::fflush(stdout);
}

int run(Arguments& a) {
  const std::vector<DdtShape> shapes = shapes_of(a.shapes);
  const std::vector<std::string> places = split(a.places, ',');
  const bool on_device = a.places.find("device") != std::string::npos;
  if (on_device && Device::count() == 0)
    refuse("ddt: this machine has no GPU; DCGN_EMULATED_GPUS=1 gives it an emulated one, --places host does without");
  const bool slow = !on_device || Device(0).kind() == DeviceKind::emulated;
  std::vector<std::int64_t> sizes;
  for (const std::string& word : split(a.sizes.empty() ? slow ? "1M" : "256M" : a.sizes, ','))
    sizes.push_back(parse_message_bytes("--size", word));

  const std::vector<std::string> peers = parse_peers(a.peers, {"mpi", "cuda", "torch"});
  for (const std::string& name : peers) bench::find_ddt_peer(name);

  const std::vector<Units> units = units_of(a.units);

  BenchDocument document("ddt", a.json);
  std::set<std::string> idle(peers.begin(), peers.end());
  for (const std::string& place : places) {
    if (!document.quiet()) head(place);
    for (const DdtShape& shape : shapes)
      for (const std::int64_t bytes : sizes) {
        const DdtWork work{.shape = shape, .bytes = bytes, .place = place, .seconds = a.seconds};
        double copied = 0;
        std::map<std::string, std::int64_t> moved;  // by action; peers do not count it
        const auto add = [&](std::vector<DdtRow> rows) {
          for (DdtRow& row : rows) {
            if (row.action == "copy") copied = row.gb_per_s;
            row.moved = moved.try_emplace(row.action, row.moved).first->second;
            document.add(bench::to_json(row), row.wrong);
            if (!document.quiet()) line(row, copied);
          }
        };
        add(bench::measure_ddt(work));
        for (const Units& one : units) {
          if (place != "device") break;
          DdtWork by_units = work;
          by_units.unit_bytes = one.bytes;
          by_units.cached = one.cached;
          add(bench::measure_ddt(by_units));
        }
        for (const std::string& name : peers)
          if (bench::ddt_has_peer(name, shape, place)) {
            add(bench::run_ddt_peer(name, work));
            idle.erase(name);
          }
      }
  }
  for (const std::string& name : idle)
    fmt::print(stderr,
               "dcgn bench ddt: --peers {}: none of these layouts in these places; mpi is measured on the host, "
               "cuda and torch on the device\n",
               name);
  return document.finish();
}

constexpr const char* description =
    "Packing and unpacking of datatypes, beside a copy of as many bytes without gaps\n\n"
    "Shapes: contiguous; rows:L/S, rows of L bytes every S, a sub-matrix; triangle, the columns of a lower triangle "
    "of\n"
    "doubles; stair:N, the same in steps of N rows; transpose:E, the columns of a square matrix of elements of E "
    "bytes;\n"
    "random:A-B, blocks of A to B bytes with gaps of as many; scatter:E, elements of E bytes in random order. GB/s are "
    "those\n"
    "of the packed bytes, at the median; every result is compared with a walk over the blocks, byte by byte. Of "
    "ceiling:\n"
    "of what the copy's traffic would give if it went into what this layout makes a GPU's memory move: 64 bytes for\n"
    "whatever is read of them, 32 more for 32 of which a part is written.";

}  // namespace

void add_bench_ddt(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* app = parent.add_subcommand("ddt", description);
  app->add_option("--shapes", a->shapes, "Which layouts")->type_name("WORDS")->capture_default_str();
  app->add_option("--size", a->sizes, "About so many packed bytes, 1G at most [256M; emulated and host: 1M]")
      ->type_name("BYTES,...");
  app->add_option("--places", a->places, "Where: device, host")
      ->check(words_of({"device", "host"}))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option("--units", a->units,
                  "Beside ours, the scheme of the 2016 paper: units of so many bytes for a warp each, in a list that "
                  "is made while\n"
                  "kernels are at work, or kept, as in 1K,1K:cached,4K:cached")
      ->type_name("BYTES[:cached],...");
  app->add_option("--peers", a->peers, "The same by others, beside ours: mpi on the host; cuda, torch on the device")
      ->check(words_of({"none", "mpi", "cuda", "torch"}))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option("--seconds", a->seconds, "That each row should take")
      ->type_name("S")
      ->check(positive_number())
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench ddt\n"
                          "  dcgn bench ddt --shapes transpose:8 --size 512M --json transpose.json\n"
                          "  dcgn bench ddt --shapes rows:4096/8192,triangle --size 1M,4M,16M,64M,256M --units "
                          "1K:cached --json figure7.json\n"
                          "  dcgn bench ddt --places host --size 64M --peers mpi\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
