// How a long payload passes between CPU ranks of two processes that share memory, where a device's memory or a view of
// typed buffers is at an end: no thread of either process can copy it from the other's memory.
//
// The sender fills fragments of memory that both processes reach, as many at once as are free, and the receiver empties
// each as soon as it is full: copy engines and kernels of both sides are at transfer at the same time, and pack and
// unpack what has a layout on the way (HPDC 2016, section 4.1). Each fragment has a word, which both change by turns.
#pragma once

#include <dcgn/message/packet.hpp>

#include <cstdint>

namespace dcgn::message {

struct Endpoint;
struct Envelope;
struct Record;

// Those of a rank; implemented by core/src/message/process_fragments.hpp. Called by its calls alone.
class Fragments {
 public:
  enum class Sent {
    yes,
    not_yet,    // all are in use, or the FIFO has no room
    elsewhere,  // the receiver does not reach them, or they have been in use for long: the FIFO is there for all
  };

  Fragments() = default;
  Fragments(const Fragments&) = delete;
  Fragments& operator=(const Fragments&) = delete;
  virtual ~Fragments() = default;

  // Has the next piece of an accepted message put into a fragment, and tells the receiver through the FIFO which one.
  virtual Sent send(Endpoint& me, std::int32_t fifo, Record* r) = 0;
  // A header from this FIFO names a fragment that holds the next piece of what `r` receives, or will.
  virtual void receive(std::int32_t fifo, Record* r, const Header& h) = 0;
  // Whether a sender of this FIFO could use fragments.
  virtual bool reaches(std::int32_t fifo) const noexcept = 0;
  // Sees to one that has become full or empty; false where there is none.
  virtual bool advance(Endpoint& me) = 0;
  // Whether copies of this rank's are under way.
  virtual bool busy() const noexcept = 0;
  // A message of which some fragment has not been emptied yet; null: there is none.
  virtual const Envelope* held() const noexcept = 0;
  // The job is aborted and the caller's buffers will go: waits for those copies, for a few seconds at most.
  virtual void drain() noexcept = 0;
};

}  // namespace dcgn::message
