// Runs PTX on the host, for machines without a GPU and for tests of what splits kernels: values as a GPU computes them,
// not its times.
//
// A warp's threads do an instruction together where they are at the same one. Blocks that fit the emulated GPU at the
// same time take turns, so kernels whose blocks wait for each other run as on a GPU that holds them. Approximate
// instructions (ex2.approx, rsqrt.approx, div.full, ...) give the correctly rounded value.
#pragma once

#include <dcgn/error.hpp>
#include <dcgn/launch.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::virtual_gpu::interpreter {

// What ends a kernel before its time.
class Fault : public Error {
 public:
  enum class Kind {
    illegal_address,
    misaligned_address,
    trap,        // the instruction, or an assertion that failed
    deadlock,    // all threads of a block wait for each other
    unsupported  // an instruction that is not interpreted
  };
  Fault(Kind kind, const std::string& what) : Error(code_of(kind), "launch", what), kind_(kind) {}
  Kind kind() const noexcept { return kind_; }

 private:
  static dcgn::Code code_of(Kind kind) {
    return kind == Kind::unsupported ? dcgn::Code::unsupported : dcgn::Code::kernel_failed;
  }
  Kind kind_;
};

// What a kernel may touch besides its shared and local memory, its parameters and its module's variables.
class Memory {
 public:
  struct Extent {
    std::uintptr_t begin = 0, end = 0;
  };
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  // The allocation with this address, empty where there is none. Threads that run kernels call it at the same time.
  virtual Extent at(std::uintptr_t address) const = 0;
};

// A kernel as a launch needs to know it.
struct KernelDetails {
  std::string name;
  struct Parameter {
    std::size_t offset = 0, bytes = 0;  // in the block of bytes that run() takes
  };
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t shared_bytes = 0;    // static
  std::size_t constant_bytes = 0;  // of the module
  std::size_t local_bytes = 0;     // a thread's
  unsigned most_threads = 1024;    // of a block
  // Where dcgn_first_x lies among its parameters, of a kernel that is a part of a split launch (ptx/block_index.hpp).
  std::optional<std::size_t> split_arguments;
  std::string unsupported;  // the first construct that cannot be interpreted, with its line; or empty
};

// What an emulated GPU has.
inline constexpr int multiprocessors = 8;
inline constexpr int threads_per_multiprocessor = 2048;
inline constexpr int blocks_per_multiprocessor = 32;
inline constexpr std::size_t shared_bytes_per_block = 227 * 1024;

class Program;

// A module, ready to run, with variables of its own.
class Code {
 public:
  // Throws Error(configuration) for PTX that is wrong, with where and why; Error(unsupported) for a version that is not
  // known. An instruction that is not interpreted keeps no other kernel from running.
  Code(const std::string& name, const std::string& ptx);
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code();

  const std::vector<KernelDetails>& kernels() const;
  // Where a variable of the module is, .global or .const; null where there is none of this name.
  std::byte* variable(const std::string& name, std::size_t& bytes) const;

  // Runs a kernel to its end: `parameters` has parameter_bytes bytes. Throws Fault. Several threads may run kernels
  // at the same time. `memory`: null where any address may be touched.
  void run(std::size_t kernel, const Launch& launch, const std::byte* parameters, const Memory* memory = nullptr) const;

 private:
  std::unique_ptr<Program> program_;
};

}  // namespace dcgn::virtual_gpu::interpreter
