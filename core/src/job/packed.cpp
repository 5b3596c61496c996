#include "job/packed.hpp"

#include <dcgn/error.hpp>

#include "datatype/node.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace dcgn::job {

namespace {

// What is only sent is not written.
TypedBuffer writable(const ConstTypedBuffer& buffer) {
  return {const_cast<std::byte*>(buffer.memory()), buffer.type(), buffer.count()};
}

void check_receivable(const char* call, const TypedBuffer& buffer) {
  datatype::check_receivable(call, buffer.type(), buffer.count());
}

}  // namespace

Packed::Packed(const char* call, const ConstTypedBuffer& buffer) { see(call, {writable(buffer)}); }

Packed::Packed(const char* call, const TypedBuffer& buffer) {
  check_receivable(call, buffer);
  see(call, {buffer});
}

Packed::Packed(const char* call, const std::vector<ConstTypedBuffer>& buffers) {
  std::vector<TypedBuffer> all;
  all.reserve(buffers.size());
  for (const ConstTypedBuffer& buffer : buffers) all.push_back(writable(buffer));
  see(call, std::move(all));
}

Packed::Packed(const char* call, const std::vector<TypedBuffer>& buffers) {
  for (const TypedBuffer& buffer : buffers) check_receivable(call, buffer);
  see(call, buffers);
}

void Packed::see(const char* call, std::vector<TypedBuffer> buffers) {
  for (const TypedBuffer& buffer : buffers)
    if (!buffer.memory() && buffer.bytes() > 0)
      throw Error(Code::null_buffer, call,
                  "the buffer is null, expected one of " + std::to_string(buffer.bytes()) + " bytes");
  if (buffers.size() == 1) buffer_ = buffers.front();
  if (buffers.size() == 1 && buffers.front().type().is_contiguous(buffers.front().count())) {
    const TypedBuffer& buffer = buffers.front();
    bytes_ = buffer.bytes();
    data_ = bytes_ ? buffer.memory() + buffer.type().true_lower_bound() : nullptr;
    return;
  }
  view_.emplace(std::move(buffers));
  bytes_ = view_->bytes();
  data_ = bytes_ ? view_->data() : nullptr;
}

std::uint32_t Packed::elements() const {
  return buffer_ ? datatype::digest_of(buffer_->type(), buffer_->count(), bytes_) : 0;
}

void Packed::check(const char* call, const Status& status) const {
  if (!buffer_ || !status.elements) return;
  const std::uint32_t expected = datatype::digest_of(buffer_->type(), buffer_->count(), std::min(status.bytes, bytes_));
  if (!expected || expected == status.elements) return;
  throw Error(Code::mismatch, call,
              "the message of rank " + std::to_string(status.source) + " with tag " + std::to_string(status.tag) +
                  " has elements of " + datatype::describe_digest(status.elements) + ", expected " +
                  datatype::describe_digest(expected));
}

}  // namespace dcgn::job
