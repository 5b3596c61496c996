// Sweeps by a GPU: blocks take tiles of boxes; a thread marches along the last dimension, with the cells around its own
// in registers.
//
// Why so: at the sizes that matter a sweep is limited by memory, so that each cell should come from it once. In 3-D a
// thread has `Width` cells of a row, 16 bytes of them, and goes up along z: the planes that it needs again stay in
// registers, rows that its neighbours have too come from the first cache (2.5-D blocking); in 2-D likewise along y.
// What the update does not read of the window is never loaded, as every index is a constant once it is inlined.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/stencil/stage.hpp>
#include <dcgn/stencil/update.hpp>

#include <cstdint>

namespace dcgn::stencil {

inline constexpr unsigned sweep_threads = 256;

// How a launch cuts boxes into tiles, of which a block takes one after the other.
struct Tiling {
  int threads;  // of a block
  int along_x;  // of these along x, a power of two; the others are along y: rows of a tile in 3-D, strips of one in 2-D
  int march;    // cells that a thread has along the dimension of its march
};

// The neighbours that get copies of what they need; of blocks' own memory, as it is read by each thread.
struct Peers {
  const Peer* peer = nullptr;
  int count = 0;
};

struct Tiles {
  int along_x;  // threads, as in the tiling; fewer in a box that is narrow
  int size[most_dims], count[most_dims], first_x;

  DCGN_HOST_DEVICE Tiles(int dims, int width, const Cells& box, const Tiling& tiling) {
    first_x = box.begin[0] - ((box.begin[0] % width) + width) % width;  // where 16 bytes begin
    along_x = tiling.along_x;
    while (dims > 1 && along_x > 1 && along_x / 2 * width >= box.end[0] - first_x) along_x /= 2;
    const int across = tiling.threads / along_x;
    size[0] = along_x * width;
    size[1] = dims == 1 ? 1 : dims == 2 ? across * tiling.march : across;
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
  static constexpr int along = dims < 4 ? dims - 1 : 2;  // the dimension of the march; in 4-D one layer after the other
  static constexpr int planes = dims == 1 ? 1 : 2 * radius + 1;  // that a step of it sees: rows in 2-D
  // Two hide each other's waits, if what they see finds registers.
  static constexpr unsigned blocks_per_multiprocessor = Fields == 1 ? 2 : 1;
  using Real = typename RealOf<T>::type;
  using Seen = Window<T, dims, radius, width>;

  // `peers` get a copy of each cell of theirs.
  DCGN_HOST_DEVICE GpuSweep(const gpu::Context& context, const Update& update, const Part& part, const Stage& stage,
                            const Tiling& tiling, const Peers& peers)
      : context_(context),
        update_(update),
        part_(part),
        stage_(stage),
        tiling_(tiling),
        peers_(peers),
        out_factor_(static_cast<Real>(stage.out_factor)),
        sum_factor_(static_cast<Real>(stage.sum_factor)) {}

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
  template <bool Plain>
  class Rows;

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
    int cell[most_dims];
    cell[0] = tiles.first_x + static_cast<int>(tile % tiles.count[0]) * tiles.size[0];
    tile /= tiles.count[0];
    for (int d = 1; d < most_dims; ++d) {
      cell[d] = box.begin[d] + static_cast<int>(tile % tiles.count[d]) * tiles.size[d];
      tile /= tiles.count[d];
    }
    const bool plain = is_plain(box, tiles, cell);
    const int thread = static_cast<int>(context_.thread_rank()), across = thread / tiles.along_x;
    cell[0] += (thread - across * tiles.along_x) * width;
    if (dims > 1) cell[1] += across * (dims == 2 ? tiling_.march : 1);
    const int begin = cell[0] < box.begin[0] ? box.begin[0] - cell[0] : 0;
    const int end = cell[0] + width > box.end[0] ? box.end[0] - cell[0] : width;
    const int first = cell[along], last = dims == 1 ? first + 1 : least(first + tiling_.march, box.end[along]);
    if (begin >= end || (dims > 2 && cell[1] >= box.end[1]) || first >= last) return;
    if constexpr (dims > 3) {
      for (; cell[along] < last; ++cell[along]) by_cell(cell, begin, end);
    } else {
      // Planes may be constant at the ends of a march.
      int low = plain ? first : last, high = last;
      if (plain && dims > 1) {
        if (has_constant(along, 0)) low = least(last, greatest(first, part_.stored_begin[along] + radius));
        if (has_constant(along, 1)) high = least(last, part_.stored_end[along] - radius);
      }
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      while (cell[along] < last) {
        if (cell[along] < low || cell[along] >= high)
          march<false>(cell, begin, end, cell[along] < low ? least(low, last) : last);
        else
          march<true>(cell, begin, end, high);
      }
    }
    cell[along] = first;
    if (peers_.count) tell(cell, begin, end, last);
  }

