// Virtual GPUs of CUDA devices: memory at one address by the driver's virtual memory, streams kept in order by events.
#include "device/cuda/cuda_copy_stream.hpp"
#include "device/cuda/cuda_driver.hpp"
#include "device/cuda/cuda_pages.hpp"
#include "vgpu/src/cuda/cuda_binary.hpp"
#include "vgpu/src/cuda/cuda_capture.hpp"
#include "vgpu/src/machine.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

using device::check_driver, device::CurrentContext, device::driver;

std::vector<int> indices_of(const std::vector<Device>& devices) {
  std::vector<int> indices;
  for (const Device& device : devices)
    if (std::find(indices.begin(), indices.end(), device.index()) == indices.end()) indices.push_back(device.index());
  return indices;
}

class CudaRange final : public Range {
 public:
  CudaRange(const std::vector<Device>& devices, const bool& awake, const PageMap& pages,
            const device::PhysicalMemory& guard)
      : devices_(devices), awake_(awake), range_(pages.bytes(), gap_of(pages)), memory_(create(pages)) {
    range_.map(memory_, users());
    range_.guard(guard, users());
  }

  void* address() const override { return range_.address(); }

  // The pages' new memory is filled at an address of its own before it gets theirs.
  void move(const PageMap& from, const PageMap& to) override {
    std::vector<device::PhysicalMemory> fresh = create(to);
    {
      device::AddressRange beside(to.bytes());
      beside.map(fresh, users());
      for (std::size_t at = 0; at < to.bytes();) {
        const Extent &old = from.extent_of(at), &now = to.extent_of(at);
        const std::size_t end = std::min(old.offset + old.bytes, now.offset + now.bytes);
        devices_[static_cast<std::size_t>(now.part)].copy(static_cast<std::byte*>(beside.address()) + at,
                                                          static_cast<const std::byte*>(address()) + at, end - at);
        at = end;
      }
    }
    range_.unmap();
    memory_ = std::move(fresh);
    range_.map(memory_, users());
  }
  void share() override { range_.share(users()); }
  bool is_guarded() const override { return range_.is_guarded(); }

 private:
  std::vector<int> users() const { return awake_ ? indices_of(devices_) : std::vector<int>{devices_.front().index()}; }
  // An array may be given by the address that its element 0 would have, outside of it: that is to be no other buffer.
  static std::size_t gap_of(const PageMap& pages) {
    constexpr std::size_t least = std::size_t{1} << 30, times = 16;
    const std::size_t page = pages.page_bytes();
    return (std::max(least, times * pages.bytes()) + page - 1) / page * page;
  }
  std::vector<device::PhysicalMemory> create(const PageMap& pages) const {
    std::vector<device::PhysicalMemory> memory;
    for (const Extent& extent : pages.extents())
      memory.emplace_back(devices_[static_cast<std::size_t>(extent.part)].index(), extent.bytes);
    return memory;
  }

  const std::vector<Device>& devices_;
  const bool& awake_;  // the machine is
  device::AddressRange range_;
  std::vector<device::PhysicalMemory> memory_;
};

class CudaParts final : public Parts {
 public:
  CudaParts(const std::vector<Device>& devices, void* first)
      : Parts(devices, first), latest_(devices.size()), waited_for_(devices.size()) {
    for (const Device& device : devices) events_.emplace_back(device.index());
  }

  // Part 0's stream is where the parts meet: as many calls as there are parts, not that many squared.
  void gather() override {
    for (std::size_t part = 1; part < streams_.size(); ++part) {
      if (news_[part] == News::none) continue;
      wait(0, record(part));
      news_[part] = News::none;
      news_[0] = News::there;
    }
  }

  void order() override {
    if (streams_.size() == 2) return order_two();
    gather();
    if (news_[0] == News::none) return;
    if (streams_.size() > 1) {
      const CUevent event = record(0);
      for (std::size_t part = 1; part < streams_.size(); ++part) wait(part, event);
    }
    news_[0] = News::none;
  }

