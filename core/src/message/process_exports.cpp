#include "message/process_exports.hpp"

#include <dcgn/arch/atomic.hpp>

#include <cstring>

namespace dcgn::message {

// Who reads a word of a newer offer sees, by its acquire, that the entry is no more what it looked for.
void ExportTable::put(std::uint32_t ack, const ExportedMemory& memory) {
  Entry& e = entry[place_of(ack)];
  std::uint64_t plain[words];
  std::memcpy(plain, &memory, sizeof plain);
  store_release(e.offer, std::uint64_t{0});
  for (int i = 0; i < words; ++i) store_release(e.word[i], plain[i]);
  store_release(e.offer, std::uint64_t{ack} + 1);
}

void ExportTable::drop(std::uint32_t ack) {
  Entry& e = entry[place_of(ack)];
  if (load_relaxed(e.offer) == std::uint64_t{ack} + 1) store_release(e.offer, std::uint64_t{0});
}

bool ExportTable::find(std::uint32_t ack, ExportedMemory& memory) const {
  const Entry& e = entry[place_of(ack)];
  const std::uint64_t offer = std::uint64_t{ack} + 1;
  if (load_acquire(e.offer) != offer) return false;
  std::uint64_t plain[words];
  for (int i = 0; i < words; ++i) plain[i] = load_acquire(e.word[i]);
  if (load_acquire(e.offer) != offer) return false;
  std::memcpy(&memory, plain, sizeof plain);
  return true;
}

void ProcessExports::tell(std::int32_t fifo, const Record& r) {
  if (!peers_[static_cast<std::size_t>(fifo)].table) return;
  ExportedMemory memory{};
  if (r.flags & Record::on_device && copier_.describe(r.buffer, r.envelope.bytes, memory))
    own_.put(r.ack, memory);
  else
    own_.drop(r.ack);  // whose turns begin again after 65536
}

bool ProcessExports::open(std::int32_t fifo, Record& r) {
  const Peer& peer = peers_[static_cast<std::size_t>(fifo)];
  ExportedMemory memory;
  if (!peer.table || !peer.table->find(r.ack, memory)) return false;
  const int gpu = copier_.gpu_of(r.buffer);
  if (gpu < 0) return false;
  const std::vector<bool>& reached = (*peer.reach)[static_cast<std::size_t>(gpu)];
  if (memory.gpu >= reached.size() || !reached[memory.gpu]) return false;
  const void* const opened = copier_.open(memory, r.envelope.bytes, peer.process, gpu);
  if (!opened) return false;
  r.address = reinterpret_cast<std::uintptr_t>(opened);
  return true;
}

void ProcessExports::close(const Record& r) {
  copier_.close(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(r.address)));
}

}  // namespace dcgn::message
