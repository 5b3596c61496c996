// Copies of which an end is a view of typed buffers (datatype/packed_view.hpp): by a thread of the host where all of
// the memory is the host's, by kernels where some is a device's.
//
// A kernel reads and writes both ends at once where the device reaches them: those of its own, of a peer, or pinned.
// Between two devices that do not reach each other the bytes go in pieces: packed, copied as plain bytes are, and
// unpacked, all at the same time. Else through pinned memory (HPDC 2016, section 4.2), likewise.
#pragma once

#include <dcgn/device.hpp>

#include "datatype/move.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace dcgn::device {
class Copier;  // core/src/device/copier.hpp
}

namespace dcgn::transport {

// Calls may be made by several threads at once. They throw what making the transfers throws (packed_view.hpp), and
// Error(device).
class TypedCopies {
 public:
  // Makes streams and memory beforehand. `p2p`: devices may reach each other.
  TypedCopies(const std::vector<Device>& devices, bool p2p, device::Copier& copier);
  TypedCopies(const TypedCopies&) = delete;
  TypedCopies& operator=(const TypedCopies&) = delete;
  ~TypedCopies();

  // As CopyEngine's; at least one of the two is a view.
  void copy(void* to, const void* from, std::size_t bytes);
  void start(void* to, const void* from, std::size_t bytes, std::uint32_t* done, std::uint32_t value);

  // The device that has the first byte of a view; -1: the host reaches it.
  int device_of(const void* view) const;

  // Whether some of a view's memory is a thread's own: neither a device's nor pinned.
  bool is_pageable(const void* view) const;

 private:
  static constexpr std::size_t piece_bytes = 4 << 20, packed_bytes = 8 << 20;

  // What a device has for this: two streams in turn, for each a piece of pinned memory, and pieces of its own where
  // there are devices out of its reach: one to be filled while one is copied and one emptied.
  struct Lane {
    Lane(const Device& device, bool reaches_all);
    ~Lane();
    Device device;
    std::mutex mutex;
    std::array<Stream, 2> streams;
    std::array<std::byte*, 2> pieces{};
    std::array<std::byte*, 3> packed{};
    std::uint32_t* copied = nullptr;  // pinned: counts the packed pieces that have been copied from here
  };

  // The device that has the first of these bytes; null: the host reaches them.
  Lane* lane_of(const datatype::Side& side);
  bool reaches(const Lane& lane, const datatype::Side& side) const;
  // On the host, or launched on a stream of `lane`, which is null before the first launch; through pinned memory, where
  // need be, after which nothing is under way. All that is launched is on one stream.
  void move(const std::vector<datatype::Transfer>& transfers, Lane*& lane);
  void move_in_pieces(const datatype::Transfer& transfer, Lane* source, Lane* target);
  void move_packed(const datatype::Transfer& transfer, Lane& source, Lane& target);

  device::Copier& copier_;
  std::map<int, std::unique_ptr<Lane>> lanes_;  // by device; none where the devices are emulated
};

}  // namespace dcgn::transport
