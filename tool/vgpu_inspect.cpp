// dcgn vgpu inspect
#include "base/output_file.hpp"
#include "tool/exit_code.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"
#include "tool/vgpu.hpp"
#include "vgpu/src/fat_binary.hpp"
#include "vgpu/src/kernel_name.hpp"
#include "vgpu/src/ptx/parser.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

using Json = nlohmann::ordered_json;
using virtual_gpu::FatBinary, virtual_gpu::FatEntry;
namespace ptx = virtual_gpu::ptx;

constexpr const char* inspect_help =
    "Tell which kernels of a program could be split over several GPUs\n\n"
    "Reads the PTX that nvcc has put into a program, a library, an object or a fat binary, of each module that for the "
    "newest\n"
    "architecture. A module without PTX, or whose PTX is not known, could only run on one GPU. No GPU is needed, and "
    "the program is\n"
    "not run.";

constexpr const char* inspect_examples =
    "Examples:\n"
    "  dcgn vgpu inspect ./program                            all kernels\n"
    "  dcgn vgpu inspect ./program --module 0 -o kernels.ptx  the PTX of the first module, for dcgn vgpu rewrite\n\n";

struct InspectArguments {
  std::string file, output;
  std::optional<unsigned> module;
  JsonOption json;
};

// A module of the program, and what would become of its kernels.
struct Inspected {
  unsigned number;
  const FatEntry* ptx;  // null: there is none
  std::string why_not;  // of the whole module; empty where kernels say it for themselves
  std::vector<ptx::KernelReport> kernels;
};

Inspected inspect(unsigned number, const FatBinary& binary, const std::string& file) {
  Inspected found{number, virtual_gpu::newest_ptx(binary), {}, {}};
  if (!found.ptx) {
    found.why_not = "no PTX: compiled for machine code alone";
    return found;
  }
  try {
    found.kernels = ptx::rewrite(ptx::parse(fmt::format("{}:{}", file, number), found.ptx->text), {}).kernels;
  } catch (const Error& error) {
    found.why_not = error.what();
  }
  return found;
}

// Buffers that each GPU would get a copy of.
std::size_t copied(const ptx::KernelReport& kernel) {
  return static_cast<std::size_t>(std::ranges::count_if(
      kernel.memory.pointers, [](const ptx::PointerUse& use) { return use.only_read && use.read_by_all(1, 1); }));
}

Json document_of(const InspectArguments& a, const std::vector<Inspected>& modules) {
  Json all = Json::array();
  for (const Inspected& m : modules) {
    Json kernels = Json::array();
    for (const ptx::KernelReport& k : m.kernels) {
      Json reasons = Json::array();
      for (const ptx::Reason& reason : k.reasons) reasons.push_back(text_of(reason));
      kernels.push_back({{"name", k.name},
                         {"plain_name", virtual_gpu::plain_name(k.name)},
                         {"split", k.split()},
                         {"reasons", reasons},
                         {"remarks", k.remarks},
                         {"atomics", k.changes.atomics},
                         {"read_by_all", copied(k)}});
    }
    Json one = {{"module", m.number}, {"kernels", kernels}};
    if (m.ptx) one["architecture"] = m.ptx->architecture;
    if (!m.why_not.empty()) one["why_not"] = m.why_not;
    all.push_back(one);
  }
  return {{"what", "vgpu inspect"}, {"file", a.file}, {"modules", all}};
}

void print(const std::vector<Inspected>& modules) {
  using enum Table::Align;
  Table table({{"module"}, {"PTX for"}, {"kernel", left}, {"would be", left}, {"atomics"}, {"read by all"}});
  std::size_t kernels = 0, split = 0;
  for (const Inspected& m : modules)
    for (const ptx::KernelReport& k : m.kernels) {
      ++kernels;
      split += k.split();
      table.add({fmt::to_string(m.number), fmt::format("compute_{}", m.ptx->architecture),
                 virtual_gpu::plain_name(k.name), k.split() ? "split" : "whole", fmt::to_string(k.changes.atomics),
                 fmt::to_string(copied(k))});
    }
  if (kernels != 0) fmt::print("{}\n", table.text());
  for (const Inspected& m : modules) {
    if (!m.why_not.empty()) fmt::print("module {} cannot be split: {}\n", m.number, m.why_not);
    for (const ptx::KernelReport& k : m.kernels) {
      const std::string name = virtual_gpu::plain_name(k.name);
      for (const ptx::Reason& reason : k.reasons) fmt::print("{} cannot be split: {}\n", name, text_of(reason));
      for (const std::string& remark : k.remarks) fmt::print("{}: {}\n", name, remark);
    }
  }
  fmt::print("{} of {} kernels could be split, in {} modules\n", split, kernels, modules.size());
}

int run(InspectArguments& a) {
  const char* const expected = "a program, a library, an object or a fat binary";
  const std::string content = read_whole(a.file, expected);
  const auto bytes = std::as_bytes(std::span(content));
  if (!virtual_gpu::has_fat_binaries(bytes))
    throw Error(Code::configuration, "vgpu",
                fmt::format("{}: neither an ELF file nor a fat binary, expected {}; dcgn vgpu rewrite takes PTX",
                            a.file, expected));
  const std::vector<FatBinary> binaries = virtual_gpu::read_fat_binaries(a.file, bytes);
  if (a.module && *a.module >= binaries.size())
    throw Error(
        Code::configuration, "vgpu",
        fmt::format("--module {}: {} has {} modules, expected fewer than that", *a.module, a.file, binaries.size()));
  a.json.open();
  std::optional<base::OutputFile> output;
  if (!a.output.empty()) {
    const FatEntry* ptx = a.module ? virtual_gpu::newest_ptx(binaries[*a.module]) : nullptr;
    if (!ptx)
      throw Error(Code::configuration, "vgpu",
                  fmt::format("-o {}: expected --module with the number of one that has PTX", a.output));
    output.emplace(a.output);
    output->write(ptx->text);
  }
  std::vector<Inspected> modules;
  for (unsigned m = 0; m < binaries.size(); ++m)
    if (!a.module || *a.module == m) modules.push_back(inspect(m, binaries[m], a.file));
  a.json.write(document_of(a, modules).dump(2));
  if (!a.json.on_stdout()) print(modules);
  return exit_ok;
}

}  // namespace

void add_vgpu_inspect(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<InspectArguments>();
  CLI::App* app = parent.add_subcommand("inspect", inspect_help);
  app->add_option("FILE", a->file, "The program")->type_name("...")->required();
  app->add_option("--module", a->module, "This module alone, by its number [all]")
      ->type_name("N")
      ->check(whole_number(0, INT32_MAX));
  app->add_option("-o,--output", a->output, "Where that module's PTX goes [nowhere]")->type_name("OUT");
  a->json.add_to(*app, "The report");
  app->footer(std::string(inspect_examples) + exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
