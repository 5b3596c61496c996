// Threads that run: warps, their blocks, and the grid of one launch.
#pragma once

#include "vgpu/src/interpreter/program.hpp"
#include "vgpu/src/interpreter/recorder.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace dcgn::virtual_gpu::interpreter {

class Block;

// One launch.
class Grid {
 public:
  Grid(const Program& program, std::uint32_t kernel, const Launch& launch, const std::byte* parameters,
       const Memory* memory);
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  void run();

  const Program& program;
  const FunctionCode& kernel;
  const KernelDetails& details;
  const Launch launch;
  const std::byte* const parameters;
  const Memory* const memory;
  const std::uint64_t number;                // of launches of this process
  alignas(16) std::byte workspace[64] = {};  // of cooperative groups: where %envreg1 and 2 lead

  // For messages: of a split launch, of which this is a part, the block's index in the whole.
  Dim3 index_in_whole(Dim3 index) const;

 private:
  Dim3 index_of(std::uint64_t number) const;
};

// Of a block's shared memory for CUDA's own use: cooperative groups of several warps have their barriers there.
inline constexpr std::size_t reserved_shared_bytes = 1024;

struct Barrier {
  unsigned arrived = 0, expected = 0;  // threads; 0: all that have not ended
  unsigned trues = 0, falses = 0;      // of a reduction
};

class Block {
 public:
  Block(const Grid& its_grid, unsigned its_multiprocessor);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  // Becomes the block of this index: its threads begin. All those of another have ended.
  void begin(Dim3 index);
  // Gives its warps turns. False when all threads have ended.
  bool run(unsigned steps);
  // From the next begin() on; null: not.
  void record_with(Recorder* recorder);
  // What was recorded of the block that has ended.
  base::BlockTrace take_trace();

  // Threads `mask` of a warp come to a barrier.
  void arrive(Warp& warp, const Op& op, Mask mask);
  void ended(unsigned threads);

  std::byte* shared() noexcept { return shared_.get(); }
  Dim3 index() const { return index_; }

  const Grid& grid;
  const unsigned multiprocessor;
  const unsigned threads;
  const std::size_t own_shared_bytes;  // static and dynamic
  const std::size_t shared_bytes;      // and behind them what CUDA reserves, where the module uses it

 private:
  void open_if_full(unsigned barrier);
  [[noreturn]] void stuck() const;

  // A GPU's shared memory begins at 0, so kernels may rely on any alignment that its variables ask for.
  static constexpr std::align_val_t shared_alignment{1024};
  struct Release {
    void operator()(std::byte* memory) const { ::operator delete[](memory, shared_alignment); }
  };
  std::unique_ptr<std::byte[], Release> shared_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::array<Barrier, 16> barriers_{};
  Dim3 index_;
  unsigned live_ = 0;
};

class Warp {
 public:
  Warp(Block& its_block, unsigned its_number);
  Warp(const Warp&) = delete;
  Warp& operator=(const Warp&) = delete;

  // Its threads begin anew, for the block's index.
  void begin();
  // Runs until it has done so many steps, waits or has ended. Returns the steps.
  unsigned run(unsigned most);
  bool ended() const { return live_ == 0; }

  // For instructions: of the threads that run at the moment, which are all in frames of one depth.
  Word* row(Row place) { return bases_[place.where] + std::size_t{place.number} * lanes; }
  std::byte* frame_bytes(int lane) { return frame_bytes_ + static_cast<std::size_t>(lane) * frame_stride_; }
  // Where `bytes` bytes are that a thread means. Throws Fault where it may not touch them.
  std::byte* at(const Op& op, int lane, const Word* base, std::size_t bytes) {
    switch (op.addressing) {
      case Addressing::frame: return frame_bytes(lane) + op.offset;
      case Addressing::parameters: return const_cast<std::byte*>(block.grid.parameters) + op.offset;
      case Addressing::shared: {
        const auto offset = static_cast<std::uint32_t>(base[lane] + static_cast<Word>(op.offset));
        if (offset > block.shared_bytes || bytes > block.shared_bytes - offset) fail_at(op, lane, offset);
        if (offset % bytes != 0) fail_alignment(op, lane, offset);
        return block.shared() + offset;
      }
      case Addressing::absolute: break;
    }
    const std::uintptr_t address = base[lane] + static_cast<Word>(op.offset);
    if (address - extent_.begin >= extent_.end - extent_.begin || bytes > extent_.end - address)
      find_extent(op, lane, address, bytes);
    if (address % bytes != 0) fail_alignment(op, lane, address);
    return reinterpret_cast<std::byte*>(address);
  }
  [[noreturn]] void fail(const Op& op, int lane, Fault::Kind kind, const std::string& what) const;
  // Of a call of this depth: where the arguments and results are.
  const CallSite& call_site(const Op& op) const { return block.grid.program.call_sites[op.list]; }
  void wait(Mask mask, unsigned barrier, bool of_block);
  // Those that wait at a barrier go on, with what its reduction has found.
  void release(unsigned barrier, const Barrier& opened);
  std::string describe() const;
  Dim3 thread_index(int lane) const;
  // Of a thread's frames.
  bool is_local(std::uintptr_t address) const;

