// The fragments through which a process's CPU ranks send to those of processes that share memory with it.
#pragma once

#include <dcgn/message/copy_queue.hpp>
#include <dcgn/message/endpoint.hpp>
#include "message/engine/fragments.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace dcgn::message {

// Some fragments side by side, in memory of one kind. The word of each is 4 t when it is free and has been used t
// times, then 4 t + 1 when a sender has taken it, 4 t + 2 when it is full, and 4 (t + 1) when it is empty again. A word
// is changed by whoever has the fragment, or by a copy engine on its behalf.
struct FragmentPool {
  unsigned char* memory = nullptr;
  std::uint32_t* words = nullptr;
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;  // of each
};

class ProcessFragments final : public Fragments {
 public:
  // What a process has, as another one sees it. Fragments are numbered through its pools.
  struct Peer {
    // [0]: in memory of the host; [1 + h]: in that of GPU h, as GPU g here reaches it: gpus[g][h].
    FragmentPool host;
    std::vector<std::vector<FragmentPool>> gpus;
    bool gpus_reach = false;  // whether all of these do, both ways
  };

  // `own`: the pool of the host, then one for each GPU of this process; `peers[FIFO]`, null where the FIFO is no way
  // to a CPU rank that has and sees fragments. All must outlive this.
  ProcessFragments(HostCopier& copier, const std::vector<FragmentPool>& own, std::vector<const Peer*> peers)
      : copier_(copier), own_(own), peers_(std::move(peers)) {}

  Sent send(Endpoint& me, std::int32_t fifo, Record* r) override;
  void receive(std::int32_t fifo, Record* r, const Header& h) override;
  bool reaches(std::int32_t fifo) const noexcept override { return peers_[static_cast<std::size_t>(fifo)]; }
  bool advance(Endpoint& me) override;
  bool busy() const noexcept override { return busy_; }
  const Envelope* held() const noexcept override { return outgoing_.empty() ? nullptr : &outgoing_.front().envelope; }
  void drain() noexcept override;

 private:
  struct Outgoing {
    Record* record;  // null once it is full
    Envelope envelope;
    std::uint32_t* word;
    std::uint32_t full;  // what the word becomes
  };
  struct Incoming {
    Record* record;
    std::uint32_t* word;
    std::uint32_t full;
    unsigned char* to;
    const unsigned char* from;
    std::uint64_t bytes;
    bool started;
  };

  bool advance_outgoing(Endpoint& me);
  bool advance_incoming(Endpoint& me);
  void count_busy();

  HostCopier& copier_;
  const std::vector<FragmentPool>& own_;
  const std::vector<const Peer*> peers_;
  std::vector<Outgoing> outgoing_;  // oldest first
  std::vector<Incoming> incoming_;
  std::uint32_t next_ = 0;  // where to look for a free one
  std::uint64_t starved_since_ = 0;
  bool busy_ = false;
};

}  // namespace dcgn::message
