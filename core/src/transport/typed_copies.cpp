#include "typed_copies.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/error.hpp>

#include "datatype/host_engine.hpp"
#include "datatype/packed_view.hpp"
#include "device/copier.hpp"
#include "device/quietly.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::transport {

using device::quietly;

namespace {

// Of the first byte that a side has.
const std::byte* first_byte(const datatype::Side& side) {
  if (!side.layout) return side.memory + side.begin;
  const datatype::Leaf& leaf = side.layout->leaf_of(side.begin);
  return side.memory + leaf.displacement + (leaf.table ? leaf.table->displacements.front() : 0);
}

datatype::Transfer part_of(const datatype::Transfer& transfer, std::int64_t at, std::int64_t bytes) {
  datatype::Transfer part = transfer;
  part.from.begin += at;
  part.to.begin += at;
  part.bytes = bytes;
  return part;
}

}  // namespace

TypedCopies::Lane::Lane(const Device& of, bool reaches_all) : device(of), streams{Stream(of), Stream(of)} {
  for (std::byte*& piece : pieces) piece = static_cast<std::byte*>(device.allocate_host(piece_bytes));
  if (reaches_all) return;
  for (std::byte*& piece : packed) piece = static_cast<std::byte*>(device.allocate(packed_bytes));
  copied = static_cast<std::uint32_t*>(device.allocate_host(sizeof *copied));
}

TypedCopies::Lane::~Lane() {
  for (std::byte* piece : pieces) quietly([&] { device.free_host(piece); });
  for (std::byte* piece : packed) quietly([&] { device.free(piece); });
  quietly([&] { device.free_host(copied); });
}

TypedCopies::TypedCopies(const std::vector<Device>& devices, bool p2p, device::Copier& copier) : copier_(copier) {
  for (const Device& device : devices) {
    if (device.kind() != DeviceKind::cuda) continue;
    const bool reaches_all = std::all_of(devices.begin(), devices.end(), [&](const Device& other) {
      return other.index() == device.index() || (p2p && device.can_reach(other) && other.can_reach(device));
    });
    lanes_.try_emplace(device.index(), std::make_unique<Lane>(device, reaches_all));
  }
}

TypedCopies::~TypedCopies() = default;

TypedCopies::Lane* TypedCopies::lane_of(const datatype::Side& side) {
  if (lanes_.empty()) return nullptr;
  const int device = copier_.device_of(first_byte(side));
  if (device < 0) return nullptr;
  const auto found = lanes_.find(device);
  if (found == lanes_.end())
    throw Error(Code::device, "copy",
                "a typed buffer in the memory of device " + std::to_string(device) + ", which is not the job's");
  return found->second.get();
}

bool TypedCopies::reaches(const Lane& lane, const datatype::Side& side) const {
  return copier_.kernels_can_read(first_byte(side), lane.device.index());
}

void TypedCopies::move(const std::vector<datatype::Transfer>& transfers, Lane*& lane) {
  schedule_point();
  std::vector<datatype::Transfer> launched;
  for (const datatype::Transfer& transfer : transfers) {
    Lane *const source = lane_of(transfer.from), *const target = lane_of(transfer.to);
    if (!source && !target) {
      datatype::move_on_host(transfer);
      continue;
    }
    // By the device of the side with gaps: these are better dealt with near the memory.
    Lane* by = transfer.from.layout && source ? source : target ? target : source;
    const datatype::Side& other = by == source ? transfer.to : transfer.from;
    if (!reaches(*by, other) || (lane && by != lane)) {
      move_in_pieces(transfer, source, target);
      continue;
    }
    lane = by;
    launched.push_back(transfer);
  }
  if (launched.empty()) return;
  const std::scoped_lock lock(lane->mutex);
  datatype::move(lane->device, lane->streams[0], launched);
}

void TypedCopies::move_in_pieces(const datatype::Transfer& transfer, Lane* source, Lane* target) {
  Lane& owner = source ? *source : *target;
  std::unique_lock<std::mutex> own(owner.mutex, std::defer_lock), other;
  if (source && target && source != target) {
    other = std::unique_lock<std::mutex>(target->mutex, std::defer_lock);
    std::lock(own, other);
  } else {
    own.lock();
  }
  if (source && target && source != target && source->copied && target->copied)
    return move_packed(transfer, *source, *target);
  // One end of a piece, by whoever reaches it; what is launched for piece k is on stream k % 2.
  const auto act = [](Lane* lane, int k, const datatype::Transfer& part) {
    if (lane)
      datatype::move(lane->device, lane->streams[static_cast<std::size_t>(k % 2)], {part});
    else
      datatype::move_on_host(part);
  };
  const auto wait = [](Lane* lane, int k) {
    if (lane) lane->streams[static_cast<std::size_t>(k % 2)].synchronize();
  };
  constexpr auto most = static_cast<std::int64_t>(piece_bytes);
  const int pieces = static_cast<int>((transfer.bytes - 1) / most + 1);
  const auto piece_of = [&](int k) { return part_of(transfer, k * most, std::min(most, transfer.bytes - k * most)); };
  const auto take = [&](int k) {
    datatype::Transfer part = piece_of(k);
    part.to = {nullptr, owner.pieces[static_cast<std::size_t>(k % 2)], 0};
    act(source, k, part);
  };
  const auto give = [&](int k) {
    datatype::Transfer part = piece_of(k);
    part.from = {nullptr, owner.pieces[static_cast<std::size_t>(k % 2)], 0};
    act(target, k, part);
  };
  for (int k = 0; k < pieces; ++k) {
    if (k >= 2) wait(target, k);  // what was in this piece of memory has been taken
    take(k);
    if (k == 0) continue;
    wait(source, k - 1);
    give(k - 1);
  }
  wait(source, pieces - 1);
  give(pieces - 1);
  if (pieces > 1) wait(target, pieces - 2);
  wait(target, pieces - 1);
}

