#include "emulated_copier.hpp"

#include "schedule.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/clock.hpp>
#include <dcgn/error.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace dcgn::device {

namespace {

class EmulatedCopier final : public Copier {
 public:
  EmulatedCopier(const std::vector<Device>& devices, bool p2p, std::size_t kept)
      : devices_(devices), p2p_(p2p), kept_(kept) {}

  bool is_device_memory(const void* memory) override {
    return std::any_of(devices_.begin(), devices_.end(), [&](const Device& d) { return d.owns(memory); });
  }

  bool is_pageable(const void* memory) override { return !is_device_memory(memory); }

  bool kernels_can_read(const void* memory, int device) override {
    for (const Device& d : devices_)
      if (d.owns(memory)) return p2p_ || d.index() == device;
    return true;
  }

  void enter() override {}

  bool allocation_of(const void*, Allocation&) override { return false; }

  void adopt(const void*, std::size_t, int) override {}  // it is the host's

  void copy(void* to, const void* from, std::size_t bytes) override {
    schedule_point();
    const std::uint64_t begin = kept_ ? now_ns() : 0;
    std::memmove(to, from, bytes);
    if (kept_) keep(owner(to), owner(from), bytes, begin);
  }

  void start(void* to, const void* from, std::size_t bytes, std::uint32_t* done, std::uint32_t value) override {
    const auto act = [=, this] {
      if (bytes) copy(to, from, bytes);
      store_release(*done, value);
    };
    Schedule* const schedule = Schedule::current();
    schedule ? schedule->perform(act) : act();
  }

  int device_of(const void*) override { return -1; }

  void signal_behind(const Stream&, int device, std::uint32_t*, std::uint32_t) override {
    throw Error(Code::unsupported, "copy", "kernels of emulated device " + std::to_string(device) + " for a copy");
  }

  bool busy() override { return false; }  // every copy is done when its call returns

  CopyRecords take_records() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(records_, {});
  }

 private:
  int owner(const void* memory) const {
    for (const Device& d : devices_)
      if (d.owns(memory)) return d.index();
    return -1;
  }

  void keep(int to, int from, std::size_t bytes, std::uint64_t begin) {
    if (to < 0 && from < 0) return;  // no engine has seen it
    const std::lock_guard lock(mutex_);
    const CopyRecord::Way way = to < 0       ? CopyRecord::Way::to_host
                                : from < 0   ? CopyRecord::Way::from_host
                                : to == from ? CopyRecord::Way::within
                                             : CopyRecord::Way::from_device;
    const int device = to < 0 ? from : to;
    if (counts_[device]++ < kept_)
      records_.kept.push_back({device, way, bytes, begin, now_ns()});
    else
      ++records_.dropped;
  }

  const std::vector<Device> devices_;
  const bool p2p_;
  const std::size_t kept_;
  std::mutex mutex_;
  CopyRecords records_;
  std::map<int, std::size_t> counts_;  // by device
};

}  // namespace

std::unique_ptr<Copier> make_emulated_copier(const std::vector<Device>& devices, bool p2p, std::size_t kept) {
  return std::make_unique<EmulatedCopier>(devices, p2p, kept);
}

}  // namespace dcgn::device
