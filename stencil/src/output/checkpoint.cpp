#include "stencil/src/output/checkpoint.hpp"

#include "base/output_file.hpp"

#include <dcgn/error.hpp>

#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>

#if defined(DCGN_HAS_HDF5)
#include "stencil/src/output/hdf5_handle.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <unistd.h>
#endif

namespace dcgn::stencil {

#if defined(DCGN_HAS_HDF5)

namespace {

constexpr const char* format_name = "dcgn-stencil";
constexpr std::int64_t format_version = 1;

hid_t number_type(CellType type) {
  return type == CellType::float32 || type == CellType::complex64 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

// Complex as h5py has it.
Hdf5Handle memory_type(const Hdf5& hdf5, CellType type) {
  if (!is_complex(type)) return hdf5.own(H5Tcopy(number_type(type)), &H5Tclose);
  const std::size_t bytes = bytes_of(type);
  Hdf5Handle compound = hdf5.own(H5Tcreate(H5T_COMPOUND, bytes), &H5Tclose);
  hdf5.check(H5Tinsert(compound, "r", 0, number_type(type)));
  hdf5.check(H5Tinsert(compound, "i", bytes / 2, number_type(type)));
  return compound;
}

// HDF5 names the slowest dimension first.
std::vector<hsize_t> slowest_first(const FieldShape& shape) { return {shape.extents.rbegin(), shape.extents.rend()}; }

// Whole rows as far as they go: about a megabyte of neighbouring cells, in one layer or in several small ones.
std::vector<hsize_t> chunk_of(const FieldShape& shape) {
  std::vector<hsize_t> chunk = slowest_first(shape);
  hsize_t room = std::max<hsize_t>(1, (1 << 20) / bytes_of(shape.type));
  for (std::size_t d = chunk.size(); d-- > 0;) {
    chunk[d] = std::min(chunk[d], room);
    room = std::max<hsize_t>(1, room / chunk[d]);
  }
  return chunk;
}

Hdf5Handle create_field(const Hdf5& hdf5, hid_t group, const FieldSource& field) {
  const std::vector<hsize_t> extents = slowest_first(field.shape), chunk = chunk_of(field.shape);
  const auto rank = static_cast<int>(extents.size());
  const Hdf5Handle space = hdf5.own(H5Screate_simple(rank, extents.data(), nullptr), &H5Sclose);
  const Hdf5Handle creation = hdf5.own(H5Pcreate(H5P_DATASET_CREATE), &H5Pclose);
  hdf5.check(H5Pset_chunk(creation, rank, chunk.data()));
  // zlib's Adler-32, of cells that it leaves as they are: for Fletcher-32 words of zeros and of ones are the same.
  if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) hdf5.check(H5Pset_deflate(creation, 0));
  hdf5.check(H5Pset_fletcher32(creation));
  hdf5.check(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER));
  const Hdf5Handle type = memory_type(hdf5, field.shape.type);
  Hdf5Handle set =
      hdf5.own(H5Dcreate2(group, field.name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT), &H5Dclose);
  hdf5.put(set, "spacing", field.shape.spacing);
  return set;
}

// All but the cells.
Hdf5Handle create_file(const Hdf5& hdf5, const std::string& name, const CheckpointState& state) {
  const Hdf5Turn turn;
  const Hdf5Handle access = hdf5.own(H5Pcreate(H5P_FILE_ACCESS), &H5Pclose);
  // Older formats have no checksums of what is not cells.
  hdf5.check(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST));
  Hdf5Handle file = hdf5.own(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), &H5Fclose);
  hdf5.put(file, "format", std::string(format_name));
  hdf5.put(file, "version", format_version);
  hdf5.put(file, "equation", state.equation);
  hdf5.put(file, "step", state.step);
  hdf5.put(file, "time", state.time);
  const Hdf5Handle parameters = hdf5.group(file, "parameters");
  for (const auto& [key, value] : state.parameters) hdf5.put(parameters, key.c_str(), value);
  return file;
}

