// Checkpoints of a simulation as HDF5 files: whole fields, whatever the ranks and the decomposition that wrote them, so
// that any others go on. h5dump, h5py and ParaView read them:
//
//   /               attributes format = "dcgn-stencil", version, equation, step, time
//   /parameters     an attribute of double precision for each
//   /fields/NAME    the cells, last dimension first (u[z][y][x]), complex ones as {r, i}; attribute spacing: x first
//
// Every byte that is read is under a checksum: zlib's Adler-32 and HDF5's Fletcher-32 of each chunk of cells, and those
// of the file format itself for all else. Where Decagon was built without HDF5, every call throws Error(unsupported).
#pragma once

#include "stencil/src/output/field_source.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace dcgn::base {
class OutputFile;
}

namespace dcgn::stencil {

// What a run needs besides the fields.
struct CheckpointState {
  std::string equation;
  std::int64_t step = 0;
  double time = 0;
  std::map<std::string, double> parameters;

  bool operator==(const CheckpointState&) const = default;
};

// By one process, which reads the fields layer by layer. The file is there once all of it is on the disk; a run that is
// killed before leaves the older one. Throws Error(io), naming the file.
void write_checkpoint(base::OutputFile& output, const CheckpointState& state, std::span<const FieldSource> fields);

// One to go on from. Any number of processes may have it open; threads may share one.
class CheckpointFile {
 public:
  // Reads all but the cells. Throws Error(io), naming the file: it is missing, truncated, corrupt, or no checkpoint.
  explicit CheckpointFile(const std::string& path);
  CheckpointFile(CheckpointFile&&) noexcept;
  ~CheckpointFile();

  const std::string& path() const;
  const CheckpointState& state() const;
  const std::map<std::string, FieldShape>& fields() const;

  // Throws Error(configuration), naming the file, its value and the one expected, where it is another equation's or its
  // fields are not these.
  void expect(const std::string& equation, const std::map<std::string, FieldShape>& fields) const;

  // Layers first .. first + count - 1 to `cells`, without gaps. Throws Error(io) where they are corrupt,
  // Error(configuration) where there is no such field, Error(invalid_size) where it has no such layers.
  void read(const std::string& field, std::int64_t first, std::int64_t count, void* cells) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace dcgn::stencil
