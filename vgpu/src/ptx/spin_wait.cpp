#include "vgpu/src/ptx/spin_wait.hpp"

#include "vgpu/src/ptx/control_flow.hpp"
#include "vgpu/src/ptx/data_flow.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

namespace {

using Names = std::set<std::string_view>;

bool is_fence(const Instruction& i) { return i.opcode == "membar" || i.opcode == "fence"; }

// After these a compiler reads memory again.
bool orders(const Instruction& i) {
  return is_fence(i) || i.opcode == "bar" || i.opcode == "barrier" || i.opcode == "nanosleep";
}

bool is_load(const Instruction& i) { return i.opcode == "ld" && is_global(i); }

bool is_ordered_load(const Instruction& i) {
  return is_load(i) && (i.has(".volatile") || i.has(".relaxed") || i.has(".acquire") || i.has(".mmio") ||
                        i.has(".cg") || i.has(".cv"));
}

// Memory that others see, or anything that may.
bool may_write(const Instruction& i) {
  constexpr std::array<std::string_view, 8> opcodes = {"st", "red", "atom", "call", "cp", "sust", "sured", "stmatrix"};
  return is_global(i) && std::find(opcodes.begin(), opcodes.end(), i.opcode) != opcodes.end();
}

bool is_atomic(const Instruction& i) { return i.opcode == "atom" && is_global(i); }

bool is_zero(std::string_view number) {
  return !number.empty() && number.find_first_not_of("0xXUbB") == std::string_view::npos;
}

// Whether an atomic goes on with each round, as a counter does. `third` is its third operand, where known a number.
bool is_progress(const Instruction& i, std::string_view third) {
  if (i.has(".inc") || i.has(".dec")) return true;
  return (i.has(".add") || i.has(".sub") || i.has(".xor")) && !is_zero(third);
}

enum class Polls : std::uint8_t { never, where_given_zero, always };

// Whether a function reads, by itself or by what it calls, what another block may be waited for by. An atomic add of
// what the function is given, as debug code has it, does so where that is 0.
Polls polls(const Module& module, const CallGraph& calls, const std::vector<std::size_t>& functions) {
  Polls found = Polls::never;
  for (const std::size_t start : functions)
    for (const std::size_t f : calls.reach(start))
      for (const Instruction& i : module.functions[f].instructions) {
        const bool atomic = is_atomic(i) && i.operands.size() > 2;
        if (is_ordered_load(i) || (atomic && !is_progress(i, i.operands[2].text))) return Polls::always;
        if (atomic && i.operands[2].kind != Operand::Kind::number) found = Polls::where_given_zero;
      }
  return found;
}

class Analysis {
 public:
  Analysis(const Module& module, const CallGraph& calls, std::size_t function)
      : module_(module), calls_(calls), number_(function), function_(module.functions[function]), flow_(function_) {
    for (const Instruction& i : function_.instructions) flows_.push_back(flow_of(i));
    find_constants();
  }

  std::optional<std::size_t> run() {
    for (const Loop& loop : flow_.loops())
      if (const auto found = look_at(loop)) return found;
    return std::nullopt;
  }

 private:
  struct Definition {
    std::size_t instruction, block;
  };

  const Instruction& at(std::size_t i) const { return function_.instructions[i]; }

  // Registers that one instruction of the function sets, to a number.
  void find_constants() {
    std::map<std::string_view, int> writes;
    for (const Flow& flow : flows_)
      for (const std::string_view name : flow.writes) ++writes[name];
    for (const Instruction& i : function_.instructions)
      if (i.opcode == "mov" && i.guard.empty() && i.operands.size() == 2 && writes[i.operands[0].name] == 1 &&
          i.operands[1].kind == Operand::Kind::number)
        constants_[i.operands[0].name] = i.operands[1].text;
  }

  // The number that `operand` is, or the register that it is holds; its text otherwise.
  std::string_view constant(const Operand& operand) const {
    const auto found = constants_.find(operand.name);
    return found != constants_.end() ? found->second : operand.text;
  }

