// The index of a block within the whole grid, from its number within a chunk: as numbers on the host, and as PTX.
//
// A grid's blocks are numbered with x fastest (the 2014 paper, section III.B), and a chunk is a run of these numbers. A
// chunk of whole planes, of whole rows of a plane, or of a piece of a row is launched as a grid of the same shape: to
// have a block's index, its kernel adds. Any other is launched as a grid of one dimension, and its kernel divides,
// which a stencil's blocks notice (1.28 times as long on H200). A kernel is given where the chunk begins as an index
// rather than as a number, so that 32 bits do.
#pragma once

#include <cstdint>
#include <string>

namespace dcgn::virtual_gpu::ptx {

struct BlockIndex {
  std::uint32_t x = 0, y = 0, z = 0;
  bool operator==(const BlockIndex&) const = default;
};

// As CUDA limits them: x below 2^31, y and z below 2^16, none 0.
struct GridShape {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t blocks() const { return static_cast<std::uint64_t>(x) * y * z; }
  BlockIndex index_of(std::uint64_t number) const;
  std::uint64_t number_of(BlockIndex index) const;
};

// What a split kernel gets behind its own parameters, in this order, each 4 bytes: dcgn_first_x, _y, _z, the chunk's
// first block; dcgn_grid_x, _y, _z, the whole grid.
struct SplitArguments {
  BlockIndex first;
  GridShape grid;
};
static_assert(sizeof(SplitArguments) == 24);

// What a kernel that exits early gets: dcgn_first_block and dcgn_end_block, 8 bytes each, the numbers of the chunk's
// first block and of the one behind its last. It is launched with the whole grid.
struct EarlyExitArguments {
  std::uint64_t first, end;
};
static_assert(sizeof(EarlyExitArguments) == 16);

// The grid that a chunk is launched as, of less than 2^31 blocks, which are in this order those of the chunk.
GridShape launch_shape(const GridShape& grid, std::uint64_t first, std::uint64_t count);

// The index of a block in the whole grid, from its index in what launch_shape() says, by the arithmetic of a kernel.
BlockIndex split_index(const SplitArguments& arguments, BlockIndex within);

// PTX for the beginning of a kernel, which reads the parameters above:
// leaves the index in %dcgn_ctaid_x, _y, _z and the grid in %dcgn_nctaid_x, _y, _z;
std::string split_prologue();
// the same from the registers of the hardware, for a kernel that is not split;
std::string whole_prologue();
// writes them into the record of the block, from which device functions read;
std::string record_write();
// returns where the block is not of the chunk.
std::string early_exit_prologue();

// The record: x, y, z of the index and of the grid, a 32-bit word each, in shared memory. A function does not know
// which kernel it runs in, nor who calls it through a pointer, so parameters for it would change every prototype, and
// those of modules that are not here. Every thread writes all of the record when its kernel begins and reads what
// itself wrote: all write the same, so no barrier is needed. It costs 24 bytes of shared memory and one store of 16
// bytes, one of 8.
inline constexpr std::uint64_t record_bytes = 24;
std::string record_declaration();

}  // namespace dcgn::virtual_gpu::ptx
