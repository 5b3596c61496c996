#include "vgpu/src/ptx/survey.hpp"

#include "vgpu/src/ptx/hand_over.hpp"
#include "vgpu/src/ptx/refusals.hpp"
#include "vgpu/src/ptx/spin_wait.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

namespace dcgn::virtual_gpu::ptx {

namespace {

constexpr std::uint64_t static_shared_limit = 48 * 1024;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

// "sm_90a" is 90; 0 for what is none.
int architecture_of(std::string_view target) {
  int number = 0;
  if (target.substr(0, 3) == "sm_") std::from_chars(target.data() + 3, target.data() + target.size(), number);
  return number;
}

// Spaces and line ends of an instruction, which may go over several lines, become one space each.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  return line;
}

}  // namespace

std::vector<ParameterReport> layout_of(const std::vector<Variable>& parameters) {
  std::vector<ParameterReport> layout;
  std::uint64_t end = 0;
  for (const Variable& p : parameters) {
    const std::uint64_t offset = round_up(end, p.alignment);
    layout.push_back({std::string(p.name), offset, p.bytes(), p.alignment});
    end = offset + p.bytes();
  }
  return layout;
}

std::vector<ParameterReport> added_parameters(const std::vector<ParameterReport>& own, Mode mode) {
  std::vector<ParameterReport> added;
  std::uint64_t end = own.empty() ? 0 : own.back().offset + own.back().bytes;
  const auto add = [&](const char* name, std::uint64_t bytes) {
    const std::uint64_t offset = round_up(end, bytes);
    added.push_back({name, offset, bytes, bytes});
    end = offset + bytes;
  };
  switch (mode) {
    case Mode::split:
      for (const char* name :
           {"dcgn_first_x", "dcgn_first_y", "dcgn_first_z", "dcgn_grid_x", "dcgn_grid_y", "dcgn_grid_z"})
        add(name, 4);
      break;
    case Mode::early_exit:
      for (const char* name : {"dcgn_first_block", "dcgn_end_block"}) add(name, 8);
      break;
  }
  return added;
}

bool reads_index(const Instruction& instruction) {
  bool reads = false;
  for (const Operand& operand : instruction.operands)
    for_each_name(operand,
                  [&](const Operand& name) { reads = reads || name.name == "%ctaid" || name.name == "%nctaid"; });
  return reads;
}

Survey::Survey(const Module& module, const Options& options, const SharedVariables& variables)
    : module_(module), options_(options), variables_(variables), calls_(module), crowded_(module.functions.size()) {
  check_module();
  check_names();
  for (const Variable& v : module_.variables) {
    if (variables_.leads_to_functions(v)) functions_.insert(v.name);
    if (const auto found = variables_.foreign_address(v))
      foreign_[v.name] = "variables: " + std::string(found->holder) + " holds the address of " +
                         std::string(found->of) + ", of which each GPU has its own";
  }
  const auto stored = find_stored_addresses(module_, calls_, variables_);
  for (std::size_t f = 0; f < module_.functions.size(); ++f) {
    const auto& instructions = module_.functions[f].instructions;
    readers_.push_back(std::any_of(instructions.begin(), instructions.end(), reads_index));
    reasons_.push_back(reasons_in(f, stored[f]));
  }
  if (has_index()) find_crowded();
}

// Such a kernel stays whole. Where one of its functions reads the record, ptxas would refuse the kernel all the same:
// that function reads the hardware's index, and other kernels that reach it stay whole as well.
void Survey::find_crowded() {
  for (std::size_t k = 0; k < module_.functions.size(); ++k) {
    const Function& kernel = module_.functions[k];
    const std::vector<std::size_t> reached = calls_.reach(k);
    crowded_[k] = kernel.entry && kernel.body && needs_record(k) &&
                  round_up(static_shared(reached), 16) + record_bytes > static_shared_limit;
  }
  for (std::size_t k = 0; k < module_.functions.size(); ++k)
    if (crowded_[k])
      for (const std::size_t f : calls_.reach(k))
        if (!module_.functions[f].entry && readers_[f]) readers_of_crowded_.try_emplace(f, k);
}