  bool on_every_round(std::size_t block) const {
    return std::all_of(loop_->latches.begin(), loop_->latches.end(),
                       [&](std::size_t latch) { return flow_.dominates(block, latch); });
  }

  std::optional<std::size_t> look_at(const Loop& loop) {
    loop_ = &loop;
    definitions_.clear();
    members_.clear();
    closures_.clear();
    fenced_ = reads_again_ = writes_ = false;
    accesses_ = 0;
    for (std::size_t b = 0; b < loop.inside.size(); ++b) {
      if (!loop.inside[b]) continue;
      for (std::size_t i = flow_.blocks()[b].begin; i < flow_.blocks()[b].end; ++i) {
        members_.push_back({i, b});
        fenced_ = fenced_ || (is_fence(at(i)) && !at(i).has(".cta"));
        reads_again_ = reads_again_ || orders(at(i)) || (at(i).opcode == "call" && call_orders(i));
        writes_ = writes_ || may_write(at(i));
        accesses_ += is_load(at(i)) || may_write(at(i));
        for (const std::string_view name : flows_[i].writes) definitions_[name].push_back({i, b});
      }
    }
    std::vector<std::size_t> reads;
    for (const auto& [i, b] : members_)
      if (may_poll(i)) reads.push_back(i);
    if (reads.empty() || ends_by_exchange()) return std::nullopt;
    decided_.clear();
    polled_ = taint(reads, &decided_);
    std::vector<std::size_t> ordered;
    std::copy_if(reads.begin(), reads.end(), std::back_inserter(ordered),
                 [&](std::size_t i) { return fenced_ || !is_plain(i); });
    if (ends_by_itself(taint(ordered))) return std::nullopt;
    for (const std::size_t read : reads)
      if (!address_moves(read) && exit_depends(taint({read}))) return read;
    return std::nullopt;
  }

  // All that `name` follows from, by what the loop writes.
  const Names& closure(std::string_view name) {
    const auto [entry, fresh] = closures_.try_emplace(name);
    if (!fresh) return entry->second;
    Names found;
    std::vector<std::string_view> open = {name};
    while (!open.empty()) {
      const std::string_view next = open.back();
      open.pop_back();
      const auto definitions = definitions_.find(next);
      if (definitions == definitions_.end()) continue;
      for (const Definition& d : definitions->second)
        for (const std::string_view from : flows_[d.instruction].reads)
          if (found.insert(from).second) open.push_back(from);
    }
    return closures_[name] = std::move(found);
  }

  // Whether an atomic compare-and-swap's comparand follows what the loop read, from memory or by counting.
  bool comparand_follows(std::size_t i) {
    if (at(i).operands.size() < 4) return false;
    Names from;
    for_each_name(at(i).operands[2], [&](const Operand& name) {
      from.insert(name.name);
      from.insert(closure(name.name).begin(), closure(name.name).end());
    });
    return std::any_of(members_.begin(), members_.end(), [&](const Definition& d) {
      const Instruction& read = at(d.instruction);
      return ((read.opcode == "ld" && is_global(read)) || is_atomic(read)) &&
             std::any_of(flows_[d.instruction].writes.begin(), flows_[d.instruction].writes.end(),
                         [&](std::string_view name) { return from.count(name) != 0; });
    });
  }

  bool may_poll(std::size_t index) {
    const Instruction& i = at(index);
    if (is_ordered_load(i)) return true;
    if (is_plain(index)) return fenced_ || ((reads_again_ || !writes_) && !is_own(i) && !is_written_here(i));
    if (i.opcode == "call") return call_polls(index);
    if (!is_atomic(i) || i.operands.size() < 3) return false;
    if (i.has(".cas")) return !comparand_follows(index);
    return !is_progress(i, constant(i.operands[2])) || accesses_ == 1;
  }

