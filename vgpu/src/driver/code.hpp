// The program's modules and kernels, and what they became.
//
// The program holds the driver's handles, of what it loaded on its GPU. Beside them stand the same modules rewritten,
// from their PTX, on all GPUs. A module is either taken or left as a whole: of one that is taken, kernels that stay
// whole run from the rewritten module, too, so that all of them have the same variables. That is decided when the first
// kernel of it is launched or the first variable is asked for.
#pragma once

#include "vgpu/src/assembler_options.hpp"
#include "vgpu/src/driver/program.hpp"
#include "vgpu/src/fat_binary.hpp"

#include <dcgn/virtual_gpu/module.hpp>

#include <cuda.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace dcgn::virtual_gpu::driver {

class Code {
 public:
  // What cuModuleLoadData() and its like take: PTX, a fat binary with or without what nvcc wraps it in, or machine
  // code. `kept`: it stays where it is. `options` are those of the call.
  Code(const void* image, bool kept, const AssemblerOptions& options, void* container, bool is_library);
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code();

  // Null where it was left; why_left() says why then.
  const Module* take(Program& program);
  const std::string& why_left() const { return why_left_; }  // or why its split form could not be loaded
  // Whether kernels of one that was left may allocate memory, which one GPU alone reaches.
  bool may_allocate() const { return may_allocate_; }
  bool is_decided() const { return decided_; }
  // Of code that is taken beside the program's own, Measured: its split form is loaded while nothing is under way.
  bool is_ready() const { return ready_; }
  void make_ready(Program& program);
  // Seconds that take() may take, and make_ready().
  double price() const;
  double load_price() const;
  bool is_noted() const { return noted_; }
  void set_noted() { noted_ = true; }
  bool is_candidate() const { return candidate_; }
  void set_candidate() { candidate_ = true; }
  // The program has asked for one's address.
  bool has_variables() const { return !variables_.empty(); }
  // Where kernels find a variable, part 0's place of a constant, which the others follow from now on; null where there
  // is none or the module was left.
  void* variable(Program& program, const char* name, std::size_t bytes);
  // The same where the program has its own module's.
  void note_variable(Program& program, const char* name, void* address, std::size_t bytes);

 private:
  FatEntry ptx(unsigned architecture) const;
  AssemblerOptions options_for(const FatEntry& entry, Report& report) const;

  const int number_;
  std::vector<std::byte> copy_;
  const std::byte* image_ = nullptr;
  std::size_t bytes_ = 0;
  const AssemblerOptions options_;
  void* const container_;
  const bool is_library_;
  bool decided_ = false, may_allocate_ = false, ready_ = false, noted_ = false, candidate_ = false;
  std::size_t text_bytes_ = 0;
  struct OwnVariable {
    void* address;
    std::size_t bytes;
  };
  std::map<std::string, OwnVariable> variables_;  // that the program has asked for
  void add_constant(Program& program, const std::string& name, const OwnVariable& variable);
  std::optional<Module> module_;
  std::string why_left_;
  std::vector<const void*> constants_;
};

struct ProgramKernel {
  std::shared_ptr<Code> code;
  std::string name;
  std::map<CUfunction_attribute, int> attributes{};  // as the program has set them
  std::optional<Kernel> kernel{};                    // once it is known that the module was taken
  CUfunction whole = nullptr;                        // once a launch needed it
  // Measured's.
  Measured::OfKernel* measured = nullptr;
  bool looked_at = false, can_split = false;
};

// By the driver's handles: CUmodule and CUlibrary, CUfunction and CUkernel. By the thread that holds a Call.
class CodeTable {
 public:
  static CodeTable& get();

  void add(void* container, std::shared_ptr<Code> code) { codes_[container] = std::move(code); }
  void add_same(void* container, void* of);
  void remove(void* container);
  std::shared_ptr<Code> code(void* container) const;

  void add_kernel(void* handle, void* container, const char* name);
  void add_same_kernel(void* handle, void* of);
  ProgramKernel* kernel(void* handle) const;

 private:
  std::unordered_map<void*, std::shared_ptr<Code>> codes_;
  std::unordered_map<void*, std::shared_ptr<ProgramKernel>> kernels_;
};

// Null where its module was left.
const Kernel* taken_kernel(Program& program, ProgramKernel& kernel);
// Of one that was taken, the function on part 0 that is launched as the program's own would be, with the attributes
// that the program has set.
CUfunction whole_function(Program& program, ProgramKernel& kernel);

}  // namespace dcgn::virtual_gpu::driver
