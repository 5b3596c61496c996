// dcgn demo cannon
#include "apps/cannon/cannon.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/processes.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace dcgn::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* cannon_help =
    "A matrix product by Cannon's algorithm: simultaneous communication\n\n"
    "C = A B on a grid of q x q ranks, CPU threads and slots of GPUs, each with a tile of A, B and C. q times each "
    "rank\n"
    "multiplies the tiles that it has, and all pass A on to the left and B upwards at the same time, by\n"
    "sendrecv_replace, while the kernels run. The largest square number of ranks takes part.";

constexpr const char* cannon_examples =
    "Examples:\n"
    "  dcgn demo cannon                                     a 768 x 768 product\n"
    "  dcgn demo cannon --cpus 0 --gpus 1 --slots 9 --size 300 --check\n"
    "  dcgn demo cannon --cpus 0 --gpus 4 --slots 1 --size 8192     a rank a GPU\n"
    "  dcgn demo cannon --json                              as a document\n";

struct CannonArguments {
  cannon::Options options;
  ShapeOptions shape;
  JsonOption json;
  bool check = false;
};

Json document_of(const cannon::Options& o, const cannon::Outcome& outcome, std::optional<std::int64_t> wrong) {
  Json ranks = Json::array();
  for (const RankReport& r : outcome.ranks)
    ranks.push_back({{"rank", r.rank},
                     {"place", to_string(r.place)},
                     {"sent_messages", r.sent_messages},
                     {"sent_bytes", r.sent_bytes},
                     {"received_messages", r.received_messages},
                     {"received_bytes", r.received_bytes},
                     {"wait_s", r.wait_s}});
  Json document = {
      {"what", "cannon"},
      {"size", o.size},
      {"grid", {outcome.across, outcome.across}},
      {"nodes", {{"cpus", o.nodes.cpus}, {"gpus", o.nodes.gpus}, {"slots", o.nodes.slots}, {"count", o.nodes.count}}},
      {"elapsed_s", outcome.elapsed_s},
      {"product_s", outcome.product_s},
      {"flop_per_s", outcome.flop_per_s(o.size)},
      {"ranks", ranks}};
  if (wrong) document["wrong"] = *wrong;
  return document;
}

void print_report(const cannon::Options& o, const cannon::Outcome& outcome) {
  using enum Table::Align;
  Table table({{"rank"}, {"place", left}, {"tile", left}, {"sent"}, {"bytes"}, {"received"}, {"bytes"}, {"waiting"}});
  for (const RankReport& r : outcome.ranks) {
    const bool works = r.rank < outcome.across * outcome.across;
    table.add({fmt::to_string(r.rank), to_string(r.place),
               works ? fmt::format("{}, {}", r.rank / outcome.across, r.rank % outcome.across) : "none",
               fmt::to_string(r.sent_messages), bytes_text(static_cast<double>(r.sent_bytes)),
               fmt::to_string(r.received_messages), bytes_text(static_cast<double>(r.received_bytes)),
               fmt::format("{:.3f} s", r.wait_s)});
  }
  const double flop = outcome.flop_per_s(o.size), size = o.size;
  fmt::print("{}\n{} x {} by {} x {} ranks: {:.6f} s a product, {:.3f} GFLOP/s\n", table.text(), o.size, o.size,
             outcome.across, outcome.across, 2 * size * size * size / flop, flop * 1e-9);
}

void set_options(CannonArguments& a, int processes) {
  cannon::Options& o = a.options;
  // A rank is a whole GPU where it is a real one.
  if (a.shape.slots < 0 && Device::count() > 0 && Device(0).kind() == DeviceKind::cuda) a.shape.slots = 1;
  o.nodes = a.shape.shape_of_each(processes);
  cannon::validate(o);
}

int run(CannonArguments& a) {
  const Process here = this_process();
  const int began = begin_together([&] {
    set_options(a, here.count);
    if (here.first()) a.json.open();
    return a.options.nodes;
  });
  if (began != exit_ok) return began;
  const cannon::Options& o = a.options;
  const cannon::Outcome outcome = cannon::run(o);
  if (!here.first()) return exit_ok;
  std::optional<std::int64_t> wrong;
  if (a.check) wrong = cannon::count_wrong(o.size, outcome.c);
  a.json.write(document_of(o, outcome, wrong).dump(2));
  if (!a.json.on_stdout()) {
    print_report(o, outcome);
    if (wrong) fmt::print("check: {} of {} rows are wrong\n", *wrong, o.size);
  }
  return wrong.value_or(0) ? exit_job_failed : exit_ok;
}

}  // namespace

void add_demo_cannon(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<CannonArguments>();
  cannon::Options& o = a->options;
  CLI::App* app = parent.add_subcommand("cannon", cannon_help);
  app->add_option("--size", o.size, "Rows and columns of the matrices")
      ->type_name("N")
      ->check(whole_number(1, 1 << 16))
      ->capture_default_str();
  app->add_option("--repeat", o.repeats, "Products, one after the other; the median counts")
      ->type_name("N")
      ->check(whole_number(1, 1 << 20))
      ->capture_default_str();
  a->shape.add_to(*app);
  app->get_option("--slots")->description("Slots, which are ranks, of each GPU [3; on CUDA 1]");
  app->add_option("--blocks", o.blocks, "Blocks of each slot [what a GPU holds; emulated 1]")
      ->type_name("N")
      ->check(whole_number(1, 1 << 16));
  app->add_flag("--check", a->check, "Compare C x to A (B x) for two vectors, in whole numbers");
  a->json.add_to(*app, "The table and the totals");
  add_trace_option(*app);
  app->footer(fmt::format("{}\n{}\n{}", cannon_examples, processes_help, exit_codes_help));
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
