// Messages with datatypes from inside a kernel: the part of gpu::Slot whose calls take a handle of
// dcgn/gpu/datatype.hpp and an address, from which the type's displacements count, in place of a buffer.
//
//   me.send(block, column, matrix, peer);   // the matrix's column, which may become a row at the other end
//   me.recv(block, column, matrix, peer);
//
// A message is its packed bytes: the other side may have another type with as many of the same elements, or none. All
// threads of the scope make a call with the same arguments. What any of them wrote before is sent, and all of them see
// what was received when it returns. A type with gaps needs space for its packed bytes, that of buffered sends
// (Config::buffered_bytes, 1 MiB); if they do not fit, the error is out_of_resources: use gpu::pack() into memory of
// your own and send_bytes(). Other errors are those of send() and recv(). Elements are not compared, because only the
// host knows a Datatype's signature.
#pragma once

#include <dcgn/gpu/datatype.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/calls.hpp>
#include <dcgn/status.hpp>

#include <cstddef>
#include <cstdint>

namespace dcgn::message {

// So many bytes of the rank's space for buffered sends, by the leader of a call with so many threads, and back.
struct Room {
  Code code = Code::ok;
  bool taken = false;
  std::byte* memory = nullptr;
};
DCGN_HOST_DEVICE Room take_room(Endpoint& me, Call call, std::uint32_t threads, std::int64_t bytes, int peer, int tag);
DCGN_HOST_DEVICE Code give_room(Endpoint& me, Call call, std::uint32_t threads, std::byte* memory);

// The packed bytes of a typed buffer while a call has them: where they are, if they lie one after the other, else in
// the rank's space for buffered sends.
template <class Scope>
class TypedRoom {
 public:
  DCGN_HOST_DEVICE TypedRoom(const Scope& scope, Endpoint& me, Call call, const gpu::Datatype& type, void* memory,
                             int peer, int tag)
      : scope_(scope), me_(me), call_(call), bytes_(type.bytes()), own_(!type.is_contiguous()) {
    taken_.memory = static_cast<std::byte*>(memory);
    if (!own_) {
      if (memory) taken_.memory += type.displacement();
    } else if (memory && bytes_ && !scope.broken()) {  // else the call itself says what is wrong
      taken_ = scope.lead([&] { return take_room(me, call, scope.size(), bytes_, peer, tag); });
    }
  }
  TypedRoom(const TypedRoom&) = delete;
  TypedRoom& operator=(const TypedRoom&) = delete;

  DCGN_HOST_DEVICE Code code() const { return taken_.code; }
  DCGN_HOST_DEVICE std::byte* data() const { return taken_.memory; }
  DCGN_HOST_DEVICE bool is_own() const { return own_ && taken_.taken; }
  // By all threads, before the object goes.
  DCGN_HOST_DEVICE void give_back() const {
    if (is_own()) scope_.lead([&] { return give_room(me_, call_, scope_.size(), taken_.memory); });
  }

 private:
  const Scope& scope_;
  Endpoint& me_;
  Call call_;
  std::int64_t bytes_;
  bool own_;
  Room taken_;
};

}  // namespace dcgn::message

namespace dcgn::gpu {

// `Slot` derives from this and has send_bytes() and its kin, and an endpoint().
template <class Slot>
class TypedMessages {
  using Call = message::Call;

 public:
  // As Slot::send() of a buffer: returns when the memory may be used again.
  template <class Scope>
  DCGN_HOST_DEVICE Code send(const Scope& scope, const Datatype& type, const void* memory, int to, int tag = 0) const {
    const message::TypedRoom<Scope> room(scope, endpoint(), Call::send, type, const_cast<void*>(memory), to, tag);
    if (room.code() != Code::ok) return room.code();
    if (room.is_own()) pack(scope, type, memory, room.data(), type.bytes());
    const Code code = self().send_bytes(scope, room.data(), type.bytes(), to, tag);
    room.give_back();
    return code;
  }

  // A message that is shorter fills the beginning of the type; of one that is longer, truncated, all of it is filled.
  template <class Scope>
  DCGN_HOST_DEVICE Status recv(const Scope& scope, const Datatype& type, void* memory, int from, int tag = 0) const {
    const message::TypedRoom<Scope> room(scope, endpoint(), Call::recv, type, memory, from, tag);
    if (room.code() != Code::ok) return failed(room.code());
    const Status status = self().recv_bytes(scope, room.data(), type.bytes(), from, tag);
    unpack_received(scope, type, room, status, memory);
    return status;
  }

  // A send and a receive at once. What is sent is packed before anything is received: the two may overlap.
  template <class Scope>
  DCGN_HOST_DEVICE Status sendrecv(const Scope& scope, const Datatype& out_type, const void* out, int to, int send_tag,
                                   const Datatype& in_type, void* in, int from, int recv_tag) const {
    const message::TypedRoom<Scope> sent(scope, endpoint(), Call::sendrecv, out_type, const_cast<void*>(out), to,
                                         send_tag);
    if (sent.code() != Code::ok) return failed(sent.code());
    const message::TypedRoom<Scope> received(scope, endpoint(), Call::sendrecv, in_type, in, from, recv_tag);
    if (received.code() != Code::ok) {
      sent.give_back();
      return failed(received.code());
    }
    if (sent.is_own()) pack(scope, out_type, out, sent.data(), out_type.bytes());
    const Status status = self().sendrecv_bytes(scope, sent.data(), out_type.bytes(), to, send_tag, received.data(),
                                                in_type.bytes(), from, recv_tag);
    unpack_received(scope, in_type, received, status, in);
    sent.give_back();
    return status;
  }

 private:
  template <class Scope>
  DCGN_HOST_DEVICE static void unpack_received(const Scope& scope, const Datatype& type,
                                               const message::TypedRoom<Scope>& room, const Status& status,
                                               void* memory) {
    if (room.is_own() && (status.code == Code::ok || status.code == Code::truncated))
      unpack(scope, type, room.data(), status.bytes < type.bytes() ? status.bytes : type.bytes(), memory);
    room.give_back();
  }
  DCGN_HOST_DEVICE static Status failed(Code code) {
    Status status;
    status.code = code;
    return status;
  }
  DCGN_HOST_DEVICE const Slot& self() const { return static_cast<const Slot&>(*this); }
  DCGN_HOST_DEVICE message::Endpoint& endpoint() const { return self().endpoint(); }
};

}  // namespace dcgn::gpu
