#include <dcgn/error.hpp>
#include <dcgn/pack.hpp>

#include "base/checked.hpp"
#include "datatype/host_engine.hpp"
#include "datatype/layout.hpp"
#include "datatype/move.hpp"
#include "datatype/node.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace dcgn {
namespace {

std::string range_of(std::int64_t begin, std::int64_t end) {
  return "bytes " + std::to_string(begin) + ".." + std::to_string(end - 1);
}

void check_memory(const char* call, const void* memory, std::int64_t bytes) {
  if (!memory && bytes > 0)
    throw Error(Code::null_buffer, call, "the buffer is null, expected one of " + std::to_string(bytes) + " bytes");
}

void check_begin(const char* call, std::int64_t begin, std::int64_t bytes) {
  if (begin < 0 || begin > bytes)
    throw Error(Code::invalid_size, call,
                "begin is " + std::to_string(begin) + ", expected 0.." + std::to_string(bytes) + ", what the type has");
}

void check_receivable(const char* call, const TypedBuffer& to) {
  datatype::check_receivable(call, to.type(), to.count());
}

}  // namespace

template <class Byte>
void BasicTypedBuffer<Byte>::check() const {
  if (count_ < 0)
    throw Error(Code::invalid_size, "typed buffer", "count is " + std::to_string(count_) + ", expected 0 or more");
  Checked("typed buffer", Code::invalid_size).multiply(count_, type_.size());
}

template <class Byte>
void BasicTypedBuffer<Byte>::check_inside(std::int64_t elements, std::int64_t element_bytes,
                                          std::int64_t origin) const {
  if (origin < 0 || origin > elements)
    throw Error(Code::invalid_size, "typed buffer",
                "origin is " + std::to_string(origin) + ", expected 0.." + std::to_string(elements) +
                    ", the buffer's elements");
  if (bytes() == 0) return;
  const Checked checked("typed buffer", Code::invalid_size);
  const std::int64_t last = checked.multiply(count_ - 1, type_.extent()), offset = origin * element_bytes;
  const std::int64_t lower = checked.add(type_.true_lower_bound(), std::min<std::int64_t>(0, last));
  const std::int64_t upper =
      checked.add(type_.true_lower_bound() + type_.true_extent(), std::max<std::int64_t>(0, last));
  const std::int64_t begin = checked.add(offset, lower), end = checked.add(offset, upper);
  if (begin < 0 || end > elements * element_bytes)
    throw Error(Code::invalid_size, "typed buffer",
                std::to_string(count_) + " of the type reach over " + range_of(begin, end) + " of a buffer that has " +
                    std::to_string(elements * element_bytes) + " bytes");
}

template class BasicTypedBuffer<std::byte>;
template class BasicTypedBuffer<const std::byte>;

namespace {

// What all forms check; how many bytes there are to move, and where they are to go.
std::int64_t check_pack(const ConstTypedBuffer& from, Span<std::byte> packed, std::int64_t begin) {
  check_begin("pack", begin, from.bytes());
  const std::int64_t bytes = std::min(static_cast<std::int64_t>(packed.size()), from.bytes() - begin);
  check_memory("pack", from.memory(), bytes);
  check_memory("pack", packed.data(), bytes);
  return bytes;
}

std::int64_t check_unpack(Span<const std::byte> packed, const TypedBuffer& to, std::int64_t begin) {
  check_begin("unpack", begin, to.bytes());
  const auto bytes = static_cast<std::int64_t>(packed.size());
  if (bytes > to.bytes() - begin)
    throw Error(Code::truncated, "unpack",
                std::to_string(bytes) + " bytes from byte " + std::to_string(begin) + " on, expected at most " +
                    std::to_string(to.bytes() - begin) + ", which is what the type has left");
  check_memory("unpack", to.memory(), bytes);
  check_memory("unpack", packed.data(), bytes);
  check_receivable("unpack", to);
  return bytes;
}

void check_copy(const ConstTypedBuffer& from, const TypedBuffer& to) {
  if (from.bytes() > to.bytes())
    throw Error(Code::truncated, "copy",
                std::to_string(from.bytes()) + " bytes, expected at most " + std::to_string(to.bytes()) +
                    ", which is what the type to be filled has");
  datatype::check_match("copy", from.type(), from.count(), to.type(), to.count());
  check_memory("copy", from.memory(), from.bytes());
  check_memory("copy", to.memory(), from.bytes());
  check_receivable("copy", to);
}

template <class Byte>
std::shared_ptr<const datatype::Layout> layout_of(const BasicTypedBuffer<Byte>& buffer) {
  return datatype::layout_of(buffer.type(), buffer.count());
}

// Kernels do not write what they read.
std::byte* writable(const std::byte* memory) { return const_cast<std::byte*>(memory); }

}  // namespace

