// Transfer: bytes that the threads of a call move together, once its leader has decided what goes where.
#pragma once

#include <dcgn/message/copy_bytes.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/payload.hpp>

#include <cstdint>

namespace dcgn::message {

// What the leader does when the bytes have moved.
enum class After : std::uint32_t {
  nothing,
  sent,        // an eager send is complete
  piece_sent,  // a piece of an accepted offer is out
  received,    // an eager message is in the user's buffer
  stored,      // an unexpected eager message is in the arena
  piece_received,
  pulled,    // acknowledge, complete
  placed,    // a send is in the receiver's buffer: tell it
  unstored,  // a stored message is in the user's buffer; its storage can go
  buffered,  // bsend's copy is made; queue the send
};

enum class Action : std::uint32_t { nothing, push, take, copy };

// What all threads need to know of it.
struct Move {
  Action action = Action::nothing;
  std::uint32_t packets = 0;   // push, take
  std::uint32_t position = 0;  // the first of them
  std::int32_t process = 0;    // copy: whose memory `from` is of, as InFifo has it
  unsigned char* to = nullptr;
  const unsigned char* from = nullptr;
  std::uint64_t bytes = 0;  // to move; a take discards what its packets hold beyond
  Ring ring{};              // push, take
};

// And what its leader does.
struct Transfer : Move {
  After after = After::nothing;
  Record* record = nullptr;
  Record* stored = nullptr;  // the unexpected record that `record` consumes
  InFifo* fifo = nullptr;
};

// Who makes a copy: all threads of the scope, but of many blocks not the first one, whose leader sees to what comes
// next meanwhile.
class Executors {
 public:
  template <class Scope>
  DCGN_HOST_DEVICE explicit Executors(const Scope& scope) : rank_(scope.rank()), size_(scope.size()) {
    if constexpr (plans_ahead<Scope>)
      if (spare_leader(scope)) {
        const std::uint64_t apart = scope.threads_of_leader();
        takes_part_ = rank_ >= apart;
        rank_ -= apart;
        size_ -= apart;
      }
  }
  template <class Scope>
  DCGN_HOST_DEVICE static bool spare_leader(const Scope& scope) {
    if constexpr (plans_ahead<Scope>) return scope.size() >= many_blocks * scope.threads_of_leader();
    return false;
  }
  DCGN_HOST_DEVICE bool takes_part() const { return takes_part_; }
  DCGN_HOST_DEVICE std::uint64_t rank() const { return rank_; }
  DCGN_HOST_DEVICE std::uint64_t size() const { return size_; }

 private:
  static constexpr unsigned many_blocks = 8;
  std::uint64_t rank_, size_;
  bool takes_part_ = true;
};

// Moves the bytes of a host thread's call whose buffer is in a GPU's memory (src/message/staging.cpp).
void execute_staged(Endpoint& me, const Transfer& transfer);
// Copies what another process has at an address, by the system (src/message/process_memory.cpp). Throws Error(aborted)
// where it has died, Error(null_buffer) where it has nothing there.
void copy_from_process(std::int32_t process, unsigned char* to, const unsigned char* from, std::uint64_t bytes);

// Moves the bytes. Says whether it may have failed: it has, if the job is aborted.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool execute(const Scope& scope, Endpoint& me, const Move& w,
                                                [[maybe_unused]] const Transfer& leaders) {
#if !defined(__CUDA_ARCH__)
  if (me.copies.host && leaders.record && leaders.record->flags & Record::on_device) {
    execute_staged(me, leaders);
    return true;
  }
#endif
  switch (w.action) {
    case Action::nothing: break;
    case Action::copy:
#if !defined(__CUDA_ARCH__)
      if (w.process) {
        if (scope.leader()) copy_from_process(w.process, w.to, w.from, w.bytes);
        break;
      }
#endif
      if (const Executors executors(scope); executors.takes_part()) copy_bytes(executors, w.to, w.from, w.bytes);
      break;
    case Action::push: push_packets(scope, Payload(w.ring, w.position, w.packets, w.bytes), w.from); break;
    case Action::take: take_packets(scope, *me.phase, Payload(w.ring, w.position, w.packets, w.bytes), w.to); break;
  }
  return w.action == Action::take;
}

}  // namespace dcgn::message
