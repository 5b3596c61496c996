// What kernels did to memory, warp by warp, as the interpreter of PTX saw it and as the simulator of memory networks
// runs it again: how many instructions a warp issued from one access of global memory to the next, which lines each
// access touched, where its result was first needed, and where the threads of a block waited for each other.
//
// A file: "DCGNKERN", then numbers of 7 bits a byte, the lowest first, where a byte's top bit says that more follow:
// the version, the number of steps, and each step. Texts and bytes have their length before them.
#pragma once

#include <dcgn/dim3.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::base {

class OutputFile;

// Of a line of 128 bytes, a bit for each 32 of them that an access touches.
struct Touch {
  std::uint64_t line = 0;  // address / 128; pages of 4096 bytes are numbered in the order of their first access
  std::uint8_t sectors = 0;
  friend bool operator==(const Touch&, const Touch&) = default;
};

struct WarpEvent {
  enum class Kind : std::uint8_t {
    issue,    // `count` instructions
    load,     // an access is one instruction, too
    store,    //
    atomic,   // `count` threads' operations
    use,      // of what the `count`-th latest load or atomic has brought: the warp waits for it
    barrier,  // of all threads of the block
  };
  Kind kind = Kind::issue;
  std::uint32_t count = 0;
  std::vector<Touch> touches;  // of an access: each line once
};

// A warp's events, one after the other.
class WarpWriter {
 public:
  void issue(std::uint32_t instructions);
  void access(WarpEvent::Kind kind, std::uint32_t count, const std::vector<Touch>& touches);
  void use(std::uint32_t back);
  void barrier();
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  void clear() { bytes_.clear(), last_line_ = 0; }

 private:
  void put(std::uint64_t number);

  std::vector<std::uint8_t> bytes_;
  std::uint64_t last_line_ = 0;
};
class WarpReader {
 public:
  WarpReader() = default;
  WarpReader(const std::uint8_t* begin, const std::uint8_t* end) : at_(begin), end_(end) {}
  // False: the warp has ended. Throws Error(io) for bytes that no WarpWriter wrote.
  bool next(WarpEvent& event);

 private:
  const std::uint8_t *at_ = nullptr, *end_ = nullptr;
  std::uint64_t last_line_ = 0;
};

struct BlockTrace {
  std::uint64_t number = 0;         // in its grid, x first
  std::vector<std::uint32_t> ends;  // by warp, in `bytes`
  std::vector<std::uint8_t> bytes;
  std::uint64_t work = 0;  // its warps' instructions, and the lines that they touch; 0: not counted

  std::size_t warps() const { return ends.size(); }
  WarpReader warp(std::size_t index) const {
    return {bytes.data() + (index == 0 ? 0 : ends[index - 1]), bytes.data() + ends[index]};
  }
};

struct LaunchTrace {
  std::string kernel;
  Dim3 grid, block;
  std::uint64_t shared_bytes = 0;  // of a block, static and dynamic
  std::vector<BlockTrace> blocks;  // in order; all of the grid, or a sample

  std::uint64_t block_count() const { return std::uint64_t{grid.x} * grid.y * grid.z; }
};

// A copy between the host and a GPU, or a launch.
struct KernelStep {
  enum class Kind : std::uint8_t { launch, to_gpu, to_host };
  Kind kind = Kind::launch;
  std::uint64_t bytes = 0;  // of a copy
  LaunchTrace launch;
};

struct KernelTrace {
  std::string program;  // what was run, for reports
  std::vector<KernelStep> steps;
};

// Of a sample, runs of neighbours begin at each of so many equal parts of the grid, so that each GPU's part has one.
inline constexpr std::uint64_t sampled_runs = 16;
// Whether a block is among about `most` of a grid's; all are where `most` is 0.
bool is_sampled(std::uint64_t block, std::uint64_t blocks, std::uint64_t most);

// The file is there whole or not at all. Throws Error(io).
void write_kernel_trace(OutputFile& file, const KernelTrace& trace);
// Throws Error(io), naming file and offset, where it cannot be read or is no such file.
KernelTrace read_kernel_trace(const std::string& path);

}  // namespace dcgn::base
