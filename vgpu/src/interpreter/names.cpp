#include "vgpu/src/interpreter/names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace dcgn::virtual_gpu::interpreter {

namespace {

std::uint32_t round_up(std::uint64_t value, std::uint64_t to) {
  return static_cast<std::uint32_t>(to < 2 ? value : (value + to - 1) / to * to);
}

bool is_dynamic(const ptx::Variable& v) { return v.linkage == ptx::Linkage::external || v.count == 0; }

}  // namespace

Names::Names(Program& program, FunctionCode& code)
    : program_(program), code_(code), scopes_(std::max<std::size_t>(code.source->scopes.size(), 1)) {
  const ptx::Function& source = *code.source;
  code.shared_bytes = program.shared_bytes;
  if (source.entry) {
    std::uint32_t end = 0;
    for (const ptx::Variable& v : source.parameters) {
      end = round_up(end, v.alignment);
      const auto bytes = static_cast<std::uint32_t>(v.bytes());
      code.parameters.push_back({.offset = end, .bytes = bytes, .in_register = false, .row = {}});
      scopes_[0].symbols[v.name] = {Symbol::Kind::parameter, end, bytes};
      end += bytes;
    }
  } else {
    for (const ptx::Variable& v : source.parameters) code.parameters.push_back(place(v, 0));
    for (const ptx::Variable& v : source.results) code.results.push_back(place(v, 0));
  }
  for (const ptx::Variable& v : source.variables) {
    if (v.space == ptx::Space::shared)
      add_shared(v);
    else if (v.space == ptx::Space::reg || v.space == ptx::Space::local || v.space == ptx::Space::parameter)
      place(v, v.scope);
  }
  code.frame_bytes = round_up(code.frame_bytes, 16);
}

Slot Names::place(const ptx::Variable& v, std::uint32_t scope) {
  Slot slot;
  slot.bytes = static_cast<std::uint32_t>(v.bytes());
  if (v.space == ptx::Space::reg) {
    slot.in_register = true;
    slot.row = {Row::frame, code_.rows};
    add_registers(v, scope);
    return slot;
  }
  slot.offset = code_.frame_bytes = round_up(code_.frame_bytes, std::max<std::uint64_t>(v.alignment, 8));
  code_.frame_bytes += std::max<std::uint32_t>(slot.bytes, 1);
  scopes_[scope].symbols[v.name] = {Symbol::Kind::frame, slot.offset, slot.bytes};
  return slot;
}

void Names::add_registers(const ptx::Variable& v, std::uint32_t scope) {
  const std::uint32_t rows = v.type == ".b128" ? 2 : 1;
  scopes_[scope].registers[v.name] = {code_.rows, v.count, rows};
  for (std::uint64_t i = 0; rows == 2 && i < v.count; ++i) wide_.insert(code_.rows + static_cast<std::uint32_t>(2 * i));
  code_.rows += static_cast<std::uint32_t>(v.count) * rows;
}

void Names::add_shared(const ptx::Variable& v) {
  Symbol& symbol = scopes_[v.scope].symbols[v.name];
  symbol.bytes = static_cast<std::uint32_t>(v.bytes());
  if (is_dynamic(v)) {
    symbol.kind = Symbol::Kind::dynamic;
    return;
  }
  symbol.kind = Symbol::Kind::shared;
  if (!code_.source->entry) {
    symbol.value = program_.shared_offsets.at(std::string(code_.source->name) + "/" + std::string(v.name));
    return;
  }
  code_.shared_bytes = round_up(code_.shared_bytes, v.alignment);
  symbol.value = code_.shared_bytes;
  code_.shared_bytes += v.bytes();
}

// %r of `.reg .b32 %r`, %r7 of `.reg .b32 %r<10>`.
std::optional<Row> Names::find_in(const Scope& scope, std::string_view name) const {
  if (const auto found = scope.registers.find(name); found != scope.registers.end() && found->second.count == 1)
    return Row{Row::frame, found->second.first};
  for (std::size_t digits = name.size(); digits > 1; --digits) {
    if (name[digits - 1] < '0' || name[digits - 1] > '9') break;
    const auto found = scope.registers.find(name.substr(0, digits - 1));
    if (found == scope.registers.end()) continue;
    std::uint64_t number = 0;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data() + digits - 1, end, number).ptr != end || number >= found->second.count) continue;
    return Row{Row::frame, found->second.first + static_cast<std::uint32_t>(number) * found->second.rows};
  }
  return std::nullopt;
}