  bool is_plain(std::size_t index) const {
    const Instruction& i = at(index);
    return is_load(i) && !is_ordered_load(i) && !i.has(".nc");
  }
  // Whether an address whose space is not told is made from one of shared or local memory, as in code for debuggers.
  bool is_own(const Instruction& read) const {
    if (read.has(".global")) return false;
    std::vector<std::string_view> open = address_names(read);
    Names seen(open.begin(), open.end());
    while (!open.empty()) {
      const std::string_view next = open.back();
      open.pop_back();
      for (std::size_t i = 0; i < flows_.size(); ++i) {
        if (at(i).opcode == "ld" ||
            std::find(flows_[i].writes.begin(), flows_[i].writes.end(), next) == flows_[i].writes.end())
          continue;
        if (at(i).opcode == "cvta" && !at(i).has(".to") && (at(i).has(".shared") || at(i).has(".local"))) return true;
        for (const std::string_view from : flows_[i].reads)
          if (seen.insert(from).second) open.push_back(from);
      }
    }
    return false;
  }
  // Whether the loop writes where it reads.
  bool is_written_here(const Instruction& read) const {
    const std::vector<std::string_view> names = address_names(read);
    return std::any_of(members_.begin(), members_.end(), [&](const Definition& d) {
      const Instruction& i = at(d.instruction);
      return i.opcode != "call" && may_write(i) && address_names(i) == names;
    });
  }

  bool call_orders(std::size_t index) const {
    for (const std::size_t start : calls_.targets(number_, at(index)))
      for (const std::size_t f : calls_.reach(start))
        if (std::any_of(module_.functions[f].instructions.begin(), module_.functions[f].instructions.end(), orders))
          return true;
    return false;
  }

  bool call_polls(std::size_t index) const {
    switch (polls(module_, calls_, calls_.targets(number_, at(index)))) {
      case Polls::never: return false;
      case Polls::always: return true;
      case Polls::where_given_zero: break;
    }
    const auto& arguments = flows_[index].reads;
    const auto is_argument = [&](std::string_view name) {
      return std::find(arguments.begin(), arguments.end(), name) != arguments.end();
    };
    if (std::any_of(arguments.begin(), arguments.end(), [&](std::string_view name) {
          const auto found = constants_.find(name);
          return found != constants_.end() && is_zero(found->second);
        }))
      return true;
    return std::any_of(members_.begin(), members_.end(), [&](const Definition& d) {
      const Instruction& store = at(d.instruction);
      const auto& writes = flows_[d.instruction].writes;
      return store.opcode == "st" && store.has(".param") && is_zero(constant(store.operands.back())) &&
             std::any_of(writes.begin(), writes.end(), is_argument);
    });
  }

  // All that follows from what `reads` yield, by data, by predicates and by which way branches went.
  // `decided`: of these, those that a branch wrote or did not.
  Names taint(const std::vector<std::size_t>& reads, Names* decided = nullptr) const {
    Names tainted;
    for (const std::size_t read : reads) tainted.insert(flows_[read].writes.begin(), flows_[read].writes.end());
    const auto is_tainted = [&](std::string_view name) { return tainted.count(name) != 0; };
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<std::size_t> deciders;  // blocks that end with a branch by a tainted predicate
      for (std::size_t b = 0; b < loop_->inside.size(); ++b)
        if (loop_->inside[b] && flow_.blocks()[b].next.size() > 1 && branch_is(b, tainted)) deciders.push_back(b);
      for (const auto& [i, block] : members_) {
        const Flow& flow = flows_[i];
        const std::size_t b = block;
        const bool by_branch = !on_every_round(b) && std::any_of(deciders.begin(), deciders.end(), [&](std::size_t d) {
          return d != b && flow_.dominates(d, b);
        });
        if (!by_branch && std::none_of(flow.reads.begin(), flow.reads.end(), is_tainted)) continue;
        for (const std::string_view name : flow.writes) changed = tainted.insert(name).second || changed;
        if (by_branch && decided) decided->insert(flow.writes.begin(), flow.writes.end());
      }
    }
    return tainted;
  }