void Survey::check_module() const {
  if (module_.address_size != 64)
    throw Error(Code::unsupported, "ptx",
                module_.source->name() + ": .address_size " + std::to_string(module_.address_size) + ", expected 64");
  for (const std::string_view target : module_.targets)
    if (const int number = architecture_of(target); number != 0 && number < 60)
      throw Error(Code::unsupported, "ptx",
                  module_.source->where(module_.source->offset_of(target)) + ": found target " + std::string(target) +
                      ", expected sm_60 or later, which have atomics of system scope");
  if (options_.kernel.empty()) return;
  std::string known;
  for (const Function& f : module_.functions) {
    if (!f.entry || !f.body) continue;
    if (f.name == options_.kernel) return;
    known += (known.empty() ? "" : ", ") + std::string(f.name);
  }
  throw Error(Code::configuration, "ptx",
              module_.source->name() + ": no kernel " + options_.kernel + ", expected " +
                  (known.empty() ? "one: there is none" : "one of " + known));
}

// Names that the rewriter gives.
void Survey::check_names() const {
  const auto check = [&](std::string_view name) {
    if (name.starts_with("%dcgn_") || name.starts_with("$dcgn_") || name.starts_with("dcgn_at_") ||
        name.starts_with("dcgn_first_") || name.starts_with("dcgn_grid_") || name == "dcgn_block" ||
        name == "dcgn_end_block" || name == "dcgn_sample")
      module_.source->fail(module_.source->offset_of(name), quoted(name), "PTX that was not rewritten before");
  };
  for (const Variable& v : module_.variables) check(v.name);
  for (const Function& f : module_.functions) {
    for (const Variable& v : f.parameters) check(v.name);
    for (const Variable& v : f.variables) check(v.name);
    for (const Label& l : f.labels) check(l.name);
  }
}

Reason Survey::reason(std::string construct, std::size_t function, std::string_view where) const {
  const Source& source = *module_.source;
  return {std::move(construct), std::string(module_.functions[function].name), one_line(where),
          source.place(source.offset_of(where)).line};
}

std::vector<Reason> Survey::reasons_in(std::size_t function, const std::vector<StoredAddress>& stored) const {
  std::vector<Reason> reasons;
  const Function& f = module_.functions[function];
  // Of each construct the first.
  const auto add = [&](std::optional<std::string> why, std::string_view where) {
    if (why && std::none_of(reasons.begin(), reasons.end(), [&](const Reason& r) { return r.construct == *why; }))
      reasons.push_back(reason(std::move(*why), function, where));
  };
  for (const Directive& directive : f.directives) add(refusal(directive), directive.name);
  for (const Instruction& instruction : f.instructions) add(refusal(module_, instruction), instruction.text);
  for (const Instruction& instruction : f.instructions) {
    add(function_refusal(f, instruction), instruction.text);
    add(variable_refusal(f, instruction), instruction.text);
  }
  for (const StoredAddress& s : stored)
    add("addresses: of " + std::string(s.variable) + ", of which each GPU has its own, stored in memory",
        f.instructions[s.instruction].text);
  if (const auto at = find_spin_wait(module_, calls_, function))
    reasons.push_back(
        reason("spin-wait: a loop that ends by what another block writes", function, f.instructions[*at].text));
  return reasons;
}

// Each GPU's module has its functions at other addresses.
std::optional<std::string> Survey::function_refusal(const Function& function, const Instruction& instruction) const {
  const bool call = instruction.opcode == "call";
  if (call && calls_.is_by_pointer(instruction))
    return "functions: called through a pointer, and each GPU has them at another address";
  if (instruction.opcode == "bra" || instruction.opcode == "brx") return std::nullopt;  // names of labels
  const std::string_view callee = call ? callee_of(instruction) : std::string_view();
  bool named = false;
  for (const Operand& operand : instruction.operands)
    for_each_name(operand, [&](const Operand& name) {
      if (named || name.name.data() == callee.data()) return;
      const Variable* variable = variables_.find(name.name);
      named = (calls_.is_function(name.name) || (variable && functions_.count(variable->name) != 0)) &&
              !function.declares(name.name);
    });
  if (named) return "functions: their addresses differ between GPUs";
  return std::nullopt;
}

std::optional<std::string> Survey::variable_refusal(const Function& function, const Instruction& instruction) const {
  std::optional<std::string> found;
  for (const Operand& operand : instruction.operands)
    for_each_name(operand, [&](const Operand& name) {
      const auto foreign = foreign_.find(name.name);
      if (!found && foreign != foreign_.end() && !function.declares(name.name)) found = foreign->second;
    });
  return found;
}

bool Survey::reads_record(std::size_t function) const {
  return has_index() && !module_.functions[function].entry && readers_of_crowded_.count(function) == 0;
}