  // Each part waits for each other one: more calls than by way of part 0, but its own thread makes them, and what it
  // waits for was mostly recorded by the threads of the launch before.
  void begin_together() override {
    for (std::size_t part = 0; part < streams_.size(); ++part)
      waited_for_[part] = news_[part] == News::none ? nullptr : record(part);
    news_.assign(news_.size(), News::none);
  }
  void order_part(int part) override {
    const auto own = static_cast<std::size_t>(part);
    for (std::size_t other = 0; other < streams_.size(); ++other)
      if (other != own && waited_for_[other]) wait(own, waited_for_[other]);
  }
  void end_part(int part) override {
    if (news_[static_cast<std::size_t>(part)] == News::there) record(static_cast<std::size_t>(part));
  }

  // The part that was given work last is waited for first: then others have mostly ended, and to look costs less than
  // to wait.
  void synchronize_streams() override {
    bool looks = false;
    for (std::size_t part = streams_.size(); part-- > 0;) {
      if (part != 0 && worked_[part] == 0) continue;
      if (!std::exchange(looks, true) || !streams_[part].idle()) streams_[part].synchronize();
    }
  }

 private:
  // Each waits for the other itself, which takes 2 us of both; one after the other, by way of part 0, 10 us.
  void order_two() {
    begin_together();
    order_part(0);
    order_part(1);
  }

  CUstream stream(std::size_t part) const { return static_cast<CUstream>(streams_[part].native()); }

  // The event behind all that the part was given. Two in turn: while threads still have their parts wait for one, its
  // own part's thread may record the next.
  CUevent record(std::size_t part) {
    if (news_[part] != News::recorded) {
      latest_[part] ^= 1;
      check_driver(driver().event_record(events_[part].pair[latest_[part]].get(), stream(part)), "launch",
                   "cuEventRecord", static_cast<int>(part));
      news_[part] = News::recorded;
    }
    return events_[part].pair[latest_[part]].get();
  }
  void wait(std::size_t part, CUevent event) {
    check_driver(driver().stream_wait(stream(part), event, 0), "launch", "cuStreamWaitEvent", static_cast<int>(part));
  }

  struct Events {
    explicit Events(int device) : pair{device::CudaEvent(device), device::CudaEvent(device)} {}
    device::CudaEvent pair[2];
  };
  std::deque<Events> events_;
  std::vector<unsigned char> latest_;
  std::vector<CUevent> waited_for_;  // by begin_together()
};

class CudaMarker final : public Marker {
 public:
  CudaMarker(int device, CUcontext context) : device_(device) {
    const CurrentContext current(context);
    check_driver(driver().event_create(&event_, CU_EVENT_DEFAULT), "Event", "cuEventCreate", device);
  }
  ~CudaMarker() override {
    // At process end the driver may be gone already; its events then are, too.
    static_cast<void>(driver().event_destroy(event_));
  }

  void record(dcgn::Stream& stream) override { record_native(stream.native()); }
  void record_native(void* stream) override {
    check_driver(driver().event_record(event_, static_cast<CUstream>(stream)), "record", "cuEventRecord", device_);
  }
  void hold(dcgn::Stream& stream) const override {
    check_driver(driver().stream_wait(static_cast<CUstream>(stream.native()), event_, 0), "wait", "cuStreamWaitEvent",
                 device_);
  }
  bool done() const override {
    const CUresult state = driver().event_query(event_);
    if (state == CUDA_ERROR_NOT_READY) return false;
    check_driver(state, "done", "cuEventQuery", device_, Code::kernel_failed);
    return true;
  }
  void synchronize() const override {
    check_driver(driver().event_synchronize(event_), "synchronize", "cuEventSynchronize", device_, Code::kernel_failed);
  }
  double seconds_since(const Marker& earlier) const override {
    float milliseconds = 0;
    check_driver(driver().event_elapsed(&milliseconds, static_cast<const CudaMarker&>(earlier).event_, event_),
                 "seconds_since", "cuEventElapsedTime", device_);
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  const int device_;
  CUevent event_ = nullptr;
};

class CudaMachine final : public Machine {
 public:
  CudaMachine(const std::vector<Device>& devices, bool asleep)
      : Machine(devices), page_bytes_(device::page_bytes_of(indices_of(devices))), contexts_(devices.size()) {
    contexts_.front() = device::context_of(devices.front().index());
    if (!asleep) CudaMachine::wake();
  }

