// A module as it is interpreted: each instruction is a function and where its operands are.
#pragma once

#include "vgpu/src/interpreter/interpreter.hpp"
#include "vgpu/src/ptx/module.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::interpreter {

// A register of one thread: values of any type stand in its low bytes.
using Word = std::uint64_t;
// A bit for each thread of a warp.
using Mask = std::uint32_t;
inline constexpr int lanes = 32;
inline constexpr Mask all_lanes = ~Mask{0};

class Warp;

// Where an operand's words are, one for each thread of a warp.
struct Row {
  enum Where : std::uint8_t { frame, constants, special };
  Where where = constants;
  std::uint32_t number = 0;  // row 0 of a frame is what nobody reads; of constants, 0
};

// What words of a warp there are besides registers, one row each; set when a warp begins.
enum class Special : std::uint32_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_begin,
  dynamic_shared,
  total_shared,
  reserved_begin,
  reserved_half,
  reserved_end,
  reserved_cap,
  workspace_low,
  workspace_high,
  zero,
  one,
  count
};

// How the loop over instructions treats one.
enum class Flow : std::uint8_t {
  plain,
  branch,        // to `target`
  branch_table,  // to lists[list + a]
  call,          // of functions[target], or of the one whose address is in a
  ret,
  exit,
  barrier,     // of the block
  collective,  // of the threads of a warp that e names
  yield        // another warp's turn
};

// Op::offset of a barrier with a result.
inline constexpr std::int64_t reduce_any = 0, reduce_all = 1, reduce_count = 2;

// How an address is meant.
enum class Addressing : std::uint8_t { absolute, shared, frame, parameters };

// What a recorder is told of an instruction.
enum class Access : std::uint8_t {
  none,
  load,
  store,
  atomic,
  copy,             // asynchronous, to shared memory: from b, c or e bytes
  bulk_load,        // from b, c bytes
  bulk_store,       // to a, c bytes
  commit_copies,    // a group
  wait_for_groups,  // but the latest `offset`
  wait_for_copies   // all
};

struct Op {
  using Run = void (*)(Warp& warp, const Op& op, Mask mask);

  Run run = nullptr;  // null: nothing to do
  Flow flow = Flow::plain;
  Addressing addressing = Addressing::absolute;
  Access access = Access::none;
  std::uint8_t access_bytes = 0;  // of an element
  bool guarded = false, negated_guard = false;
  bool negated_predicate = false;           // c
  std::uint8_t count = 1;                   // of elements of a vector; of a barrier, 0: the threads do not wait there
  Row guard, d{Row::frame}, p{Row::frame};  // the guard, results
  Row a, b, c, e;                           // operands
  std::uint32_t list = 0;                   // in Program::rows: elements of a vector, or arguments
  std::uint32_t target = 0;
  std::int64_t offset = 0;                      // of an address; else what the instruction makes of it
  std::uint32_t function = 0, instruction = 0;  // of the module, for messages
};

// Bytes of a frame that a parameter, result or local variable has.
struct Slot {
  std::uint32_t offset = 0, bytes = 0;
  bool in_register = false;
  Row row;
};

using SystemCall = void (*)(Warp& warp, const Op& op, Mask mask);

struct FunctionCode {
  const ptx::Function* source = nullptr;
  std::uint32_t begin = 0;                  // in Program::ops
  std::uint32_t rows = 1, frame_bytes = 0;  // of a frame
  std::size_t shared_bytes = 0;             // of a kernel, all that is static
  std::vector<Slot> parameters, results;
  SystemCall system = nullptr;  // vprintf and the like: in place of code
  bool defined = false;
  std::string unsupported;
  std::vector<std::uint32_t> callees;
};

// The arguments and results of a call.
struct CallSite {
  std::vector<Slot> arguments, results;
};

class Program {
 public:
  Program(const std::string& name, const std::string& ptx);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  struct Variable {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
  };

  ptx::Module module;
  std::vector<Op> ops;
  std::vector<Row> rows;               // of vectors
  std::vector<CallSite> call_sites;    // by Op::list
  std::vector<std::uint32_t> targets;  // of branch tables
  std::vector<Word> constants;         // 32 equal ones each
  std::deque<FunctionCode> functions;  // addresses of functions are those of these
  std::map<std::string, std::uint32_t, std::less<>> function_numbers;
  std::map<std::string, Variable, std::less<>> variables;
  std::vector<KernelDetails> kernels;
  std::vector<std::uint32_t> kernel_functions;
  std::map<std::string, std::uint32_t, std::less<>>
      shared_offsets;                               // of the module's, and of functions that are no kernels
  std::size_t shared_bytes = 0;                     // of all of them: a kernel's own are behind
  std::uint32_t callee_rows = 1, callee_bytes = 0;  // of a frame of any function but kernels
  bool uses_reserved_shared = false;                // some function asks where that is

  Memory::Extent variable_memory() const {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.get());
    return {begin, begin + memory_bytes_};
  }
  // The row that has this value.
  Row constant(Word value);
  // Of a variable or a function.
  Word address_of(std::string_view symbol) const;
  // Null where no function has this address.
  const FunctionCode* function_at(Word address) const;
  // "kernel.ptx:12: ld.global.u32 %r1, [%rd1]"
  std::string where(const Op& op) const;

 private:
  void place_variables();
  void initialize(const ptx::Variable& variable);

  std::map<Word, std::uint32_t> constant_rows_;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t memory_bytes_ = 0;
};

// Fills in a function's code, appended to Program::ops.
void decode(Program& program, std::uint32_t function);
// The functions that CUDA's runtime has and no module defines; null for others.
SystemCall find_system_call(std::string_view name);

}  // namespace dcgn::virtual_gpu::interpreter
