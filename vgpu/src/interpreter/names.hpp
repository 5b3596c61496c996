// What the names in a function stand for.
#pragma once

#include "vgpu/src/interpreter/program.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dcgn::virtual_gpu::interpreter {

// A variable or parameter that is no register.
struct Symbol {
  enum class Kind : std::uint8_t {
    frame,      // at `value` of the thread's frame
    parameter,  // at `value` of the launch's parameters
    shared,     // at `value` of the block's shared memory
    dynamic,    // where its dynamic shared memory begins
    memory      // at the address `value`, of all threads; a function, too
  };
  Kind kind = Kind::memory;
  Word value = 0;
  std::uint32_t bytes = 0;
};

// Gives registers rows of a frame and variables places in it as it is made.
class Names {
 public:
  Names(Program& program, FunctionCode& code);

  std::optional<Row> find_register(std::string_view name, std::uint32_t scope) const;
  std::optional<Symbol> find_symbol(std::string_view name, std::uint32_t scope) const;
  // Those that PTX gives to all; nothing for those that are not interpreted.
  static std::optional<Special> find_special(std::string_view name, std::string_view selector);
  // Whether a register takes two rows.
  bool is_wide(Row row) const { return row.where == Row::frame && wide_.count(row.number) != 0; }
  // A row that no register has.
  Row add_row() { return {Row::frame, code_.rows++}; }

 private:
  struct Registers {
    std::uint32_t first = 0;
    std::uint64_t count = 0;
    std::uint32_t rows = 1;  // of each: 128 bits take two
  };
  struct Scope {
    std::unordered_map<std::string_view, Registers> registers;
    std::unordered_map<std::string_view, Symbol> symbols;
  };

  std::optional<Row> find_in(const Scope& scope, std::string_view name) const;
  Slot place(const ptx::Variable& variable, std::uint32_t scope);
  void add_registers(const ptx::Variable& variable, std::uint32_t scope);
  void add_shared(const ptx::Variable& variable);

  Program& program_;
  FunctionCode& code_;
  std::vector<Scope> scopes_;
  std::set<std::uint32_t> wide_;  // first rows
};

}  // namespace dcgn::virtual_gpu::interpreter
