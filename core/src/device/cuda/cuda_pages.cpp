#include "cuda_pages.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace dcgn::device {

namespace {

constexpr std::size_t least_gap = std::size_t{2} << 20;  // a page

CUmemAllocationProp properties_of(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

}  // namespace

std::size_t page_bytes_of(const std::vector<int>& devices) {
  std::size_t most = 1;
  for (const int device : devices) {
    int supported = 0;
    check_driver(
        driver().device_get_attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device),
        "VirtualGpu", "cuDeviceGetAttribute", device);
    if (!supported)
      throw Error(Code::unsupported, "VirtualGpu",
                  "device " + std::to_string(device) + " has no virtual memory management, expected one that has");
    const CUmemAllocationProp properties = properties_of(device);
    std::size_t bytes = 0;
    check_driver(driver().memory_granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), "VirtualGpu",
                 "cuMemGetAllocationGranularity", device);
    most = std::max(most, bytes);  // powers of two, so the largest is a multiple of all
  }
  return most;
}

PhysicalMemory::PhysicalMemory(int device, std::size_t bytes) : bytes_(bytes) {
  const CUmemAllocationProp properties = properties_of(device);
  const CUresult result = driver().memory_create(&handle_, bytes, &properties, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw Error(Code::device, "allocate",
                std::to_string(bytes) + " bytes are not to be had on device " + std::to_string(device));
  check_driver(result, "allocate", "cuMemCreate", device);
}

PhysicalMemory::PhysicalMemory(PhysicalMemory&& other) noexcept
    : handle_(std::exchange(other.handle_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}

PhysicalMemory& PhysicalMemory::operator=(PhysicalMemory&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

// At process end the driver may be gone already; what it held then is, too. So with addresses.
PhysicalMemory::~PhysicalMemory() {
  if (bytes_ != 0) static_cast<void>(driver().memory_release(handle_));
}

AddressRange::AddressRange(std::size_t bytes, std::size_t gap)
    : inside_(bytes),
      bytes_(bytes + 2 * gap),
      has_gaps_(gap != 0 && driver().address_reserve(&begin_, bytes_, 0, 0, 0) == CUDA_SUCCESS) {
  if (has_gaps_) {
    address_ = begin_ + gap;
    return;
  }
  bytes_ = bytes + std::min(gap, least_gap);
  check_driver(driver().address_reserve(&begin_, bytes_, 0, 0, 0), "allocate", "cuMemAddressReserve", 0);
  address_ = begin_;
}

AddressRange::~AddressRange() {
  if (mapped_ != 0) static_cast<void>(driver().memory_unmap(address_, mapped_));
  if (guard_bytes_ != 0)
    for (const CUdeviceptr guard : guards(guard_bytes_)) static_cast<void>(driver().memory_unmap(guard, guard_bytes_));
  static_cast<void>(driver().address_free(begin_, bytes_));
}

void AddressRange::map(const std::vector<PhysicalMemory>& memory, const std::vector<int>& devices) {
  for (const PhysicalMemory& one : memory) {
    check_driver(driver().memory_map(address_ + mapped_, one.bytes(), 0, one.handle(), 0), "allocate", "cuMemMap",
                 devices.front());
    mapped_ += one.bytes();
  }
  share(devices);
}

void AddressRange::share(const std::vector<int>& devices) {
  std::vector<CUmemAccessDesc> access;
  for (const int device : devices) {
    CUmemAccessDesc one{};
    one.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    one.location.id = device;
    one.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    access.push_back(one);
  }
  check_driver(
      driver().memory_set_access(address_ - guard_bytes_, mapped_ + 2 * guard_bytes_, access.data(), access.size()),
      "allocate", "cuMemSetAccess", devices.front());
}

void AddressRange::guard(const PhysicalMemory& memory, const std::vector<int>& devices) {
  if (!has_gaps_) return;
  const auto [before, behind] = guards(memory.bytes());
  const auto map = [&](CUdeviceptr at) { return driver().memory_map(at, memory.bytes(), 0, memory.handle(), 0); };
  check_driver(map(before), "allocate", "cuMemMap", devices.front());
  if (const CUresult result = map(behind); result != CUDA_SUCCESS) {
    static_cast<void>(driver().memory_unmap(before, memory.bytes()));
    check_driver(result, "allocate", "cuMemMap", devices.front());
  }
  guard_bytes_ = memory.bytes();
  share(devices);
}

void AddressRange::unmap() {
  check_driver(driver().memory_unmap(address_, mapped_), "place", "cuMemUnmap", 0);
  mapped_ = 0;
}

}  // namespace dcgn::device
