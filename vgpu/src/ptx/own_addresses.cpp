#include "vgpu/src/ptx/own_addresses.hpp"

#include "vgpu/src/ptx/data_flow.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace dcgn::virtual_gpu::ptx {

namespace {

// What a register or a parameter may hold: addresses of what each GPU has of its own, one in shared memory or the
// stack, another one.
struct Held {
  const Variable* own = nullptr;        // of several the one that comes first in the module
  std::set<const Variable*> holders{};  // of these all whose first content has addresses
  bool inside = false, other = false;

  void add(const Variable* v) {
    own = own && own < v ? own : v;
    if (!v->addresses.empty()) holders.insert(v);
  }
  // Whether that was news.
  bool join(const Held& more) {
    const auto state = [&] { return std::tuple(own, holders.size(), inside, other); };
    const auto before = state();
    if (more.own && (!own || more.own < own)) own = more.own;
    holders.insert(more.holders.begin(), more.holders.end());
    inside = inside || more.inside;
    other = other || more.other;
    return before != state();
  }
  // What memory holds where it was stored.
  Held stored() const { return {own, holders}; }
};

class AddressFlow {
 public:
  AddressFlow(const Module& module, const CallGraph& calls, const SharedVariables& variables)
      : module_(module), calls_(calls), variables_(variables), names_(module.functions.size()) {
    shared_ = new_place();
    for (std::size_t f = 0; f < module_.functions.size(); ++f) {
      memory_.push_back(new_place());
      for (const Variable& v : module_.functions[f].variables)
        if (v.scope != 0) inner_.try_emplace({f, v.name}).first->second.push_back(v.scope);
    }
  }

  std::vector<std::vector<StoredAddress>> run() {
    std::vector<std::vector<StoredAddress>> stored(module_.functions.size());
    const auto is_named = [&](const Variable& v) { return variables_.is_own(v); };
    if (std::none_of(module_.variables.begin(), module_.variables.end(), is_named)) return stored;
    for (std::size_t f = 0; f < module_.functions.size(); ++f)
      for (std::size_t i = 0; i < module_.functions[f].instructions.size(); ++i) add_step(f, i);
    settle();
    settled_ = true;
    for (std::size_t step = 0; step < steps_.size(); ++step)
      if (module_.functions[steps_[step].function].instructions[steps_[step].instruction].has(".const")) open(step);
    settle();
    for (const Step& step : steps_)
      if (const Variable* own = stores(step.function, step.instruction))
        stored[step.function].push_back({step.instruction, own->name});
    return stored;
  }

 private:
  struct Step {
    std::size_t function, instruction;
    bool waits;
  };
  struct Place {  // a register, a parameter, or a function's memory
    Held held;
    std::vector<std::size_t> readers;  // steps
  };

  void open(std::size_t step) {
    if (!std::exchange(steps_[step].waits, true)) open_.push_back(step);
  }
  void settle() {
    while (!open_.empty()) {
      const std::size_t step = open_.front();
      open_.pop_front();
      steps_[step].waits = false;
      run_step(steps_[step].function, steps_[step].instruction);
    }
  }

  std::size_t new_place() {
    places_.emplace_back();
    return places_.size() - 1;
  }

  // Names of parameters come again in each block of a call.
  std::size_t place_of(std::size_t function, std::string_view name, std::uint32_t scope) {
    const Function& f = module_.functions[function];
    const auto inner = inner_.find({function, name});
    if (inner == inner_.end()) scope = 0;
    while (scope != 0 && std::find(inner->second.begin(), inner->second.end(), scope) == inner->second.end())
      scope = f.scopes[scope];
    const auto [found, is_new] = names_[function].try_emplace({name, scope}, places_.size());
    if (is_new) new_place();
    return found->second;
  }

  void add_step(std::size_t function, std::size_t instruction) {
    const std::size_t step = steps_.size();
    steps_.push_back({function, instruction, true});
    open_.push_back(step);
    const Instruction& i = module_.functions[function].instructions[instruction];
    const auto reads = [&](std::size_t place) { places_[place].readers.push_back(step); };
    for (const Operand& operand : i.operands)
      for_each_name(operand, [&](const Operand& name) { reads(place_of(function, name.name, i.scope)); });
    if (i.opcode == "call" || address_at(i) != i.operands.size()) reads(memory_[function]);
    if (address_at(i) != i.operands.size()) reads(shared_);
    if (i.opcode == "call")
      for (const std::size_t to : targets(function, instruction)) {
        reads(memory_[to]);
        for (const Variable& result : module_.functions[to].results) reads(place_of(to, result.name, 0));
      }
  }

  const std::vector<std::size_t>& targets(std::size_t function, std::size_t call) {
    const auto [found, is_new] = targets_.try_emplace({function, call});
    if (is_new) found->second = calls_.targets(function, module_.functions[function].instructions[call]);
    return found->second;
  }

