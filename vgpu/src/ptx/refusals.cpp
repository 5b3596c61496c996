#include "vgpu/src/ptx/refusals.hpp"

#include "vgpu/src/ptx/call_graph.hpp"
#include "vgpu/src/ptx/opcodes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace dcgn::virtual_gpu::ptx {

namespace {

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<std::string> register_refusal(std::string_view name) {
  if (name.starts_with("%envreg")) return "grid synchronisation: " + std::string(name) + " is the grid's workspace";
  if (name == "%total_smem_size") return "shared memory: " + std::string(name) + " is more where a kernel is split";
  if (name == "%gridid") return "%gridid: each GPU's launch has another";
  constexpr std::array<std::string_view, 4> others = {"%clusterid", "%nclusterid", "%is_explicit_cluster",
                                                      "%aggr_smem_size"};
  if (name.starts_with("%cluster_") || is_one_of(name, others)) return "clusters: " + std::string(name);
  return std::nullopt;
}

// Copies into the block's own shared memory, and the fence behind an mbarrier's initialisation, have no other spelling.
bool is_of_lone_block(const Instruction& i) {
  if (i.opcode == "fence") return i.has(".mbarrier_init");
  return i.opcode == "cp" && i.has(".bulk") && !i.has(".shared::cta") && !i.has(".multicast::cluster") &&
         !i.has(".reduce");
}

std::optional<std::string> cluster_refusal(const Instruction& i) {
  constexpr std::array<std::string_view, 3> opcodes = {"mapa", "getctarank", "clusterlaunchcontrol"};
  if (is_one_of(i.opcode, opcodes)) return "clusters: " + std::string(i.opcode);
  if (is_of_lone_block(i)) return std::nullopt;
  constexpr std::array<std::string_view, 4> words = {".cluster", ".shared::cluster", ".multicast::cluster",
                                                     ".cta_group::2"};
  for (const std::string_view qualifier : i.qualifiers) {
    if (is_one_of(qualifier, words)) return "clusters: " + std::string(qualifier);
    if (qualifier.find("::cluster") != std::string_view::npos) return "clusters: " + std::string(qualifier);
  }
  return std::nullopt;
}

// The names of the device runtime; those of a program's own functions that begin alike are defined in it.
std::optional<std::string> runtime_refusal(const Module& module, std::string_view callee) {
  const Function* function = module.find_function(callee);
  if (!function || function->body) return std::nullopt;
  if (!is_device_runtime(callee)) return std::nullopt;
  return "dynamic parallelism: " + std::string(callee);
}

std::optional<std::string> opcode_refusal(const Instruction& i) {
  constexpr std::array<std::string_view, 4> textures = {"tex", "tld4", "txq", "istypep"};
  constexpr std::array<std::string_view, 5> surfaces = {"suld", "sust", "sured", "suq", "sucl"};
  if (is_one_of(i.opcode, textures)) return "textures: an object is known to one GPU only";
  if (is_one_of(i.opcode, surfaces)) return "surfaces: an object is known to one GPU only";
  if (i.opcode == "multimem") return std::string("multimem: its addresses are those of GPUs that the program chose");
  if (i.opcode == "griddepcontrol") return std::string("grid synchronisation: griddepcontrol waits for other launches");
  if (i.opcode == "cp" && i.has(".reduce") && i.has(".global"))
    return std::string("bulk reductions: those to global memory are atomic within one GPU only");
  if (i.opcode == "red" && i.has(".async") && i.has(".global"))
    return std::string("red.async: those to global memory are atomic within one GPU only");
  // What is not widened by system_scope.hpp.
  constexpr std::array<std::string_view, 5> scoped = {"atom", "red", "ld", "st", "fence"};
  if (i.has(".gpu") && !is_one_of(i.opcode, scoped))
    return std::string(i.opcode) + ": of the scope of one GPU, and not known to have a wider one";
  if (!is_known_opcode(i.opcode)) return "instruction: " + std::string(i.opcode) + " is not known";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refusal(const Module& module, const Instruction& instruction) {
  if (auto why = opcode_refusal(instruction)) return why;
  if (auto why = cluster_refusal(instruction)) return why;
  if (instruction.opcode == "call")
    if (auto why = runtime_refusal(module, callee_of(instruction))) return why;
  std::optional<std::string> found;
  for (const Operand& operand : instruction.operands)
    for_each_name(operand, [&](const Operand& name) {
      if (!found) found = register_refusal(name.name);
    });
  return found;
}

std::optional<std::string> refusal(const Directive& directive) {
  constexpr std::array<std::string_view, 4> names = {".reqnctapercluster", ".explicitcluster", ".maxclusterrank",
                                                     ".blocksareclusters"};
  if (is_one_of(directive.name, names)) return "clusters: " + std::string(directive.name);
  return std::nullopt;
}

std::optional<std::string> remark(const Instruction& instruction) {
  if (instruction.opcode == "call")
    for (const char* const name : {"malloc", "free"})
      if (callee_of(instruction) == name) return std::string(name) + ": each GPU has a heap of its own";
  std::optional<std::string> found;
  for (const Operand& operand : instruction.operands)
    for_each_name(operand, [&](const Operand& name) {
      if (name.name == "%smid" || name.name == "%nsmid")
        found = std::string(name.name) + ": multiprocessors of two GPUs have the same numbers";
    });
  return found;
}

}  // namespace dcgn::virtual_gpu::ptx
