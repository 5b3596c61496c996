// Turns a function's instructions into Ops.
#pragma once

#include "vgpu/src/interpreter/names.hpp"
#include "vgpu/src/interpreter/types.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::interpreter {

// What is not interpreted, as a message has it.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Decoder {
 public:
  Decoder(Program& program, std::uint32_t function);
  // Throws Unsupported.
  void run();

 private:
  using Operand = ptx::Operand;

  // decode.cpp
  void instruction(const ptx::Instruction& instruction);
  Op begin(const ptx::Instruction& instruction);
  void emit(const Op& op) { program_.ops.push_back(op); }
  void calculation(const Qualified& q);
  void move(const Qualified& q);
  void move_vector(const Qualified& q);
  void convert_address(const Qualified& q);
  void find_space(const Qualified& q);
  Row source(const Operand& operand, Type type, Op* op = nullptr);
  Row result(const Operand& operand);
  // d, or d|p.
  void results(const Operand& operand, Op& op);
  // p or !p, into c or a.
  Row predicate(const Operand& operand, Op& op);
  bool is_predicate(const Operand& operand) const;
  const Operand& operand(std::size_t number) const;
  [[noreturn]] void fail(const std::string& what) const;

  // decode_flow.cpp: false where the instruction is of another kind.
  bool flow(const Qualified& q);
  void branch(Op op);
  void branch_by_table(Op op);
  void call(Op op);
  Slot argument(const Operand& operand);
  void barrier(const Qualified& q, Op op);
  bool collective(const Qualified& q);
  void fix_targets();

  // decode_wide.cpp: the same.
  bool wide(const Qualified& q);

  // decode_memory.cpp: the same.
  bool access(const Qualified& q);
  bool fits(const Qualified& q, const Op& op) const;
  bool asynchronous(const Qualified& q);
  void vector(const Operand& operand, Type type, bool is_result);
  // Where an operand in brackets leads.
  void address(const Operand& operand, bool shared, Op& op);
  // A row with the address, all that is added to it included.
  Row whole_address(const Operand& operand, bool shared);

  Program& program_;
  const std::uint32_t number_;
  FunctionCode& code_;
  const ptx::Function& function_;
  Names names_;
  const ptx::Instruction* at_ = nullptr;
  std::vector<std::uint32_t> begins_;  // of each instruction, in Program::ops
  struct Patch {
    bool in_table;
    std::size_t where;
    std::string_view label;
    std::uint32_t scope;
  };
  std::vector<Patch> patches_;
};

}  // namespace dcgn::virtual_gpu::interpreter
