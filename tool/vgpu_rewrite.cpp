// dcgn vgpu rewrite
#include "tool/exit_code.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"
#include "tool/vgpu.hpp"
#include "vgpu/src/kernel_name.hpp"
#include "vgpu/src/ptx/parser.hpp"
#include "vgpu/src/ptx/rewrite.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

using Json = nlohmann::ordered_json;
namespace ptx = virtual_gpu::ptx;

constexpr const char* vgpu_rewrite_help =
    "Rewrite PTX so that a kernel's blocks can be split over several GPUs\n\n"
    "The block's index and the grid's size become those of the whole grid, in kernels and in device functions; "
    "atomics, "
    "fences\n"
    "and ordered accesses get the scope of the system; code finds device variables by pointers. What cannot be split "
    "stays whole,\n"
    "and the report says why, with the line. No GPU is needed.";

constexpr const char* vgpu_rewrite_examples =
    "Examples:\n"
    "  nvcc -ptx -arch=compute_90 kernels.cu && dcgn vgpu rewrite kernels.ptx     the report alone\n"
    "  dcgn vgpu rewrite kernels.ptx -o split.ptx && ptxas -arch=sm_90 split.ptx\n"
    "  dcgn vgpu rewrite kernels.ptx --kernel dot --json                          one kernel, for programs\n"
    "  dcgn vgpu rewrite kernels.ptx --mode early-exit -o oracle.ptx              the whole grid on each GPU\n\n";

struct VgpuRewriteArguments {
  std::string file, output, kernel, mode = "split";
  JsonOption json;
};

Json document_of(const std::vector<ptx::ParameterReport>& parameters) {
  Json all = Json::array();
  for (const ptx::ParameterReport& p : parameters)
    all.push_back({{"name", p.name}, {"offset", p.offset}, {"bytes", p.bytes}, {"alignment", p.alignment}});
  return all;
}

Json document_of(const ptx::MemoryUse& memory) {
  Json pointers = Json::array();
  for (const ptx::PointerUse& p : memory.pointers)
    pointers.push_back({{"offset", p.offset},
                        {"only_read", p.only_read},
                        {"anywhere", p.anywhere},
                        {"dimensions", p.only_read ? p.dimensions : 0}});
  return {{"pointers", pointers}, {"writes_elsewhere", memory.writes_elsewhere}};
}

Json document_of(const ptx::KernelReport& k) {
  Json reasons = Json::array();
  for (const ptx::Reason& r : k.reasons)
    reasons.push_back(
        {{"construct", r.construct}, {"function", r.function}, {"line", r.line}, {"instruction", r.instruction}});
  return {{"name", k.name},
          {"line", k.line},
          {"split", k.split()},
          {"asked", k.asked},
          {"reasons", reasons},
          {"remarks", k.remarks},
          {"parameters", document_of(k.parameters)},
          {"added_parameters", document_of(k.added)},
          {"record_bytes", k.record_bytes},
          {"memory", document_of(k.memory)},
          {"changes",
           {{"block_index", k.changes.block_index},
            {"grid_size", k.changes.grid_size},
            {"atomics", k.changes.atomics},
            {"fences", k.changes.fences},
            {"ordered_accesses", k.changes.ordered_accesses},
            {"variables", k.changes.variables}}}};
}

Json document_of(const ptx::VariableReport& v) {
  Json addresses = Json::array();
  for (const auto& a : v.addresses) addresses.push_back({{"symbol", a.symbol}, {"offset", a.offset}});
  Json one = {
      {"name", v.name},         {"bytes", v.bytes},     {"alignment", v.alignment}, {"initialized", v.initialized},
      {"constant", v.constant}, {"managed", v.managed}, {"external", v.external},   {"addresses", addresses}};
  if (v.pointer.empty())
    one["not_shared"] = v.why_not;
  else
    one["pointer"] = v.pointer;
  return one;
}

Json document_of(const VgpuRewriteArguments& a, const ptx::Module& module, const ptx::Rewritten& rewritten) {
  Json kernels = Json::array(), variables = Json::array();
  for (const ptx::KernelReport& k : rewritten.kernels) kernels.push_back(document_of(k));
  for (const ptx::VariableReport& v : rewritten.variables) variables.push_back(document_of(v));
  return {{"what", "vgpu rewrite"},
          {"file", a.file},
          {"version", fmt::format("{}.{}", module.version.major, module.version.minor)},
          {"target", module.targets.front()},
          {"mode", a.mode},
          {"kernels", kernels},
          {"variables", variables}};
}

// "12 + 24": of the kernel itself and added.
std::string parameter_bytes(const ptx::KernelReport& k) {
  const auto end = [](const std::vector<ptx::ParameterReport>& p) {
    return p.empty() ? 0 : p.back().offset + p.back().bytes;
  };
  if (k.added.empty()) return fmt::to_string(end(k.parameters));
  return fmt::format("{} + {}", end(k.parameters), end(k.added) - k.added.front().offset);
}

