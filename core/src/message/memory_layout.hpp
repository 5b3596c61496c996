// Where the pieces of the ranks' memory lie, and what processes tell each other of that.
#pragma once

#include "message/memory.hpp"
#include "message/process_exports.hpp"
#include "message/process_fragments.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn::message {

// Sizes of what a rank owns. A CPU rank's memory is taken from the system only as it is touched, so it can be generous.
struct Capacity {
  std::uint64_t arrivals, buffer;
  std::uint32_t records, acks;
};
Capacity capacity_of(const Config& config, bool cpu);
std::uint64_t events_of(const Config& config);  // that a rank's log has room for
std::uint64_t communicator_bytes(const Config& config, std::size_t ranks);
inline constexpr std::uint32_t gateway_acks = 16384;

// Where the pieces lie, in the order in which lay_out() takes them.
struct RankMemory::Layout {
  struct Rank {
    Endpoint* endpoint;
    OutFifo* out;
    InFifo* in;
    Record* records;
    std::uint32_t* free_acks;
    std::uint64_t *near_acks, *far_acks;
    void *arrivals, *buffer;
    unsigned char *scratch, *tables;
    Turns* turns;
    std::uint8_t* doorbells;
    std::int32_t* mute;
    std::uint32_t* copies_done;
    Lapse* lapses;
    Request* requests;
    Inbox* inboxes;
    TraceEvent* events;
  };
  struct Pair {
    Packet* ring = nullptr;
    Credit* credit = nullptr;
    std::uint32_t shift = 0;
  };
  std::vector<Rank> ranks;  // by rank and gateway, those here
  // [receiver * ends() + sender]: the ring where the receiver is here, the credit where the sender is.
  std::vector<Pair> pairs;
  std::vector<Packet*> inboxes;  // [receiver * ranks + sender], of slots here; null elsewhere
};

// What a rank has to know of a peer's memory.
struct RankMemory::Peer {
  Packet* ring;  // of the FIFO to it
  std::uint32_t shift;
  Credit* credit;  // of the FIFO from it
  std::uint64_t *near_acks, *far_acks;
  std::uint8_t* doorbells;
  Record* records;
};

// The same, for other processes: which region it lies in, and how far from its beginning.
struct RankMemory::Where {
  static constexpr std::int32_t nowhere = -2;
  std::int32_t space;  // host_space for pinned_, else the number of the GPU there
  std::uint32_t shift;
  std::uint64_t offset;
};

// What a process tells those that share its memory, by ranks of its own and all those that share.
struct RankMemory::Shared {
  struct Rank {
    Where near_acks, far_acks, doorbells;
  };
  struct Pair {
    Where ring, credit;  // from that rank to one here; credit for what one here sends to that rank
    std::uint64_t sent;  // messages to that rank, once the sender has ended
  };
  struct Pool {  // of fragments
    Where memory, words;
    std::uint64_t count, bytes;
  };
  std::uint64_t ended, ranks, pairs;  // offsets
  std::uint64_t pools, pool_count;    // the host's, then those of the GPUs; 0 where there are none
  std::uint64_t exports;              // an ExportTable for each rank; 0 where there are none

  template <class T>
  T* at(std::uint64_t from_here) {
    return reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(this) + from_here);
  }
  std::uint64_t offset(const void* piece) const {
    return static_cast<std::uint64_t>(static_cast<const unsigned char*>(piece) -
                                      reinterpret_cast<const unsigned char*>(this));
  }
};

// Fragments of this process, and those of the others as its CPU ranks see them.
struct RankMemory::FragmentPools {
  std::vector<FragmentPool> own;
  Shared::Pool* told = nullptr;
  std::vector<ProcessFragments::Peer> peers;  // by process, from the first one that shares memory
  std::vector<std::unique_ptr<ProcessFragments>> of_ranks;
};

// What its CPU ranks tell of their GPUs' memory, where it has GPUs, and as they see the others'.
struct RankMemory::ExportTables {
  ExportTable* own = nullptr;                         // by rank
  std::vector<std::vector<std::vector<bool>>> reach;  // by process, as ProcessExports::Peer has it
  std::vector<std::unique_ptr<ProcessExports>> of_ranks;
};

}  // namespace dcgn::message
