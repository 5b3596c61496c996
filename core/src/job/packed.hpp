// Typed buffers as calls of bytes take them.
#pragma once

#include <dcgn/call.hpp>
#include <dcgn/pack.hpp>
#include <dcgn/status.hpp>

#include "datatype/packed_view.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace dcgn::job {

// An address and a number of bytes: where the bytes are, if one run is all there is; else of a view, which lasts as
// long as this.
class Packed {
 public:
  // To be sent. Throws Error(null_buffer) of `call` where there is no memory, and what PackedView does.
  Packed(const char* call, const ConstTypedBuffer& buffer);
  // To be filled. Throws Error(invalid_type) of `call` where some byte is there twice.
  Packed(const char* call, const TypedBuffer& buffer);
  // One behind the other.
  Packed(const char* call, const std::vector<ConstTypedBuffer>& buffers);
  Packed(const char* call, const std::vector<TypedBuffer>& buffers);

  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  message::ConstBufferRef sent() const { return {data_, bytes_, elements()}; }
  message::BufferRef room() const { return {data_, bytes_, elements()}; }
  bool is_view() const { return view_.has_value(); }
  // The elements of what is sent, as datatype::digest_of() has them; of several buffers 0.
  std::uint32_t elements() const;
  // Of what is received: whether `status` is of a message with other elements, which nobody wants checked where either
  // side has mere bytes. Throws Error(mismatch) of `call`.
  bool is_checked() const { return buffer_ && elements() != 0; }
  void check(const char* call, const Status& status) const;

 private:
  void see(const char* call, std::vector<TypedBuffer> buffers);

  std::optional<TypedBuffer> buffer_;  // where it is one
  std::optional<datatype::PackedView> view_;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// Those of requests that nobody has waited for yet, of one rank.
class PackedRequests {
 public:
  void keep(const Request& request, Packed packed) { all_.emplace(key(request), std::move(packed)); }
  bool empty() const { return all_.empty(); }
  // That request is over. What was kept with it, for a receive to be checked; nothing where none was.
  std::optional<Packed> take(const Request& request) {
    const auto found = all_.find(key(request));
    if (found == all_.end()) return std::nullopt;
    std::optional<Packed> packed(std::move(found->second));
    all_.erase(found);
    return packed;
  }

 private:
  static std::pair<std::uint32_t, std::uint32_t> key(const Request& request) {
    return {request.index(), request.generation()};
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, Packed> all_;
};

}  // namespace dcgn::job
