// dcgn bench ddt --sweep
#include "bench/sizes.hpp"
#include "core/bench/ddt_sweep.hpp"

#include "tool/bench_ddt.hpp"
#include "tool/bench_document.hpp"
#include "tool/bench_options.hpp"
#include "tool/exit_code.hpp"
#include "tool/progress.hpp"

#include <dcgn/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::tool {

namespace {

using bench::DdtRow, bench::DdtShape;

// Ours beside the fastest of the others: above 1 they are faster.
struct Compared {
  DdtRow ours, best;
  double ratio() const { return ours.p50_us / best.p50_us; }
};

// The fastest row of each shape and action.
class Fastest {
 public:
  void add(const DdtRow& row, BenchDocument& document) {
    document.add(bench::to_json(row), row.wrong);
    const auto [found, first] = rows_.try_emplace({row.shape, row.action}, row);
    if (!first && row.p50_us < found->second.p50_us) found->second = row;
  }
  const DdtRow* find(const DdtShape& shape, const char* action) const {
    const auto found = rows_.find({shape.name, action});
    return found == rows_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, DdtRow> rows_;
};

constexpr std::array actions = {"pack", "unpack"};

std::optional<Compared> compare(const Fastest& ours, const Fastest& best, const DdtShape& shape, const char* action) {
  const DdtRow *const mine = ours.find(shape, action), *const theirs = best.find(shape, action);
  return mine && theirs ? std::optional(Compared{*mine, *theirs}) : std::nullopt;
}

void head(std::int64_t bytes, std::size_t shapes) {
  fmt::print("\n# {} layouts of {}, in the memory of GPU 0; ratio: our time to that of the fastest peer\n", shapes,
             bench::size_text(bytes));
  fmt::print("#{:<19} {:>7} {:>11} {:>11}  {:<32} {:>7} {:>6}\n", "shape", "action", "ours us", "best us", "whose",
             "ratio", "wrong");
}

void line(const Compared& c) {
  fmt::print("{:<20} {:>7} {:>11.2f} {:>11.2f}  {:<32} {:>7.3f} {:>6}\n", c.ours.shape, c.ours.action, c.ours.p50_us,
             c.best.p50_us, c.best.whose, c.ratio(), c.ours.wrong + c.best.wrong);
}

}  // namespace

int run_ddt_sweep(DdtArguments& a) {
  if (Device::count() == 0)
    refuse("ddt --sweep: this machine has no GPU; DCGN_EMULATED_GPUS=1 gives it an emulated one");
  const double seconds = a.seconds > 0 ? a.seconds : 0.02;
  const std::vector<DdtShape> shapes = bench::ddt_sweep(a.sweep);
  const std::vector<std::int64_t> sizes = ddt_sizes_of(a, Device(0).kind() == DeviceKind::emulated);
  const std::vector<std::string> peers = parse_peers(a.peers, {"cuda", "torch"});
  if (peers.empty()) refuse("--sweep: nobody to compare with, expected --peers cuda, torch or both");
  for (const std::string& name : peers) bench::find_ddt_peer(name);

  BenchDocument document("ddt", a.json);
  std::vector<Compared> compared;
  for (const std::int64_t bytes : sizes) {
    // Where ours is not the faster one, both once more: a machine has moments in which a launch takes ten times as
    // long.
    constexpr int passes = 3;
    std::vector<DdtShape> left = shapes;
    Fastest ours, best;
    for (int pass = 0; pass < passes && !left.empty(); ++pass) {
      Progress bar(fmt::format("{}, pass {}", bench::size_text(bytes), pass + 1));
      for (const std::string& name : peers) {
        std::vector<DdtShape> theirs;
        std::copy_if(left.begin(), left.end(), std::back_inserter(theirs),
                     [&](const DdtShape& shape) { return bench::ddt_has_peer(name, shape, "device"); });
        if (theirs.empty()) continue;
        for (const DdtRow& row : bench::run_ddt_peer(name, theirs, bytes, seconds)) best.add(row, document);
      }
      int done = 0;
      for (const DdtShape& shape : left) {
        for (const DdtRow& row :
             bench::measure_ddt({.shape = shape, .bytes = bytes, .place = "device", .seconds = seconds}))
          ours.add(row, document);
        bar.update(++done, static_cast<int>(left.size()));
      }
      const auto is_fast = [&](const DdtShape& shape) {
        return std::all_of(actions.begin(), actions.end(), [&](const char* action) {
          const auto pair = compare(ours, best, shape, action);
          return !pair || pair->ratio() <= 1;
        });
      };
      left.erase(std::remove_if(left.begin(), left.end(), is_fast), left.end());
    }
    if (!document.quiet()) head(bytes, shapes.size());
    for (const DdtShape& shape : shapes)
      for (const char* action : actions) {
        const auto pair = compare(ours, best, shape, action);
        if (!pair) continue;
        compared.push_back(*pair);
        if (!document.quiet()) line(*pair);
      }
    std::fflush(stdout);
  }
  if (!compared.empty()) {
    const auto worst = std::max_element(compared.begin(), compared.end(),
                                        [](const Compared& x, const Compared& y) { return x.ratio() < y.ratio(); });
    const auto slower =
        std::count_if(compared.begin(), compared.end(), [](const Compared& c) { return c.ratio() > 1; });
    document["worst"] = {{"shape", worst->ours.shape},
                         {"action", worst->ours.action},
                         {"bytes", worst->ours.bytes},
                         {"whose", worst->best.whose},
                         {"ratio", worst->ratio()}};
    document["slower"] = slower;
    document["compared"] = compared.size();
    if (!document.quiet())
      fmt::print("\n# worst of {}: {} of {}, {}, {:.3f} times the time of {}; {} are above 1\n", compared.size(),
                 worst->ours.action, worst->ours.shape, bench::size_text(worst->ours.about), worst->ratio(),
                 worst->best.whose, slower);
  }
  return document.finish();
}

}  // namespace dcgn::tool