void detail::check_reduce(const Datatype& element, const void* packed, std::int64_t count, const TypedBuffer& to,
                          std::int64_t begin) {
  const std::int64_t all = to.bytes() / element.size();
  datatype::check_all("unpack", element, to.type(), to.count());
  check_begin("unpack", begin, all);
  if (count > all - begin)
    throw Error(Code::truncated, "unpack",
                std::to_string(count) + " elements from element " + std::to_string(begin) + " on, expected at most " +
                    std::to_string(all - begin));
  check_memory("unpack", to.memory(), count * element.size());
  check_memory("unpack", packed, count * element.size());
  check_receivable("unpack", to);
}

std::int64_t pack(const ConstTypedBuffer& from, Span<std::byte> packed, std::int64_t begin) {
  const std::int64_t bytes = check_pack(from, packed, begin);
  datatype::pack_on_host(*layout_of(from), from.memory(), packed.data(), begin, begin + bytes);
  return bytes;
}

void unpack(Span<const std::byte> packed, const TypedBuffer& to, std::int64_t begin) {
  const std::int64_t bytes = check_unpack(packed, to, begin);
  datatype::unpack_on_host(*layout_of(to), to.memory(), packed.data(), begin, begin + bytes);
}

void copy(const ConstTypedBuffer& from, const TypedBuffer& to) {
  check_copy(from, to);
  const auto in = layout_of(from), out = layout_of(to);
  datatype::move_on_host({{in.get(), writable(from.memory()), 0}, {out.get(), to.memory(), 0}, from.bytes()});
}

std::int64_t pack(const Device& device, Stream& stream, const ConstTypedBuffer& from, Span<std::byte> packed,
                  std::int64_t begin) {
  const std::int64_t bytes = check_pack(from, packed, begin);
  const auto layout = layout_of(from);
  datatype::move(device, stream,
                 {{{layout.get(), writable(from.memory()), begin}, {nullptr, packed.data(), 0}, bytes}});
  return bytes;
}

void unpack(const Device& device, Stream& stream, Span<const std::byte> packed, const TypedBuffer& to,
            std::int64_t begin) {
  const std::int64_t bytes = check_unpack(packed, to, begin);
  const auto layout = layout_of(to);
  datatype::move(device, stream, {{{nullptr, writable(packed.data()), 0}, {layout.get(), to.memory(), begin}, bytes}});
}

void copy(const Device& device, Stream& stream, const ConstTypedBuffer& from, const TypedBuffer& to) {
  check_copy(from, to);
  const auto in = layout_of(from), out = layout_of(to);
  datatype::move(device, stream, {{{in.get(), writable(from.memory()), 0}, {out.get(), to.memory(), 0}, from.bytes()}});
}

namespace {

// Where each of several buffers begins among the packed bytes, and at the end all of these. Throws unless `packed` has
// just as many.
template <class Byte>
std::vector<std::int64_t> begins_of(const char* call, const std::vector<BasicTypedBuffer<Byte>>& buffers,
                                    std::size_t packed) {
  const Checked checked(call, Code::invalid_size);
  std::vector<std::int64_t> begins = {0};
  for (const auto& buffer : buffers) begins.push_back(checked.add(begins.back(), buffer.bytes()));
  if (begins.back() != static_cast<std::int64_t>(packed))
    throw Error(Code::invalid_size, call,
                "a packed buffer of " + std::to_string(packed) + " bytes, expected " + std::to_string(begins.back()) +
                    ", which is what " + std::to_string(buffers.size()) + " typed buffers have");
  return begins;
}

}  // namespace

void pack(const Device& device, Stream& stream, const std::vector<ConstTypedBuffer>& from, Span<std::byte> packed) {
  const std::vector<std::int64_t> begins = begins_of("pack", from, packed.size());
  std::vector<std::shared_ptr<const datatype::Layout>> layouts;
  std::vector<datatype::Transfer> transfers;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t bytes = check_pack(
        from[i], packed.subspan(static_cast<std::size_t>(begins[i]), static_cast<std::size_t>(from[i].bytes())), 0);
    layouts.push_back(layout_of(from[i]));
    transfers.push_back(
        {{layouts.back().get(), writable(from[i].memory()), 0}, {nullptr, packed.data() + begins[i], 0}, bytes});
  }
  datatype::move(device, stream, transfers);
}

void unpack(const Device& device, Stream& stream, Span<const std::byte> packed, const std::vector<TypedBuffer>& to) {
  const std::vector<std::int64_t> begins = begins_of("unpack", to, packed.size());
  std::vector<std::shared_ptr<const datatype::Layout>> layouts;
  std::vector<datatype::Transfer> transfers;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto part = packed.subspan(static_cast<std::size_t>(begins[i]), static_cast<std::size_t>(to[i].bytes()));
    const std::int64_t bytes = check_unpack(part, to[i], 0);
    layouts.push_back(layout_of(to[i]));
    transfers.push_back({{nullptr, writable(part.data()), 0}, {layouts.back().get(), to[i].memory(), 0}, bytes});
  }
  datatype::move(device, stream, transfers);
}

}  // namespace dcgn
