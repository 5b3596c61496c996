// Variables of the device, of which each GPU's module has a copy, made one for all GPUs.
#pragma once

#include "vgpu/src/ptx/edits.hpp"
#include "vgpu/src/ptx/module.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

// Beside a variable X in global memory stands a pointer dcgn_at_X, 8 bytes, which at first is X's own address, and code
// that names X loads the pointer instead. So the module is right on one GPU as it is; for several, who loads it copies
// X's content to memory that all reach and sets the pointer of each. The pointer is in constant memory where X is the
// module's own and there is room, else in global memory with X's linkage.
//
// X keeps its definition. Initializers that hold X's address keep that of the copy: Variable::addresses has them.
//
// Not shared, so that each GPU keeps its own: constants; texture, sampler and surface references; strings of the
// compiler, which printf reads on the host; and what is set to the addresses of functions, which differ between GPUs.
class SharedVariables {
 public:
  explicit SharedVariables(const Module& module);

  // "dcgn_at_X", or empty where X is not shared.
  std::string pointer_of(const Variable& variable) const;
  // Why not, in two or three words.
  std::string why_not(const Variable& variable) const;
  // Whether its first content holds addresses of functions; a table of virtual functions that another module defines
  // is taken for one that does.
  bool holds_functions(const Variable& variable) const;
  // Whether code that names it may get at such content: its own, or what its first content leads to.
  bool leads_to_functions(const Variable& variable) const;
  // Whether it is in global or constant memory, and each GPU has its own.
  bool is_own(const Variable& variable) const;

  // A shared variable whose first content holds the address of what each GPU has of its own: the address is of one
  // GPU, and the content is of all.
  struct ForeignAddress {
    std::string_view holder, of;
  };
  // The module's variable of that name, its definition where there is one; or nothing.
  const Variable* find(std::string_view name) const;
  // The first that code which names `variable` may get at: the variable itself, or what its first content leads to.
  std::optional<ForeignAddress> foreign_address(const Variable& variable) const;

  // Adds the pointers to the module.
  void declare(Edits& edits) const;
  // Has `instruction` of `function` go by pointers. Returns how many uses it had.
  std::size_t replace(const Function& function, const Instruction& instruction, Edits& edits) const;

 private:
  // Those that code which names `variable` may get at, itself first.
  std::vector<const Variable*> reached_from(const Variable& variable) const;
  bool in_constant_memory(const Variable& variable) const {
    return constants_fit_ && variable.linkage == Linkage::local;
  }

  const Module& module_;
  bool constants_fit_;
  std::map<std::string_view, const Variable*> all_, shared_;  // of definitions and declarations the definition
};

}  // namespace dcgn::virtual_gpu::ptx
