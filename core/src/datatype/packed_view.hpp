// Addresses that stand for the packed bytes of typed buffers. What carries messages of bytes so carries typed ones, in
// pieces or whole, through any of its protocols; only who moves the bytes in the end asks here where they are.
#pragma once

#include <dcgn/pack.hpp>

#include "datatype/layout.hpp"
#include "datatype/move.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn::datatype {

// Typed buffers, one behind the other.
struct Viewed {
  struct Part {
    TypedBuffer buffer;
    std::shared_ptr<const Layout> layout;
    std::int64_t begin;  // of its bytes among all
  };
  std::vector<Part> parts;
  std::int64_t bytes = 0;
};

// Nothing is at its addresses: whoever touches one faults. They are the view's while it lasts.
class PackedView {
 public:
  // What is only sent may be a ConstTypedBuffer's; where there are bytes there is memory. Throws
  // Error(out_of_resources) where there are too many views or too many bytes, or what making a layout throws.
  explicit PackedView(std::vector<TypedBuffer> buffers);
  // Of memory with a layout of which no type is known: its elements fit all.
  PackedView(std::byte* memory, std::shared_ptr<const Layout> layout);
  PackedView(PackedView&& other) noexcept;
  PackedView& operator=(PackedView&& other) noexcept;
  ~PackedView();

  void* data() const { return address_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  explicit PackedView(std::shared_ptr<const Viewed> viewed);

  void* address_ = nullptr;
  std::int64_t bytes_ = 0;
};

// User addresses of no machine have this bit, unless all above are set as well.
inline constexpr std::uintptr_t view_bit = std::uintptr_t{1} << 62;
inline bool is_view(const void* address) {
  return (reinterpret_cast<std::uintptr_t>(address) & std::uintptr_t{3} << 62) == view_bit;
}

// Where packed bytes are: a place in memory, or a view's from `begin` on.
struct PackedPlace {
  std::shared_ptr<const Viewed> viewed;  // null: `memory` is plain
  std::byte* memory = nullptr;
  std::int64_t begin = 0;
};
// Throws Error(null_buffer) where the address is of a view that has gone.
PackedPlace place_of(const void* address);

// The pieces of a move of so many packed bytes, each inside one buffer on either side. Throws Error(mismatch) where
// both are views, of elements that do not fit each other.
std::vector<Transfer> transfers_of(const PackedPlace& to, const PackedPlace& from, std::int64_t bytes);

}  // namespace dcgn::datatype