  DCGN_HOST_DEVICE bool has_constant(int dim, int upper) const { return part_.beyond[dim][upper] == Beyond::constant; }

  // Whether a tile's cells come by 16 bytes, and all that it reads is in memory, but for planes before and after.
  DCGN_HOST_DEVICE bool is_plain(const Cells& box, const Tiles& tiles, const int (&first)[most_dims]) const {
    if (part_.stride[along] * static_cast<std::int64_t>(sizeof(T)) > INT32_MAX) return false;
    const int end_x = least(first[0] + tiles.size[0], box.end[0]);
    if (first[0] < box.begin[0] || (end_x - first[0]) % width != 0) return false;
    for (int d = 0; d < dims; ++d) {
      if (part_.own[d] < radius) return false;
      if (d == along && dims > 1) continue;
      if (has_constant(d, 0) && first[d] - radius < part_.stored_begin[d]) return false;
      if (has_constant(d, 1) && least(first[d] + tiles.size[d], box.end[d]) + radius > part_.stored_end[d])
        return false;
    }
    return true;
  }

  // Lanes `begin` to before `end` of the thread's cells are in the box. Goes on to before `last`.
  template <bool Plain>
  DCGN_HOST_DEVICE void march(int (&cell)[most_dims], int begin, int end, int last) const {
    Rows<Plain> rows(*this, cell, begin, end, last);
    Seen seen[Fields];
    unrolled<planes - 1>([&](auto plane) { load(rows, plane, seen); });
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int left = last - cell[along]; left > 0; --left) {
      load(rows, At<planes - 1>(), seen);
      rows.step();
      finish(cell, begin, end, Plain, [&](int lane) {
        return updated<T, Fields>(update_, [&](int f) { return InWindow<T, dims, radius, width>(seen[f], lane); });
      });
      ++cell[along];
      for (int f = 0; f < Fields; ++f) shift(seen[f]);
    }
  }

  DCGN_HOST_DEVICE void by_cell(const int (&cell)[most_dims], int begin, int end) const {
    finish(cell, begin, end, false, [&](int lane) {
      const int at[most_dims] = {cell[0] + lane, cell[1], cell[2], cell[3]};
      return updated<T, Fields>(update_, [&](int f) { return Anywhere<T>(in(f), part_, at); });
    });
  }

  // The highest plane in which a cell is read that is so many rows and columns away from the thread's: it comes in
  // there. All are read up to the last one, or fewer where the update says that it reads `radius` steps away at most;
  // negative where none is.
  DCGN_HOST_DEVICE static constexpr int top_of(int row, int beside) {
    if (dims == 1) return 0;
    const int away = dims == 2 ? 0 : row < radius ? radius - row : row - radius;
    if constexpr (requires { requires Update::diamond; })
      return away + beside > radius ? -1 : 2 * radius - away - beside;
    return 2 * radius;
  }
  static constexpr int rows_each = dims == 3 ? Seen::rows : 1;  // of a plane
  template <int Plane, int Row>
  DCGN_HOST_DEVICE static auto& row_of(Seen& seen) {
    // NOLINTNEXTLINE(bugprone-branch-clone): the same in some instances
    return seen.cell[dims == 3 ? Plane : 0][dims == 3 ? Row : Plane];
  }

