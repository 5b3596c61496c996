// Which functions a kernel may run.
#pragma once

#include "vgpu/src/ptx/module.hpp"

#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

// What a call names: the function or the register that holds its address.
std::string_view callee_of(const Instruction& call);

// Whether `name`, which the module does not define, is of the device runtime: what launches kernels from kernels.
bool is_device_runtime(std::string_view name);
// Whether it is what the driver has for every module: printf, malloc, assertions.
bool is_driver_function(std::string_view name);

// Functions are numbered as in Module::functions. A call through a pointer may reach what its .calltargets list, and
// without these every function of the module whose address is taken, by an instruction or an initializer.
class CallGraph {
 public:
  explicit CallGraph(const Module& module);

  // Those with a body that `function` may run, itself first.
  std::vector<std::size_t> reach(std::size_t function) const;
  // Those with a body that `call`, an instruction of `function`, may run at once.
  std::vector<std::size_t> targets(std::size_t function, const Instruction& call) const;

  // Whether `call` names no function but a register with its address, whatever its .calltargets say.
  bool is_by_pointer(const Instruction& call) const;
  // Whether `name` is a function's or an alias of one.
  bool is_function(std::string_view name) const { return module_.find_function(resolve(name)) != nullptr; }
  // Whether one of `functions` calls through a pointer.
  bool calls_by_pointer(const std::vector<std::size_t>& functions) const;
  // Functions called by one of `functions` that neither the module defines, nor the driver (printf, malloc,
  // assertions), nor the device runtime.
  std::set<std::string_view> strangers(const std::vector<std::size_t>& functions) const;
  bool address_taken(std::string_view name) const { return taken_.count(name) != 0; }

 private:
  struct Node {
    std::set<std::size_t> calls;
    std::set<std::string_view> strangers;
    bool by_pointer = false;
  };

  std::string_view resolve(std::string_view name) const;
  std::vector<std::size_t> defined(std::string_view name) const;
  void find_taken();

  const Module& module_;
  std::set<std::string_view> taken_;
  std::vector<Node> nodes_;
};

}  // namespace dcgn::virtual_gpu::ptx