// Other threads may take their turns while layers are being read.
void write_field(const Hdf5& hdf5, hid_t group, const FieldSource& field) {
  Hdf5Handle set;
  {
    const Hdf5Turn turn;
    set = create_field(hdf5, group, field);
  }
  for_each_slab(field, [&](std::int64_t first, std::int64_t count, const std::byte* cells) {
    const Hdf5Turn turn;
    const Hdf5Handle there = hdf5.layers(set, first, count), here = hdf5.memory_of(there);
    const Hdf5Handle type = memory_type(hdf5, field.shape.type);
    hdf5.check(H5Dwrite(set, type, here, there, H5P_DEFAULT, cells));
  });
  // HDF5 keeps cells to itself until then, and the file's own close does not tell that they could not be written.
  const Hdf5Turn turn;
  hdf5.check(set.close());
}

CellType type_of(const Hdf5& hdf5, hid_t set) {
  const Hdf5Handle type = hdf5.own(H5Dget_type(set), &H5Tclose);
  const std::size_t bytes = H5Tget_size(type);
  const H5T_class_t kind = H5Tget_class(type);
  for (const CellType known : {CellType::float32, CellType::float64, CellType::complex64, CellType::complex128})
    if (bytes == bytes_of(known) && kind == (is_complex(known) ? H5T_COMPOUND : H5T_FLOAT)) return known;
  hdf5.fail("its cells have " + std::to_string(bytes) + " bytes and are of no type that a field can have");
}

FieldShape shape_of(const Hdf5& hdf5, hid_t set) {
  const Hdf5Handle space = hdf5.own(H5Dget_space(set), &H5Sclose);
  std::vector<hsize_t> extents(H5S_MAX_RANK);
  const int rank = H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  if (rank < 1) hdf5.fail("a field without dimensions");
  extents.resize(static_cast<std::size_t>(rank));
  FieldShape shape{
      {extents.rbegin(), extents.rend()}, type_of(hdf5, set), hdf5.get<std::vector<double>>(set, "spacing")};
  if (shape.spacing.size() != shape.dimensions()) hdf5.fail("a field's spacing has other dimensions than the field");
  return shape;
}

}  // namespace

void write_checkpoint(base::OutputFile& output, const CheckpointState& state, std::span<const FieldSource> fields) {
  output.write_durably([&](const std::string& name) {
    const Hdf5 hdf5(output.path() + ": not written");
    Hdf5Handle file = create_file(hdf5, name, state);
    {
      Hdf5Handle group;
      {
        const Hdf5Turn turn;
        group = hdf5.group(file, "fields");
      }
      for (const FieldSource& field : fields) write_field(hdf5, group, field);
    }
    const Hdf5Turn turn;
    hdf5.check(file.close());  // what of all else could not be written before is found here
  });
}

struct CheckpointFile::Contents {
  std::string path;
  Hdf5Handle file;
  CheckpointState state;
  std::map<std::string, FieldShape> fields;
};

CheckpointFile::CheckpointFile(const std::string& path) : contents_(std::make_unique<Contents>()) {
  Contents& c = *contents_;
  c.path = path;
  if (::access(path.c_str(), R_OK) != 0)
    throw Error(Code::io, "checkpoint", path + ": cannot be read: " + std::strerror(errno));
  std::error_code none;
  if (std::filesystem::is_directory(path, none))
    throw Error(Code::io, "checkpoint", path + ": is a folder, expected a file");
  const Hdf5 hdf5(path + ": expected a checkpoint that is whole");
  const Hdf5Turn turn;
  c.file = hdf5.own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), &H5Fclose);
  if (const auto format = hdf5.get<std::string>(c.file, "format"); format != format_name)
    hdf5.fail("its format is '" + format + "', not '" + format_name + "'");
  if (const auto version = hdf5.get<std::int64_t>(c.file, "version"); version != format_version)
    hdf5.fail("its version is " + std::to_string(version) + ", not " + std::to_string(format_version));
  c.state.equation = hdf5.get<std::string>(c.file, "equation");
  c.state.step = hdf5.get<std::int64_t>(c.file, "step");
  c.state.time = hdf5.get<double>(c.file, "time");
  const Hdf5Handle parameters = hdf5.own(H5Gopen2(c.file, "parameters", H5P_DEFAULT), &H5Gclose);
  for (const std::string& name : hdf5.attribute_names(parameters))
    c.state.parameters[name] = hdf5.get<double>(parameters, name.c_str());
  const Hdf5Handle group = hdf5.own(H5Gopen2(c.file, "fields", H5P_DEFAULT), &H5Gclose);
  for (const std::string& name : hdf5.link_names(group)) {
    const Hdf5Handle set = hdf5.own(H5Dopen2(group, name.c_str(), H5P_DEFAULT), &H5Dclose);
    c.fields[name] = shape_of(hdf5, set);
  }
}

