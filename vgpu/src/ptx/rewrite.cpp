#include "vgpu/src/ptx/rewrite.hpp"

#include "vgpu/src/ptx/edits.hpp"
#include "vgpu/src/ptx/hand_over.hpp"
#include "vgpu/src/ptx/page_touches.hpp"
#include "vgpu/src/ptx/shared_variables.hpp"
#include "vgpu/src/ptx/survey.hpp"
#include "vgpu/src/ptx/system_scope.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace dcgn::virtual_gpu::ptx {

Changes& Changes::operator+=(const Changes& other) {
  block_index += other.block_index;
  grid_size += other.grid_size;
  atomics += other.atomics;
  fences += other.fences;
  ordered_accesses += other.ordered_accesses;
  variables += other.variables;
  return *this;
}

namespace {

// The words of the record, in its order.
constexpr std::array<std::string_view, 6> index_registers = {"%dcgn_ctaid_x",  "%dcgn_ctaid_y",  "%dcgn_ctaid_z",
                                                             "%dcgn_nctaid_x", "%dcgn_nctaid_y", "%dcgn_nctaid_z"};

class Rewriter {
 public:
  Rewriter(const Module& module, const Options& options)
      : module_(module),
        options_(options),
        variables_(module),
        survey_(module, options, variables_),
        edits_(*module.source) {}

  Rewritten run() {
    Rewritten result;
    for (std::size_t f = 0; f < module_.functions.size(); ++f)
      if (module_.functions[f].entry && module_.functions[f].body) {
        kernels_.push_back(f);
        result.kernels.push_back(survey_.report(f));
        if (result.kernels.back().split()) split_.insert(module_.functions[f].name);
      }
    for (std::size_t k = 0; k < kernels_.size(); ++k)
      if (result.kernels[k].split() && result.kernels[k].memory.hands_over) note_unfenced(kernels_[k]);
    if (survey_.has_record()) edits_.insert(module_.after_head, record_declaration());
    if (options_.count_touches) edits_.insert(module_.after_head, touch_counter_declaration());
    variables_.declare(edits_);
    for (std::size_t f = 0; f < module_.functions.size(); ++f) changes_.push_back(rewrite_function(f));
    for (std::size_t k = 0; k < kernels_.size(); ++k)
      for (const std::size_t f : survey_.calls().reach(kernels_[k])) result.kernels[k].changes += changes_[f];
    report_variables(result);
    result.text = edits_.apply();
    return result;
  }

 private:
  bool is_split(const Function& f) const { return f.entry && split_.count(f.name) != 0; }

  // Its blocks hand over to the last one without a fence.
  void note_unfenced(std::size_t kernel) {
    const std::vector<std::size_t> functions = survey_.calls().reach(kernel);
    if (std::none_of(functions.begin(), functions.end(), [&](auto f) { return has_fence(module_.functions[f]); }))
      unfenced_.insert(functions.begin(), functions.end());
  }

  Changes rewrite_function(std::size_t number) {
    const Function& f = module_.functions[number];
    Changes changes;
    if (is_split(f)) add_parameters(f);
    if (!f.body) return changes;
    std::set<std::size_t> read;  // words of the record
    const bool index = options_.mode == Mode::split && (is_split(f) || survey_.reads_record(number));
    for (const Instruction& instruction : f.instructions) {
      if (options_.count_touches) count_touches(instruction, edits_);
      switch (options_.alone ? ScopeChange::none : widen_scope(instruction, edits_)) {
        case ScopeChange::none: break;
        case ScopeChange::atomic: ++changes.atomics; break;
        case ScopeChange::fence: ++changes.fences; break;
        case ScopeChange::access: ++changes.ordered_accesses; break;
      }
      changes.variables += variables_.replace(f, instruction, edits_);
      if (index && reads_index(instruction)) replace_index(instruction, changes, read);
    }
    if (!options_.alone && unfenced_.count(number) != 0)
      for (const std::size_t atomic : deciding_atomics(f)) fence_around(module_, f.instructions[atomic], edits_);
    edits_.insert(*f.body, f.entry ? kernel_prologue(number, !read.empty()) : function_prologue(read));
    return changes;
  }

  std::string kernel_prologue(std::size_t number, bool reads) const {
    const bool split = is_split(module_.functions[number]);
    if (options_.mode == Mode::early_exit) return split ? early_exit_prologue() : "";
    const bool record = survey_.writes_record(number);
    if (!record && !(split && reads)) return "";
    return (split ? split_prologue() : whole_prologue()) + (record ? record_write() : "");
  }

  static std::string function_prologue(const std::set<std::size_t>& read) {
    std::string text;
    for (const std::size_t word : read) {
      const std::string name(index_registers[word]);
      text.append("\n\t.reg .b32 ").append(name).append(";\n\tld.shared.u32 ").append(name);
      text.append(", [dcgn_block+").append(std::to_string(4 * word)).append("];");
    }
    return text;
  }

