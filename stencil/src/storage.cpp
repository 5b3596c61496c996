#include "storage.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace dcgn::stencil {

namespace {

constexpr std::size_t line = 128;  // bytes that rows begin at multiples of

std::int64_t rounded_up(std::int64_t count, std::int64_t to) { return (count + to - 1) / to * to; }

std::shared_ptr<std::byte> zeroed_bytes(const std::optional<Device>& device, std::size_t bytes) {
  if (!device) {
    constexpr std::align_val_t alignment{line};
    auto* const room = static_cast<std::byte*>(::operator new(bytes, alignment, std::nothrow));
    if (!room)
      throw Error(
          Code::out_of_resources, "Field",
          std::to_string(bytes) + " bytes for an array of this rank's cells are not to be had in the host's memory");
    std::shared_ptr<std::byte> data(room, [](std::byte* p) { ::operator delete(p, alignment); });
    std::memset(data.get(), 0, bytes);
    return data;
  }
  std::shared_ptr<std::byte> data(static_cast<std::byte*>(device->allocate(bytes)), [d = *device](std::byte* p) {
    try {
      d.free(p);
    } catch (const Error&) {  // a device that has faulted; that was reported where it was met
    }
  });
  device->fill(data.get(), 0, bytes);
  return data;
}

}  // namespace

Memory::Memory(const std::optional<Device>& device, std::size_t bytes) : data_(zeroed_bytes(device, bytes)) {}

Storage::Storage(const Grid& grid, int rank, const std::optional<Device>& device, const Datatype& element)
    : grid_(grid),
      rank_(rank),
      box_(grid.part(rank)),
      device_(device),
      element_(element),
      element_bytes_(element.size()) {}

void Storage::lay_out(const Halo& halo) {
  const auto to_line = static_cast<std::int64_t>(line) / element_bytes_;
  std::int64_t stride = 1;
  cell_0_ = 0;
  for (int d = 0; d < most_dims; ++d) {
    const auto [below, above] = halo.layers[static_cast<std::size_t>(d)];
    const auto own = static_cast<int>(box_.extent(d));
    part_.stride[d] = stride;
    part_.own[d] = own;
    part_.stored_begin[d] = -below;
    part_.stored_end[d] = own + above;
    // Own rows begin at the begin of a line.
    const std::int64_t before = d == 0 ? rounded_up(below, to_line) : below;
    cell_0_ += before * stride;
    stride *= d == 0 ? rounded_up(before + own + above, to_line) : below + own + above;
    for (int upper = 0; upper < 2; ++upper) {
      const Boundary side = d < grid_.dims() ? grid_.side(d, upper) : Boundary::periodic();
      switch (side.kind()) {
        case Boundary::Kind::periodic: part_.beyond[d][upper] = Beyond::wrapped; break;
        case Boundary::Kind::dirichlet: part_.beyond[d][upper] = Beyond::constant; break;
        case Boundary::Kind::neumann: part_.beyond[d][upper] = Beyond::mirrored; break;
      }
      part_.constant[d][upper][0] = side.value();
      part_.constant[d][upper][1] = side.imag();
    }
  }
  elements_ = stride;
}

void Storage::arrange(const Halo& halo, int arrays) {
  std::optional<Datatype> old_type;
  if (!arrays_.empty()) old_type = type(own());
  const std::int64_t old_cell_0 = cell_0_;
  const std::vector<Memory> old = std::exchange(arrays_, {});
  const auto from = static_cast<std::size_t>(std::exchange(current_, 0));
  halos_are_current = false;
  lay_out(halo);
  for (int a = 0; a < arrays; ++a) {
    arrays_.emplace_back(device_, static_cast<std::size_t>(elements_ * element_bytes_));
    if (a > 0 || !old_type) continue;
    const ConstTypedBuffer before(old[from].data() + old_cell_0 * element_bytes_, *old_type);
    if (device_) {
      Stream stream(*device_);
      copy(*device_, stream, before, typed(0, own()));
      stream.synchronize();
    } else {
      copy(before, typed(0, own()));
    }
  }
}

