// What a sweep over cells is told, by value or in memory that kernels reach: how the cells of a part lie in memory, and
// what one stage of a scheme reads and writes.
//
// Cells are counted from the part's first own one in each dimension, so that its neighbours' cells below have negative
// places; arrays are given by the address of cell 0.
#pragma once

#include <cstdint>

namespace dcgn::stencil {

inline constexpr int most_dims = 4;
inline constexpr int most_fields = 4;
inline constexpr int most_arrays = 4;                 // that a scheme needs of each field
inline constexpr int most_stages = 4;                 // before a scheme uses its arrays as at first again
inline constexpr int most_boxes = 2 * most_dims + 1;  // a border and the bulk
inline constexpr int directions = 81;                 // to neighbours: -1, 0 or 1 in each dimension

// What is beyond the cells that are in memory.
enum class Beyond : std::int32_t { wrapped, mirrored, constant };

struct Cells {
  int begin[most_dims];
  int end[most_dims];
};

struct Part {
  std::int64_t stride[most_dims];  // in elements; stride[0] is 1
  int own[most_dims];              // cells of the part
  int stored_begin[most_dims];     // with its neighbours', as far as they are in memory
  int stored_end[most_dims];
  Beyond beyond[most_dims][2];       // below and above these
  double constant[most_dims][2][2];  // real and imaginary part
};

// k is what the update makes of the neighbourhood of a cell in `in`. Then out = base + out_factor k and, where there is
// a sum, sum = sum_base + sum_factor k; or out = k where `is_next`. What a cell's result depends on besides its
// neighbourhood in `in` is in the same cell of the others, so that `out` and `sum` may be one of those.
struct Stage {
  const void* in[most_fields];
  const void* base[most_fields];
  void* out[most_fields];
  const void* sum_base[most_fields];
  void* sum[most_fields];  // null where there is none
  double out_factor;
  double sum_factor;
  std::int64_t out_shift;  // elements by which `out` has a cell before where the others have it
  int out_array;           // which of the field's arrays `out` is: the same at all ranks
  bool is_next;
};

struct Boxes {
  int count;
  Cells box[most_boxes];
};

// Where a neighbour has cells of this part: those of `cells`, at their places here times its strides from `array`.
struct Peer {
  Cells cells;
  std::int64_t stride[most_dims];
  void* array[most_arrays][most_fields];
  std::uint32_t* flag;  // there: stages after which this part's border is there
};

// What sweeps do that exchange halos themselves. By value: what a kernel has as an argument it need not read again
// after each store.
struct ExchangeWork {
  Part part;
  Stage stage[most_stages];  // one after the other, then again from the first
  int stages;                // a power of two
  Boxes boxes[2];            // the border, the bulk
};

// Whom they exchange them with: in memory that the rank's kernels reach, one for each part.
struct Exchanger {
  int peers;
  Peer peer[directions - 1];
  int flags;  // how many neighbours must have sent, and which of the words below are theirs
  int flag_of[directions - 1];
  std::uint64_t deadline_ns;  // that a wait may last

  // Changed by kernels. All count since the exchanger was made, and may overflow.
  alignas(128) std::uint32_t flag[directions];  // written by neighbours
  alignas(128) std::uint32_t epoch;             // stages done
  alignas(128) std::uint32_t border_arrivals;   // blocks that have come to the end of their border, in all stages
  alignas(128) std::uint32_t arrivals;          // and of their stage
  alignas(128) std::uint32_t failed;            // 1: a wait lasted longer than it may
};

}  // namespace dcgn::stencil