  DCGN_HOST_DEVICE static void shift(Seen& seen) {
    unrolled<rows_each>([&](auto r) {
      unrolled<Seen::columns>([&](auto c) {
        constexpr int row = decltype(r)::value, column = decltype(c)::value;
        constexpr int beside = column < radius           ? radius - column
                               : column < radius + width ? 0
                                                         : column - radius - width + 1;
        unrolled<top_of(row, beside)>([&](auto p) {
          constexpr int plane = decltype(p)::value;
          row_of<plane, row>(seen)[column] = row_of<plane + 1, row>(seen)[column];
        });
      });
    });
  }

  // A plane of the window; with the last one all that comes in at a step.
  template <bool Plain, int Plane>
  DCGN_HOST_DEVICE void load(const Rows<Plain>& rows, At<Plane>, Seen (&seen)[Fields]) const {
    unrolled<Fields>([&](auto f) {
      unrolled<rows_each>([&](auto r) {
        unrolled<radius + 1>([&](auto b) {
          constexpr int row = decltype(r)::value, beside = decltype(b)::value, top = top_of(row, beside);
          constexpr int plane = Plane < planes - 1 ? Plane : top;
          if constexpr (plane >= 0 && (plane < top || Plane == planes - 1)) {
            const At<plane> p;
            T(&to)[Seen::columns] = row_of<plane, row>(seen[f]);
            if constexpr (beside == 0) {
              rows.middle(f, p, r, to);
            } else {
              rows.single(f, p, r, At<radius - beside>(), to);
              rows.single(f, p, r, At<radius + width - 1 + beside>(), to);
            }
          }
        });
      });
    });
  }

  // Where a thread's march finds cells: looked up before it, but for the planes. Plain: in memory, all of them.
  template <bool Plain>
  class Rows {
   public:
    DCGN_HOST_DEVICE Rows(const GpuSweep& sweep, const int (&cell)[most_dims], int begin, int end, int last)
        : sweep_(sweep), next_(cell[along] - (dims == 1 ? 0 : radius)) {
      unrolled<rows_each>([&](auto r) {
        row_[r] = cell[0];
        if constexpr (dims == 3)
          row_[r] += find(1, cell[1] + r - radius, r, on_row_) * static_cast<int>(sweep.part_.stride[1]);
      });
      unrolled<Seen::columns>([&](auto c) {
        constexpr bool in_middle = c >= radius && c < radius + width;
        // No more than what the lanes of the box read: beyond, others may be writing.
        if (Plain ? in_middle : c < begin || c >= end + 2 * radius) return;
        column_[c] = find(0, cell[0] - radius + c, c, on_column_) - cell[0];
        if (!Plain) read_ |= 1u << c;
      });
      unrolled<planes>([&](auto p) { to_next(p); });
      if constexpr (Plain && dims > 1) {
        limit_ = least(last + radius, sweep.part_.stored_end[along]);
      }
    }

    DCGN_HOST_DEVICE void step() {
      if constexpr (dims > 1) {
        for (int f = 0; f < Fields; ++f) unrolled<planes - 1>([&](auto p) { plane_[f][p] = plane_[f][p + 1]; });
        if constexpr (!Plain) on_plane_ = {on_plane_.lower >> 1, on_plane_.upper >> 1};
        to_next(planes - 1);
        if (Plain && next_ < limit_) prefetch_next();
      }
    }

    template <int Plane, int Row>
    DCGN_HOST_DEVICE void middle(int field, At<Plane> plane, At<Row> row, T (&to)[Seen::columns]) const {
      if constexpr (Plain) {
        const Quad<T> quad = *reinterpret_cast<const Quad<T>*>(line(field, Plane, Row));
        unrolled<width>([&](auto c) { to[radius + c] = quad.value[c]; });
      } else {
        unrolled<width>([&](auto c) { single(field, plane, row, At<radius + c>(), to); });
      }
    }
    template <int Plane, int Row, int Column>
    DCGN_HOST_DEVICE void single(int field, At<Plane>, At<Row>, At<Column>, T (&to)[Seen::columns]) const {
      if constexpr (Plain) {
        to[Column] = line(field, Plane, Row)[narrow(column_[Column])];
      } else {
        to[Column] = T();
        if (!(read_ >> Column & 1)) return;
        if (constant(0, Column, on_column_, to[Column])) return;
        if (dims == 3 && constant(1, Row, on_row_, to[Column])) return;
        if (dims > 1 && constant(along, Plane, on_plane_, to[Column])) return;
        to[Column] = line(field, Plane, Row)[column_[Column]];
      }
    }

