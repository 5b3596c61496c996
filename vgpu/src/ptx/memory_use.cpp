#include "vgpu/src/ptx/memory_use.hpp"

#include "vgpu/src/ptx/data_flow.hpp"
#include "vgpu/src/ptx/global_access.hpp"
#include "vgpu/src/ptx/memory_facts.hpp"
#include "vgpu/src/ptx/opcodes.hpp"
#include "vgpu/src/ptx/survey.hpp"
#include "vgpu/src/ptx/token_stream.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace dcgn::virtual_gpu::ptx {

namespace {

template <std::size_t N>
bool is_any(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

class MemoryAnalysis {
 public:
  MemoryAnalysis(const Module& module, const CallGraph& calls, std::size_t kernel)
      : module_(module), calls_(calls), number_(kernel), kernel_(module.functions[kernel]) {
    const std::vector<ParameterReport> layout = layout_of(kernel_.parameters);
    for (std::size_t p = 0; p < layout.size(); ++p)
      parameters_.try_emplace(kernel_.parameters[p].name, Extent{layout[p].offset, layout[p].bytes});
    for (const Variable& v : module_.variables) variables_.insert(v.name);
    for (const Variable& v : kernel_.variables)
      if (v.space != Space::reg) own_variables_.insert(v.name);
    for (std::size_t number = 0; number < kernel_.instructions.size(); ++number) {
      const Instruction& i = kernel_.instructions[number];
      flows_.push_back(flow_of(i));
      for (const Operand& operand : i.operands)
        for_each_name(operand, [&](const Operand& name) { users_[name.name].push_back(number); });
    }
  }

  MemoryUse run() {
    settle();
    find_strides();
    settle();
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) judge(i);
    look_at_callees();
    for (const std::uint64_t word : not_reduced_) use(word).reduced.reset();
    // Of one place alone, it is that which a loop of compare-and-swap begins with.
    if (changed_.size() > 1) stored_.insert(changed_.begin(), changed_.end());
    result_.stores_what_it_loads =
        std::any_of(stored_.begin(), stored_.end(), [&](std::uint64_t place) { return loaded_.count(place) != 0; });
    for (const auto& [offset, use] : uses_)
      if (!use.only_read || use.address || use.written || read_.count(offset) != 0) result_.pointers.push_back(use);
    return std::move(result_);
  }

 private:
  struct Extent {
    std::uint64_t offset, bytes;
  };

  const Extent* parameter(std::string_view name) const {
    const auto found = parameters_.find(name);
    return found == parameters_.end() ? nullptr : &found->second;
  }

  PointerUse& use(std::uint64_t word) {
    return uses_.try_emplace(word, PointerUse{.offset = word, .only_read = true, .dimensions = any_index})
        .first->second;
  }
  // The words that bytes of the parameters lie in are not, or not only, pointers to what is read.
  void give_up(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t word = begin / 8 * 8; word < end; word += 8) give_up_word(word);
  }
  void give_up(const Facts& facts) {
    for (const std::uint64_t word : facts.words) give_up_word(word);
  }
  void give_up_word(std::uint64_t word) {
    use(word).only_read = false;
    not_reduced_.insert(word);
  }
  // All that is known of an address is that it is one of these words and something, which are reduced into.
  void reduce(const Facts& address, const Reduction& reduction) {
    for (const std::uint64_t word : address.words) {
      PointerUse& its = use(word);
      its.only_read = false;
      if (!its.reduced)
        its.reduced = reduction;
      else if (*its.reduced != reduction)
        not_reduced_.insert(word);
    }
  }
  // What may be done at these words' memory.
  void note(const std::set<std::uint64_t>& words, bool address, bool written) {
    for (const std::uint64_t word : words) {
      use(word).address = use(word).address || address;
      use(word).written = use(word).written || written;
    }
  }
  void note(const Facts& facts, bool address, bool written) {
    note(facts.words, address, written);
    note(facts.traces, address, written);
    not_reduced_.insert(facts.traces.begin(), facts.traces.end());
  }
  void note_all(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t word = begin / 8 * 8; word < end; word += 8) {
      note({word}, true, true);
      use(word).in_pieces = true;
      not_reduced_.insert(word);
    }
  }

  Facts facts_of(const Operand& operand) const {
    Facts all;
    for_each_name(operand, [&](const Operand& name) {
      all.origins |= origin_of(name);
      all.variable = all.variable || is_variable(kernel_, name.name);
      if (const auto found = registers_.find(name.name); found != registers_.end()) all.join(found->second);
    });
    return all;
  }

  // Until no register may hold more: an instruction is looked at again when a register that it names may.
  void settle() {
    std::deque<std::size_t> open;
    std::vector<bool> waits(kernel_.instructions.size(), true);
    for (std::size_t i = 0; i < waits.size(); ++i) open.push_back(i);
    while (!open.empty()) {
      const std::size_t number = open.front();
      open.pop_front();
      waits[number] = false;
      if (!step(number)) continue;
      for (const std::string_view name : flows_[number].writes)
        for (const std::size_t user : users_[name])
          if (!waits[user]) {
            waits[user] = true;
            open.push_back(user);
          }
    }
  }

  bool step(std::size_t number) {
    const Instruction& i = kernel_.instructions[number];
    if (flows_[number].writes.empty()) return false;
    if (is_parameter_load(i)) return load_parameter(i);
    Facts result;
    if (i.opcode == "ld" || i.opcode == "ldu" || i.opcode == "atom" || i.opcode == "call" ||
        address_at(i) != i.operands.size()) {
      // Constants are the same for all blocks.
      result.origins = i.has(".const") && !i.operands.empty() ? facts_of(i.operands.back()).origins : memory;
      result.unknown = i.opcode == "call" || type_bytes(i) == 8 || type_bytes(i) == 0 || i.has(".f64");
    } else {
      const std::vector<bool> passed = passes(i);
      for (std::size_t o = 0; o < i.operands.size(); ++o) {
        Facts facts = facts_of(i.operands[o]);
        if (o == 0 && i.operands[0].kind == Operand::Kind::name && i.guard.empty()) facts = {};  // it is written only
        if (!passed[o]) {
          if (may_keep(i))
            facts.traces.insert(facts.words.begin(), facts.words.end());
          else
            facts.traces = facts.halves = {};
          facts.words.clear();
          facts.variable = false;
          facts.unknown = facts.unknown && may_keep(i);
        }
        result.join(facts);
      }
      // Two halves from anywhere may be a pointer, and so may other pieces.
      const bool of_halves =
          i.opcode == "mov" && !i.operands.empty() && i.operands.back().kind == Operand::Kind::vector;
      const bool of_pieces = i.has(".b64") && (i.opcode == "bfi" || i.opcode == "or" || i.opcode == "xor");
      const bool of_known = !result.words.empty() || !result.traces.empty() || result.variable;
      if (of_halves || (of_pieces && (!of_known || (result.origins & memory) != 0))) result.unknown = true;
      if (of_halves) result.traces.insert(result.halves.begin(), result.halves.end());
    }
    bool changed = false;
    for (const std::string_view name : flows_[number].writes) changed = registers_[name].join(result) || changed;
    return changed;
  }

  // Whether the result may be the pointer that an operand is, moved or not.
  static std::vector<bool> passes(const Instruction& i) {
    constexpr std::array<std::string_view, 6> all = {"mov", "cvta", "add", "sub", "selp", "or"};
    std::vector<bool> passed(i.operands.size(), is_any(i.opcode, all));
    if (i.opcode == "mad" && i.operands.size() == 4) passed[3] = true;  // a * b + pointer
    return passed;
  }

  // Whether the result may be a pointer still that an operand was: not by what makes an offset of an index, compares or
  // counts.
  static bool may_keep(const Instruction& i) {
    constexpr std::array<std::string_view, 14> none = {"mul", "mul24", "mad", "mad24", "madc", "shl", "div",
                                                       "rem", "setp",  "set", "testp", "popc", "clz", "bfind"};
    if (i.opcode != "cvt") return !is_any(i.opcode, none);
    return std::count_if(i.qualifiers.begin(), i.qualifiers.end(),
                         [](std::string_view q) { return q == ".u64" || q == ".s64"; }) == 2;
  }

  // Of the kernel's own, by their names.
  bool is_parameter_load(const Instruction& i) const {
    return i.opcode == "ld" && i.has(".param") && i.operands.size() == 2 && parameter_in(i.operands.back());
  }
  const Extent* parameter_in(const Operand& operand) const {
    const Extent* found = nullptr;
    for_each_name(operand, [&](const Operand& name) {
      if (const Extent* one = parameter(name.name)) found = one;
    });
    return found;
  }

  bool load_parameter(const Instruction& i) {
    const Extent& from = *parameter_in(i.operands.back());
    bool known = true;
    const std::uint64_t offset = from.offset + whole_value(split_address(i.operands.back()).offset, known);
    const Operand& to = i.operands.front();
    const std::size_t count = to.kind == Operand::Kind::vector ? to.parts.size() : 1, bytes = type_bytes(i);
    if (!known || bytes != 8 || offset % 8 != 0) {
      bool changed = false;
      if (!known || bytes == 0)
        note_all(from.offset, from.offset + from.bytes);
      else if (bytes == 8)
        note_all(offset, offset + count * bytes);
      else if (from.bytes >= 8 && !has_shape(i, ".f"))
        for (std::size_t n = 0; n < count; ++n) {
          Facts& facts = registers_[part(to, n).name];
          const std::uint64_t word = (offset + bytes * n) / 8 * 8;
          use(word).in_pieces = true;
          changed = (bytes == 4 ? facts.halves : facts.traces).insert(word).second || changed;
        }
      if (known && bytes != 0)
        give_up(offset, offset + count * bytes);
      else
        give_up(from.offset, from.offset + from.bytes);
      return changed;
    }
    bool changed = false;
    for (std::size_t n = 0; n < count; ++n) {
      use(offset + 8 * n);
      changed = registers_[part(to, n).name].words.insert(offset + 8 * n).second || changed;
    }
    return changed;
  }

  static const Operand& part(const Operand& to, std::size_t n) {
    return to.kind == Operand::Kind::vector ? to.parts[n] : to;
  }

  // i = i + s, however long the way round, where s follows from the grid's size and not from i.
  void find_strides() {
    const std::map<std::string_view, std::size_t> rounds = find_rounds(flows_);
    for (const Flow& flow : flows_) {
      if (flow.writes.size() != 1) continue;
      const std::string_view to = flow.writes.front();
      const auto round = rounds.find(to);
      if (round == rounds.end()) continue;
      const auto goes_round = [&](std::string_view name) {
        const auto found = rounds.find(name);
        return found != rounds.end() && found->second == round->second;
      };
      const bool by_size = std::any_of(flow.reads.begin(), flow.reads.end(), [&](std::string_view by) {
        const auto found = registers_.find(by);
        return found != registers_.end() && (found->second.origins & grid_size) != 0 && !goes_round(by);
      });
      if (by_size && std::any_of(flow.reads.begin(), flow.reads.end(), goes_round)) registers_[to].origins |= stride;
    }
  }

  void judge(std::size_t number) {
    const Instruction& i = kernel_.instructions[number];
    if (is_parameter_load(i)) return;
    // The address of a parameter may lead to any of its words.
    for (const Operand& operand : i.operands)
      if (const Extent* whole = parameter_in(operand)) {
        give_up(whole->offset, whole->offset + whole->bytes);
        note_all(whole->offset, whole->offset + whole->bytes);
      }
    if (!is_known_opcode(i.opcode)) judge_unknown(i);
    const bool copy = is_plain_copy(i);
    const std::size_t at = copy ? 1 : address_at(i);
    if (at == i.operands.size()) return judge_value(number);
    judge_access(i);
    for (std::size_t o = 0; o < i.operands.size(); ++o)
      if (o != at) give_up(facts_of(i.operands[o]));
    const Facts address = facts_of(i.operands[at]);
    const bool load = i.opcode == "ld" || i.opcode == "ldu";
    const bool ordered = i.has(".volatile") || i.has(".relaxed") || i.has(".acquire") || i.has(".mmio");
    if (copy || (load && is_global(i) && !ordered) || i.opcode == "prefetch") return read(address);
    if (const auto reduction = reduction_of(i, result_used(number)))
      reduce(address, *reduction);
    else
      give_up(address);
    if (may_write_elsewhere(i, address)) result_.writes_elsewhere = true;
  }

  // Whether a register that this instruction writes is named by any other.
  bool result_used(std::size_t number) const {
    const auto& written = flows_[number].writes;
    return std::any_of(written.begin(), written.end(), [&](std::string_view name) {
      const std::vector<std::size_t>& users = users_.at(name);
      return std::any_of(users.begin(), users.end(), [&](std::size_t user) { return user != number; });
    });
  }

  // It may do anything with memory.
  void judge_unknown(const Instruction& i) {
    note_atomic(true);
    result_.writes_elsewhere = result_.follows_pointers = true;
    for (const Operand& operand : i.operands) {
      give_up(facts_of(operand));
      note(facts_of(operand), true, true);
    }
  }

  // An instruction that has addresses.
  void judge_access(const Instruction& i) {
    const bool read = i.opcode == "ld" || i.opcode == "ldu" || i.opcode == "prefetch" || i.opcode == "prefetchu";
    const std::vector<bool> places = global_addresses(i);
    bool behind = false;  // an address
    for (std::size_t o = 0; o < i.operands.size(); ++o) {
      const Operand& operand = i.operands[o];
      const Facts facts = facts_of(operand);
      if (operand.kind == Operand::Kind::address) {
        if (places[o] || i.has(".const")) note(facts, true, !read && !(is_plain_copy(i) && behind));
        if (places[o] && is_unknown(facts) && i.opcode != "prefetch") result_.follows_pointers = true;
        if (places[o]) note_plain(i, facts, read || (is_plain_copy(i) && behind));
        behind = true;
      } else if (behind && !read) {
        note(facts, i.has(".param"), true);
        if (operand.kind == Operand::Kind::vector) note(facts.halves, i.has(".param"), true);
      }
    }
    // A descriptor holds the address.
    if (i.has(".tensor")) result_.follows_pointers = true;
    if (is_global_atomic(i)) note_atomic(is_unknown(facts_of(i.operands[address_at(i)])));
  }

  // What is loaded, stored, and changed by atomics.
  void note_plain(const Instruction& i, const Facts& address, bool is_read) {
    if (i.opcode.substr(0, 8) == "prefetch") return;
    const bool atomic = i.opcode == "atom" || i.opcode == "red";
    std::set<std::uint64_t>& places = atomic ? changed_ : is_read ? loaded_ : stored_;
    places.insert(address.words.begin(), address.words.end());
    places.insert(address.traces.begin(), address.traces.end());
    if (address.variable) places.insert(any_variable);
    if (is_unknown(address)) places.insert(unknown_place);
  }
  void note_atomic(bool unknown) {
    result_.atomics = true;
    result_.follows_atomics = result_.follows_atomics || unknown;
  }

  static bool is_unknown(const Facts& address) {
    return address.unknown || (address.words.empty() && address.traces.empty() && !address.variable);
  }

  static bool may_write_elsewhere(const Instruction& i, const Facts& address) {
    constexpr std::array<std::string_view, 3> stores = {"st", "atom", "red"};
    constexpr std::array<std::string_view, 3> loads = {"ld", "ldu", "prefetchu"};
    if (is_any(i.opcode, loads)) return false;
    if (i.opcode == "cp") return !i.has(".mbarrier");
    if (!is_global(i)) return false;
    if (!is_any(i.opcode, stores)) return true;
    return address.unknown || (address.words.empty() && !address.variable);
  }

  // What neither reads nor writes memory: what is done to a pointer, other than adding to it, may be anything.
  void judge_value(std::size_t number) {
    const Instruction& i = kernel_.instructions[number];
    const std::vector<bool> passed = passes(i);
    if (i.opcode == "call")
      for (const Operand& operand : i.operands) note(facts_of(operand), true, true);
    for (std::size_t o = flows_[number].writes.empty() ? 0 : 1; o < i.operands.size(); ++o)
      if (!passed[o]) give_up(facts_of(i.operands[o]));
    if (i.opcode != "sub" || i.operands.size() != 3) return;
    // The difference of two pointers is none.
    const Facts second = facts_of(i.operands[2]);
    give_up(second);
    if (second.unknown || !second.words.empty()) give_up(facts_of(i.operands[1]));
  }

  void read(const Facts& address) {
    for (const std::uint64_t word : address.words) {
      read_.insert(word);
      not_reduced_.insert(word);
      PointerUse& its = use(word);
      its.anywhere = its.anywhere || (address.origins & (memory | stride)) != 0;
      its.dimensions &= address.origins;
    }
  }

  // Variables are no memory that arguments point to, and the stack is none.
  bool is_variable(const Function& function, std::string_view name) const {
    if (name == "%SP" || name == "%SPL" || variables_.count(name) != 0) return true;
    if (&function == &kernel_) return own_variables_.count(name) != 0;
    return std::any_of(function.variables.begin(), function.variables.end(),
                       [&](const Variable& v) { return v.name == name && v.space != Space::reg; });
  }

  // Of functions that it calls nothing is followed: their stores may go anywhere, but for shared memory and the stack.
  void look_at_callees() {
    const std::vector<std::size_t> reached = calls_.reach(number_);
    if (!calls_.strangers(reached).empty() || calls_.calls_by_pointer(reached)) {
      result_.writes_elsewhere = result_.follows_pointers = true;
      note_atomic(true);
    }
    for (const std::size_t f : reached)
      for (const Instruction& i : module_.functions[f].instructions) {
        if ((i.opcode == "call" && callee_of(i) == "memset") || !is_known_opcode(i.opcode))
          result_.writes_elsewhere = result_.follows_pointers = true;
        const std::size_t at = address_at(i);
        if (f == number_ || at == i.operands.size()) continue;
        if (may_write_elsewhere(i, named_in(f, i.operands[at]))) result_.writes_elsewhere = true;
        if (is_global_atomic(i)) note_atomic(is_unknown(named_in(f, i.operands[at])));
        const std::vector<bool> places = global_addresses(i);
        for (std::size_t o = 0; o < i.operands.size(); ++o)
          if (places[o]) note_plain(i, named_in(f, i.operands[o]), i.opcode == "ld" || i.opcode == "ldu");
        for (std::size_t o = 0; o < i.operands.size(); ++o)
          if ((places[o] && is_unknown(named_in(f, i.operands[o]))) || i.has(".tensor"))
            result_.follows_pointers = true;
      }
  }
  Facts named_in(std::size_t function, const Operand& address) const {
    Facts facts;
    for_each_name(address, [&](const Operand& name) {
      facts.variable = facts.variable || is_variable(module_.functions[function], name.name);
    });
    return facts;
  }

  const Module& module_;
  const CallGraph& calls_;
  const std::size_t number_;
  const Function& kernel_;
  std::map<std::string_view, Extent> parameters_;
  std::set<std::string_view> variables_, own_variables_;  // of the module, of the kernel
  std::vector<Flow> flows_;
  std::map<std::string_view, std::vector<std::size_t>> users_;  // instructions that name it
  std::map<std::string_view, Facts> registers_;
  std::map<std::uint64_t, PointerUse> uses_;
  std::set<std::uint64_t> read_;                       // words that a read's address follows from
  std::set<std::uint64_t> loaded_, stored_, changed_;  // words, and the two below; changed_: by atomics
  static constexpr std::uint64_t any_variable = ~std::uint64_t{0}, unknown_place = any_variable - 1;
  std::set<std::uint64_t> not_reduced_;  // words to which other things are done than one reduction
  MemoryUse result_;
};

}  // namespace

const PointerUse* MemoryUse::at(std::uint64_t offset) const {
  const auto found = std::lower_bound(pointers.begin(), pointers.end(), offset,
                                      [](const PointerUse& use, std::uint64_t to) { return use.offset < to; });
  return found == pointers.end() || found->offset != offset ? nullptr : &*found;
}

bool MemoryUse::may_be_pointer(std::uint64_t offset) const {
  const PointerUse* const first = at(offset / 8 * 8);
  if (!first) return false;
  const bool used = first->address || first->written;
  if (offset % 8 == 0) return used;
  const PointerUse* const second = first->in_pieces ? at(offset / 8 * 8 + 8) : nullptr;
  return second && second->in_pieces && (used || second->address || second->written);
}

MemoryUse memory_use(const Module& module, const CallGraph& calls, std::size_t kernel) {
  return MemoryAnalysis(module, calls, kernel).run();
}

}  // namespace dcgn::virtual_gpu::ptx
