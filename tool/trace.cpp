// dcgn trace
#include "base/output_file.hpp"
#include "message/describe.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"
#include "trace/analysis.hpp"
#include "trace/html.hpp"
#include "trace/read_document.hpp"
#include "trace/words.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

using Json = nlohmann::ordered_json;
using trace::Analysis, trace::Document, trace::Event, trace::share_text, trace::Step, trace::time_text;
using enum Table::Align;

constexpr const char* trace_help =
    "What a job did, from its trace: who waited for whom, and a page to look at\n\n"
    "Reads what a job has written with DCGN_TRACE=FILE.json, and tells where each rank's time went, who sent how much "
    "to whom,\n"
    "which calls were the slowest, and the critical path: what the end waited for, step by step. -o makes a page of it "
    "that any\n"
    "browser opens, offline: a timeline to zoom into. Of a rank's time, waiting is what a call waited until another "
    "rank came to\n"
    "its own call; transferring is the rest of the calls; computing is all that is outside calls.";

constexpr const char* trace_examples =
    "Examples:\n"
    "  DCGN_TRACE=job.json dcgn demo pingpong        a trace\n"
    "  dcgn trace job.json                           what was in it\n"
    "  dcgn trace job.json -o job.html               the same to look at, in a browser\n"
    "  dcgn trace job.json --json | jq .critical_path\n\n";

struct TraceArguments {
  std::string file, output;
  JsonOption json;
};

struct EventPlace {
  std::size_t rank, event;
};

const Event& event_at(const Document& document, const EventPlace& place) {
  return document.ranks[place.rank].events[place.event];
}

std::uint64_t duration(const Event& e) { return e.end_ns - e.begin_ns; }

std::uint64_t waited(const Analysis& a, const Event& e, const EventPlace& place) {
  const trace::Wait& wait = a.waits[place.rank][place.event];
  return wait.until_ns ? wait.until_ns - e.begin_ns : 0;
}

std::vector<EventPlace> slowest_calls(const Document& document, std::size_t most) {
  std::vector<EventPlace> all;
  for (std::size_t r = 0; r < document.ranks.size(); ++r)
    for (std::size_t i = 0; i < document.ranks[r].events.size(); ++i) all.push_back({r, i});
  const auto slower = [&](const EventPlace& a, const EventPlace& b) {
    return duration(event_at(document, a)) > duration(event_at(document, b));
  };
  const std::size_t some = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(some), all.end(), slower);
  all.resize(some);
  return all;
}

std::string ns_text(std::uint64_t ns) { return time_text(static_cast<double>(ns)); }
std::string part_text(std::uint64_t part, std::uint64_t whole) {
  return share_text(static_cast<double>(part), static_cast<double>(whole));
}

std::vector<std::uint64_t> path_of_ranks(const Document& document, const Analysis& a) {
  std::vector<std::uint64_t> sums(document.ranks.size());
  for (const Step& step : a.path) sums[static_cast<std::size_t>(step.rank)] += step.end_ns - step.begin_ns;
  return sums;
}

// All, or where there are too many for a screen those that are longest on the critical path.
void print_ranks(const Document& document, const Analysis& a) {
  constexpr std::size_t most = 32;
  const std::vector<std::uint64_t> on_path = path_of_ranks(document, a);
  const std::uint64_t path = std::accumulate(on_path.begin(), on_path.end(), std::uint64_t{0});
  const bool with_node = trace::has_several_nodes(document);
  std::vector<std::size_t> shown(document.ranks.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() > most) {
    std::stable_sort(shown.begin(), shown.end(), [&](std::size_t x, std::size_t y) { return on_path[x] > on_path[y]; });
    shown.resize(most);
  }
  Table table({{"rank"},
               {"where", left},
               {"calls"},
               {"dropped"},
               {"computing"},
               {"transferring"},
               {"waiting"},
               {"critical path"}});
  for (const std::size_t r : shown) {
    const trace::Rank& rank = document.ranks[r];
    const trace::Times& times = a.times[r];
    const std::uint64_t whole = a.duration_ns();
    table.add({fmt::to_string(r), trace::name_of(rank, with_node), fmt::to_string(rank.events.size()),
               fmt::to_string(rank.dropped), part_text(whole - std::min(whole, times.in_calls_ns), whole),
               part_text(times.in_calls_ns - times.waiting_ns, whole), part_text(times.waiting_ns, whole),
               part_text(on_path[r], path)});
  }
  fmt::print("{}", table.text());
  if (shown.size() < document.ranks.size())
    fmt::print("# {} of {} ranks, the longest on the critical path; --json has all\n", shown.size(),
               document.ranks.size());
}

