// The memory of a rank's part of a field: some arrays, all with room for the same layers of its neighbours' cells.
#pragma once

#include <dcgn/datatype.hpp>
#include <dcgn/device.hpp>
#include <dcgn/pack.hpp>
#include <dcgn/stencil/grid.hpp>
#include <dcgn/stencil/stage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace dcgn::stencil {

// Layers of the neighbours' cells below and above a part.
struct Halo {
  std::array<std::array<int, 2>, most_dims> layers{};
  friend bool operator==(const Halo&, const Halo&) = default;
};

// Bytes of the host or of a device; zero at first.
class Memory {
 public:
  Memory(const std::optional<Device>& device, std::size_t bytes);
  std::byte* data() const noexcept { return data_.get(); }

 private:
  std::shared_ptr<std::byte> data_;
};

class Storage {
 public:
  Storage(const Grid& grid, int rank, const std::optional<Device>& device, const Datatype& element);

  const Grid& grid() const noexcept { return grid_; }
  int rank() const noexcept { return rank_; }
  const Box& box() const noexcept { return box_; }
  const std::optional<Device>& device() const noexcept { return device_; }
  const Datatype& element() const noexcept { return element_; }

  // Makes as many arrays with such halos. The cells of the part are kept: in array 0 from then on.
  void arrange(const Halo& halo, int arrays);
  // Whose arrangement it is. Who finds another there arranges anew.
  const void* tenant = nullptr;
  // Gives back all arrays but the one that has the field.
  void release();

  // Whether the neighbours' cells beside those of the part, in the current array, are what the neighbours have. A
  // stepper says so; whatever changes or moves cells of the part takes it back.
  bool halos_are_current = false;

  // As of the present arrangement.
  const Part& part();
  int current() const noexcept { return current_; }  // the array that has the field
  void set_current(int array) noexcept { current_ = array; }
  void swap_arrays(int a, int b) {
    std::swap(arrays_[static_cast<std::size_t>(a)], arrays_[static_cast<std::size_t>(b)]);
  }
  void* cell_0(int array);

  Cells own() const;
  // The cells of a box, as a type that is laid out from first_of(array, box) on.
  Datatype type(const Cells& box);
  std::byte* first_of(int array, const Cells& box);
  TypedBuffer typed(int array, const Cells& box) { return TypedBuffer(first_of(array, box), type(box)); }

  void write(const void* cells, std::size_t count);
  void read(void* cells, std::size_t count);

 private:
  void lay_out(const Halo& halo);
  // So that there is an array.
  void ensure() {
    if (arrays_.empty()) arrange(Halo(), 1);
  }
  // Calls act(piece of pinned memory, at, bytes) over the packed bytes of the part.
  template <class Act>
  void in_pieces(std::size_t bytes, const Act& act);
  void check_count(const char* call, const void* cells, std::size_t count) const;

  Grid grid_;
  int rank_;
  Box box_;
  std::optional<Device> device_;
  Datatype element_;
  std::int64_t element_bytes_;
  Part part_{};
  std::int64_t cell_0_ = 0, elements_ = 0;  // of an array: where the first own cell is, and how many there are
  std::vector<Memory> arrays_;
  int current_ = 0;
};

}  // namespace dcgn::stencil
