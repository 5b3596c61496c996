// What a PTX file says, as the parser finds it. Every part is a view into the source, which says where it stands: what
// is not rewritten is never printed anew.
#pragma once

#include "vgpu/src/ptx/source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

enum class Linkage : std::uint8_t { local, visible, external, weak, common };
enum class Space : std::uint8_t { constant, global, local, parameter, shared, texture, reg };

// .version; 8.7 is {8, 7}.
struct Version {
  int major = 0, minor = 0;
  bool operator<(const Version& other) const {
    return major != other.major ? major < other.major : minor < other.minor;
  }
};

// What an initializer says of another variable's or function's address.
struct AddressUse {
  std::string_view symbol;
  std::size_t element;  // of the initializer, from 0, braces flattened
  bool later_byte;      // of one that is given byte by byte, as in packed structs, not the first
};

// A variable, a parameter or a register.
struct Variable {
  Linkage linkage = Linkage::local;
  Space space = Space::global;
  std::string_view name;
  std::string_view type;        // ".u32", ".b8", ".texref"
  std::uint64_t element = 0;    // bytes of one element, vectors counted whole; 0 for what is opaque or a predicate
  std::uint64_t count = 1;      // elements; 0 for an array whose size is not given
  std::uint64_t alignment = 0;  // bytes, the type's own where none is given
  bool initialized = false, managed = false;
  std::vector<AddressUse> addresses;
  std::size_t end = 0;      // offset behind the declaration's semicolon, of a module's variables
  std::uint32_t scope = 0;  // of a function's variables: which of its scopes declares it

  std::uint64_t bytes() const { return element * count; }
};

struct Operand {
  enum class Kind : std::uint8_t {
    name,        // a register, a label, a variable, a function; a special register with its selector
    number,      // with its sign
    vector,      // {a, b}
    address,     // [a+4], [texture, {x, y}]
    list,        // (a, b) of a call
    expression,  // all else: a+4, !p, p|q
  };
  Kind kind = Kind::expression;
  std::string_view text;      // all of it
  std::string_view name;      // of a name, without selector
  std::string_view selector;  // ".x" or empty
  std::vector<Operand> parts;
};

struct Instruction {
  std::string_view text;                     // from the guard to the semicolon
  std::string_view guard;                    // the predicate, without @ and !; or empty
  std::string_view opcode;                   // "atom"
  std::vector<std::string_view> qualifiers;  // ".global", ".add", ".u32"
  std::vector<Operand> operands;
  std::uint32_t scope = 0;  // of the function's scopes

  bool has(std::string_view qualifier) const;
};

struct Label {
  std::string_view name;
  std::size_t instruction;  // the one that follows
  std::uint32_t scope;
};

// A label with .branchtargets or .calltargets; or .callprototype, which lists none.
struct TargetList {
  std::string_view label, directive;
  std::vector<std::string_view> targets;
};

// .maxntid 256, 1, 1
struct Directive {
  std::string_view name;
  std::vector<std::string_view> values;
};

struct Function {
  bool entry = false;  // a kernel
  Linkage linkage = Linkage::local;
  std::string_view name;
  std::vector<Variable> results, parameters;
  std::size_t after_name = 0;                   // offset
  std::optional<std::size_t> parameters_close;  // offset of the closing parenthesis, where there is one
  std::vector<Directive> directives;
  std::optional<std::size_t> body, body_close;  // offsets: behind the opening brace, of the closing one

  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::vector<TargetList> target_lists;
  std::vector<Variable> variables;    // those declared inside, registers among them
  std::vector<std::uint32_t> scopes;  // of each brace inside, the one around it; scope 0 is the body

  // The instruction that a branch in `scope` to `label` leads to, innermost scope first.
  std::optional<std::size_t> find_label(std::string_view label, std::uint32_t scope) const;
  // Whether a parameter or variable of its own has this name.
  bool declares(std::string_view symbol) const;
};

struct Alias {
  std::string_view name, target;
};

struct Module {
  std::unique_ptr<const Source> source;
  Version version;
  std::vector<std::string_view> targets;  // "sm_90a", "debug"
  int address_size = 32;
  std::size_t after_head = 0;  // offset behind .version, .target and .address_size
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Alias> aliases;

  // The definition, or a declaration where there is none.
  const Function* find_function(std::string_view name) const;
};

// Calls `use` with each name in `operand`, at whatever depth.
template <typename Use>
void for_each_name(const Operand& operand, const Use& use) {
  if (operand.kind == Operand::Kind::name) use(operand);
  for (const Operand& part : operand.parts) for_each_name(part, use);
}

}  // namespace dcgn::virtual_gpu::ptx