// The copy of a piece waits behind that of the one before, so that the link is never idle, while the piece after it is
// packed and the one before unpacked. Both lanes are the caller's.
void TypedCopies::move_packed(const datatype::Transfer& transfer, Lane& source, Lane& target) {
  constexpr auto most = static_cast<std::int64_t>(packed_bytes);
  const int pieces = static_cast<int>((transfer.bytes - 1) / most + 1);
  const auto bytes_of = [&](int k) { return std::min(most, transfer.bytes - k * most); };
  const auto turn_of = [](const auto& of, int k) { return static_cast<std::size_t>(k) % of.size(); };
  const auto unpack = [&](int k) {
    const auto here = [&] { return static_cast<int>(load_acquire(*source.copied)) > k; };
    for (unsigned looks = 1; !here(); ++looks) {
      relax();
      if (looks % 65536 == 0 && !copier_.busy() && !here())  // which throws where a device has failed
        throw Error(Code::device, "copy", "a piece of a typed message has not arrived, although nothing is under way");
    }
    datatype::Transfer part = part_of(transfer, k * most, bytes_of(k));
    part.from = {nullptr, target.packed[turn_of(target.packed, k)], 0};
    datatype::move(target.device, target.streams[turn_of(target.streams, k)], {part});
  };
  store_release(*source.copied, 0u);
  constexpr int ahead = 2;  // of the pieces that arrive, so many are on their way behind
  for (int k = 0; k < pieces; ++k) {
    std::byte *const filled = source.packed[turn_of(source.packed, k)], *const emptied =
                                                                            target.packed[turn_of(target.packed, k)];
    datatype::Transfer part = part_of(transfer, k * most, bytes_of(k));
    part.to = {nullptr, filled, 0};
    Stream& packing = source.streams[turn_of(source.streams, k)];
    datatype::move(source.device, packing, {part});
    packing.synchronize();
    // What was in the piece of memory has been unpacked.
    if (k > ahead) target.streams[turn_of(target.streams, k - ahead - 1)].synchronize();
    copier_.start(emptied, filled, static_cast<std::size_t>(bytes_of(k)), source.copied,
                  static_cast<std::uint32_t>(k) + 1);
    if (k >= ahead) unpack(k - ahead);
  }
  for (int k = std::max(pieces - ahead, 0); k < pieces; ++k) unpack(k);
  for (Stream& stream : target.streams) stream.synchronize();
}

void TypedCopies::copy(void* to, const void* from, std::size_t bytes) {
  const auto target = datatype::place_of(to), source = datatype::place_of(from);
  Lane* lane = nullptr;
  move(datatype::transfers_of(target, source, static_cast<std::int64_t>(bytes)), lane);
  if (lane) lane->streams[0].synchronize();
}

void TypedCopies::start(void* to, const void* from, std::size_t bytes, std::uint32_t* done, std::uint32_t value) {
  const auto target = datatype::place_of(to), source = datatype::place_of(from);
  Lane* lane = nullptr;
  move(datatype::transfers_of(target, source, static_cast<std::int64_t>(bytes)), lane);
  if (lane)
    copier_.signal_behind(lane->streams[0], lane->device.index(), done, value);
  else
    copier_.start(nullptr, nullptr, 0, done, value);
}

int TypedCopies::device_of(const void* view) const {
  const datatype::PackedPlace place = datatype::place_of(view);
  for (const datatype::Viewed::Part& part : place.viewed->parts)
    if (const std::int64_t at = place.begin - part.begin; at < part.buffer.bytes())
      return copier_.device_of(first_byte({part.layout.get(), part.buffer.memory(), at}));
  return -1;
}

bool TypedCopies::is_pageable(const void* view) const {
  const datatype::PackedPlace place = datatype::place_of(view);
  return std::any_of(place.viewed->parts.begin(), place.viewed->parts.end(), [&](const datatype::Viewed::Part& part) {
    return copier_.is_pageable(first_byte({part.layout.get(), part.buffer.memory(), 0}));
  });
}

}  // namespace dcgn::transport