void Storage::release() {
  swap_arrays(0, std::exchange(current_, 0));
  arrays_.erase(arrays_.begin() + 1, arrays_.end());
  tenant = nullptr;
}

const Part& Storage::part() {
  ensure();
  return part_;
}

void* Storage::cell_0(int array) {
  ensure();
  return arrays_[static_cast<std::size_t>(array)].data() + cell_0_ * element_bytes_;
}

Cells Storage::own() const {
  Cells all{};
  for (int d = 0; d < most_dims; ++d) all.end[d] = static_cast<int>(box_.extent(d));
  return all;
}

Datatype Storage::type(const Cells& box) {
  ensure();
  Datatype type = Datatype::contiguous(box.end[0] - box.begin[0], element_);
  for (int d = 1; d < most_dims; ++d)
    type = Datatype::hvector(box.end[d] - box.begin[d], 1, part_.stride[d] * element_bytes_, type);
  return type;
}

std::byte* Storage::first_of(int array, const Cells& box) {
  auto* const at = static_cast<std::byte*>(cell_0(array));
  std::int64_t elements = 0;
  for (int d = 0; d < most_dims; ++d) elements += box.begin[d] * part_.stride[d];
  return at + elements * element_bytes_;
}

void Storage::check_count(const char* call, const void* cells, std::size_t count) const {
  if (static_cast<std::int64_t>(count) != box_.cells())
    throw Error(Code::invalid_size, call,
                std::to_string(count) + " cells for a part of " + std::to_string(box_.cells()) + " (" +
                    to_string(box_, grid_.dims()) + ")");
  if (!cells) throw Error(Code::null_buffer, call, "null pointer with " + std::to_string(count) + " cells");
}

template <class Act>
void Storage::in_pieces(std::size_t bytes, const Act& act) {
  constexpr std::size_t most = std::size_t{8} << 20;
  const std::size_t piece = std::min(bytes, most);
  const std::unique_ptr<void, std::function<void(void*)>> pinned(device_->allocate_host(piece),
                                                                 [this](void* p) { device_->free_host(p); });
  for (std::size_t at = 0; at < bytes; at += piece)
    act(Span<std::byte>(static_cast<std::byte*>(pinned.get()), std::min(piece, bytes - at)), at);
}

void Storage::write(const void* cells, std::size_t count) {
  check_count("Field::write", cells, count);
  ensure();
  halos_are_current = false;
  const auto* const from = static_cast<const std::byte*>(cells);
  const std::size_t bytes = count * static_cast<std::size_t>(element_bytes_);
  const TypedBuffer to = typed(current_, own());
  if (!device_) return unpack(Span<const std::byte>(from, bytes), to);
  Stream stream(*device_);
  in_pieces(bytes, [&](Span<std::byte> piece, std::size_t at) {
    std::memcpy(piece.data(), from + at, piece.size());
    unpack(*device_, stream, Span<const std::byte>(piece), to, static_cast<std::int64_t>(at));
    stream.synchronize();
  });
}

void Storage::read(void* cells, std::size_t count) {
  check_count("Field::read", cells, count);
  ensure();
  auto* const to = static_cast<std::byte*>(cells);
  const std::size_t bytes = count * static_cast<std::size_t>(element_bytes_);
  const ConstTypedBuffer from = typed(current_, own());
  if (!device_) {
    pack(from, Span<std::byte>(to, bytes));
    return;
  }
  Stream stream(*device_);
  in_pieces(bytes, [&](Span<std::byte> piece, std::size_t at) {
    pack(*device_, stream, from, piece, static_cast<std::int64_t>(at));
    stream.synchronize();
    std::memcpy(to + at, piece.data(), piece.size());
  });
}

}  // namespace dcgn::stencil
