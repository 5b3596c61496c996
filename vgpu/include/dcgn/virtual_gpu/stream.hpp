// Streams and events that span the devices of a virtual GPU.
#pragma once

#include <memory>

namespace dcgn {

class VirtualGpu;

namespace virtual_gpu {

class Gpu;     // vgpu/src/gpu.hpp: what a VirtualGpu refers to
class Parts;   // vgpu/src/machine.hpp: a stream of each part
class Marker;  // vgpu/src/machine.hpp

// Work done in the order in which it was given: what is given later begins, on whichever device, when all that was
// given before has ended on all devices, and sees what that has written. Used by one thread at a time. Waits for its
// work when destroyed.
class Stream {
 public:
  // Of all its devices.
  explicit Stream(VirtualGpu& gpu);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  // Blocks until all work given so far is done. Throws Error(kernel_failed) if a kernel failed.
  void synchronize();
  // Whether all work given so far is done.
  bool idle() const;
  // What is given from now on begins when what `event` was last recorded behind has ended.
  void wait(const class Event& event);

 private:
  friend class Event;
  friend class Gpu;
  explicit Stream(std::shared_ptr<Gpu> gpu, void* first = nullptr);

  std::shared_ptr<Gpu> gpu_;
  std::unique_ptr<Parts> parts_;
};

// A moment of a stream: when all has ended, on all devices, that the stream had been given. Emulated GPUs reach it
// within record().
class Event {
 public:
  // Of all its devices.
  explicit Event(VirtualGpu& gpu);
  Event(Event&&) noexcept;
  Event& operator=(Event&&) noexcept;
  ~Event();

  // Takes the moment when all that the stream has been given so far has ended.
  void record(Stream& stream);
  // Of the last record(); an event that was never recorded is past.
  bool done() const;
  void synchronize() const;
  // Between the moments of two events, both past.
  double seconds_since(const Event& earlier) const;

 private:
  friend class Stream;
  std::unique_ptr<Marker> marker_;
};

}  // namespace virtual_gpu
}  // namespace dcgn