std::optional<Row> Names::find_register(std::string_view name, std::uint32_t scope) const {
  for (;; scope = code_.source->scopes[scope]) {
    if (const std::optional<Row> row = find_in(scopes_[scope], name)) return row;
    if (scope == 0) return std::nullopt;
  }
}

std::optional<Symbol> Names::find_symbol(std::string_view name, std::uint32_t scope) const {
  for (;; scope = code_.source->scopes[scope]) {
    const auto found = scopes_[scope].symbols.find(name);
    if (found != scopes_[scope].symbols.end()) return found->second;
    if (scope == 0) break;
  }
  if (const auto shared = program_.shared_offsets.find(name); shared != program_.shared_offsets.end())
    return Symbol{Symbol::Kind::shared, shared->second, 0};
  for (const ptx::Variable& v : program_.module.variables)
    if (v.name == name && v.space == ptx::Space::shared) return Symbol{Symbol::Kind::dynamic, 0, 0};
  if (program_.variables.count(name) != 0 || program_.function_numbers.count(name) != 0)
    return Symbol{Symbol::Kind::memory, program_.address_of(name), 0};
  return std::nullopt;
}

std::optional<Special> Names::find_special(std::string_view name, std::string_view selector) {
  using Entry = std::pair<std::string_view, Special>;
  static constexpr std::array<Entry, 24> plain = {{{"%laneid", Special::laneid},
                                                   {"%warpid", Special::warpid},
                                                   {"%nwarpid", Special::nwarpid},
                                                   {"%smid", Special::smid},
                                                   {"%nsmid", Special::nsmid},
                                                   {"%gridid", Special::gridid},
                                                   {"%lanemask_eq", Special::lanemask_eq},
                                                   {"%lanemask_le", Special::lanemask_le},
                                                   {"%lanemask_lt", Special::lanemask_lt},
                                                   {"%lanemask_ge", Special::lanemask_ge},
                                                   {"%lanemask_gt", Special::lanemask_gt},
                                                   {"%dynamic_smem_size", Special::dynamic_shared},
                                                   {"%total_smem_size", Special::total_shared},
                                                   {"%reserved_smem_offset_begin", Special::reserved_begin},
                                                   {"%reserved_smem_offset_0", Special::reserved_begin},
                                                   {"%reserved_smem_offset_1", Special::reserved_half},
                                                   {"%reserved_smem_offset_end", Special::reserved_end},
                                                   {"%reserved_smem_offset_cap", Special::reserved_cap},
                                                   {"%envreg1", Special::workspace_high},
                                                   {"%envreg2", Special::workspace_low},
                                                   // A cluster is one block.
                                                   {"%cluster_ctarank", Special::zero},
                                                   {"%cluster_nctarank", Special::one},
                                                   {"%is_explicit_cluster", Special::zero}}};
  for (const auto& [known, special] : plain)
    if (known == name && selector.empty() && !known.empty()) return special;
  static constexpr std::array<Entry, 8> of_three = {{{"%tid", Special::tid_x},
                                                     {"%ntid", Special::ntid_x},
                                                     {"%ctaid", Special::ctaid_x},
                                                     {"%nctaid", Special::nctaid_x},
                                                     {"%clusterid", Special::ctaid_x},
                                                     {"%nclusterid", Special::nctaid_x}}};
  if (selector.size() != 2 || selector[1] < 'x' || selector[1] > 'z') return std::nullopt;
  if (name == "%cluster_ctaid") return Special::zero;
  if (name == "%cluster_nctaid") return Special::one;
  for (const auto& [known, special] : of_three)
    if (known == name)
      return static_cast<Special>(static_cast<unsigned>(special) + static_cast<unsigned>(selector[1] - 'x'));
  return std::nullopt;
}

}  // namespace dcgn::virtual_gpu::interpreter
