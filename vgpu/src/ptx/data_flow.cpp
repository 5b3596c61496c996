#include "vgpu/src/ptx/data_flow.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace dcgn::virtual_gpu::ptx {

namespace {

bool has_no_result(const Instruction& i) {
  constexpr std::array<std::string_view, 21> opcodes = {
      "st",   "red",  "bra", "brx",   "bar",  "barrier",   "membar",  "fence",    "prefetch", "prefetchu", "ret",
      "exit", "trap", "cp",  "brkpt", "sust", "nanosleep", "discard", "stmatrix", "pmevent",  "sured"};
  const bool reduces = (i.opcode == "bar" || i.opcode == "barrier") && i.has(".red");
  return !reduces && std::find(opcodes.begin(), opcodes.end(), i.opcode) != opcodes.end();
}

const Operand* address_of(const Instruction& i) {
  const std::size_t at = address_at(i);
  return at == i.operands.size() ? nullptr : &i.operands[at];
}

bool is_stack(std::string_view name) { return name == "%SP" || name == "%SPL"; }

// Memory that is followed: [buffer+4] of shared or local memory, and of the stack, which compilers address by these
// names.
bool is_followed(const Instruction& i, const Operand& address) {
  for (const std::string_view qualifier : i.qualifiers)
    if (qualifier.substr(0, 7) == ".shared" || qualifier == ".local") return true;
  bool stack = false;
  for_each_name(address, [&](const Operand& name) { stack = stack || is_stack(name.name); });
  return stack;
}

void add_names(const Operand& operand, std::vector<std::string_view>& names) {
  for_each_name(operand, [&](const Operand& name) { names.push_back(name.name); });
}

}  // namespace

Flow flow_of(const Instruction& i) {
  Flow flow;
  const bool call = i.opcode == "call";
  // Results: the first operand, or the first list of a call that has two operands or more before its arguments.
  const bool call_has_result = call && i.operands.size() > 1 && i.operands.front().kind == Operand::Kind::list;
  const bool result_first = call ? call_has_result : !has_no_result(i);
  const bool store = i.opcode == "st" || i.opcode == "red";
  for (std::size_t o = 0; o < i.operands.size(); ++o) {
    const bool address = i.operands[o].kind == Operand::Kind::address;
    const bool written = !address ? o == 0 && result_first : i.has(".param") && store;
    add_names(i.operands[o], written ? flow.writes : flow.reads);
  }
  if (const Operand* address = call ? nullptr : address_of(i); address && is_followed(i, *address))
    (store ? flow.writes : flow.reads).push_back(address->text);
  if (!i.guard.empty()) {
    flow.reads.push_back(i.guard);
    flow.reads.insert(flow.reads.end(), flow.writes.begin(), flow.writes.end());
  }
  return flow;
}

bool is_global(const Instruction& access) {
  return std::none_of(access.qualifiers.begin(), access.qualifiers.end(), [](std::string_view q) {
    return q.substr(0, 7) == ".shared" || q == ".local" || q == ".param" || q == ".const";
  });
}

std::size_t address_at(const Instruction& access) {
  std::size_t at = 0;
  while (at < access.operands.size() && access.operands[at].kind != Operand::Kind::address) ++at;
  return at;
}

std::size_t type_bytes(const Instruction& access) {
  constexpr std::array<std::string_view, 14> types = {".b8",  ".u8",  ".s8",  ".b16", ".u16", ".s16", ".f16",
                                                      ".b32", ".u32", ".s32", ".f32", ".b64", ".u64", ".s64"};
  constexpr std::array<std::size_t, 14> bytes = {1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8};
  for (const std::string_view q : access.qualifiers) {
    if (const auto found = std::find(types.begin(), types.end(), q); found != types.end())
      return bytes[static_cast<std::size_t>(found - types.begin())];
    if (q.substr(0, 4) == ".f64") return 4;
  }
  return 0;
}

std::vector<std::string_view> address_names(const Instruction& access) {
  std::vector<std::string_view> names;
  if (const Operand* address = address_of(access)) add_names(*address, names);
  return names;
}

Address split_address(const Operand& operand) {
  if (operand.kind != Operand::Kind::address || operand.parts.size() != 1) return {};
  const Operand& whole = operand.parts.front();
  const Operand& name = whole.kind == Operand::Kind::expression && !whole.parts.empty() ? whole.parts.front() : whole;
  if (name.kind != Operand::Kind::name) return {};
  std::string_view offset = whole.text.substr(name.text.size());
  offset.remove_prefix(std::min(offset.find_first_not_of(" \t"), offset.size()));
  if (!offset.empty() && offset.front() == '+') offset.remove_prefix(1);
  return {name.name, offset.empty() ? std::string_view("0") : offset};
}

std::map<std::string_view, std::size_t> find_rounds(const std::vector<Flow>& flows) {
  std::map<std::string_view, std::vector<std::string_view>> next, previous;
  for (const Flow& flow : flows)
    for (const std::string_view to : flow.writes)
      for (const std::string_view from : flow.reads) {
        next[from].push_back(to);
        previous[to].push_back(from);
      }
  std::vector<std::string_view> ended;
  std::set<std::string_view> seen;
  for (const auto& [start, unused] : next) {
    std::vector<std::pair<std::string_view, std::size_t>> path;  // a register, how many of its successors were walked
    if (seen.insert(start).second) path.emplace_back(start, 0);
    while (!path.empty()) {
      auto& [name, walked] = path.back();
      const auto found = next.find(name);
      if (found == next.end() || walked == found->second.size()) {
        ended.push_back(name);
        path.pop_back();
      } else if (const std::string_view to = found->second[walked++]; seen.insert(to).second) {
        path.emplace_back(to, 0);
      }
    }
  }
  std::map<std::string_view, std::size_t> rounds;
  for (std::size_t n = ended.size(); n-- > 0;) {
    if (rounds.count(ended[n]) != 0) continue;
    std::vector<std::string_view> open = {ended[n]};
    rounds[ended[n]] = n;
    while (!open.empty()) {
      const auto found = previous.find(open.back());
      open.pop_back();
      if (found == previous.end()) continue;
      for (const std::string_view from : found->second)
        if (rounds.try_emplace(from, n).second) open.push_back(from);
    }
  }
  return rounds;
}

}  // namespace dcgn::virtual_gpu::ptx
