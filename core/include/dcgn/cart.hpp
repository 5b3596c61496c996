// Cartesian grids: which rank is where, and who is beside it. Arithmetic only, on the host and in kernels; a grid's
// ranks talk in the communicator that cart() makes of it.
//
//   const dcgn::Cart grid({4, 3}, {true, false});   // 12 ranks: rows wrap around, columns do not
//   dcgn::Comm mesh = comm.cart(grid);
//   const int below = grid.neighbour(mesh.rank(), 0, 1);
#pragma once

#include <dcgn/host_device.hpp>

namespace dcgn {

// Beside a grid's edge. No call takes it: look before you send.
inline constexpr int no_rank = -2;

// Ranks lie in row-major order: the last coordinate changes fastest. Trivially copyable.
class Cart {
 public:
  static constexpr int most_dims = 6;

  // Each length is 1 or more; otherwise size() is 0, and no communicator can be made of the grid.
  template <int N>
    requires(N <= most_dims)
  DCGN_HOST_DEVICE constexpr Cart(const int (&lengths)[N], const bool (&periodic)[N]) : dims_(N) {
    for (int d = 0; d < N; ++d) {
      lengths_[d] = lengths[d];
      periodic_[d] = periodic[d];
    }
  }
  // A grid of so many ranks whose lengths are as alike as their prime factors allow, the longest first (as
  // MPI_Dims_create has it): 12 ranks are 4 x 3.
  DCGN_HOST_DEVICE static constexpr Cart balanced(int ranks, int dims, bool periodic) {
    Cart grid;
    grid.dims_ = dims < 1 ? 1 : dims < most_dims ? dims : most_dims;
    for (int d = 0; d < grid.dims_; ++d) {
      grid.lengths_[d] = ranks < 1 ? 0 : 1;
      grid.periodic_[d] = periodic;
    }
    while (ranks > 1) {
      int factor = 1, left = ranks;  // the largest prime factor of what is left
      for (int f = 2; left > 1;) {
        if (f > left / f) f = left;
        if (left % f == 0) {
          factor = f;
          left /= f;
        } else {
          ++f;
        }
      }
      int shortest = 0;
      for (int d = 1; d < grid.dims_; ++d)
        if (grid.lengths_[d] < grid.lengths_[shortest]) shortest = d;
      grid.lengths_[shortest] *= factor;
      ranks /= factor;
    }
    for (int d = 1; d < grid.dims_; ++d)
      for (int k = d; k > 0 && grid.lengths_[k - 1] < grid.lengths_[k]; --k) {
        const int length = grid.lengths_[k];
        grid.lengths_[k] = grid.lengths_[k - 1];
        grid.lengths_[k - 1] = length;
      }
    return grid;
  }

  // Of dimension `dim`, from 0 to dims() - 1.
  DCGN_HOST_DEVICE constexpr int dims() const { return dims_; }
  DCGN_HOST_DEVICE constexpr int length(int dim) const { return lengths_[dim]; }
  DCGN_HOST_DEVICE constexpr bool periodic(int dim) const { return periodic_[dim]; }
  DCGN_HOST_DEVICE constexpr int size() const {
    long long places = 1;
    for (int d = 0; d < dims_; ++d) {
      if (lengths_[d] < 1 || places > 0x7fffffff / lengths_[d]) return 0;
      places *= lengths_[d];
    }
    return static_cast<int>(places);
  }

  // Of a rank from 0 to size() - 1.
  DCGN_HOST_DEVICE constexpr int coordinate(int rank, int dim) const {
    for (int d = dims_ - 1; d > dim; --d) rank /= lengths_[d];
    return rank % lengths_[dim];
  }
  // The rank at these coordinates, which wrap around where the grid does; no_rank beside an edge.
  template <int N>
  DCGN_HOST_DEVICE constexpr int rank(const int (&coordinates)[N]) const {
    int rank = 0;
    for (int d = 0; d < dims_; ++d) {
      int c = d < N ? coordinates[d] : 0;
      if (periodic_[d])
        c = (c % lengths_[d] + lengths_[d]) % lengths_[d];
      else if (c < 0 || c >= lengths_[d])
        return no_rank;
      rank = rank * lengths_[d] + c;
    }
    return rank;
  }
  // The rank so many steps on along a dimension, back where negative; no_rank beside an edge.
  DCGN_HOST_DEVICE constexpr int neighbour(int of, int dim, int steps) const {
    int coordinates[most_dims] = {};
    for (int d = 0; d < dims_; ++d) coordinates[d] = coordinate(of, d);
    coordinates[dim] += steps;
    return rank(coordinates);
  }
  // For a sendrecv along a dimension: whom to receive from, and whom to send to.
  struct Shift {
    int from, to;
  };
  // Sends go `steps` on; either may be no_rank.
  DCGN_HOST_DEVICE constexpr Shift shift(int of, int dim, int steps) const {
    return {neighbour(of, dim, -steps), neighbour(of, dim, steps)};
  }

 private:
  Cart() = default;

  int dims_ = 0;
  int lengths_[most_dims] = {};
  bool periodic_[most_dims] = {};
};

}  // namespace dcgn