void CheckpointFile::read(const std::string& field, std::int64_t first, std::int64_t count, void* cells) const {
  const Contents& c = *contents_;
  const auto found = c.fields.find(field);
  if (found == c.fields.end())
    throw Error(Code::configuration, "checkpoint", c.path + ": there is no field '" + field + "'");
  const std::int64_t layers = found->second.layers();
  if (first < 0 || count < 1 || first > layers - count)
    throw Error(Code::invalid_size, "checkpoint",
                c.path + ": " + std::to_string(count) + " layers from " + std::to_string(first) + " of field '" +
                    field + "', which has " + std::to_string(layers));
  const Hdf5 hdf5(c.path + ": field '" + field + "'");
  const Hdf5Turn turn;
  const Hdf5Handle set = hdf5.own(H5Dopen2(c.file, ("fields/" + field).c_str(), H5P_DEFAULT), &H5Dclose);
  const Hdf5Handle there = hdf5.layers(set, first, count), here = hdf5.memory_of(there);
  const Hdf5Handle type = memory_type(hdf5, found->second.type);
  hdf5.check(H5Dread(set, type, here, there, H5P_DEFAULT, cells));
}

#else

struct CheckpointFile::Contents {
  std::string path;
  CheckpointState state;
  std::map<std::string, FieldShape> fields;
};

namespace {

[[noreturn]] void refuse(const std::string& path) {
  throw Error(
      Code::unsupported, "checkpoint",
      path + ": this build has no HDF5; expected one with it: scripts/install-packages stencil, -DDCGN_HDF5=ON");
}

}  // namespace

void write_checkpoint(base::OutputFile& output, const CheckpointState&, std::span<const FieldSource>) {
  refuse(output.path());
}

CheckpointFile::CheckpointFile(const std::string& path) { refuse(path); }

void CheckpointFile::read(const std::string&, std::int64_t, std::int64_t, void*) const { refuse(contents_->path); }

#endif

namespace {

// In as many digits as tell it from all other numbers.
std::string number_text(double value) {
  std::array<char, 32> text{};  // 24 suffice
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace

CheckpointFile::CheckpointFile(CheckpointFile&&) noexcept = default;
CheckpointFile::~CheckpointFile() = default;
const std::string& CheckpointFile::path() const { return contents_->path; }
const CheckpointState& CheckpointFile::state() const { return contents_->state; }
const std::map<std::string, FieldShape>& CheckpointFile::fields() const { return contents_->fields; }

void CheckpointFile::expect(const std::string& equation, const std::map<std::string, FieldShape>& expected) const {
  const auto refuse_it = [this](const std::string& what) {
    throw Error(Code::configuration, "checkpoint", contents_->path + ": " + what);
  };
  if (state().equation != equation)
    refuse_it("it is of equation '" + state().equation + "', expected '" + equation + "'");
  for (const auto& [name, shape] : expected) {
    const auto found = fields().find(name);
    if (found == fields().end()) refuse_it("there is no field '" + name + "', expected " + to_string(shape));
    if (to_string(found->second) != to_string(shape))
      refuse_it("field '" + name + "' is " + to_string(found->second) + ", expected " + to_string(shape));
    for (std::size_t d = 0; d < shape.dimensions(); ++d)
      if (found->second.spacing[d] != shape.spacing[d])
        refuse_it("field '" + name + "' has spacing " + number_text(found->second.spacing[d]) + ", expected " +
                  number_text(shape.spacing[d]));
  }
  if (fields().size() != expected.size())
    refuse_it(std::to_string(fields().size()) + " fields, expected " + std::to_string(expected.size()));
}

}  // namespace dcgn::stencil