void print_matrix(const Document& document, const Analysis& a) {
  constexpr std::size_t most = 12;
  if (a.flows.empty()) return;
  fmt::print("\n# bytes sent, {} messages; from a row's rank to a column's\n",
             std::accumulate(a.flows.begin(), a.flows.end(), std::uint64_t{0},
                             [](std::uint64_t sum, const trace::Flow& flow) { return sum + flow.messages; }));
  if (document.ranks.size() <= most) {
    std::vector<Table::Column> columns = {{"rank"}};
    std::vector<std::vector<std::string>> rows;
    for (std::size_t r = 0; r < document.ranks.size(); ++r) {
      columns.push_back({fmt::to_string(r)});
      rows.emplace_back(document.ranks.size() + 1, ".").front() = fmt::to_string(r);
    }
    for (const trace::Flow& flow : a.flows)
      rows[static_cast<std::size_t>(flow.sender)][static_cast<std::size_t>(flow.receiver) + 1] =
          bytes_text(static_cast<double>(flow.bytes));
    Table table(columns);
    for (std::vector<std::string>& row : rows) table.add(std::move(row));
    fmt::print("{}", table.text());
    return;
  }
  std::vector<trace::Flow> flows = a.flows;
  std::stable_sort(flows.begin(), flows.end(), [](const auto& x, const auto& y) { return x.bytes > y.bytes; });
  flows.resize(std::min<std::size_t>(flows.size(), 10));
  Table table({{"from"}, {"to"}, {"messages"}, {"bytes"}});
  for (const trace::Flow& flow : flows)
    table.add({fmt::to_string(flow.sender), fmt::to_string(flow.receiver), fmt::to_string(flow.messages),
               bytes_text(static_cast<double>(flow.bytes))});
  fmt::print("{}# the {} largest of {} pairs\n", table.text(), flows.size(), a.flows.size());
}

std::string communicator_text(std::int32_t number) { return number ? fmt::to_string(number) : "world"; }

void print_collectives(const Analysis& a) {
  if (a.collectives.empty()) return;
  Table table({{"collective", left}, {"communicator"}, {"times"}, {"bytes"}, {"time of all ranks"}, {"of it waiting"}});
  for (const trace::Collective& c : a.collectives)
    table.add({message::to_string(c.call), communicator_text(c.communicator), fmt::to_string(c.count),
               bytes_text(static_cast<double>(c.bytes)), ns_text(c.in_calls_ns),
               part_text(c.waiting_ns, c.in_calls_ns)});
  fmt::print("\n{}", table.text());
}

void print_slowest(const Document& document, const Analysis& a) {
  Table table(
      {{"slowest", left}, {"rank"}, {"peer"}, {"tag"}, {"bytes"}, {"time"}, {"of it waiting"}, {"for rank"}, {"from"}});
  for (const EventPlace& place : slowest_calls(document, 10)) {
    const Event& e = event_at(document, place);
    const trace::Wait& wait = a.waits[place.rank][place.event];
    const auto known = [](std::int32_t number) { return number >= 0 ? fmt::to_string(number) : "."; };
    table.add({message::to_string(e.call), fmt::to_string(place.rank), known(e.peer), known(e.tag),
               bytes_text(static_cast<double>(e.bytes)), ns_text(duration(e)),
               part_text(waited(a, e, place), duration(e)), known(wait.rank), ns_text(e.begin_ns - a.begin_ns)});
  }
  fmt::print("\n{}", table.text());
}

void print_path(const Analysis& a) {
  std::vector<trace::PathShare> shares = path_shares(a);
  std::uint64_t whole = 0;
  for (const trace::PathShare& share : shares) whole += share.ns;
  shares.resize(std::min<std::size_t>(shares.size(), 10));
  Table table({{"critical path", left}, {"rank"}, {"time"}, {"share"}});
  for (const trace::PathShare& share : shares)
    table.add({to_string(share.kind), fmt::to_string(share.rank), ns_text(share.ns), part_text(share.ns, whole)});
  fmt::print("\n{}", table.text());
}

