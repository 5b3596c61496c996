#include "cuda_copier.hpp"

#include "cuda_copy_stream.hpp"
#include "cuda_driver.hpp"
#include "cuda_memory.hpp"
#include "cuda_staging.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace dcgn::device {

namespace {

// Copies of one kind, on two streams in turn: a short one need not always wait for the long one before it.
class Streams {
 public:
  Streams(int device, CopyTimes* times) : streams_{CopyStream(device, times), CopyStream(device, times)} {}
  CopyStream& next() { return streams_[turn_.fetch_add(1, std::memory_order_relaxed) % streams_.size()]; }
  void synchronize() {
    for (CopyStream& stream : streams_) stream.synchronize();
  }
  bool busy() const {
    return std::any_of(streams_.begin(), streams_.end(), [](const CopyStream& stream) { return stream.busy(); });
  }

 private:
  std::array<CopyStream, 2> streams_;
  std::atomic<unsigned> turn_{0};
};

// What a device has for its copies. Streams that wait for other devices do nothing else, so that only what must wait
// does.
struct Engine {
  Engine(int device, const std::vector<Device>& devices, CopyTimes* times)
      : events(device),
        to_host(device, times),
        from_host(device, times),
        to_device(device, times),
        staged_in(device, times),
        behind_kernels(device) {
    for (const Device& other : devices)
      if (other.index() != device) signals.try_emplace(other.index(), device);
  }

  void synchronize() {
    for (Streams* streams : {&to_host, &from_host, &to_device}) streams->synchronize();
    staged_in.synchronize();
    behind_kernels.synchronize();
    for (auto& [behind, stream] : signals) stream.synchronize();
  }
  bool busy() const {
    return to_host.busy() || from_host.busy() || to_device.busy() || staged_in.busy() || behind_kernels.busy() ||
           std::any_of(signals.begin(), signals.end(), [](const auto& signal) { return signal.second.busy(); });
  }

  EventPool events;
  Streams to_host, from_host, to_device;
  CopyStream staged_in, behind_kernels;
  std::map<int, CopyStream> signals;  // by the device behind whose copies they are
};

// Memory of each kind, for a device's first copies. Kept to the end: to free it would wait for kernels of others.
struct Scratch {
  static constexpr std::size_t bytes = 4096;

  explicit Scratch(Device device) : on_device(device, bytes), pinned(device, bytes), pageable(bytes) {}

  DeviceBuffer<std::byte> on_device;
  PinnedMemory pinned;
  std::vector<std::byte> pageable;
  std::uint32_t word = 0;
};

class CudaCopier final : public Copier {
 public:
  CudaCopier(const std::vector<Device>& devices, bool p2p, std::size_t kept) : devices_(devices) {
    if (kept)
      for (const Device& d : devices) times_.try_emplace(d.index(), d.index(), kept);
    for (const Device& from : devices) {
      std::vector<Device> out_of_reach;
      for (const Device& to : devices)
        if (p2p ? from.can_reach(to) : from.index() == to.index())
          reached_[from.index()].push_back(to.index());
        else
          out_of_reach.push_back(to);
      if (!out_of_reach.empty()) staging_.try_emplace(from.index(), from, out_of_reach, times_of(from.index()));
      engines_.try_emplace(from.index(), from.index(), devices, times_of(from.index()));
    }
    warm_up();
    for (auto& [device, times] : times_) times.begin();
  }

  bool is_device_memory(const void* memory) override {
    const RelaxedCapture relaxed;
    return locate(memory).on_device();
  }

