// What the CPU ranks of processes that share memory tell each other of their GPUs' memory.
#pragma once

#include <dcgn/message/copy_queue.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/exports.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace dcgn::message {

// Of a rank's latest offers, in memory that the others see: where their bytes are. An offer has the entry of its
// acknowledgement word's number; another one may write over it, and the earlier is not found any more.
struct ExportTable {
  static constexpr std::uint32_t size = 16;
  static constexpr int words = sizeof(ExportedMemory) / sizeof(std::uint64_t);

  struct Entry {
    std::uint64_t offer;  // the acknowledgement, plus 1; 0: none, or it is being written
    std::uint64_t word[words];
  };
  Entry entry[size];

  // By one thread.
  void put(std::uint32_t ack, const ExportedMemory& memory);
  void drop(std::uint32_t ack);
  // By any: false where the offer is not there, or goes meanwhile.
  bool find(std::uint32_t ack, ExportedMemory& memory) const;

 private:
  static std::uint32_t place_of(std::uint32_t ack) { return ack_index(ack) % size; }
};

class ProcessExports final : public Exports {
 public:
  // Ranks of another process.
  struct Peer {
    const ExportTable* table = nullptr;  // null: no CPU rank of a process that shares memory
    int process = 0;
    const std::vector<std::vector<bool>>* reach = nullptr;  // [g][h]: whether GPU g here reaches GPU h there
  };

  // `peers[FIFO]`; all must outlive this.
  ProcessExports(HostCopier& copier, ExportTable& own, std::vector<Peer> peers)
      : copier_(copier), own_(own), peers_(std::move(peers)) {}

  void tell(std::int32_t fifo, const Record& r) override;
  bool open(std::int32_t fifo, Record& r) override;
  void close(const Record& r) override;

 private:
  HostCopier& copier_;
  ExportTable& own_;
  const std::vector<Peer> peers_;
};

}  // namespace dcgn::message