  void give(std::size_t place, const Held& held) {
    if (!places_[place].held.join(held)) return;
    for (const std::size_t reader : places_[place].readers) open(reader);
  }
  void give(std::size_t function, const Instruction& i, const Operand& to, const Held& held) {
    for_each_name(to, [&](const Operand& name) { give(place_of(function, name.name, i.scope), held); });
  }

  Held held_by(std::size_t function, const Instruction& i, const Operand& operand) {
    const Function& f = module_.functions[function];
    Held all;
    for_each_name(operand, [&](const Operand& name) {
      if (name.name == "%SP" || name.name == "%SPL") all.inside = true;
      all.join(places_[place_of(function, name.name, i.scope)].held);
      if (name.name.empty() || name.name.front() == '%') return;
      if (const Variable* v = f.declares(name.name) ? find_own(f, name.name) : variables_.find(name.name)) {
        if (variables_.is_own(*v) && !variables_.holds_functions(*v))
          all.add(v);
        else if (v->space == Space::shared || v->space == Space::local)
          all.inside = true;
        else if (v->space != Space::parameter && v->space != Space::reg)
          all.other = true;
      }
    });
    return all;
  }
  static const Variable* find_own(const Function& f, std::string_view name) {
    const auto found =
        std::find_if(f.variables.begin(), f.variables.end(), [&](const Variable& v) { return v.name == name; });
    return found == f.variables.end() ? nullptr : &*found;
  }

  void run_step(std::size_t function, std::size_t instruction) {
    const Function& f = module_.functions[function];
    const Instruction& i = f.instructions[instruction];
    if (i.operands.empty()) return;
    if (i.opcode == "call") return call(function, instruction);
    const std::size_t at = address_at(i);
    if (at == i.operands.size()) return compute(function, i);
    const bool store = i.opcode == "st" || i.opcode == "red" || i.opcode == "atom";
    if (i.has(".param"))
      return store ? give(function, i, i.operands[at], value(function, i)) : load_parameter(function, i);
    if (store && is_private(function, i))
      for (const std::size_t place : private_places(function, i)) give(place, value(function, i).stored());
    if (!store || i.opcode == "atom") load(function, i);
  }

  // Whether it accesses shared memory or the stack and nothing else.
  bool is_private(std::size_t function, const Instruction& i) {
    if (!is_global(i)) return true;
    const Held address = held_by(function, i, i.operands[address_at(i)]);
    return !i.has(".global") && address.inside && !address.other && !address.own;
  }

  // Where it may do so.
  std::vector<std::size_t> private_places(std::size_t function, const Instruction& i) const {
    if (i.has(".local")) return {memory_[function]};
    if (!is_global(i)) return {shared_};
    return {memory_[function], shared_};
  }

  // What a store or an atomic writes.
  Held value(std::size_t function, const Instruction& i) {
    Held all;
    for (std::size_t o = address_at(i) + 1; o < i.operands.size(); ++o) all.join(held_by(function, i, i.operands[o]));
    return all;
  }

  void load_parameter(std::size_t function, const Instruction& i) {
    const Operand& from = i.operands[address_at(i)];
    Held held = held_by(function, i, from);
    const auto& own = module_.functions[function].parameters;
    for_each_name(from, [&](const Operand& name) {
      held.other =
          held.other || std::any_of(own.begin(), own.end(), [&](const Variable& v) { return v.name == name.name; });
    });
    give(function, i, i.operands.front(), held);
  }

  void load(std::size_t function, const Instruction& i) {
    const std::size_t at = address_at(i);
    if (at == 0) return;
    const Held address = held_by(function, i, i.operands[at]);
    Held result;
    result.other = true;
    if (!is_floating(i)) {
      const bool generic = is_global(i) && !i.has(".global");
      // By an unknown address, too: it may be one of the stack, the caller's or one that was kept there.
      if ((generic && (address.inside || address.other)) || (!is_global(i) && !i.has(".const")))
        for (const std::size_t place : private_places(function, i)) result.join(places_[place].held.stored());
      // By an address that was not followed, any constant.
      Held from = address;
      if (settled_ && i.has(".const") && !address.own)
        for (const Variable& v : module_.variables)
          if (v.space == Space::constant) from.add(&v);
      for (const Variable* holder : from.holders)
        for (const AddressUse& use : holder->addresses)
          if (const Variable* held = variables_.find(use.symbol); held && variables_.is_own(*held)) result.add(held);
    }
    give(function, i, i.operands.front(), result);
  }

  // Addresses of packed structs are loaded and stored byte by byte.
  static bool is_floating(const Instruction& i) { return i.has(".f32"); }