Json document_of(const TraceArguments& arguments, const Document& document, const Analysis& a) {
  Json ranks = Json::array(), flows = Json::array(), collectives = Json::array(), slowest = Json::array(),
       path = Json::array();
  const std::vector<std::uint64_t> on_path = path_of_ranks(document, a);
  for (std::size_t r = 0; r < document.ranks.size(); ++r) {
    const trace::Rank& rank = document.ranks[r];
    ranks.push_back({{"rank", r},
                     {"name", trace::name_of(rank)},
                     {"process", rank.process},
                     {"node", rank.node},
                     {"calls", rank.events.size()},
                     {"dropped", rank.dropped},
                     {"in_calls_ns", a.times[r].in_calls_ns},
                     {"waiting_ns", a.times[r].waiting_ns},
                     {"critical_path_ns", on_path[r]}});
  }
  for (const trace::Flow& flow : a.flows)
    flows.push_back({{"from", flow.sender}, {"to", flow.receiver}, {"messages", flow.messages}, {"bytes", flow.bytes}});
  for (const trace::Collective& c : a.collectives)
    collectives.push_back({{"call", message::to_string(c.call)},
                           {"communicator", c.communicator},
                           {"times", c.count},
                           {"bytes", c.bytes},
                           {"in_calls_ns", c.in_calls_ns},
                           {"waiting_ns", c.waiting_ns}});
  for (const EventPlace& place : slowest_calls(document, 10)) {
    const Event& e = event_at(document, place);
    slowest.push_back({{"call", message::to_string(e.call)},
                       {"rank", place.rank},
                       {"peer", e.peer},
                       {"tag", e.tag},
                       {"communicator", e.communicator},
                       {"bytes", e.bytes},
                       {"begin_ns", e.begin_ns},
                       {"ns", duration(e)},
                       {"waiting_ns", waited(a, e, place)},
                       {"for_rank", a.waits[place.rank][place.event].rank}});
  }
  for (const trace::PathShare& share : path_shares(a))
    path.push_back({{"rank", share.rank}, {"kind", to_string(share.kind)}, {"ns", share.ns}});
  return {{"what", "trace"},
          {"file", arguments.file},
          {"program", document.program},
          {"summary", summary_of(document, a)},
          {"duration_ns", a.duration_ns()},
          {"clock_error_ns", document.clock_error_ns},
          {"matched_messages", a.messages.size()},
          {"ranks", ranks},
          {"flows", flows},
          {"collectives", collectives},
          {"slowest_calls", slowest},
          {"critical_path", path}};
}

Document read_document(const std::string& name) {
  errno = 0;
  std::ifstream file(name, std::ios::binary);
  if (!file)
    throw Error(Code::io, "trace",
                fmt::format("{}: {}: expected a trace that a job has written, by DCGN_TRACE=FILE.json", name,
                            errno ? std::strerror(errno) : "cannot be read"));
  return trace::read_chrome(file, name);
}

int run(TraceArguments& a) {
  expect_different("trace", {{"FILE", a.file}, {"--output", a.output}, {"--json", a.json.path()}});
  a.json.open();
  std::optional<base::OutputFile> page;
  if (!a.output.empty()) page.emplace(a.output);
  const Document document = read_document(a.file);
  const Analysis analysis = trace::analyse(document);
  if (page) {
    std::ostringstream text;
    trace::write_html(document, text);
    page->write(text.view());
  }
  a.json.write(a.json.given() ? document_of(a, document, analysis).dump(2) : "");
  if (a.json.on_stdout()) return exit_ok;
  std::string summary = summary_of(document, analysis);
  for (std::size_t at = 0; (at = summary.find(". ", at)) != std::string::npos;) summary[at + 1] = '\n';
  fmt::print("{}: {}\n", document.program.empty() ? a.file : document.program, summary);
  if (page) {
    fmt::print("{}: a page for a browser\n", a.output);
    return exit_ok;
  }
  fmt::print("\n");
  print_ranks(document, analysis);
  print_path(analysis);
  print_matrix(document, analysis);
  print_collectives(analysis);
  print_slowest(document, analysis);
  return exit_ok;
}

CLI::Validator html_file() {
  return CLI::Validator(
      [](const std::string& name) {
        const bool html = name.size() > 5 && name.compare(name.size() - 5, 5, ".html") == 0;
        return html || name.rfind("/dev/", 0) == 0 ? std::string()
                                                   : fmt::format("'{}': expected a name that ends in .html", name);
      },
      "");
}

}  // namespace

void add_trace(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<TraceArguments>();
  CLI::App* app = parent.add_subcommand("trace", trace_help);
  app->add_option("FILE", a->file, "What DCGN_TRACE=FILE.json has written")->type_name("")->required();
  app->add_option("-o,--output", a->output, "Where the page goes [nowhere]")->type_name("OUT.html")->check(html_file());
  a->json.add_to(*app, "What is told");
  app->footer(std::string(trace_examples) + exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
