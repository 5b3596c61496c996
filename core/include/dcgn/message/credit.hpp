// Credit and doorbells: what the two sides of a lane tell each other beside its cells.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/message/endpoint.hpp>

#include <cstdint>

namespace dcgn::message {

DCGN_HOST_DEVICE inline std::uint32_t load_credit(const Credit& credit) {
#if defined(__CUDA_ARCH__)
  return load_relaxed(credit.taken);  // as an answer is: see load_answer()
#else
  return load_acquire(credit.taken);
#endif
}

// Whether the lane has room for so many cells; reads the credit again only where it must.
DCGN_HOST_DEVICE inline bool has_room(OutLane& lane, std::uint32_t cells) {
  if (lane.free_cells() >= cells) return true;
  lane.taken = load_credit(*lane.credit);
  return lane.free_cells() >= cells;
}

// So many cells have been written: tells a receiver with many lanes which one to look at. The cells may come later
// than this.
DCGN_HOST_DEVICE inline void put(OutLane& lane, std::uint32_t cells) {
  lane.advance(cells);
  if (lane.bell) store_relaxed(*lane.bell, lane.settled);
}

// Tells the sender how far its cells have been taken.
DCGN_HOST_DEVICE inline void store_credit(Credit& credit, std::uint32_t taken) {
#if defined(__CUDA_ARCH__)
  store_relaxed(credit.taken, taken);  // as an answer is: see store_answer()
#else
  store_release(credit.taken, taken);
#endif
}

DCGN_HOST_DEVICE inline void return_credit(InLane& lane) {
  lane.returned = lane.head();
  store_credit(*lane.credit, lane.returned);
  lane.advance(0);
}

}  // namespace dcgn::message