  // Whether the branch at the end of `block` goes by one of `names`.
  bool branch_is(std::size_t block, const Names& names) const {
    const auto& reads = flows_[flow_.blocks()[block].end - 1].reads;
    return std::any_of(reads.begin(), reads.end(), [&](std::string_view name) { return names.count(name) != 0; });
  }

  bool leaves(std::size_t block) const {
    const BasicBlock& b = flow_.blocks()[block];
    return b.may_leave || (b.next.size() > 1 && std::any_of(b.next.begin(), b.next.end(),
                                                            [&](std::size_t next) { return !loop_->inside[next]; }));
  }

  bool is_predicate(std::string_view name) const {
    return std::any_of(function_.variables.begin(), function_.variables.end(), [&](const Variable& v) {
      if (v.type != ".pred") return false;
      if (v.name == name) return true;
      return v.count > 1 && name.substr(0, v.name.size()) == v.name && name.size() > v.name.size() &&
             name.find_first_not_of("0123456789", v.name.size()) == std::string_view::npos;
    });
  }

  // Whether each round sets `name` from its value before, and no value polled decides whether it does.
  bool counts(std::string_view name) {
    const Names& from = closure(name);
    if (from.count(name) == 0) return false;
    for (const std::string_view source : from)
      if (decided_.count(source) != 0 || (is_predicate(source) && polled_.count(source) != 0)) return false;
    const auto& definitions = definitions_[name];
    return std::any_of(definitions.begin(), definitions.end(),
                       [&](const Definition& d) { return at(d.instruction).guard.empty() && on_every_round(d.block); });
  }

  bool moves(std::string_view name) {
    if (counts(name)) return true;
    const Names from = closure(name);
    return std::any_of(from.begin(), from.end(), [&](std::string_view source) { return counts(source); });
  }

  bool address_moves(std::size_t read) {
    std::vector<std::string_view> names = at(read).opcode == "call" ? flows_[read].reads : address_names(at(read));
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return moves(name); });
  }

  bool exit_depends(const Names& names) const {
    for (std::size_t b = 0; b < loop_->inside.size(); ++b)
      if (loop_->inside[b] && leaves(b) && branch_is(b, names)) return true;
    return false;
  }

  bool ends_by_itself(const Names& held) {
    for (std::size_t b = 0; b < loop_->inside.size(); ++b) {
      if (!loop_->inside[b] || !leaves(b) || !on_every_round(b) || branch_is(b, held)) continue;
      const auto& reads = flows_[flow_.blocks()[b].end - 1].reads;
      if (std::any_of(reads.begin(), reads.end(), [&](std::string_view name) { return moves(name); })) return true;
    }
    return false;
  }

  bool ends_by_exchange() {
    return std::any_of(members_.begin(), members_.end(), [&](const Definition& d) {
      const Instruction& i = at(d.instruction);
      return is_atomic(i) && i.has(".cas") && i.guard.empty() && on_every_round(d.block) &&
             comparand_follows(d.instruction) && exit_depends(taint({d.instruction}));
    });
  }

  const Module& module_;
  const CallGraph& calls_;
  std::size_t number_;
  const Function& function_;
  ControlFlow flow_;
  std::vector<Flow> flows_;
  std::map<std::string_view, std::string_view> constants_;

  // Of the loop that is looked at.
  const Loop* loop_ = nullptr;
  bool fenced_ = false, reads_again_ = false, writes_ = false;
  std::size_t accesses_ = 0;  // of memory that others see
  std::vector<Definition> members_;
  std::map<std::string_view, std::vector<Definition>> definitions_;
  std::map<std::string_view, Names> closures_;
  Names polled_, decided_;
};

}  // namespace

std::optional<std::size_t> find_spin_wait(const Module& module, const CallGraph& calls, std::size_t function) {
  return Analysis(module, calls, function).run();
}

}  // namespace dcgn::virtual_gpu::ptx
