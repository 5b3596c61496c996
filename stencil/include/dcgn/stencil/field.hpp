// A field: one number in each cell of a grid, spread over the grid's ranks.
//
// Each rank makes its own object, which holds its part, in memory of the host or of a device; so a rank is a thread of
// the host, or one that drives a GPU. Layers of its neighbours' cells beside it are the affair of a stepper.
#pragma once

#include <dcgn/comm.hpp>
#include <dcgn/datatype.hpp>
#include <dcgn/device.hpp>
#include <dcgn/element.hpp>
#include <dcgn/span.hpp>
#include <dcgn/stencil/grid.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace dcgn {

namespace stencil {
class Storage;  // stencil/src/storage.hpp

// A field of elements of some type.
class AnyField {
 public:
  // By each rank of the grid; `device`: where its part is, or nothing for memory of the host.
  AnyField(const Grid& grid, const Comm& comm, std::optional<Device> device, const Datatype& element);
  AnyField(AnyField&&) noexcept;
  AnyField& operator=(AnyField&&) noexcept;
  ~AnyField();

  const Grid& grid() const noexcept;
  // This rank's cells.
  const Box& part() const noexcept;
  // Where they are; nothing: in memory of the host.
  const std::optional<Device>& device() const noexcept;

  Storage& storage() const noexcept { return *storage_; }

 protected:
  void write_part(const void* cells, std::size_t count);
  void read_part(void* cells, std::size_t count) const;
  void write_box(Comm& comm, const Box& box, const void* cells, std::size_t count, int root);
  void read_box(Comm& comm, const Box& box, void* cells, std::size_t count, int root) const;

 private:
  std::unique_ptr<Storage> storage_;
};
}  // namespace stencil

// What a cell can hold.
template <class T>
concept CellValue = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, complex<float>> ||
    std::is_same_v<T, complex<double>> || std::is_same_v<T, int>;

// Cells are listed with x fastest. All are 0 at first. Memory is taken by who first writes, reads or steps the field:
// let a stepper that needs wide halos come before write() where memory is scarce.
template <CellValue T>
class Field : public stencil::AnyField {
 public:
  // The part that the grid gives comm.rank(). Throws Error(configuration) unless the grid has as many ranks as `comm`.
  Field(const Grid& grid, const Comm& comm) : AnyField(grid, comm, std::nullopt, Datatype::of<T>()) {}
  Field(const Grid& grid, const Comm& comm, const Device& device) : AnyField(grid, comm, device, Datatype::of<T>()) {}

  // This rank's part, by this rank alone. Throws Error(invalid_size) unless there are part().cells().
  void write(Span<const T> cells) { write_part(cells.data(), cells.size()); }
  void read(Span<T> cells) const { read_part(cells.data(), cells.size()); }
  std::vector<T> read() const {
    std::vector<T> cells(static_cast<std::size_t>(part().cells()));
    read(cells);
    return cells;
  }

  // Any box of the grid, from and to the root's memory: all ranks take part, the root alone needs `cells`. Boxes of a
  // few layers serve fields that no host can hold. Throws Error(invalid_size) at the root unless there are box.cells(),
  // Error(configuration) where the box reaches out of the grid.
  void write(Comm& comm, const Box& box, Span<const T> cells, int root) {
    write_box(comm, box, cells.data(), cells.size(), root);
  }
  void read(Comm& comm, const Box& box, Span<T> cells, int root) const {
    read_box(comm, box, cells.data(), cells.size(), root);
  }

  // value(cell) in each own cell, where cell[d] is its place in the grid: the same field whatever the parts.
  template <class Value>
    requires std::is_invocable_r_v<T, Value&, const Box::Cell&>
  void fill(Value value) {
    std::vector<T> cells(static_cast<std::size_t>(part().cells()));
    const Box box = part();
    Box::Cell at;
    std::size_t i = 0;
    for (at[3] = box.begin[3]; at[3] < box.end[3]; ++at[3])
      for (at[2] = box.begin[2]; at[2] < box.end[2]; ++at[2])
        for (at[1] = box.begin[1]; at[1] < box.end[1]; ++at[1])
          for (at[0] = box.begin[0]; at[0] < box.end[0]; ++at[0]) cells[i++] = value(std::as_const(at));
    write(cells);
  }
};

}  // namespace dcgn
