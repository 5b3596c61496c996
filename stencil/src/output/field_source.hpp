// A field as files, pictures and statistics take it: its layers one after the other, so that nobody needs all of it.
#pragma once

#include <dcgn/element.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::stencil {

// Named by the bits of a cell.
enum class CellType { float32, float64, complex64, complex128 };

std::string_view name_of(CellType type);
std::size_t bytes_of(CellType type);
constexpr bool is_complex(CellType type) { return type == CellType::complex64 || type == CellType::complex128; }

template <class T>
constexpr CellType cell_type();
template <>
constexpr CellType cell_type<float>() {
  return CellType::float32;
}
template <>
constexpr CellType cell_type<double>() {
  return CellType::float64;
}
template <>
constexpr CellType cell_type<complex<float>>() {
  return CellType::complex64;
}
template <>
constexpr CellType cell_type<complex<double>>() {
  return CellType::complex128;
}

// The whole field's, whatever the ranks that share it.
struct FieldShape {
  std::vector<std::int64_t> extents;  // cells along each dimension: x, whose neighbours are neighbours in memory, first
  CellType type = CellType::float64;
  std::vector<double> spacing;  // from one cell to the next, along each dimension

  std::size_t dimensions() const { return extents.size(); }
  std::int64_t cells() const;
  // Layers are along the last dimension: rows of a plane, planes of a volume.
  std::int64_t layers() const { return extents.back(); }
  std::int64_t layer_cells() const { return cells() / layers(); }
  std::size_t layer_bytes() const { return static_cast<std::size_t>(layer_cells()) * bytes_of(type); }

  bool operator==(const FieldShape&) const = default;
};

// "1024x768 float64"
std::string to_string(const FieldShape& shape);

// A field to be read. `read(first, count, cells)` puts layers first .. first + count - 1 to `cells`, without gaps; it
// is called for one layer after the other from the first on, or for those alone that are wanted.
struct FieldSource {
  std::string name;
  FieldShape shape;
  std::function<void(std::int64_t first, std::int64_t count, void* cells)> read;
};

// Of a whole field in memory, which outlives the source. Throws Error(invalid_size) where `cells` are not as many as
// the extents say.
FieldSource source_of(std::string name, const void* cells, std::size_t bytes, const FieldShape& shape);
template <class T>
FieldSource source_of(std::string name, const std::vector<T>& cells, std::vector<std::int64_t> extents,
                      double spacing = 1) {
  const std::vector<double> all(extents.size(), spacing);
  return source_of(std::move(name), cells.data(), cells.size() * sizeof(T), {std::move(extents), cell_type<T>(), all});
}

// All layers in order, some at a time (about 16 MiB).
void for_each_slab(const FieldSource& source,
                   const std::function<void(std::int64_t first, std::int64_t count, const std::byte* cells)>& use);

// All layers in order as double precision, one at a time; each complex cell is two numbers.
void for_each_layer(const FieldSource& source,
                    const std::function<void(std::int64_t layer, std::span<const double> values)>& use);
// One of them.
std::vector<double> layer_of(const FieldSource& source, std::int64_t layer);

}  // namespace dcgn::stencil
