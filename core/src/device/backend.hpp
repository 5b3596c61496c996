// What Device and Stream stand on: one Backend per device, of either kind, alive until the process ends.
//
// Shapes are checked before they come here (device.cpp); pointers and sizes are as the caller gave them.
#pragma once

#include <dcgn/device.hpp>
#include <dcgn/gpu/kernel.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace dcgn::device {

// Work in order, for one device. Destroying it waits for its work and drops that work's errors.
class StreamState {
 public:
  StreamState() = default;
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;
  virtual ~StreamState() = default;

  virtual void synchronize() = 0;
  virtual bool idle() = 0;
  virtual void* native() noexcept = 0;
  virtual std::function<void()> record(const std::function<void()>& work) = 0;

  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void fill(void* memory, unsigned char value, std::size_t bytes) = 0;
  virtual void launch(const Launch& launch, const dcgn::detail::KernelImage& image) = 0;
};

class Backend {
 public:
  explicit Backend(DeviceProperties properties) : properties_(std::move(properties)) {}
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  const DeviceProperties& properties() const noexcept { return properties_; }

  std::atomic<bool> keeps_memory = false;  // see Device::keep_memory

  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) = 0;
  virtual bool owns(const void* memory) = 0;
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void free_host(void* memory) = 0;
  virtual void pin(void* memory, std::size_t bytes) = 0;
  virtual void unpin(void* memory) = 0;
  virtual Device::Exported export_memory(void* memory) = 0;
  virtual void* open_exported(const Device::Exported& memory) = 0;
  virtual void close_exported(void* opened) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void fill(void* memory, unsigned char value, std::size_t bytes) = 0;

  // `other` is another device of the same kind.
  virtual DeviceLink link_to(const Backend& other) = 0;
  virtual bool reach(const Backend& other) = 0;

  virtual std::unique_ptr<StreamState> make_stream(StreamPriority priority) = 0;
  // Of a stream that the program has, as it is known to it.
  virtual std::unique_ptr<StreamState> adopt_stream(void*) {
    throw Error(Code::unsupported, "Stream", "this device takes no streams of others, expected one of its own");
  }
  // 0 where not even one block fits.
  virtual int blocks_per_multiprocessor(const Launch& launch, const dcgn::detail::KernelImage& image) = 0;

 private:
  const DeviceProperties properties_;
};

// The value of an environment variable that must be a whole number from `low` to `high`, or `unset` where it is not
// set. Throws Error(configuration) in one line that names variable, value and what was expected.
int number_from_environment(const char* name, int low, int high, int unset);

}  // namespace dcgn::device
