// dcgn bench ddt
#include "tool/bench_ddt.hpp"

#include "bench/sizes.hpp"
#include "core/bench/ddt_messages.hpp"
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

std::vector<bench::DdtShape> ddt_shapes_of(const std::string& option, const std::string& text) {
  std::vector<bench::DdtShape> shapes;
  for (const std::string& word : split(text, ',')) {
    const std::optional<bench::DdtShape> shape = bench::parse_ddt_shape(word);
    if (!shape) refuse(fmt::format("{} {}: expected {}", option, word, bench::ddt_shape_words));
    shapes.push_back(*shape);
  }
  return shapes;
}

std::vector<std::int64_t> ddt_sizes_of(const DdtArguments& a, bool slow) {
  std::vector<std::int64_t> sizes;
  for (const std::string& word : split(a.sizes.empty() ? slow ? "1M" : "256M" : a.sizes, ','))
    sizes.push_back(parse_message_bytes("--size", word));
  return sizes;
}

namespace {

using bench::DdtRow, bench::DdtShape, bench::DdtWork;

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

void ddt_head(const std::string& place) {
  fmt::print("\n# {}\n",
             place == "device" ? "in the memory of GPU 0, by its kernels" : "in the host's memory, by one thread");
  fmt::print("#{:<15} {:>11} {:>7}  {:<38} {:>8} {:>11} {:>11} {:>9} {:>10} {:>10} {:>6}\n", "shape", "bytes", "action",
             "by", "rounds", "p50 us", "p99 us", "GB/s", "of memcpy", "of ceiling", "wrong");
  std::fflush(stdout);
}

// `copied`: GB/s of the plain copy.
void ddt_line(const DdtRow& row, double copied) {
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

int run(DdtArguments& a) {
  if (!a.messages.empty()) return run_ddt_messages(a);
  if (a.sweep) return run_ddt_sweep(a);
  const std::vector<DdtShape> shapes = ddt_shapes_of("--shapes", a.shapes);
  const std::vector<std::string> places = split(a.places, ',');
  const bool on_device = a.places.find("device") != std::string::npos;
  if (on_device && Device::count() == 0)
    refuse("ddt: this machine has no GPU; DCGN_EMULATED_GPUS=1 gives it an emulated one, --places host does without");
  const bool slow = !on_device || Device(0).kind() == DeviceKind::emulated;
  const std::vector<std::int64_t> sizes = ddt_sizes_of(a, slow);
  const double seconds = a.seconds > 0 ? a.seconds : 0.2;
  const std::vector<int> blocks =
      a.blocks.empty() ? std::vector<int>{} : parse_numbers("--blocks", a.blocks, 1, 1 << 20);

  const std::vector<std::string> peers = parse_peers(a.peers, {"mpi", "cuda", "torch"});
  for (const std::string& name : peers) bench::find_ddt_peer(name);

  const std::vector<Units> units = units_of(a.units);
  if (!on_device && !(units.empty() && blocks.empty()))
    refuse(fmt::format("--{} {}: kernels of the device, expected --places with device",
                       units.empty() ? "blocks" : "units", units.empty() ? a.blocks : a.units));

  BenchDocument document("ddt", a.json);
  std::set<std::string> idle(peers.begin(), peers.end());
  for (const std::string& place : places) {
    if (!document.quiet()) ddt_head(place);
    for (const DdtShape& shape : shapes)
      for (const std::int64_t bytes : sizes) {
        const DdtWork work{.shape = shape, .bytes = bytes, .place = place, .seconds = seconds};
        double copied = 0;
        std::map<std::string, std::int64_t> moved;  // by action; peers do not count it
        const auto add = [&](std::vector<DdtRow> rows) {
          for (DdtRow& row : rows) {
            if (row.action == "copy") copied = row.gb_per_s;
            row.moved = moved.try_emplace(row.action, row.moved).first->second;
            document.add(bench::to_json(row), row.wrong);
            if (!document.quiet()) ddt_line(row, copied);
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
        for (const int count : blocks) {
          if (place != "device") break;
          DdtWork by_few = work;
          by_few.blocks = count;
          add(bench::measure_ddt(by_few));
        }
        for (const std::string& name : peers)
          if (bench::ddt_has_peer(name, shape, place)) {
            add(bench::run_ddt_peer(name, {shape}, bytes, seconds));
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

constexpr const char* ddt_description =
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

constexpr const char* ddt_examples =
    "Examples:\n"
    "  dcgn bench ddt\n"
    "  dcgn bench ddt --shapes transpose:8 --size 512M --json transpose.json\n"
    "  dcgn bench ddt --places host --size 64M --peers mpi\n"
    "  dcgn bench ddt --sweep 200 --size 64K,16M --peers cuda,torch\n\n"
    "Figures of the 2016 paper, which `dcgn bench plot` draws:\n"
    "  dcgn bench ddt --shapes rows:4096/8192,triangle --size 1M,4M,16M,64M,256M --units 1K:cached     # 6, 7\n"
    "  dcgn bench ddt --shapes rows:64/128,rows:512/1024,rows:4096/8192 --peers cuda                   # 8\n"
    "  dcgn bench ddt --messages one-gpu,two-gpus,host --shapes rows:4096/8192,triangle --size 1M,16M  # 9, 10\n"
    "  dcgn bench ddt --messages two-gpus --shapes rows:4096/8192 --other contiguous                   # 11\n"
    "  dcgn bench ddt --messages two-gpus --shapes contiguous --other transpose:8                      # 12\n"
    "  dcgn bench ddt --shapes rows:4096/8192,triangle --blocks 1,2,4,8,16,32,64                       # 13, 14\n"
    "  dcgn bench ddt --messages two-gpus --shapes rows:4096/8192 --occupied 0,25,50,100               # 15\n\n";

}  // namespace

void add_bench_ddt(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<DdtArguments>();
  a->shapes =
      "rows:512/1024,rows:4096/8192,triangle,stair:256,transpose:8,transpose:4,random:8-4096,rows:40/64,rows:12/24,"
      "rows:8/256,scatter:4";
  CLI::App* app = parent.add_subcommand("ddt", ddt_description);
  CLI::Option* shapes =
      app->add_option("--shapes", a->shapes, "Which layouts")->type_name("WORDS")->capture_default_str();
  app->add_option("--size", a->sizes, "About so many packed bytes, 1G at most [256M; emulated and host: 1M]")
      ->type_name("BYTES,...");
  CLI::Option* places = app->add_option("--places", a->places, "Where: device, host")
                            ->check(words_of({"device", "host"}))
                            ->type_name("WORDS")
                            ->capture_default_str();
  CLI::Option* units =
      app->add_option(
             "--units", a->units,
             "Beside ours, the scheme of the 2016 paper: units of so many bytes for a warp each, in a list that "
             "is made while\n"
             "kernels are at work, or kept, as in 1K,1K:cached,4K:cached")
          ->type_name("BYTES[:cached],...");
  CLI::Option* blocks =
      app->add_option("--blocks", a->blocks, "Beside ours, our kernels of so many blocks at most")->type_name("N,...");
  CLI::Option* peers = app->add_option("--peers", a->peers,
                                       "The same by others, beside ours: mpi on the host; cuda, torch on the device")
                           ->check(words_of({"none", "mpi", "cuda", "torch"}))
                           ->type_name("WORDS")
                           ->capture_default_str();
  CLI::Option* messages =
      app->add_option("--messages", a->messages,
                      "Instead, messages between two CPU ranks, whose buffers are on the host, on one GPU or on two: "
                      "host, one-gpu,\n"
                      "two-gpus, two-gpus-staged, which goes through the host's memory, and two-processes, each with a "
                      "GPU of its own")
          ->check(words_of(names_of(bench::all_ddt_paths)))
          ->type_name("WORDS")
          ->excludes(places)
          ->excludes(units)
          ->excludes(blocks)
          ->excludes(peers);
  app->add_option("--other", a->other, "Of messages, the shape at the other end, one or one for each [the same]")
      ->type_name("WORDS")
      ->needs(messages);
  app->add_option("--occupied", a->occupied,
                  "Of messages, while other kernels take so many per cent of the GPUs' blocks")
      ->type_name("N,...")
      ->capture_default_str()
      ->needs(messages);
  app->add_option("--sweep", a->sweep,
                  "Instead, so many layouts that peers can say as well, and in how many of them one is faster")
      ->type_name("N")
      ->check(whole_number(1, 10'000))
      ->excludes(messages)
      ->excludes(shapes)
      ->excludes(places)
      ->excludes(units)
      ->excludes(blocks);
  app->add_option("--seconds", a->seconds, "That each row should take [0.2; of a sweep 0.02]")
      ->type_name("S")
      ->check(positive_number());
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(std::string(ddt_examples) + exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
