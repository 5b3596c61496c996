#include "stencil/src/output/vti.hpp"

#include "base/output_file.hpp"

#include <dcgn/error.hpp>

#include <bit>
#include <cstdio>
#include <sstream>

namespace dcgn::stencil {

namespace {

[[noreturn]] void refuse(const base::OutputFile& output, const std::string& what) {
  throw Error(Code::configuration, "stencil", output.path() + ": " + what);
}

void check(const base::OutputFile& output, std::span<const FieldSource> fields) {
  if (fields.empty()) refuse(output, "no field: expected at least one");
  const FieldShape& first = fields.front().shape;
  if (first.dimensions() < 1 || first.dimensions() > 3)
    refuse(output, "a field of " + std::to_string(first.dimensions()) +
                       " dimensions: expected 1 to 3, VTK's images have no more");
  for (const FieldSource& field : fields)
    if (field.shape.extents != first.extents || field.shape.spacing != first.spacing)
      refuse(output, "field '" + field.name + "' is " + to_string(field.shape) + ": expected the grid of '" +
                         fields.front().name + "', " + to_string(first));
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

std::uint64_t data_bytes(const FieldShape& shape) {
  return static_cast<std::uint64_t>(shape.cells()) * bytes_of(shape.type);
}

// All before the data. An array is its length in bytes, eight of them, and then its values.
std::string header(std::span<const FieldSource> fields, double time) {
  const FieldShape& shape = fields.front().shape;
  std::ostringstream xml;
  xml.precision(17);
  std::ostringstream extents, spacing;
  spacing.precision(17);
  for (std::size_t d = 0; d < 3; ++d) {
    extents << (d ? " 0 " : "0 ") << (d < shape.dimensions() ? shape.extents[d] - 1 : 0);
    spacing << (d ? " " : "") << (d < shape.dimensions() ? shape.spacing[d] : 1);
  }
  xml << "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\""
      << (std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian")
      << "\" header_type=\"UInt64\">\n<ImageData WholeExtent=\"" << extents.str() << "\" Origin=\"0 0 0\" Spacing=\""
      << spacing.str() << "\">\n<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" "
      << "NumberOfTuples=\"1\" format=\"ascii\">" << time << "</DataArray>\n</FieldData>\n<Piece Extent=\""
      << extents.str() << "\">\n<PointData Scalars=\"" << escaped(fields.front().name) << "\">\n";
  std::uint64_t offset = 0;
  for (const FieldSource& field : fields) {
    const CellType type = field.shape.type;
    const bool single = type == CellType::float32 || type == CellType::complex64;
    xml << "<DataArray type=\"" << (single ? "Float32" : "Float64") << "\" Name=\"" << escaped(field.name) << "\"";
    if (is_complex(type)) xml << R"( NumberOfComponents="2" ComponentName0="real" ComponentName1="imaginary")";
    xml << " format=\"appended\" offset=\"" << offset << "\"/>\n";
    offset += sizeof(std::uint64_t) + data_bytes(field.shape);
  }
  xml << "</PointData>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_";
  return xml.str();
}

}  // namespace

void write_vti(base::OutputFile& output, std::span<const FieldSource> fields, double time) {
  check(output, fields);
  output.write([&](std::FILE* stream) {
    // What a write that falls short means is found by OutputFile, which asks the stream.
    const auto put = [stream](const void* data, std::size_t bytes) {
      static_cast<void>(std::fwrite(data, 1, bytes, stream));
    };
    const std::string begin = header(fields, time), end = "\n</AppendedData>\n</VTKFile>\n";
    put(begin.data(), begin.size());
    for (const FieldSource& field : fields) {
      const std::uint64_t bytes = data_bytes(field.shape);
      put(&bytes, sizeof bytes);
      for_each_slab(field, [&](std::int64_t, std::int64_t count, const std::byte* cells) {
        put(cells, static_cast<std::size_t>(count) * field.shape.layer_bytes());
      });
    }
    put(end.data(), end.size());
  });
}

}  // namespace dcgn::stencil