  Block& block;
  const unsigned number;
  std::array<std::uint8_t, lanes> carry{};  // of add.cc and the like
  std::unique_ptr<WarpRecorder> recorder;   // null: what it does is not recorded

 private:
  struct Frame {
    std::unique_ptr<Word[]> words;
    std::unique_ptr<std::byte[]> bytes;
    std::array<std::uint32_t, lanes> returns{};
  };

  template <class Value>
  void set(Special what, const Value& value);
  void set_all(Special what, Word value);
  bool select();
  void enter(unsigned depth);
  void store(Mask mask, std::uint32_t pc) {
    for (int lane = 0; lane < lanes; ++lane)
      if ((mask >> lane & 1) != 0) pcs_[static_cast<std::size_t>(lane)] = pc;
  }
  Mask guarded(const Op& op, Mask mask);
  template <bool Recorded>
  unsigned run_group(unsigned most);
  // Whether all threads that are left wait at a barrier, for the recorder.
  void note_barrier() {
    if (recorder && of_block_ && live_ != 0 && (live_ & ~at_barrier_) == 0) recorder->barrier();
  }
  // Each of them returns whether the group goes on at pc_.
  bool branch_table(const Op& op, Mask mask);
  bool call(const Op& op);
  bool leave(const Op& op);
  void end(Mask mask);
  bool collective(const Op& op);
  bool resolve();
  void call_one(const Op& op, const FunctionCode& callee, Mask mask);
  void find_extent(const Op& op, int lane, std::uintptr_t address, std::size_t bytes);
  [[noreturn]] void fail_at(const Op& op, int lane, std::uintptr_t address) const;
  [[noreturn]] void fail_alignment(const Op& op, int lane, std::uintptr_t address) const;

  Mask live_ = 0, at_barrier_ = 0, at_collective_ = 0;
  bool of_block_ = false;  // the barrier that it came to last
  std::array<std::uint32_t, lanes> pcs_{};
  std::array<std::uint16_t, lanes> depths_{};
  std::array<std::uint8_t, lanes> barriers_{};  // where threads of at_barrier_ wait
  std::vector<Frame> frames_;
  std::vector<Word> specials_;
  std::array<Word*, 3> bases_{};
  std::byte* frame_bytes_ = nullptr;
  std::size_t frame_stride_ = 0;
  Memory::Extent extent_;  // of the memory that was touched last
  std::vector<Memory::Extent> extents_;

  // The group that runs.
  Mask group_ = 0;
  std::uint32_t pc_ = 0, limit_ = 0;  // where others wait
  unsigned depth_ = 0, turns_ = 0, next_ = 0;
  bool others_ = false;
};

// A value of type T in a word, and back.
template <class T>
T get(Word word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
template <class T>
Word put(T value) {
  Word word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

template <class Each>
void for_lanes(Mask mask, const Each& each) {
  if (mask == all_lanes) {
    for (int lane = 0; lane < lanes; ++lane) each(lane);
    return;
  }
  for (; mask != 0; mask &= mask - 1) each(__builtin_ctz(mask));
}

// Of the heap of kernels, which all launches share.
Memory::Extent heap_extent(std::uintptr_t address);

}  // namespace dcgn::virtual_gpu::interpreter