   private:
    struct Constants {
      unsigned lower = 0, upper = 0;  // bits
    };

    DCGN_HOST_DEVICE int find(int dim, int at, int index, Constants& constants) const {
      const Part& part = sweep_.part_;
      if (Plain) return at >= part.stored_begin[dim] && at < part.stored_end[dim] ? at : around(part, dim, at);
      const Found found = stencil::find(part, dim, at);
      if (found.constant >= 0) (found.constant ? constants.upper : constants.lower) |= 1u << index;
      return found.place;
    }
    DCGN_HOST_DEVICE bool constant(int dim, int index, const Constants& constants, T& value) const {
      const bool upper = constants.upper >> index & 1;
      if (!upper && !(constants.lower >> index & 1)) return false;
      value = constant_of<T>(sweep_.part_, dim, upper);
      return true;
    }

    DCGN_HOST_DEVICE void to_next(int index) {
      const std::int64_t at = dims == 1 ? 0 : find(along, next_++, index, on_plane_) * sweep_.part_.stride[along];
      for (int f = 0; f < Fields; ++f) plane_[f][index] = opaque(sweep_.in(f) + at);
    }
    DCGN_HOST_DEVICE const T* line(int field, int plane, int row) const {
      return opaque(plane_[field][plane] + narrow(row_[row]));
    }
    DCGN_HOST_DEVICE static const T* opaque(const T* p) {
#if defined(__CUDA_ARCH__)
      std::size_t at = __cvta_generic_to_global(p);
      asm volatile("" : "+l"(at));
      p = static_cast<const T*>(__cvta_global_to_generic(at));
#endif
      return p;
    }
    DCGN_HOST_DEVICE static int narrow(int offset) {
#if defined(__CUDA_ARCH__)
      asm volatile("" : "+r"(offset));
#endif
      return offset;
    }
    DCGN_HOST_DEVICE void prefetch_next() const {
#if defined(__CUDA_ARCH__)
      for (int f = 0; f < Fields; ++f)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(line(f, planes - 1, rows_each / 2) + sweep_.part_.stride[along]));
#endif
    }

