#include "core/bench/ddt_units.hpp"

#include "core/bench/ddt_units_kernel.hpp"

#include "datatype/layout.hpp"
#include "datatype/move.hpp"

#include <dcgn/gpu/launch.hpp>

#include <algorithm>

namespace dcgn::bench {

template <class Take>
void UnitEngine::each_unit(Take&& take) const {
  const auto layout = datatype::layout_of(type_, 1);
  std::int64_t packed = 0;
  datatype::for_each_row(*layout, 0, layout->bytes(), [&](std::int64_t displacement, std::int64_t length) {
    for (std::int64_t at = 0; at < length; at += unit_bytes_)
      take(Unit{displacement + at, packed + at, std::min(unit_bytes_, length - at)});
    packed += length;
  });
}

UnitEngine::UnitEngine(const Device& device, const Datatype& type, std::int64_t unit_bytes, bool cached)
    : device_(device), type_(type), unit_bytes_(unit_bytes) {
  if (!cached) {
    for (std::size_t i = 0; i < pieces; ++i)
      ring_.push_back({std::make_unique<PinnedWords>(device, piece_units * sizeof(Unit) / sizeof(std::uint64_t)),
                       DeviceBuffer<Unit>(device, piece_units), Stream(device)});
    return;
  }
  std::vector<Unit> units;
  each_unit([&](const Unit& unit) { units.push_back(unit); });
  cached_ = std::make_unique<DeviceBuffer<Unit>>(device, units.size());
  cached_->upload(units.data());
  ring_.push_back({nullptr, DeviceBuffer<Unit>(device, 0), Stream(device)});
}

void UnitEngine::launch(Stream& stream, const Unit* units, std::size_t count, std::byte* spread, std::byte* packed,
                        bool pack) const {
  constexpr unsigned threads = MoveUnits::max_threads;
  const std::size_t blocks = (count - 1) / (threads / gpu::warp_size) + 1;
  const auto most = std::size_t{8} * static_cast<std::size_t>(device_.properties().multiprocessors);
  device_.launch(stream, {.grid = static_cast<unsigned>(std::min(blocks, most)), .block = threads, .resident = false},
                 MoveUnits{units, static_cast<std::int64_t>(count), reinterpret_cast<unsigned char*>(spread),
                           reinterpret_cast<unsigned char*>(packed), pack});
}

void UnitEngine::move(std::byte* spread, std::byte* packed, bool pack) {
  if (type_.size() == 0) return;
  if (cached_) {
    launch(ring_[0].stream, cached_->data(), cached_->size(), spread, packed, pack);
    ring_[0].stream.synchronize();
    return;
  }
  std::size_t next = 0, filled = 0;
  const auto send = [&] {
    Piece& piece = ring_[next];
    device_.copy(piece.stream, piece.units.data(), piece.host->data(), filled * sizeof(Unit));
    launch(piece.stream, piece.units.data(), filled, spread, packed, pack);
    next = (next + 1) % pieces;
    filled = 0;
  };
  each_unit([&](const Unit& unit) {
    if (filled == 0) ring_[next].stream.synchronize();  // what was here last is done
    reinterpret_cast<Unit*>(ring_[next].host->data())[filled++] = unit;
    if (filled == piece_units) send();
  });
  if (filled) send();
  for (Piece& piece : ring_) piece.stream.synchronize();
}

void UnitEngine::pack(const std::byte* spread, std::byte* packed) {
  move(const_cast<std::byte*>(spread), packed, true);
}
void UnitEngine::unpack(const std::byte* packed, std::byte* spread) {
  move(spread, const_cast<std::byte*>(packed), false);
}

void pack_by_few(const Device& device, Stream& stream, int blocks, const TypedBuffer& from, std::byte* packed) {
  const auto layout = datatype::layout_of(from.type(), from.count());
  datatype::move(device, stream, {{{layout.get(), from.memory(), 0}, {nullptr, packed, 0}, from.bytes()}}, blocks);
}
void unpack_by_few(const Device& device, Stream& stream, int blocks, std::byte* packed, const TypedBuffer& to) {
  const auto layout = datatype::layout_of(to.type(), to.count());
  datatype::move(device, stream, {{{nullptr, packed, 0}, {layout.get(), to.memory(), 0}, to.bytes()}}, blocks);
}

void launch_nothing(const Device& device, Stream& stream) {
  device.launch(stream, {.grid = 1, .block = 32, .resident = false}, DoNothing{});
}

}  // namespace dcgn::bench
