// The paper's scheme on a device, with its list of units made while kernels are at work, or kept.
#pragma once

#include "core/bench/ddt_units_kernel.hpp"
#include "core/bench/pinned.hpp"

#include <dcgn/datatype.hpp>
#include <dcgn/device.hpp>
#include <dcgn/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn::bench {

class UnitEngine {
 public:
  // Units of at most so many bytes (the paper has 1, 2 and 4 KiB). `cached`: the list is made once and stays in the
  // device's memory.
  UnitEngine(const Device& device, const Datatype& type, std::int64_t unit_bytes, bool cached);

  // All of the type, whose displacements count from `spread`; blocks until done.
  void pack(const std::byte* spread, std::byte* packed);
  void unpack(const std::byte* packed, std::byte* spread);

 private:
  static constexpr std::size_t piece_units = 8192, pieces = 3;
  struct Piece {
    std::unique_ptr<PinnedWords> host;
    DeviceBuffer<Unit> units;
    Stream stream;
  };
  void move(std::byte* spread, std::byte* packed, bool pack);
  void launch(Stream& stream, const Unit* units, std::size_t count, std::byte* spread, std::byte* packed,
              bool pack) const;
  template <class Take>
  void each_unit(Take&& take) const;

  Device device_;
  Datatype type_;
  std::int64_t unit_bytes_;
  std::unique_ptr<DeviceBuffer<Unit>> cached_;
  std::vector<Piece> ring_;  // where it is not cached: one is filled while others are at work
};

// pack() and unpack() of all bytes by the library's kernels, of so many blocks at most.
void pack_by_few(const Device& device, Stream& stream, int blocks, const TypedBuffer& from, std::byte* packed);
void unpack_by_few(const Device& device, Stream& stream, int blocks, std::byte* packed, const TypedBuffer& to);

// An empty kernel: what a launch takes.
void launch_nothing(const Device& device, Stream& stream);

}  // namespace dcgn::bench