  void wake() override {
    if (awake_) return;
    // Variables of modules are reached as ordinary memory is.
    for (const Device& from : devices())
      for (const Device& to : devices())
        if (!from.can_reach(to))
          throw Error(Code::unsupported, "VirtualGpu",
                      "device " + std::to_string(from.index()) + " cannot reach the memory of device " +
                          std::to_string(to.index()) + ", expected devices with peer access to each other");
    for (std::size_t part = 0; part < contexts_.size(); ++part)
      contexts_[part] = device::context_of(devices()[part].index());
    awake_ = true;
  }
  bool awake() const override { return awake_; }

  // Two launches by one thread cost less than to have another one make the second.
  bool gains_by_threads() const override { return parts() > 2; }
  std::size_t page_bytes() const override { return page_bytes_; }
  std::unique_ptr<Range> reserve(const PageMap& pages) override {
    // Of what is written there nothing is ever read that a program could rely on, so one page serves all.
    if (!guard_) guard_.emplace(devices().front().index(), page_bytes_);
    return std::make_unique<CudaRange>(devices(), awake_, pages, *guard_);
  }
  std::unique_ptr<Parts> make_parts(void* first) override { return std::make_unique<CudaParts>(devices(), first); }
  std::unique_ptr<Marker> make_marker(int part) override {
    const auto p = static_cast<std::size_t>(part);
    return std::make_unique<CudaMarker>(devices()[p].index(), contexts_[p]);
  }
  std::unique_ptr<Captured> capture(Parts& streams, const std::function<void()>& work) override {
    return capture_cuda(devices(), streams, work);
  }
  std::unique_ptr<Binary> load(const std::string& name, const std::string& ptx, const std::vector<std::string>& kernels,
                               bool first_part_alone, const AssemblerOptions& options) override {
    const std::vector<Device> first{devices().front()};
    return make_cuda_binary(first_part_alone ? first : devices(), name, ptx, kernels, options);
  }
  MemoryKind memory_at(std::uintptr_t address) const override {
    unsigned type = 0, managed = 0, ordinary = 0;
    CUmemoryPool pool = nullptr;
    std::array<CUpointer_attribute, 4> attributes{
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,  // what cuMemAlloc() gives; peers reach it
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
    std::array<void*, 4> values{&type, &managed, &ordinary, static_cast<void*>(&pool)};
    const CUresult result =
        driver().pointer_attributes(attributes.size(), attributes.data(), values.data(), CUdeviceptr{address});
    if (result != CUDA_SUCCESS || type == 0) return MemoryKind::none;
    if (managed != 0 || ordinary != 0) return MemoryKind::shared;
    if (type == CU_MEMORYTYPE_HOST) return MemoryKind::host;
    return pool && all_reach(pool) ? MemoryKind::shared : MemoryKind::alone;
  }

 private:
  bool all_reach(CUmemoryPool pool) const {
    return std::all_of(devices().begin(), devices().end(), [&](const Device& device) {
      if (device.index() == devices().front().index()) return true;  // that the program works with
      CUmemLocation location{};
      location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      location.id = device.index();
      CUmemAccess_flags access{};
      return driver().pool_get_access(&access, pool, &location) == CUDA_SUCCESS &&
             access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    });
  }

  const std::size_t page_bytes_;
  std::vector<CUcontext> contexts_;
  std::optional<device::PhysicalMemory> guard_;
  bool awake_ = false;
};

}  // namespace

std::unique_ptr<Machine> make_cuda_machine(const std::vector<Device>& devices, bool asleep) {
  return std::make_unique<CudaMachine>(devices, asleep);
}

}  // namespace dcgn::virtual_gpu
