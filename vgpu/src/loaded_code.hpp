// A module that a virtual GPU has loaded: what Module and Kernel refer to.
#pragma once

#include "vgpu/src/machine.hpp"
#include "vgpu/src/ptx/rewrite.hpp"

#include <dcgn/virtual_gpu/module.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::virtual_gpu {

class Gpu;

class LoadedCode {
 public:
  // Rewrites the module where `gpu` has several parts, and has them share its variables. Throws what
  // VirtualGpu::load_ptx() does.
  // With `own`, the same module as whoever made it has it on part 0, all launches that stay whole are of that, its
  // variables are the shared ones, and its constants those that all parts have; nothing is loaded until load_split().
  LoadedCode(std::shared_ptr<Gpu> gpu, std::string name, std::string text, const AssemblerOptions& options,
             std::unique_ptr<Binary> own = nullptr);
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;
  ~LoadedCode();

  struct Traits {
    bool cooperative = false;         // synchronizes its grid
    std::uint64_t static_shared = 0;  // bytes, as they were before
    ptx::MemoryUse memory;
  };

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }  // as it was given
  const std::vector<KernelInfo>& infos() const { return infos_; }
  const Traits& traits(std::size_t kernel) const { return kernels_[kernel]; }
  std::size_t find(const std::string& name) const;
  Binary& binary() { return *binary_; }
  bool is_loaded() const { return binary_ != nullptr; }
  // Of a module that is another's; no work is under way. Throws Error(unsupported) where that lacks a variable.
  void load_split();
  // Copies that module's constants to all parts; no work is under way.
  void refresh_constants();
  // That from which every launch comes that stays whole, on part 0: kernels are as they were, but for variables, which
  // all share. So functions have one address. Loaded when it is asked for, or with the others where first contents lead
  // to its functions.
  Binary& whole_binary();
  // The same for kernels that can be split, where no GPU but part 0 has work: atomics and fences are one GPU's.
  Binary& alone_binary();
  // The same kernels, with the same variables and constants, that count the pages they touch: ptx/page_touches.hpp.
  std::unique_ptr<Binary> make_counting() const;

  bool has_variable(const std::string& name) const;
  // Whether it has any but constants, in a module that is another's: they lie on part 0, which alone reaches them.
  bool has_variables_alone() const;
  // The places of `bytes` bytes of a variable from `offset` on: one where it is shared, else one on each part, and
  // one more on part 0 for each of whole_binary() and alone_binary() that was loaded.
  struct PlaceOnPart {
    int part;
    std::byte* address;
  };
  std::vector<PlaceOnPart> places(const char* operation, const std::string& variable, std::size_t bytes,
                                  std::size_t offset);
  Gpu& gpu() const { return *gpu_; }

 private:
  struct SharedVariable {
    std::string name;
    std::byte* at = nullptr;
    std::size_t bytes = 0;
  };

  std::vector<std::string> kernel_names() const;
  void share_variables(const std::vector<ptx::VariableReport>& variables);
  // With the shared variables, and the other contents of its own.
  std::unique_ptr<Binary> load_other(const ptx::Options& options, bool first_part_alone) const;
  void load_whole();
  void copy_contents(const Binary& other) const;
  void point_to_shared(const Binary& binary) const;
  void correct_addresses();
  void correct(const ptx::VariableReport& holder, const Binary& binary, int part, std::byte* place) const;
  std::byte* shared_at(const std::string& name) const;  // null for one that is not shared
  bool is_function_table(const std::string& name) const;

  const std::shared_ptr<Gpu> gpu_;
  const std::string name_, text_;
  const AssemblerOptions options_;
  std::vector<KernelInfo> infos_;
  std::vector<Traits> kernels_;
  std::vector<std::string> variables_, function_tables_;  // names: of all, of those that hold functions
  std::vector<ptx::VariableReport> with_addresses_;       // those whose first content has any
  std::vector<SharedVariable> shared_variables_;
  void* shared_ = nullptr;
  std::unique_ptr<Binary> binary_, whole_binary_, alone_binary_;
  const bool of_another_;                           // whole_binary_ is
  std::string split_text_;                          // until it is loaded
  std::vector<ptx::VariableReport> own_variables_;  // of another's module
};

}  // namespace dcgn::virtual_gpu