bool Survey::needs_record(std::size_t kernel) const {
  if (!has_index()) return false;
  const std::vector<std::size_t> reached = calls_.reach(kernel);
  if (std::any_of(reached.begin(), reached.end(), [&](std::size_t f) { return readers_[f] && reads_record(f); }))
    return true;
  if (!calls_.strangers(reached).empty()) return true;
  // A pointer may come from another module where this one has anything of others.
  const auto external = [](const auto& thing) { return thing.linkage == Linkage::external; };
  return calls_.calls_by_pointer(reached) &&
         (std::any_of(module_.variables.begin(), module_.variables.end(), external) ||
          std::any_of(module_.functions.begin(), module_.functions.end(), external));
}

bool Survey::has_record() const {
  for (std::size_t f = 0; f < module_.functions.size(); ++f)
    if ((readers_[f] && reads_record(f)) ||
        (module_.functions[f].entry && module_.functions[f].body && writes_record(f)))
      return true;
  return false;
}

std::optional<Reason> Survey::shared_memory_reason(std::size_t kernel, const std::vector<std::size_t>& reached) const {
  const auto bytes = [&](std::size_t k) {
    return std::to_string(static_shared(calls_.reach(k))) + " bytes, which leave no room for " +
           std::to_string(record_bytes) + " that functions read the block's index from";
  };
  const auto where = [&](std::size_t f) { return module_.functions[f].name; };
  if (crowded_[kernel]) return reason("shared memory: " + bytes(kernel), kernel, where(kernel));
  for (const std::size_t f : reached)
    if (const auto found = readers_of_crowded_.find(f); found != readers_of_crowded_.end())
      return reason("shared memory: " + std::string(where(found->second)) + ", which runs the same function, has " +
                        bytes(found->second),
                    f, where(f));
  return std::nullopt;
}

// Of the functions themselves and of what they name in the module.
std::uint64_t Survey::static_shared(const std::vector<std::size_t>& functions) const {
  std::uint64_t bytes = 0;
  const auto add = [&](const Variable& v) {
    if (v.space == Space::shared) bytes = round_up(bytes, v.alignment) + v.bytes();
  };
  std::set<std::string_view> named;
  for (const std::size_t f : functions) {
    for (const Variable& v : module_.functions[f].variables) add(v);
    for (const Instruction& instruction : module_.functions[f].instructions)
      for (const Operand& operand : instruction.operands)
        for_each_name(operand, [&](const Operand& name) { named.insert(name.name); });
  }
  for (const Variable& v : module_.variables)
    if (named.count(v.name) != 0) add(v);
  return bytes;
}

KernelReport Survey::report(std::size_t function) const {
  const Function& kernel = module_.functions[function];
  const Source& source = *module_.source;
  KernelReport report;
  report.name = kernel.name;
  report.line = source.place(source.offset_of(kernel.name)).line;
  report.asked = !options_.whole && (options_.kernel.empty() || options_.kernel == kernel.name);
  report.parameters = layout_of(kernel.parameters);
  report.added = added_parameters(report.parameters, options_.mode);
  report.memory = memory_use(module_, calls_, function);
  const std::vector<std::size_t> reached = calls_.reach(function);
  report.memory.hands_over =
      report.memory.stores_what_it_loads && std::any_of(reached.begin(), reached.end(), [&](std::size_t f) {
        return !deciding_atomics(module_.functions[f]).empty();
      });
  for (const std::size_t f : reached)
    report.reasons.insert(report.reasons.end(), reasons_[f].begin(), reasons_[f].end());
  if (calls_.address_taken(kernel.name))
    report.reasons.push_back(reason("dynamic parallelism: another kernel launches it", function, kernel.name));

  // What more it needs has to fit.
  const std::uint64_t limit = module_.version < Version{8, 1} ? 4096 : 32764;
  if (report.added.back().offset + report.added.back().bytes > limit)
    report.reasons.push_back(
        reason("parameters: with those added more than " + std::to_string(limit) + " bytes", function, kernel.name));
  if (auto crowded = shared_memory_reason(function, reached)) report.reasons.push_back(std::move(*crowded));
  if (writes_record(function)) report.record_bytes = record_bytes;
  report.static_shared = static_shared(reached);
  if (!report.split()) report.added.clear();

  std::set<std::string> remarks;
  for (const std::size_t f : reached)
    for (const Instruction& instruction : module_.functions[f].instructions)
      if (auto text = remark(instruction)) remarks.insert(std::move(*text));
  for (const std::string_view stranger : calls_.strangers(reached))
    remarks.insert("calls " + std::string(stranger) + " of another module, which has to be rewritten likewise");
  report.remarks.assign(remarks.begin(), remarks.end());
  return report;
}

}  // namespace dcgn::virtual_gpu::ptx