  bool allocation_of(const void* memory, Allocation& found) override {
    const RelaxedCapture relaxed;
    const MemoryPlace place = locate(memory);
    if (!place.on_device() || place.adopted) return false;
    const CurrentDevice current(place.device, "copy");
    const auto address = reinterpret_cast<CUdeviceptr>(memory);
    int capable = 0;
    CUdeviceptr begin = 0;
    unsigned long long id = 0;
    check_driver(driver().pointer_attribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address), "copy",
                 "cuPointerGetAttribute", place.device);
    if (!capable) return false;
    check_driver(driver().pointer_attribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address), "copy",
                 "cuPointerGetAttribute", place.device);
    check_driver(driver().address_range(&begin, &found.bytes, address), "copy", "cuMemGetAddressRange", place.device);
    found.begin = reinterpret_cast<std::byte*>(begin);
    found.id = id;
    found.device = place.device;
    return true;
  }

  void adopt(const void* memory, std::size_t bytes, int device) override {
    const std::unique_lock lock(adopted_mutex_);
    adopted_.push_back({static_cast<const std::byte*>(memory), bytes, device});
  }

  void enter() override {
    check_cuda(cudaSetDevice(engines_.begin()->first), "enter", "cudaSetDevice", engines_.begin()->first);
  }

  bool is_pageable(const void* memory) override {
    const RelaxedCapture relaxed;
    return locate(memory).kind == MemoryKind::pageable;
  }

  bool kernels_can_read(const void* memory, int device) override {
    const RelaxedCapture relaxed;
    const CurrentDevice current(device, "copy");
    const MemoryPlace place = locate(memory);
    switch (place.kind) {
      case MemoryKind::pageable: return false;
      case MemoryKind::pinned: return place.mapped;
      case MemoryKind::managed: return true;
      case MemoryKind::device: return place.device == device || reaches(device, place.device);
    }
    return false;
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    const RelaxedCapture relaxed;
    const MemoryPlace target = locate(to), source = locate(from);
    if (!target.on_device() && !source.on_device()) {
      std::memcpy(to, from, bytes);
      return;
    }
    CopyStream& stream = enqueue(to, target, from, source, bytes);
    const EventPool::Lease arrived(engine(stream.device()).events);
    stream.record(*arrived);
    arrived->synchronize();
  }

  void start(void* to, const void* from, std::size_t bytes, std::uint32_t* done, std::uint32_t value) override {
    const RelaxedCapture relaxed;
    const MemoryPlace word = locate(done);
    MemoryPlace target, source;
    if (bytes) {
      target = locate(to);
      source = locate(from);
    }
    if (target.on_device() || source.on_device()) {
      signal(enqueue(to, target, from, source, bytes), done, word, value);
      return;
    }
    if (bytes) std::memcpy(to, from, bytes);
    if (word.on_device())
      engine(word.device).from_host.next().write(done, value);
    else
      store_release(*done, value);
  }

  int device_of(const void* memory) override {
    const RelaxedCapture relaxed;
    const MemoryPlace place = locate(memory);
    return place.on_device() ? place.device : -1;
  }

  void signal_behind(const Stream& stream, int device, std::uint32_t* done, std::uint32_t value) override {
    const RelaxedCapture relaxed;
    Engine& own = engine(device);
    const EventPool::Lease reached(own.events);
    const CurrentDevice current(device, "copy");
    check_cuda(cudaEventRecord(reached->get(), static_cast<cudaStream_t>(stream.native())), "copy", "cudaEventRecord",
               device);
    own.behind_kernels.wait(*reached);
    signal(own.behind_kernels, done, locate(done), value);
  }

  bool busy() override {
    const RelaxedCapture relaxed;
    return std::any_of(engines_.begin(), engines_.end(), [](const auto& engine) { return engine.second.busy(); });
  }

  CopyRecords take_records() override {
    const RelaxedCapture relaxed;
    CopyRecords records;
    for (auto& [device, times] : times_) times.take(records);
    return records;
  }

 private:
  struct Adopted {
    const std::byte* memory;
    std::size_t bytes;
    int device;
  };

  MemoryPlace locate(const void* memory) const {
    const std::shared_lock lock(adopted_mutex_);
    for (const Adopted& a : adopted_)
      if (static_cast<std::size_t>(static_cast<const std::byte*>(memory) - a.memory) < a.bytes)
        return {MemoryKind::device, a.device, false, true};
    return place_of(memory);
  }

  Engine& engine(int device) {
    const auto found = engines_.find(device);
    if (found == engines_.end()) {
      std::string expected;
      for (const Device& d : devices_) expected += (expected.empty() ? "" : ", ") + std::to_string(d.index());
      throw Error(Code::device, "copy", "memory of device " + std::to_string(device) + ", expected of " + expected);
    }
    return found->second;
  }

  CopyTimes* times_of(int device) {
    const auto found = times_.find(device);
    return found == times_.end() ? nullptr : &found->second;
  }

  bool reaches(int from, int to) const {
    const auto found = reached_.find(from);
    return found != reached_.end() && std::find(found->second.begin(), found->second.end(), to) != found->second.end();
  }

  // Starts a copy of which at least one end is on a device, and returns the stream behind which the bytes have arrived.
  CopyStream& enqueue(void* to, const MemoryPlace& target, const void* from, const MemoryPlace& source,
                      std::size_t bytes) {
    if (target.on_device() && source.on_device() && target.device == source.device && !source.adopted) {
      CopyStream& stream = engine(source.device).to_device.next();
      stream.copy_within(to, from, bytes);
      return stream;
    }
    if (target.on_device() && source.on_device() && !reaches(source.device, target.device)) {
      engine(source.device);  // throws where it is none of ours
      CopyStream& stream = engine(target.device).staged_in;
      staging_.at(source.device).enqueue(to, from, bytes, stream);
      return stream;
    }
    // Between two devices the target's engine fetches: the word that tells of it is there too, as a rule, and a stream
    // that waits for one of another device does so for some 10 us.
    if (target.on_device() && source.on_device()) engine(source.device);  // throws where it is none of ours
    const auto start = [&](Streams& streams, CopyRecord::Way way) -> CopyStream& {
      CopyStream& stream = streams.next();
      stream.copy(to, from, bytes, way);
      return stream;
    };
    if (!source.on_device()) return start(engine(target.device).from_host, CopyRecord::Way::from_host);
    if (!target.on_device()) return start(engine(source.device).to_host, CopyRecord::Way::to_host);
    return start(engine(target.device).to_device, CopyRecord::Way::from_device);
  }

  // Writes the word when what the stream has been given is done. A word on another device is written from there.
  void signal(CopyStream& stream, std::uint32_t* done, const MemoryPlace& word, std::uint32_t value) {
    if (word.on_device() && word.device != stream.device()) {
      const EventPool::Lease arrived(engine(stream.device()).events);
      CopyStream& there = engine(word.device).signals.at(stream.device());
      stream.record(*arrived);
      there.wait(*arrived);
      there.write(done, value);
    } else if (word.on_device() || (word.kind == MemoryKind::pinned && word.mapped)) {
      stream.write(done, value);
    } else {
      stream.write_on_host(done, value);
    }
  }

  // Everything once on each stream, so that what the driver makes at first use is made before kernels run that have no
  // end.
  void warm_up() {
    constexpr std::size_t half = Scratch::bytes / 2;
    for (const Device& d : devices_) scratch_.emplace_back(d);
    for (int turn = 0; turn < 2; ++turn)
      for (Scratch& mine : scratch_) {
        std::byte* const on_device = mine.on_device.data();
        for (std::byte* host : {mine.pageable.data(), mine.pinned.data()}) {
          copy(on_device, host, half);
          copy(host, on_device, half);
        }
        for (Scratch& other : scratch_) {
          auto* word = reinterpret_cast<std::uint32_t*>(other.on_device.data());
          start(other.on_device.data() + half, on_device, half, word, 1);
        }
        start(on_device, mine.pageable.data(), half, reinterpret_cast<std::uint32_t*>(mine.pinned.data()), 1);
        start(on_device, mine.pageable.data(), half, &mine.word, 1);
      }
    for (auto& [device, own] : engines_) own.synchronize();
  }

  const std::vector<Device> devices_;
  mutable std::shared_mutex adopted_mutex_;
  std::vector<Adopted> adopted_;
  std::map<int, std::vector<int>> reached_;  // by the device that reaches; itself included
  std::list<Scratch> scratch_;
  std::map<int, CopyTimes> times_;  // where records are kept
  // Destroyed after the engines, whose streams read its buffers until they are done.
  std::map<int, Staging> staging_;  // by source, where there is somebody out of its reach
  std::map<int, Engine> engines_;
};

}  // namespace

std::unique_ptr<Copier> make_cuda_copier(const std::vector<Device>& devices, bool p2p, std::size_t kept) {
  return std::make_unique<CudaCopier>(devices, p2p, kept);
}

}  // namespace dcgn::device
