// Sweeps by a GPU: blocks take tiles of boxes; a thread marches along the last dimension, with the cells around its own
// in registers.
//
// Why so: at the sizes that matter a sweep is limited by memory, so that each cell should come from it once. In 3-D a
// thread has `Width` cells of a row, 16 bytes of them, and goes up along z: the planes that it needs again stay in
// registers, rows that its neighbours have too come from the first cache (2.5-D blocking); in 2-D likewise along y.
// What the update does not read of the window is never loaded, as every index is a constant once it is inlined.
#pragma once

#include <dcgn/gpu/atomic.hpp>
#include <dcgn/gpu/clock.hpp>
#include <dcgn/gpu/context.hpp>
#include <dcgn/gpu/relax.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/stencil/stage.hpp>
#include <dcgn/stencil/update.hpp>

#include <cstdint>

namespace dcgn::stencil {

inline constexpr unsigned sweep_threads = 256;

// How a launch cuts boxes into tiles, of which a block takes one after the other.
struct Tiling {
  int columns;  // cells along x: as many as a block's threads along x have
  int across;   // a block's threads along y: rows of a tile in 3-D, strips of one in 2-D
  int march;    // cells that a thread has along the dimension of its march
};

struct Tiles {
  int size[most_dims], count[most_dims], first_x;

  DCGN_HOST_DEVICE Tiles(int dims, int width, const Cells& box, const Tiling& tiling) {
    first_x = box.begin[0] - ((box.begin[0] % width) + width) % width;  // where 16 bytes begin
    size[0] = tiling.columns;
    size[1] = dims == 1 ? 1 : dims == 2 ? tiling.across * tiling.march : tiling.across;
    size[2] = dims > 2 ? tiling.march : 1;
    size[3] = 1;
    for (int d = 0; d < most_dims; ++d) {
      const int cells = box.end[d] - (d == 0 ? first_x : box.begin[d]);
      count[d] = cells > 0 ? (cells + size[d] - 1) / size[d] : 0;
    }
  }
  DCGN_HOST_DEVICE std::int64_t all() const {
    return static_cast<std::int64_t>(count[0]) * count[1] * count[2] * count[3];
  }
};
DCGN_HOST_DEVICE inline std::int64_t tiles_in(int dims, int width, const Boxes& boxes, const Tiling& tiling) {
  std::int64_t tiles = 0;
  for (int b = 0; b < boxes.count; ++b) tiles += Tiles(dims, width, boxes.box[b], tiling).all();
  return tiles;
}

template <class T>
struct alignas(16) Quad {
  static constexpr int width = static_cast<int>(16 / sizeof(T));
  T value[width];
};

template <class T, int Fields, class Update>
class GpuSweep {
 public:
  static constexpr int dims = Update::dims, radius = Update::radius, width = Quad<T>::width;
  static constexpr int along = dims - 1;  // the dimension of the march; in 4-D: z, for one layer at a time
  using Seen = Window<T, dims, radius, width>;

  // `peers` get a copy of each cell of theirs; null where nobody does.
  DCGN_HOST_DEVICE GpuSweep(const gpu::Context& context, const Update& update, const Part& part, const Stage& stage,
                            const Tiling& tiling, const Exchanger* peers)
      : context_(context), update_(update), part_(part), stage_(stage), tiling_(tiling), peers_(peers) {}

  // All threads of the block, this one being `block` of `blocks`: the boxes' tiles are dealt out to blocks.
  DCGN_HOST_DEVICE void operator()(const Boxes& boxes, unsigned block, unsigned blocks) const {
    std::int64_t tile = block;
    for (int b = 0; b < boxes.count; ++b) {
      const Tiles tiles(dims, width, boxes.box[b], tiling_);
      for (; tile < tiles.all(); tile += blocks) sweep(boxes.box[b], tiles, tile);
      tile -= tiles.all();
    }
  }

 private:
  // act(0), act(1), ... with constants: so that arrays become registers.
  template <int Index>
  struct At {
    static constexpr int value = Index;
    DCGN_HOST_DEVICE constexpr operator int() const { return Index; }
  };
  template <int Count, int Index = 0, class Act>
  DCGN_HOST_DEVICE static void unrolled(const Act& act) {
    if constexpr (Index < Count) {
      act(At<Index>());
      unrolled<Count, Index + 1>(act);
    }
  }

