// A slot as an end of a measurement, at any scope.
#pragma once

#include "core/bench/p2p.hpp"

#include <dcgn/gpu/comm.hpp>

#include <cstdint>
#include <type_traits>

namespace dcgn::bench {

// Calls work(group, slot) on all threads of each slot's scope; the launch is launch_for(), of so many blocks a slot.
template <ScopeKind Kind, class Work>
DCGN_HOST_DEVICE void for_my_slot(gpu::Context& ctx, gpu::Comm comm, unsigned blocks, const Work& work) {
  const unsigned index = ctx.block_rank() / blocks;
  const gpu::Slot slot = comm.slot(index);
  if constexpr (Kind == ScopeKind::thread) {
    if (ctx.thread_rank() == 0) work(gpu::this_thread(), slot);
  } else if constexpr (Kind == ScopeKind::warp) {
    if (ctx.warp() == 0) work(gpu::this_warp(ctx), slot);
  } else if constexpr (Kind == ScopeKind::block) {
    work(gpu::this_block(ctx), slot);
  } else {
    work(gpu::these_blocks(ctx, slot, index * blocks, blocks), slot);
  }
}

// One of two ranks. The launch gives each block shared memory for the requests of its windows.
template <class Group>
class SlotEnd : public Group {
 public:
  DCGN_HOST_DEVICE SlotEnd(gpu::Context& ctx, const Group& group, gpu::Slot slot)
      : Group(group), ctx_(ctx), slot_(slot), peer_(1 - slot.rank()) {}
  DCGN_HOST_DEVICE bool send(const void* data, std::int64_t bytes) const {
    return slot_.send_bytes(group(), data, bytes, peer_) == Code::ok;
  }
  DCGN_HOST_DEVICE bool recv(void* data, std::int64_t bytes) const {
    return static_cast<bool>(slot_.recv_bytes(group(), data, bytes, peer_));
  }
  DCGN_HOST_DEVICE bool window(const unsigned char* out, int sends, unsigned char* in, int receives,
                               std::int64_t bytes) const {
    int count = 0;
    for (int i = 0; i < receives; ++i) keep(count++, slot_.irecv_bytes(group(), in + i * bytes, bytes, peer_));
    for (int i = 0; i < sends; ++i) keep(count++, slot_.isend_bytes(group(), out + i * bytes, bytes, peer_));
    sync_block();
    const Span<const Request> requests(ctx_.template shared<Request>(), static_cast<std::size_t>(count));
    return slot_.wait_all(group(), requests) == Code::ok;
  }

 private:
  DCGN_HOST_DEVICE const Group& group() const { return *this; }
  // Every thread has the same request: one of each block writes it down.
  DCGN_HOST_DEVICE void keep(int i, const Request& request) const {
    if (ctx_.thread_rank() == 0) ctx_.template shared<Request>()[i] = request;
  }
  // The threads of this scope that share a block's memory.
  DCGN_HOST_DEVICE void sync_block() const {
    if constexpr (std::is_same_v<Group, gpu::BlocksScope>)
      ctx_.sync_block();
    else
      this->sync();
  }

  gpu::Context& ctx_;
  gpu::Slot slot_;
  int peer_;
};

}  // namespace dcgn::bench