  void add_parameters(const Function& f) {
    std::string text;
    for (const ParameterReport& p : added_parameters(layout_of(f.parameters), options_.mode))
      text += std::string(text.empty() ? "" : ",") + "\n\t.param " + (p.bytes == 8 ? ".u64 " : ".u32 ") + p.name;
    if (f.parameters_close)
      edits_.insert(*f.parameters_close, (f.parameters.empty() ? "" : ",") + text + "\n");
    else
      edits_.insert(f.after_name, " (" + text + "\n)");
  }

  // The word that `name` with `selector` reads; 6 for the fourth component, which is always 0.
  std::size_t word_of(const Operand& name, std::size_t component) const {
    if (component > 3)
      module_.source->fail(module_.source->offset_of(name.text), quoted(name.text), "a component x, y, z or w");
    return component == 3 ? index_registers.size() : component + (name.name == "%nctaid" ? 3 : 0);
  }
  static std::size_t component_of(std::string_view selector) {
    constexpr std::string_view first = "xyzw", second = "rgba";
    if (selector.size() != 2) return 4;
    return std::min({first.find(selector[1]), second.find(selector[1]), std::size_t{4}});
  }
  static std::string_view value_of(std::size_t word) {
    return word < index_registers.size() ? index_registers[word] : "0";
  }
  static void count(const Operand& name, Changes& changes) {
    ++(name.name == "%ctaid" ? changes.block_index : changes.grid_size);
  }

  void replace_index(const Instruction& instruction, Changes& changes, std::set<std::size_t>& read) {
    for (const Operand& operand : instruction.operands)
      for_each_name(operand, [&](const Operand& name) {
        if (name.name != "%ctaid" && name.name != "%nctaid") return;
        count(name, changes);
        if (name.selector.empty()) return replace_vector(instruction, name, read);
        const std::size_t word = word_of(name, component_of(name.selector));
        if (word < index_registers.size()) read.insert(word);
        edits_.replace(name.text, std::string(value_of(word)));
      });
    // Old code takes 16 bits of a component.
    const bool half = instruction.has(".u16") || instruction.has(".b16") || instruction.has(".s16");
    if (instruction.opcode == "mov" && half) {
      const std::string_view type = instruction.qualifiers.back();
      edits_.replace(instruction.opcode, "cvt");
      edits_.replace(type, (type == ".s16" ? ".s16" : ".u16") + std::string(".u32"));
    }
  }

  // mov.v4.u32 {%r1, %r2, _, _}, %ctaid;
  void replace_vector(const Instruction& instruction, const Operand& name, std::set<std::size_t>& read) {
    const Operand& to = instruction.operands.front();
    const bool whole = to.kind == Operand::Kind::name;
    if (instruction.opcode != "mov" || !instruction.has(".v4") || (!whole && to.parts.size() != 4))
      module_.source->fail(module_.source->offset_of(name.text), quoted(name.text) + " as a vector",
                           "mov.v4.u32 of it to four registers", Code::unsupported);
    const std::string guard(
        instruction.text.substr(0, static_cast<std::size_t>(instruction.opcode.data() - instruction.text.data())));
    std::string text;
    for (std::size_t component = 0; component < 4; ++component) {
      const std::string part =
          whole ? std::string(to.text) + "." + "xyzw"[component] : std::string(to.parts[component].text);
      if (part == "_") continue;
      const std::size_t word = word_of(name, component);
      if (word < index_registers.size()) read.insert(word);
      if (!text.empty()) text += ' ';
      text.append(guard).append("mov.u32 ").append(part).append(", ").append(value_of(word)).append(";");
    }
    edits_.replace(instruction.text, text);
  }

  void report_variables(Rewritten& result) const {
    for (const Variable& v : module_.variables) {
      if (v.space != Space::global && v.space != Space::constant) continue;
      VariableReport report;
      report.name = v.name;
      report.pointer = variables_.pointer_of(v);
      report.why_not = variables_.why_not(v);
      report.bytes = v.bytes();
      report.alignment = v.alignment;
      report.initialized = v.initialized;
      report.constant = v.space == Space::constant;
      report.managed = v.managed;
      report.external = v.linkage == Linkage::external;
      for (const AddressUse& use : v.addresses)
        if (!use.later_byte) report.addresses.push_back({std::string(use.symbol), use.element * v.element});
      result.variables.push_back(std::move(report));
    }
  }

  const Module& module_;
  const Options& options_;
  SharedVariables variables_;
  Survey survey_;
  Edits edits_;
  std::vector<std::size_t> kernels_;
  std::set<std::string_view> split_;
  std::set<std::size_t> unfenced_;  // functions
  std::vector<Changes> changes_;    // by function
};

}  // namespace

Rewritten rewrite(const Module& module, const Options& options) { return Rewriter(module, options).run(); }

}  // namespace dcgn::virtual_gpu::ptx