  // A thread's share of a tile: a column of cells `width` wide.
  DCGN_HOST_DEVICE void sweep(const Cells& box, const Tiles& tiles, std::int64_t tile) const {
    const Dim3 thread = context_.thread_index();
    int cell[most_dims];
    cell[0] =
        tiles.first_x + static_cast<int>(tile % tiles.count[0]) * tiles.size[0] + static_cast<int>(thread.x) * width;
    tile /= tiles.count[0];
    for (int d = 1; d < most_dims; ++d) {
      cell[d] = box.begin[d] + static_cast<int>(tile % tiles.count[d]) * tiles.size[d];
      tile /= tiles.count[d];
    }
    if (dims == 2) cell[1] += static_cast<int>(thread.y) * tiling_.march;
    if (dims > 2) cell[1] += static_cast<int>(thread.y);
    const int begin = cell[0] < box.begin[0] ? box.begin[0] - cell[0] : 0;
    const int end = cell[0] + width > box.end[0] ? box.end[0] - cell[0] : width;
    if (begin >= end || (dims > 2 && cell[1] >= box.end[1])) return;
    if constexpr (dims > 3) {
      const int last = least(cell[2] + tiling_.march, box.end[2]);
      for (; cell[2] < last; ++cell[2]) by_cell(cell, begin, end);
    } else {
      const int last = dims == 1 ? cell[along] + 1 : least(cell[along] + tiling_.march, box.end[along]);
      march(cell, begin, end, last);
    }
  }

  // Lanes `begin` to before `end` of the thread's cells are in the box.
  DCGN_HOST_DEVICE void march(int (&cell)[most_dims], int begin, int end, int last) const {
    if (cell[along] >= last && dims > 1) return;
    Seen seen[Fields];
    constexpr int levels = dims > 1 ? 2 * radius : 0;  // before the last one
    unrolled<levels>([&](auto level) { load(cell, begin, end, level, seen); });
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (;;) {
      load(cell, begin, end, At<levels>(), seen);
      finish(cell, begin, end, [&](int lane) {
        return updated<T, Fields>(update_, [&](int f) { return InWindow<T, dims, radius, width>(seen[f], lane); });
      });
      if constexpr (dims == 1) {
        return;
      } else {
        if (++cell[along] >= last) return;
        for (int f = 0; f < Fields; ++f) shift(seen[f]);
      }
    }
  }

  DCGN_HOST_DEVICE void by_cell(const int (&cell)[most_dims], int begin, int end) const {
    finish(cell, begin, end, [&](int lane) {
      const int at[most_dims] = {cell[0] + lane, cell[1], cell[2], cell[3]};
      return updated<T, Fields>(update_, [&](int f) { return Anywhere<T>(in(f), part_, at); });
    });
  }

  // The highest level at which a row is read, which it comes in at: that of the plane farthest ahead, or the earlier
  // the farther the row is, where the update says that it reads `radius` steps away at most.
  DCGN_HOST_DEVICE static constexpr int top_of(int row) {
    if constexpr (requires { requires Update::diamond; })
      return 2 * radius - (row < radius ? radius - row : row - radius);
    return 2 * radius;
  }

  DCGN_HOST_DEVICE static void shift(Seen& seen) {
    if constexpr (dims == 2) {
      unrolled<2 * radius>(
          [&](auto r) { unrolled<Seen::columns>([&](auto c) { seen.cell[0][r][c] = seen.cell[0][r + 1][c]; }); });
    } else if constexpr (dims == 3) {
      unrolled<Seen::rows>([&](auto r) {
        unrolled<top_of(decltype(r)::value)>(
            [&](auto p) { unrolled<Seen::columns>([&](auto c) { seen.cell[p][r][c] = seen.cell[p + 1][r][c]; }); });
      });
    }
  }

  // A level of the march, around cell: a row in 2-D, a plane in 3-D. The lowest is 0; with the last one comes what is
  // read at lower ones only, too.
  template <int Level>
  DCGN_HOST_DEVICE void load(const int (&cell)[most_dims], int begin, int end, At<Level>, Seen (&seen)[Fields]) const {
    for (int f = 0; f < Fields; ++f) {
      if constexpr (dims < 3) {
        const int row[most_dims] = {cell[0], dims == 2 ? cell[1] + Level - radius : cell[1], cell[2], cell[3]};
        load_row(f, row, begin, end, seen[f].cell[0][Level]);
      } else {
        unrolled<Seen::rows>([&](auto r) {
          constexpr int top = top_of(decltype(r)::value), level = Level < 2 * radius ? Level : top;
          if constexpr (level < top || Level == 2 * radius) {
            const int row[most_dims] = {cell[0], cell[1] + r - radius, cell[2] + level - radius, cell[3]};
            load_row(f, row, begin, end, seen[f].cell[level][r]);
          }
        });
      }
    }
  }

