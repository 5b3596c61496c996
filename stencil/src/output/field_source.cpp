#include "stencil/src/output/field_source.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cstring>

namespace dcgn::stencil {

namespace {

void to_doubles(CellType type, const std::byte* cells, std::span<double> values) {
  if (type == CellType::float64 || type == CellType::complex128) {
    std::memcpy(values.data(), cells, values.size_bytes());
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    float value = 0;
    std::memcpy(&value, cells + i * sizeof value, sizeof value);
    values[i] = value;
  }
}

std::size_t numbers_in_layer(const FieldShape& shape) {
  return static_cast<std::size_t>(shape.layer_cells()) * (is_complex(shape.type) ? 2 : 1);
}

}  // namespace

std::string_view name_of(CellType type) {
  switch (type) {
    case CellType::float32: return "float32";
    case CellType::float64: return "float64";
    case CellType::complex64: return "complex64";
    case CellType::complex128: return "complex128";
  }
  return "no type";
}

std::size_t bytes_of(CellType type) {
  switch (type) {
    case CellType::float32: return 4;
    case CellType::float64:
    case CellType::complex64: return 8;
    case CellType::complex128: return 16;
  }
  return 0;
}

std::int64_t FieldShape::cells() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

std::string to_string(const FieldShape& shape) {
  std::string text;
  for (const std::int64_t extent : shape.extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text + " " + std::string(name_of(shape.type));
}

FieldSource source_of(std::string name, const void* cells, std::size_t bytes, const FieldShape& shape) {
  const bool sensible = !shape.extents.empty() && std::ranges::all_of(shape.extents, [](auto n) { return n > 0; });
  const std::size_t expected = sensible ? static_cast<std::size_t>(shape.cells()) * bytes_of(shape.type) : 0;
  if (!sensible || bytes != expected)
    throw Error(Code::invalid_size, "stencil",
                "field '" + name + "': " + std::to_string(bytes) + " bytes, expected the " + std::to_string(expected) +
                    " of " + to_string(shape));
  const auto read = [cells, layer = shape.layer_bytes()](std::int64_t first, std::int64_t count, void* to) {
    std::memcpy(to, static_cast<const std::byte*>(cells) + static_cast<std::size_t>(first) * layer,
                static_cast<std::size_t>(count) * layer);
  };
  return {std::move(name), shape, read};
}

void for_each_slab(const FieldSource& source,
                   const std::function<void(std::int64_t, std::int64_t, const std::byte*)>& use) {
  constexpr std::size_t about = 16 << 20;
  const std::size_t layer = source.shape.layer_bytes();
  const std::int64_t layers = source.shape.layers();
  const std::int64_t most = std::clamp<std::int64_t>(static_cast<std::int64_t>(about / layer), 1, layers);
  std::vector<std::byte> cells(static_cast<std::size_t>(most) * layer);
  for (std::int64_t first = 0; first < layers; first += most) {
    const std::int64_t count = std::min(most, layers - first);
    source.read(first, count, cells.data());
    use(first, count, cells.data());
  }
}

void for_each_layer(const FieldSource& source, const std::function<void(std::int64_t, std::span<const double>)>& use) {
  std::vector<double> values(numbers_in_layer(source.shape));
  for_each_slab(source, [&](std::int64_t first, std::int64_t count, const std::byte* cells) {
    for (std::int64_t k = 0; k < count; ++k) {
      to_doubles(source.shape.type, cells + static_cast<std::size_t>(k) * source.shape.layer_bytes(), values);
      use(first + k, values);
    }
  });
}

std::vector<double> layer_of(const FieldSource& source, std::int64_t layer) {
  std::vector<std::byte> cells(source.shape.layer_bytes());
  source.read(layer, 1, cells.data());
  std::vector<double> values(numbers_in_layer(source.shape));
  to_doubles(source.shape.type, cells.data(), values);
  return values;
}

}  // namespace dcgn::stencil
