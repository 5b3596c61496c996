// Emulated GPUs share the process's memory, so pages are kept account of and need not move. Parts wait for each other
// on the host.
#include "vgpu/src/emulated_binary.hpp"
#include "vgpu/src/machine.hpp"

#include <chrono>

namespace dcgn::virtual_gpu {

namespace {

using Clock = std::chrono::steady_clock;

class EmulatedRange final : public Range {
 public:
  EmulatedRange(Device device, std::size_t bytes) : memory_(device, bytes) {}
  void* address() const override { return memory_.data(); }
  void move(const PageMap&, const PageMap&) override {}

 private:
  DeviceBuffer<std::byte> memory_;
};

class EmulatedParts final : public Parts {
 public:
  using Parts::Parts;

  void gather() override {
    counting_failures([&] {
      for (std::size_t part = 0; part < streams_.size(); ++part)
        if (news_[part] != News::none) streams_[part].synchronize();
    });
    news_.assign(news_.size(), News::none);
  }
  void order() override { gather(); }
  dcgn::Stream& use_beside(int part) override { return use(part); }  // markers are of streams that are idle
};

// Passed when its stream has nothing left to do, which may be later than it should be. Streams are idle when events are
// recorded, since gather() has waited for them.
class EmulatedMarker final : public Marker {
 public:
  void record(dcgn::Stream& stream) override {
    at_ = Clock::now();
    stream_ = stream.idle() ? nullptr : &stream;
  }
  void hold(dcgn::Stream&) const override { synchronize(); }
  bool done() const override { return !stream_ || stream_->idle(); }
  void synchronize() const override {
    if (stream_) stream_->synchronize();
  }
  double seconds_since(const Marker& earlier) const override {
    return std::chrono::duration<double>(at_ - static_cast<const EmulatedMarker&>(earlier).at_).count();
  }

 private:
  Clock::time_point at_ = Clock::now();
  dcgn::Stream* stream_ = nullptr;  // null: passed
};

class EmulatedMachine final : public Machine {
 public:
  using Machine::Machine;

  std::size_t page_bytes() const override { return 4096; }
  std::unique_ptr<Range> reserve(const PageMap& pages) override {
    return std::make_unique<EmulatedRange>(devices().front(), pages.bytes() + page_bytes());
  }
  std::unique_ptr<Parts> make_parts(void* first) override { return std::make_unique<EmulatedParts>(devices(), first); }
  std::unique_ptr<Marker> make_marker(int) override { return std::make_unique<EmulatedMarker>(); }
  std::unique_ptr<Binary> load(const std::string& name, const std::string& ptx, const std::vector<std::string>& kernels,
                               bool first_part_alone, const AssemblerOptions&) override {
    return make_emulated_binary(first_part_alone ? std::vector<Device>{devices().front()} : devices(), name, ptx,
                                kernels);
  }
  MemoryKind memory_at(std::uintptr_t) const override { return MemoryKind::shared; }  // all threads of one process
};

}  // namespace

std::unique_ptr<Machine> make_emulated_machine(const std::vector<Device>& devices) {
  return std::make_unique<EmulatedMachine>(devices);
}

}  // namespace dcgn::virtual_gpu