  void call(std::size_t function, std::size_t instruction) {
    const Instruction& i = module_.functions[function].instructions[instruction];
    const Operand* arguments = arguments_of(i);
    const Operand* results = results_of(i);
    const std::vector<std::size_t>& to = targets(function, instruction);
    Held from_outside;
    from_outside.other = to.empty();
    if (results) give(function, i, *results, from_outside);
    for (const std::size_t t : to) {
      const Function& callee = module_.functions[t];
      bool private_memory = false;
      for (std::size_t a = 0; arguments && a < arguments->parts.size() && a < callee.parameters.size(); ++a) {
        const Held held = held_by(function, i, arguments->parts[a]);
        private_memory = private_memory || held.inside;
        give(place_of(t, callee.parameters[a].name, 0), held);
      }
      if (private_memory) {  // either may store there what the other loads
        give(memory_[t], places_[memory_[function]].held.stored());
        give(memory_[function], places_[memory_[t]].held.stored());
      }
      for (std::size_t r = 0; results && r < results->parts.size() && r < callee.results.size(); ++r)
        give(function, i, results->parts[r], places_[place_of(t, callee.results[r].name, 0)].held);
    }
  }
  static const Operand* arguments_of(const Instruction& call) {
    std::size_t o = 0;
    while (o < call.operands.size() && call.operands[o].kind == Operand::Kind::list) ++o;
    for (++o; o < call.operands.size(); ++o)
      if (call.operands[o].kind == Operand::Kind::list) return &call.operands[o];
    return nullptr;
  }
  static const Operand* results_of(const Instruction& call) {
    return call.operands.front().kind == Operand::Kind::list ? &call.operands.front() : nullptr;
  }

  // An address plus something is one, and so is each of its pieces, whatever moves them. What compares, counts or makes
  // an offset of an index gives none, nor does the distance of two.
  void compute(std::size_t function, const Instruction& i) {
    constexpr std::array<std::string_view, 12> none = {"setp", "set",  "testp", "mul",   "mul24",    "div",
                                                       "rem",  "popc", "clz",   "bfind", "isspacep", "sad"};
    if (std::find(none.begin(), none.end(), i.opcode) != none.end()) return;
    const bool sum = i.operands.size() == 4 && (i.opcode == "mad" || i.opcode == "mad24" || i.opcode == "madc");
    const bool difference = i.operands.size() == 3 && (i.opcode == "sub" || i.opcode == "subc");
    Held result;
    for (std::size_t o = sum ? 3 : 1; o < (difference ? 2 : i.operands.size()); ++o)
      result.join(held_by(function, i, i.operands[o]));
    if (difference && held_by(function, i, i.operands[2]).own) result = {};
    give(function, i, i.operands.front(), result);
  }

  // Whose address the instruction stores, or hands to another module; or nothing.
  const Variable* stores(std::size_t function, std::size_t instruction) {
    const Instruction& i = module_.functions[function].instructions[instruction];
    if (i.opcode == "call") {
      if (is_driver_function(callee_of(i)) || calls_.is_by_pointer(i) || !targets(function, instruction).empty())
        return nullptr;
      const Operand* arguments = arguments_of(i);
      Held all;
      if (arguments) all = held_by(function, i, *arguments);
      if (all.inside)
        for (const std::size_t place : {memory_[function], shared_}) all.join(places_[place].held.stored());
      return all.own;
    }
    const auto global = std::find(i.qualifiers.begin(), i.qualifiers.end(), ".global");
    const auto shared = std::find_if(i.qualifiers.begin(), i.qualifiers.end(),
                                     [](std::string_view q) { return q.substr(0, 7) == ".shared"; });
    if (i.opcode == "cp" && global < shared && shared != i.qualifiers.end())
      return places_[shared_].held.own;  // by bulk copies
    const bool store = i.opcode == "st" || i.opcode == "red" || i.opcode == "atom";
    if (!store || address_at(i) == i.operands.size() || is_private(function, i)) return nullptr;
    return value(function, i).own;
  }

  const Module& module_;
  const CallGraph& calls_;
  const SharedVariables& variables_;
  std::vector<Place> places_;
  std::vector<std::map<std::pair<std::string_view, std::uint32_t>, std::size_t>> names_;  // by function: of places
  std::size_t shared_ = 0;                                                                // the place of shared memory
  std::vector<std::size_t> memory_;  // by function: that of its stack
  std::map<std::pair<std::size_t, std::string_view>, std::vector<std::uint32_t>> inner_;  // scopes that declare a name
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> targets_;       // of calls
  std::vector<Step> steps_;
  std::deque<std::size_t> open_;  // steps that wait
  bool settled_ = false;          // whether what no register holds so far, none will
};

}  // namespace

std::vector<std::vector<StoredAddress>> find_stored_addresses(const Module& module, const CallGraph& calls,
                                                              const SharedVariables& variables) {
  return AddressFlow(module, calls, variables).run();
}

}  // namespace dcgn::virtual_gpu::ptx
