#include "datatype/packed_view.hpp"

#include <dcgn/error.hpp>

#include "base/checked.hpp"
#include "datatype/node.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace dcgn::datatype {
namespace {

// An address: the bit of views, the view's number, and a place among its packed bytes.
constexpr int place_bits = 44;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << place_bits, most_views = std::uint64_t{1} << 17;

// All views of the process.
class Views {
 public:
  std::uint64_t add(std::shared_ptr<const Viewed> viewed) {
    const std::lock_guard lock(mutex_);
    if (views_.size() == most_views)
      throw Error(Code::out_of_resources, "datatype",
                  std::to_string(most_views) + " messages with types are under way, expected fewer");
    while (!views_.try_emplace(next_ % most_views, viewed).second) ++next_;
    return next_++ % most_views;
  }
  void remove(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    views_.erase(number);
  }
  std::shared_ptr<const Viewed> find(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = views_.find(number);
    return found == views_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Viewed>> views_;
};

Views& views() {
  static Views all;
  return all;
}

std::uint64_t number_of(const void* address) {
  return (reinterpret_cast<std::uintptr_t>(address) & (view_bit - 1)) >> place_bits;
}

// The part that has the byte `at`.
const Viewed::Part& part_of(const Viewed& viewed, std::int64_t at) {
  const auto next = std::upper_bound(viewed.parts.begin(), viewed.parts.end(), at,
                                     [](std::int64_t a, const Viewed::Part& part) { return a < part.begin; });
  return next[-1];
}

std::shared_ptr<const Viewed> view_of(std::vector<TypedBuffer> buffers) {
  const Checked checked("datatype", Code::invalid_size);
  auto viewed = std::make_shared<Viewed>();
  for (TypedBuffer& buffer : buffers) {
    if (buffer.bytes() == 0) continue;
    auto layout = layout_of(buffer.type(), buffer.count());
    const std::int64_t begin = viewed->bytes;
    viewed->bytes = checked.add(begin, buffer.bytes());
    viewed->parts.push_back({std::move(buffer), std::move(layout), begin});
  }
  return viewed;
}

std::shared_ptr<const Viewed> view_of(std::byte* memory, std::shared_ptr<const Layout> layout) {
  const std::int64_t bytes = layout->bytes();
  auto viewed = std::make_shared<Viewed>();
  viewed->parts.push_back(
      {TypedBuffer(memory, Datatype::contiguous(bytes, Datatype::of<std::byte>())), std::move(layout), 0});
  viewed->bytes = bytes;
  return viewed;
}

}  // namespace

PackedView::PackedView(std::vector<TypedBuffer> buffers) : PackedView(view_of(std::move(buffers))) {}

PackedView::PackedView(std::byte* memory, std::shared_ptr<const Layout> layout)
    : PackedView(view_of(memory, std::move(layout))) {}

PackedView::PackedView(std::shared_ptr<const Viewed> viewed) {
  if (static_cast<std::uint64_t>(viewed->bytes) >= most_bytes)
    throw Error(Code::out_of_resources, "datatype",
                "a message of " + std::to_string(viewed->bytes) + " bytes with types, expected fewer than " +
                    std::to_string(most_bytes));
  bytes_ = viewed->bytes;
  address_ = reinterpret_cast<void*>(view_bit | views().add(std::move(viewed)) << place_bits);
}

PackedView::PackedView(PackedView&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}

PackedView& PackedView::operator=(PackedView&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PackedView::~PackedView() {
  if (address_) views().remove(number_of(address_));
}

PackedPlace place_of(const void* address) {
  if (!is_view(address)) return {nullptr, const_cast<std::byte*>(static_cast<const std::byte*>(address)), 0};
  PackedPlace place;
  place.viewed = views().find(number_of(address));
  if (!place.viewed)
    throw Error(Code::null_buffer, "copy", "the typed buffer of a message has gone, expected to be there to its end");
  place.begin = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) & (most_bytes - 1));
  return place;
}

std::vector<Transfer> transfers_of(const PackedPlace& to, const PackedPlace& from, std::int64_t bytes) {
  struct Found {
    Side side;
    std::int64_t left;
    const TypedBuffer* begins;  // where this is its first byte
  };
  const auto find = [&](const PackedPlace& place, std::int64_t at) -> Found {
    if (!place.viewed) return {{nullptr, place.memory + at, 0}, bytes - at, nullptr};
    at += place.begin;
    const Viewed::Part& part = part_of(*place.viewed, at);
    at -= part.begin;
    return {{part.layout.get(), part.buffer.memory(), at}, part.buffer.bytes() - at, at == 0 ? &part.buffer : nullptr};
  };
  std::vector<Transfer> transfers;
  for (std::int64_t at = 0; at < bytes;) {
    const Found source = find(from, at), target = find(to, at);
    if (source.begins && target.begins)
      check_beginnings("recv", source.begins->type(), source.begins->count(), target.begins->type(),
                       target.begins->count());
    transfers.push_back({source.side, target.side, std::min({bytes - at, source.left, target.left})});
    at += transfers.back().bytes;
  }
  return transfers;
}

}  // namespace dcgn::datatype