  DCGN_HOST_DEVICE void load_row(int field, const int (&cell)[most_dims], int begin, int end,
                                 T (&row)[Seen::columns]) const {
    std::int64_t at = 0;
    bool is_constant = false;
    unrolled<dims - 1>([&](auto before) {
      constexpr int d = decltype(before)::value + 1;
      const Found found = find(part_, d, cell[d]);
      at += found.place * part_.stride[d];
      if (is_constant || found.constant < 0) return;
      is_constant = true;
      row[0] = constant_of<T>(part_, d, found.constant);
    });
    if (is_constant) {
      unrolled<Seen::columns>([&](auto c) { row[c] = row[0]; });
      return;
    }
    const T* const line = in(field) + at;
    const bool whole = begin == 0 && end == width && cell[0] - radius >= part_.stored_begin[0] &&
                       cell[0] + width + radius <= part_.stored_end[0];
    if (whole) {
      const Quad<T> middle = *reinterpret_cast<const Quad<T>*>(line + cell[0]);
      unrolled<width>([&](auto c) { row[radius + c] = middle.value[c]; });
      unrolled<radius>([&](auto c) {
        row[c] = line[cell[0] - radius + c];
        row[radius + width + c] = line[cell[0] + width + c];
      });
      return;
    }
    // No more than what the lanes of the box read: beyond, others may be writing.
    unrolled<Seen::columns>([&](auto c) {
      row[c] = T();
      if (c < begin || c >= end + 2 * radius) return;
      const Found found = find(part_, 0, cell[0] - radius + c);
      row[c] = found.constant >= 0 ? constant_of<T>(part_, 0, found.constant) : line[found.place];
    });
  }

  // The stage's results of the thread's cells, where of(lane) is what the update gives.
  template <class Of>
  DCGN_HOST_DEVICE void finish(const int (&cell)[most_dims], int begin, int end, const Of& of) const {
    std::int64_t at = cell[0];
    for (int d = 1; d < dims; ++d) at += cell[d] * part_.stride[d];
    Values<T, Fields> k[width];
    unrolled<width>([&](auto lane) {
      if (dims < 4 || (lane >= begin && lane < end)) k[lane] = of(lane);
    });
    const bool whole = begin == 0 && end == width;
    for (int f = 0; f < Fields; ++f) {
      const auto results = [&](const void* base, double factor, void* to, bool aligned) {
        Quad<T> all;
        if (base) all = read(static_cast<const T*>(base) + at, whole, begin, end);
        unrolled<width>([&](auto lane) {
          all.value[lane] = base ? advanced(all.value[lane], factor, k[lane].value[f]) : k[lane].value[f];
        });
        write(static_cast<T*>(to), whole && aligned, begin, end, all);
        return all;
      };
      if (stage_.sum[f]) results(stage_.sum_base[f], stage_.sum_factor, static_cast<T*>(stage_.sum[f]) + at, true);
      const Quad<T> out =
          results(stage_.is_next ? nullptr : stage_.base[f], stage_.out_factor,
                  static_cast<T*>(stage_.out[f]) + (at - stage_.out_shift), dims > 1 || stage_.out_shift % width == 0);
      if (peers_) tell(f, cell, begin, end, out);
    }
  }

  DCGN_HOST_DEVICE static Quad<T> read(const T* from, bool whole, int begin, int end) {
    if (whole) return *reinterpret_cast<const Quad<T>*>(from);
    Quad<T> all{};
    unrolled<width>([&](auto lane) {
      if (lane >= begin && lane < end) all.value[lane] = from[lane];
    });
    return all;
  }
  DCGN_HOST_DEVICE static void write(T* to, bool whole, int begin, int end, const Quad<T>& all) {
    if (whole) {
      *reinterpret_cast<Quad<T>*>(to) = all;
      return;
    }
    unrolled<width>([&](auto lane) {
      if (lane >= begin && lane < end) to[lane] = all.value[lane];
    });
  }

  // Stores the results where neighbours have these cells.
  DCGN_HOST_DEVICE void tell(int field, const int (&cell)[most_dims], int begin, int end, const Quad<T>& out) const {
    for (int p = 0; p < peers_->peers; ++p) {
      const Peer& peer = peers_->peer[p];
      bool inside = true;
      std::int64_t at = cell[0];
      for (int d = 1; d < dims; ++d) {
        inside = inside && cell[d] >= peer.cells.begin[d] && cell[d] < peer.cells.end[d];
        at += cell[d] * peer.stride[d];
      }
      if (!inside) continue;
      T* const to = static_cast<T*>(peer.array[stage_.out_array][field]) + at;
      unrolled<width>([&](auto lane) {
        if (lane >= begin && lane < end && cell[0] + lane >= peer.cells.begin[0] && cell[0] + lane < peer.cells.end[0])
          to[lane] = out.value[lane];
      });
    }
  }

  DCGN_HOST_DEVICE const T* in(int field) const { return static_cast<const T*>(stage_.in[field]); }
  DCGN_HOST_DEVICE static int least(int a, int b) { return a < b ? a : b; }

  const gpu::Context& context_;
  const Update& update_;
  const Part& part_;
  const Stage& stage_;
  const Tiling& tiling_;
  const Exchanger* peers_;
};

// One sweep over boxes: a launch of any number of blocks.
template <class T, int Fields, class Update>
struct SweepKernel {
  static constexpr unsigned max_threads = sweep_threads;
  Update update;

  DCGN_HOST_DEVICE void operator()(gpu::Context& context, Part part, Stage stage, Boxes boxes, Tiling tiling) const {
    const GpuSweep<T, Fields, Update> sweep(context, update, part, stage, tiling, nullptr);
    sweep(boxes, context.block_rank(), context.num_blocks());
  }
};

}  // namespace dcgn::stencil
