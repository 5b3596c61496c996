// How a CPU rank reads a long message of a GPU's memory right where its sender, a rank of another process, has it: the
// sender tells which allocation that is and which of its bytes are the message's, and the receiver's process opens the
// allocation, once for all messages from there, and has its GPU move the bytes (HPDC 2016, section 4.1, where "the
// receiver drives"). What cannot be told or opened goes in fragments (core/src/message/engine/fragments.hpp).
#pragma once

#include <cstdint>

namespace dcgn::message {

struct Record;

// Bytes of one allocation of a GPU, as other processes are told of them. Plain words.
struct ExportedMemory {
  static constexpr int most_leaves = 4, most_loops = 6;

  // Rows in loops, or a triangle of them, as datatype::Leaf has them.
  struct Leaf {
    std::int64_t begin, displacement, num_loops;
    std::int64_t counts[most_loops], strides[most_loops];
    std::int64_t bytes_inside;
    std::int64_t triangle[4];  // rows, length, growth, stride; no rows: there is none
  };

  std::uint64_t allocation;  // no other one of that process is called so
  std::uint64_t gpu;         // its number there
  std::uint64_t bytes;       // of the allocation
  std::uint64_t handle[8];   // Device::Exported
  std::int64_t origin;       // what displacements count from, and without leaves the first byte: from the allocation's
  std::uint64_t leaves;      // none: the message's bytes are in a row
  Leaf leaf[most_leaves];
};

// Those of a rank; implemented by core/src/message/process_exports.hpp. Called by its calls alone.
class Exports {
 public:
  Exports() = default;
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;
  virtual ~Exports() = default;

  // Before a send that no thread of the receiver's can read is offered through this fifo: r.ack names it.
  virtual void tell(std::int32_t fifo, const Record& r) = 0;
  // Whether what has been offered through this FIFO, and is received by `r`, can be read where it is: r.address is then
  // where, until close().
  virtual bool open(std::int32_t fifo, Record& r) = 0;
  virtual void close(const Record& r) = 0;
};

}  // namespace dcgn::message
