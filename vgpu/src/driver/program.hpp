// The program that this library was preloaded into, as far as it is about GPUs: one virtual GPU beneath what it takes
// for a single one.
#pragma once

#include "vgpu/src/driver/measured.hpp"
#include "vgpu/src/driver/report.hpp"
#include "vgpu/src/gpu.hpp"

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dcgn::virtual_gpu::driver {

class Program {
 public:
  // Made at the first call and never destroyed: a program may call the driver to its very end.
  static Program& get();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The devices that are the parts, as the driver numbers them: DCGN_VGPU_PARTS, which `dcgn vgpu run` sets.
  const std::vector<int>& parts() const { return parts_; }
  int first_device() const { return parts_.front(); }

  // All below by the thread that holds a Call.
  // Null where there is none: the program runs as on one GPU then, and report() says why.
  Gpu* gpu();
  // Null unless it was made already.
  Gpu* gpu_if_made() { return gpu_.get(); }
  // Has the other GPUs take part: they have contexts from then on, which takes a while. Throws what making a Gpu does.
  void wake();
  bool awake() const { return gpu_ && gpu_->awake(); }
  // What the other GPUs get once they are awake, at once if they are: a limit of contexts, the reach of a pool's
  // memory, which is noted as alone where that fails.
  void set_limit(CUlimit limit, std::size_t value);
  void share_pool(CUmemoryPool pool);
  void forget_pool(CUmemoryPool pool);
  // Whether the calling thread works on the one GPU that the program is to see.
  bool on_first_device() const;
  bool on_other_device() const;
  // The program's stream, over all parts. Null is the legacy default stream, as the driver has it.
  Stream& stream(CUstream native);
  void forget_stream(CUstream native);
  // Of new buffers; and of all, once they are over all parts.
  Placement placement() const { return measured_.local() ? Placement::owner(0) : placement_; }
  Placement spread_placement() const { return placement_; }
  Measured& measured() { return measured_; }
  const Measured& measured() const { return measured_; }
  Report& report() { return report_; }

  // Memory of the first GPU that the others reach although the driver does not say so: mapped, and given to them too.
  void add_reached(std::uintptr_t begin, std::size_t bytes) { reached_[begin] = bytes; }
  void drop_reached(std::uintptr_t begin, std::size_t bytes);
  bool is_reached(std::uintptr_t address) const;
  // There is memory that the first GPU alone reaches, to which pointers in memory may lead. Of several reasons the
  // first is kept.
  void note_alone(const char* what) { alone_ = alone_ ? alone_ : what; }
  // What launches of this kernel leave of that.
  void note_kernel(const KernelInfo& kernel);
  const char* alone() const { return alone_; }  // null where there is none
  // Pools whose memory is to be more than a GPU's: the host's, managed, for other processes.
  void add_special_pool(CUmemoryPool pool) { special_pools_.insert(pool); }
  bool is_special(CUmemoryPool pool) const { return special_pools_.count(pool) != 0; }
  // There is memory of the host that GPUs reach.
  void note_pinned() { pinned_ = true; }
  bool pinned() const { return pinned_; }

  // The program gives work to another GPU itself, which may write any buffer: no copies are made by themselves any
  // more.
  void note_other_device();

  // Memory that is freed when its stream gets there: without waiting, a launch or a copy being under way.
  void free_behind(CUstream stream, void* memory);
  bool is_dying(const void* memory) const;
  // Memory of as many bytes that was freed in this stream's order, for new use in the same; null where there is none.
  void* take_dying(CUstream stream, std::size_t bytes);
  // What may be freed by now, or all, waiting for it. Whether that was anything.
  bool free_dying(bool wait);
  // While a stream records a graph, nothing may wait for the context: what is freed then is kept until one does.
  void note_capture(CUstream stream) { captures_.insert(key_of(stream)); }
  void end_capture(CUstream stream) { captures_.erase(key_of(stream)); }
  bool any_captures();
  void keep(void* memory) { kept_.push_back(memory); }
  // For who waits for the context, and frees it then.
  std::vector<void*> take_kept() { return std::exchange(kept_, {}); }

  // Whether the next launch that is split is to be made whole, too: every n-th, DCGN_VGPU_CHECK.
  bool checks_next() { return check_every_ != 0 && ++checkable_ % check_every_ == 0; }
  bool checks() const { return check_every_ != 0; }
  // What the program has allocated that is no buffer, on its GPU or pinned; others() has what it has mapped, too.
  void add_other(void* begin, std::size_t bytes) { others_[begin] = bytes; }
  void drop_other(void* begin) { others_.erase(begin); }
  std::vector<Gpu::OtherMemory> others() const;

  // Constants are one for each part. What is written to part 0's, at `first`, goes to the others.
  void add_constant(const void* first, const Module& module, const std::string& name, std::size_t bytes);
  void drop_constant(const void* first);
  // After the real call of `stream` that writes these bytes. Whether there was a constant among them.
  bool repeat_constants(CUstream stream, const void* written, std::size_t bytes);
  void repeat_all_constants(CUstream stream);
  // The same while nothing is under way, of all modules.
  void refresh_constants();
  // Whether the streams that the program has destroyed have done their work, and memory is freed.
  bool ended_are_idle();

 private:
  friend class Call;
  Program();
  void make_gpu();

  std::mutex mutex_;
  std::vector<int> parts_;
  Placement placement_;
  bool tried_ = false;
  std::shared_ptr<Gpu> gpu_;
  // CU_STREAM_PER_THREAD is another stream in each thread; all others have no thread.
  using StreamKey = std::pair<CUstream, std::thread::id>;
  static StreamKey key_of(CUstream native);
  std::map<StreamKey, std::unique_ptr<Stream>> streams_;
  std::set<StreamKey> captures_;
  std::vector<std::unique_ptr<Stream>> ended_;  // which the program has destroyed
  std::vector<std::unique_ptr<Marker>> ends_;   // of those that other GPUs had no part in
  std::map<CUlimit, std::size_t> limits_;
  std::vector<CUmemoryPool> pools_;
  std::map<std::uintptr_t, std::size_t> reached_;
  const std::uint64_t check_every_;
  std::uint64_t checkable_ = 0;
  std::map<void*, std::size_t> others_;
  struct Dying {
    void* memory;
    std::unique_ptr<Marker> last_use;
    CUstream stream;
    std::thread::id thread;
  };
  std::vector<Dying> dying_;
  std::vector<void*> kept_;
  const char* alone_ = nullptr;
  bool pinned_ = false;
  std::set<CUmemoryPool> special_pools_;
  struct Constant {
    Module module;
    std::string name;
    std::size_t bytes;
  };
  void repeat(CUstream stream, const Constant& constant, std::size_t offset, std::size_t bytes);
  std::map<const void*, Constant> constants_;  // by part 0's place
  Measured measured_;
  Report report_;
};

// While one lives, no other thread of the program is in this library; what is done on the way is no part of a graph
// that the program captures, and its current context is what it was in the end.
class Call {
 public:
  Call();
  // Keeps others out, but is for the driver's calls only after enter().
  struct Lightly {};
  explicit Call(Lightly);
  void enter();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  Program& program() { return program_; }

 private:
  Program& program_;
  const std::unique_lock<std::mutex> lock_;
  bool entered_ = false;
  CUcontext context_ = nullptr;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // what was in force before, meanwhile
};

// Whether the stream's work is recorded into a graph. True, too, where that cannot be told as another stream's is.
bool captures(CUstream stream);

// Behind a wait that the driver has ended well: what it says of the other GPUs, whose faults its wait for the first one
// does not tell.
CUresult error_of_others();

// What the driver has said, or would have said.
CUresult result_of(const Error& error);

// Runs `work`, which returns a CUresult; what it throws becomes one, and a line of the report.
template <class Work>
CUresult guarded(const char* call, Work&& work) noexcept {
  try {
    return work();
  } catch (const Error& error) {
    Program::get().report().note_error(call, error.what());
    return result_of(error);
  } catch (const std::exception& error) {
    Program::get().report().note_error(call, error.what());
    return CUDA_ERROR_OUT_OF_MEMORY;  // what the standard library throws here is std::bad_alloc
  }
}

}  // namespace dcgn::virtual_gpu::driver