    const GpuSweep& sweep_;
    int next_, limit_;                              // planes
    int row_[rows_each], column_[Seen::columns]{};  // from the begin of a plane; from the thread's cells
    const T* plane_[Fields][planes];
    unsigned read_ = 0;  // columns
    Constants on_column_, on_row_, on_plane_;
  };

  // The stage's results of the thread's cells, where of(lane) is what the update gives.
  template <class Of>
  DCGN_HOST_DEVICE void finish(const int (&cell)[most_dims], int begin, int end, bool whole, const Of& of) const {
    std::int64_t at = cell[0];
    for (int d = 1; d < dims; ++d) at += cell[d] * part_.stride[d];
    Quad<T> base[Fields]{};  // under way while the update is computed
    for (int f = 0; f < Fields; ++f)
      if (!stage_.is_next) base[f] = read(stage_.base[f], at, whole, begin, end);
    Values<T, Fields> k[width]{};
    unrolled<width>([&](auto lane) {
      if (dims < 4 || (lane >= begin && lane < end)) k[lane] = of(lane);
    });
    for (int f = 0; f < Fields; ++f) {
      if (stage_.sum[f]) {
        Quad<T> sum = read(stage_.sum_base[f], at, whole, begin, end);
        unrolled<width>([&](auto l) { sum.value[l] = advanced(sum.value[l], sum_factor_, k[l].value[f]); });
        write(stage_.sum[f], at, whole, begin, end, sum);
      }
      unrolled<width>([&](auto l) {
        base[f].value[l] = stage_.is_next ? k[l].value[f] : advanced(base[f].value[l], out_factor_, k[l].value[f]);
      });
      write(stage_.out[f], at - stage_.out_shift, whole && (dims > 1 || stage_.out_shift % width == 0), begin, end,
            base[f]);
    }
  }

  DCGN_HOST_DEVICE static Quad<T> read(const void* array, std::int64_t at, bool whole, int begin, int end) {
    const T* const from = static_cast<const T*>(array) + at;
    if (whole) return *reinterpret_cast<const Quad<T>*>(from);
    Quad<T> all{};
    unrolled<width>([&](auto lane) {
      if (lane >= begin && lane < end) all.value[lane] = from[lane];
    });
    return all;
  }
  DCGN_HOST_DEVICE static void write(void* array, std::int64_t at, bool whole, int begin, int end, const Quad<T>& all) {
    T* const to = static_cast<T*>(array) + at;
    if (whole) {
#if defined(__CUDA_ARCH__)
      __stwb(reinterpret_cast<uint4*>(to), __builtin_bit_cast(uint4, all));
#else
      *reinterpret_cast<Quad<T>*>(to) = all;
#endif
      return;
    }
    unrolled<width>([&](auto lane) {
      if (lane >= begin && lane < end) to[lane] = all.value[lane];
    });
  }

  // Stores the results of a thread's column, which it has just written, where neighbours have these cells.
  DCGN_HOST_DEVICE void tell(const int (&first)[most_dims], int begin, int end, int last) const {
    for (int p = 0; p < peers_.count; ++p) {
      const Peer& peer = peers_.peer[p];
      const Cells& theirs = peer.cells;
      const int first_x = greatest(first[0] + begin, theirs.begin[0]), end_x = least(first[0] + end, theirs.end[0]);
      bool any = first_x < end_x;
      int cell[most_dims] = {first_x, first[1], first[2], first[3]};
      for (int d = 1; d < dims; ++d)
        if (d != along) any = any && cell[d] >= theirs.begin[d] && cell[d] < theirs.end[d];
      const int end_along = dims == 1 ? end_x : least(last, theirs.end[along]);
      if (dims > 1) cell[along] = greatest(first[along], theirs.begin[along]);
      for (; any && cell[along] < end_along; cell[along] += dims == 1 ? width : 1) {
        std::int64_t here = first_x, there = first_x;
        for (int d = 1; d < dims; ++d) {
          here += cell[d] * part_.stride[d];
          there += cell[d] * peer.stride[d];
        }
        for (int f = 0; f < Fields; ++f) {
          const T* const from = static_cast<const T*>(stage_.out[f]) + here;
          T* const to = static_cast<T*>(peer.array[stage_.out_array][f]) + there;
          const bool whole = end_x - first_x == width && reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
          if (whole) *reinterpret_cast<Quad<T>*>(to) = *reinterpret_cast<const Quad<T>*>(from);
          for (int x = 0; !whole && x < end_x - first_x; ++x) to[x] = from[x];
        }
      }
    }
  }

  DCGN_HOST_DEVICE const T* in(int field) const { return static_cast<const T*>(stage_.in[field]); }
  DCGN_HOST_DEVICE static int least(int a, int b) { return a < b ? a : b; }
  DCGN_HOST_DEVICE static int greatest(int a, int b) { return a > b ? a : b; }

  const gpu::Context& context_;
  const Update& update_;
  const Part& part_;
  const Stage& stage_;
  const Tiling& tiling_;
  const Peers peers_;
  const Real out_factor_, sum_factor_;
};

// One sweep over boxes: a launch of any number of blocks.
template <class T, int Fields, class Update>
struct SweepKernel {
  static constexpr unsigned max_threads = sweep_threads;
  static constexpr unsigned blocks_per_multiprocessor = GpuSweep<T, Fields, Update>::blocks_per_multiprocessor;
  Update update;

  DCGN_HOST_DEVICE void operator()(gpu::Context& context, Part part, Stage stage, Boxes boxes, Tiling tiling) const {
    const GpuSweep<T, Fields, Update> sweep(context, update, part, stage, tiling, {});
    sweep(boxes, context.block_rank(), context.num_blocks());
  }
};

}  // namespace dcgn::stencil