void print_kernels(const std::vector<ptx::KernelReport>& kernels) {
  using enum Table::Align;
  Table table({{"kernel", left},
               {"line"},
               {"is", left},
               {"parameters"},
               {"index"},
               {"grid"},
               {"atomics"},
               {"fences"},
               {"accesses"},
               {"variables"},
               {"record"}});
  for (const ptx::KernelReport& k : kernels) {
    const ptx::Changes& c = k.changes;
    table.add({k.name, fmt::to_string(k.line),
               k.split() ? "split"
               : k.asked ? "whole"
                         : "not asked",
               parameter_bytes(k), fmt::to_string(c.block_index), fmt::to_string(c.grid_size),
               fmt::to_string(c.atomics), fmt::to_string(c.fences), fmt::to_string(c.ordered_accesses),
               fmt::to_string(c.variables), fmt::to_string(k.record_bytes)});
  }
  fmt::print("{}", table.text());
  for (const ptx::KernelReport& k : kernels) {
    if (!k.asked) continue;
    for (const ptx::Reason& reason : k.reasons) fmt::print("{} cannot be split: {}\n", k.name, text_of(reason));
    for (const std::string& remark : k.remarks) fmt::print("{}: {}\n", k.name, remark);
  }
}

// What the pointers in a parameter lead to.
std::string memory_at(const ptx::MemoryUse& memory, const ptx::ParameterReport& parameter) {
  std::string all;
  if (parameter.bytes < 8) return all;  // no pointer
  for (const ptx::PointerUse& p : memory.pointers) {
    if (p.offset < parameter.offset || p.offset >= parameter.offset + parameter.bytes) continue;
    if (parameter.bytes > 8) all += fmt::format("{}{}: ", all.empty() ? "" : ", ", p.offset);
    if (!p.only_read)
      all += "written, or not known";
    else if (p.anywhere)
      all += "read anywhere";
    else
      all += p.dimensions == 0 ? "read, the same by all blocks" : "read by block index";
  }
  return all;
}

// Of the one that was asked for.
void print_parameters(const ptx::KernelReport& k) {
  using enum Table::Align;
  Table table({{"parameter", left}, {"offset"}, {"bytes"}, {"alignment"}, {"leads to memory", left}});
  for (const auto* parameters : {&k.parameters, &k.added})
    for (const ptx::ParameterReport& p : *parameters)
      table.add({p.name, fmt::to_string(p.offset), fmt::to_string(p.bytes), fmt::to_string(p.alignment),
                 parameters == &k.parameters ? memory_at(k.memory, p) : ""});
  fmt::print("\n{}", table.text());
  if (k.memory.writes_elsewhere) fmt::print("{} may write memory that no parameter leads to\n", k.name);
}

void print_variables(const std::vector<ptx::VariableReport>& variables) {
  using enum Table::Align;
  Table table({{"variable", left}, {"bytes"}, {"alignment"}, {"content", left}, {"shared", left}});
  for (const ptx::VariableReport& v : variables) {
    std::string content = v.external ? "elsewhere" : v.initialized ? "set" : "zero";
    if (v.managed) content += ", managed";
    for (const auto& address : v.addresses) content += fmt::format(", {} at {}", address.symbol, address.offset);
    table.add({v.name, fmt::to_string(v.bytes), fmt::to_string(v.alignment), content,
               v.pointer.empty() ? "no: " + v.why_not : "by " + v.pointer});
  }
  if (!variables.empty()) fmt::print("\n{}", table.text());
}

// As PTX spells it, which the report has, where it was given as C++ does and one kernel is called so.
std::string name_in(const ptx::Module& module, const std::string& kernel) {
  std::vector<std::string> found;
  for (const ptx::Function& f : module.functions) {
    if (!f.entry || !f.body) continue;
    if (f.name == kernel) return kernel;
    if (virtual_gpu::plain_name(std::string(f.name)) == kernel) found.emplace_back(f.name);
  }
  return found.size() == 1 ? found.front() : kernel;
}

int run(VgpuRewriteArguments& a) {
  const ptx::Module module = ptx::parse(a.file, read_whole(a.file));
  a.kernel = name_in(module, a.kernel);
  const ptx::Mode mode = a.mode == "split" ? ptx::Mode::split : ptx::Mode::early_exit;
  const ptx::Rewritten rewritten = ptx::rewrite(module, {mode, a.kernel});
  a.json.open();
  std::optional<base::OutputFile> output;
  if (!a.output.empty()) output.emplace(a.output);
  if (output && a.json.output && output->same_file(*a.json.output))
    throw Error(Code::configuration, "vgpu",
                fmt::format("--json {}: expected another file than --output {}", a.json.file, a.output));
  if (output) output->write(rewritten.text);
  a.json.write(document_of(a, module, rewritten).dump(2));
  if (!a.json.on_stdout()) {
    print_kernels(rewritten.kernels);
    for (const ptx::KernelReport& k : rewritten.kernels)
      if (k.name == a.kernel) print_parameters(k);
    print_variables(rewritten.variables);
  }
  for (const ptx::KernelReport& k : rewritten.kernels)
    if (!a.kernel.empty() && k.asked && !k.split()) return exit_job_failed;
  return exit_ok;
}

}  // namespace

void add_vgpu_rewrite(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<VgpuRewriteArguments>();
  CLI::App* app = parent.add_subcommand("rewrite", vgpu_rewrite_help);
  app->add_option("FILE", a->file, "The PTX")->type_name("...")->required();
  app->add_option("-o,--output", a->output, "Where the rewritten PTX goes [nowhere]")->type_name("OUT");
  app->add_option(
         "--mode", a->mode,
         "split: launched with a chunk's blocks, in one dimension; early-exit: with the whole grid, and blocks\n"
         "outside of the chunk return")
      ->check(word_of({"split", "early-exit"}))
      ->type_name("WORD")
      ->capture_default_str();
  app->add_option("--kernel", a->kernel,
                  "Split this one only, and show its parameters [all]; exit code 1 where it cannot be")
      ->type_name("NAME");
  a->json.add_to(*app, "The report");
  app->footer(std::string(vgpu_rewrite_examples) + exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
