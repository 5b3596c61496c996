// What differs between virtual GPUs of real devices and of emulated ones.
#pragma once

#include "vgpu/src/assembler_options.hpp"
#include "vgpu/src/pages.hpp"

#include <dcgn/device.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::virtual_gpu {

// Memory at one address on all parts.
class Range {
 public:
  Range() = default;
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  virtual ~Range() = default;

  virtual void* address() const = 0;
  // Moves pages from where `from` has them to where `to` does; their content goes with them. All parts are idle.
  virtual void move(const PageMap& from, const PageMap& to) = 0;
  // All parts get to reach it that Machine::wake() has woken.
  virtual void share() {}
  // Whether the page before it and the one behind it are memory, of no use, that all parts reach: a kernel may read a
  // little outside of an array, as it may of one GPU's memory. Else the page behind it is free.
  virtual bool is_guarded() const { return false; }
};

// A moment of a part's stream, always of the same part.
class Marker {
 public:
  Marker() = default;
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;
  virtual ~Marker() = default;

  virtual void record(dcgn::Stream& stream) = 0;
  // Of a stream that is the program's own, on real devices.
  virtual void record_native(void*) {}
  // What this stream is given from now on waits for it.
  virtual void hold(dcgn::Stream& stream) const = 0;
  virtual bool done() const = 0;
  virtual void synchronize() const = 0;
  virtual double seconds_since(const Marker& earlier) const = 0;
};

// The streams of the parts as one. A part's own stream keeps its work in order; order() does the rest.
class Parts {
 public:
  // `first`: part 0's stream, where that is there already; others may give it work beside this, so that who gives the
  // parts work through this says use(0) before and gather() behind it.
  explicit Parts(const std::vector<Device>& devices, void* first = nullptr) {
    for (const Device& device : devices)
      streams_.push_back(first && streams_.empty() ? dcgn::Stream(device, first) : dcgn::Stream(device));
    news_.resize(devices.size());
    worked_.resize(devices.size());
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  virtual ~Parts() = default;

  // The stream of a part that is to be given work.
  dcgn::Stream& use(int part) {
    news_[static_cast<std::size_t>(part)] = News::there;
    worked_[static_cast<std::size_t>(part)] = 1;
    return streams_[static_cast<std::size_t>(part)];
  }

  // The same for work that is behind it when use() has been called again: nobody waits for this by itself.
  virtual dcgn::Stream& use_beside(int part) {
    worked_[static_cast<std::size_t>(part)] = 1;
    return streams_[static_cast<std::size_t>(part)];
  }

  // Part 0's stream goes on when all parts have done what they were given.
  virtual void gather() = 0;
  // So do all.
  virtual void order() = 0;
  // The same by a thread for each part: after one has called begin_together(), each calls order_part() for its own,
  // gives it work, and calls end_part().
  virtual void begin_together() { order(); }
  virtual void order_part(int) {}
  virtual void end_part(int) {}

  void synchronize() {
    if (end_) return end_->synchronize();
    counting_failures([&] { synchronize_streams(); });
    news_.assign(news_.size(), News::none);
    worked_.assign(worked_.size(), 0);
  }
  bool idle() const {
    if (end_) return end_->done();
    for (const dcgn::Stream& stream : streams_)
      if (!stream.idle()) return false;
    return true;
  }
  // Of part 0 alone, which has done what gather() says.
  dcgn::Stream& first() { return streams_.front(); }
  // How often it was found that its work has failed.
  unsigned failures() const { return failures_; }
  // Whoever made part 0's stream ends it: nothing is given any more, and all that was is behind `marker`.
  void end(std::unique_ptr<Marker> marker) { end_ = std::move(marker); }

 protected:
  virtual void synchronize_streams() {
    for (dcgn::Stream& stream : streams_) stream.synchronize();
  }
  // Of a part, what part 0's stream does not wait for yet; of part 0, what the others do not. Threads of different
  // parts write their own.
  enum class News : unsigned char { none, there, recorded };

  std::vector<dcgn::Stream> streams_;
  std::vector<News> news_;
  // Which parts were given work since all was waited for. Others may give part 0's stream work, too.
  std::vector<unsigned char> worked_;

  // Of a wait, which throws where work has failed.
  template <class Wait>
  void counting_failures(const Wait& wait) {
    try {
      wait();
    } catch (...) {
      ++failures_;
      throw;
    }
  }

 private:
  unsigned failures_ = 0;
  std::unique_ptr<Marker> end_;
};

// Work of a stream of all parts that is given again by one call, to part 0's, where all of it begins and ends.
class Captured {
 public:
  Captured() = default;
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  virtual ~Captured() = default;

  virtual void launch(dcgn::Stream& first) = 0;
};

// What an address is, as far as a launch that is split has to know.
enum class MemoryKind {
  none,    // no memory that the driver knows, or the heap of kernels
  host,    // pinned
  shared,  // of a device, and all parts reach it
  alone,   // of a device, and whether others reach it is not known
};

// A module's machine code on all parts, or on the first alone.
class Binary {
 public:
  Binary() = default;
  Binary(const Binary&) = delete;
  Binary& operator=(const Binary&) = delete;
  virtual ~Binary() = default;

  // Starts a kernel, by its number in what was loaded, as a grid of this shape.
  virtual void launch(std::size_t kernel, int part, dcgn::Stream& stream, const Launch& launch, bool cooperative,
                      const std::vector<const void*>& parameters) = 0;
  // The address of a part's own variable, null where it has none of this name; and its size.
  virtual void* variable(int part, const std::string& name, std::size_t& bytes) const = 0;
  // Why the first part refuses a block of this shape; empty where it takes it.
  virtual std::string why_refused(std::size_t kernel, const Launch& launch) = 0;
  // The CUfunction of a kernel on a part.
  virtual void* native(std::size_t kernel, int part) const = 0;
};

class Machine {
 public:
  explicit Machine(std::vector<Device> devices) : devices_(std::move(devices)) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  virtual ~Machine() = default;

  const std::vector<Device>& devices() const { return devices_; }
  int parts() const { return static_cast<int>(devices_.size()); }

  // Whether several threads give the parts work faster than one.
  virtual bool gains_by_threads() const { return false; }
  virtual std::size_t page_bytes() const = 0;
  // Of a machine that was made asleep, nothing but memory of part 0 is used before. Throws what making one awake does.
  virtual void wake() {}
  virtual bool awake() const { return true; }
  virtual std::unique_ptr<Range> reserve(const PageMap& pages) = 0;
  virtual std::unique_ptr<Parts> make_parts(void* first = nullptr) = 0;
  virtual std::unique_ptr<Marker> make_marker(int part) = 0;
  // What `work` gives the parts, which do not do it now; null, and `work` was not called, where a machine has no such
  // thing. Streams are idle.
  virtual std::unique_ptr<Captured> capture(Parts&, const std::function<void()>&) { return nullptr; }
  virtual std::unique_ptr<Binary> load(const std::string& name, const std::string& ptx,
                                       const std::vector<std::string>& kernels, bool first_part_alone,
                                       const AssemblerOptions& options) = 0;
  // Of an address that is in no Range.
  virtual MemoryKind memory_at(std::uintptr_t address) const = 0;

 private:
  const std::vector<Device> devices_;
};

// Throw what the constructor of VirtualGpu does.
std::unique_ptr<Machine> make_emulated_machine(const std::vector<Device>& devices);
// `asleep`: the other devices' contexts are made by wake(), since that takes a while.
std::unique_ptr<Machine> make_cuda_machine(const std::vector<Device>& devices, bool asleep = false);

}  // namespace dcgn::virtual_gpu
