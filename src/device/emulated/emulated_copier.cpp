#include "emulated_copier.hpp"

#include "schedule.hpp"

#include <dcgn/error.hpp>
#include <dcgn/gpu/atomic.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace dcgn::device {

namespace {

class EmulatedCopier final : public Copier {
 public:
  EmulatedCopier(const std::vector<Device>& devices, bool p2p) : devices_(devices), p2p_(p2p) {}

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
    std::memmove(to, from, bytes);
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

 private:
  const std::vector<Device> devices_;
  const bool p2p_;
};

}  // namespace

std::unique_ptr<Copier> make_emulated_copier(const std::vector<Device>& devices, bool p2p) {
  return std::make_unique<EmulatedCopier>(devices, p2p);
}

}  // namespace dcgn::device
