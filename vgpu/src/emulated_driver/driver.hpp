// A CUDA driver without GPUs: libcuda.so.1 over memory of the host, whose kernels are interpreted.
//
// A stream is a queue. Its work is done as late as it may be: when somebody waits for it, and of other streams only as
// much as events and the legacy default stream say. So an order that a program forgot shows as a wrong result. Work
// that nobody has waited for is done by threads of the driver after a while. One thread at a time works for a stream,
// and holds no lock meanwhile.
#pragma once

#include "vgpu/src/interpreter/interpreter.hpp"

#include <cuda.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::virtual_gpu::emulated {

inline constexpr int most_devices = 16;
inline constexpr std::size_t device_bytes = std::size_t{1} << 30, page_bytes = 2 << 20;
inline constexpr int registers_per_multiprocessor = 65536;
// Of dynamic shared memory a kernel gets no more without asking.
inline constexpr int shared_bytes_unasked = 48 * 1024;

struct Stream;
struct Node;
struct Capture;
struct Library;
struct Module;
using Work = std::function<void()>;
using Clock = std::chrono::steady_clock;
using Guard = std::unique_lock<std::mutex>;

struct Context {
  int device = 0;
  unsigned flags = 0;
  std::array<bool, most_devices> reaches{};  // peers
  std::map<CUlimit, std::size_t> limits{};
};

// Behind the n-th work of a stream.
struct Moment {
  Stream* stream = nullptr;
  std::uint64_t number = 0;
};

struct Event {
  Moment moment;
  bool timed = true;
  Clock::time_point time{};  // when it was passed
  Capture* capture = nullptr;
  std::vector<Node*> recorded;  // while captured: what it stands behind
};

struct Stream {
  int device = 0;
  bool blocking = true;  // waits for the legacy default stream, and that for it
  bool ended = false, running = false, helped = false, wanted = false;
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  std::uint64_t given = 0, done = 0;
  struct Item {
    Work run;
    std::vector<Moment> after;
    Clock::time_point since;
  };
  std::deque<Item> queue;
  Capture* capture = nullptr;
  std::atomic<bool> spoiled{false};  // its capture: until that ends, it takes nothing more
  std::vector<Node*> tail;           // while it is captured: what its next work stands behind
  std::atomic<Clock::duration> simulated{Clock::duration::zero()};  // that its kernels have taken: simulates_time()
};

// A piece of memory that is known.
struct Piece {
  std::size_t bytes = 0;
  std::set<int> reach{};  // devices; empty: the owner, and its peers
  int owner = -1;         // -1: the host
  enum class Kind { device, host, registered, managed, mapped, variable } kind = Kind::device;
  unsigned flags = 0;
  bool of_graph = false;  // stays when it is freed: the graph that allocates it may be launched again
};

struct Device {
  Context primary;
  Stream legacy;
  std::atomic<int> error{0};  // what a kernel has left behind: all later calls return it
  std::atomic<std::size_t> used{0};
};

struct State {
  std::mutex mutex;  // of streams, events, graphs and modules
  std::condition_variable changed;
  std::array<Device, most_devices> devices;
  std::set<Stream*> streams;
  unsigned long long next_id = 1;
  std::shared_mutex memory_mutex;
  std::map<std::uintptr_t, Piece> memory;
  std::map<CUmemGenericAllocationHandle, std::pair<int, CUmemAllocationProp>> physical;  // files
  std::mutex counts_mutex;
  std::map<std::string, unsigned long long> counts;  // DCGN_TEST_EMULATED_COUNTS: for tests, told at exit
};
State& state();
void count(const std::string& what);
// For tests: events have no other time than what kernels take, DCGN_TEST_EMULATED_US of a block, of those that are made
// to be split DCGN_TEST_EMULATED_SPLIT_US.
bool simulates_time();
// One line on stderr: of a device, or of all where that is -1.
void complain(int device, const std::string& text);

// DCGN_VGPU_EMULATED, of which CUDA_VISIBLE_DEVICES leaves some.
int devices();
inline bool is_device(int device) { return device >= 0 && device < devices(); }
inline Device& device_at(int device) { return state().devices[static_cast<std::size_t>(device)]; }
std::vector<Context*>& contexts();  // the calling thread's, the current one last
inline Context* current() { return contexts().empty() ? nullptr : contexts().back(); }
// The device's, or the thread's own.
inline bool is_default(CUstream stream) {
  return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}
// What calls return that have nothing else to say: no context, or the error that a kernel has left in it.
CUresult standing();
// Of a call for a stream, which has a device of its own unless it is a default one.
CUresult standing(CUstream stream);

// Below: with state().mutex held. Null: no context.
Stream* stream_of(CUstream stream);
void give(Stream& stream, Work run, std::vector<Moment> after = {}, CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY);
void finish(Guard& guard, Stream& stream, std::uint64_t number);
void finish_device(Guard& guard, int device);
// Waits until all streams have done their work, as long as one has done any within `longest`; false where none has: a
// kernel may wait for a host that is gone, or the calling thread be a stream's own.
bool await_all(Guard& guard, Clock::duration longest);
Stream* make_stream(int device, unsigned flags, int priority);
void record(Event& event, Stream& stream);
void wait(Stream& stream, Event& event);

// Memory. Each takes the lock that it needs.
CUresult allocate(CUdeviceptr* address, std::size_t bytes, int owner, Piece::Kind kind, unsigned flags = 0);
CUresult release(CUdeviceptr address);
void leave_to_graph(CUdeviceptr address);
bool find_piece(CUdeviceptr address, CUdeviceptr& begin, Piece& piece);
bool is_pageable(const void* memory);

// What a kernel on this device may touch.
class ReachedMemory final : public interpreter::Memory {
 public:
  explicit ReachedMemory(int device) : device_(device) {}
  Extent at(std::uintptr_t address) const override;
  bool refused() const { return refused_; }  // memory that there is

 private:
  const int device_;
  mutable std::atomic<bool> refused_{false};
};

// Code.
struct Function {
  Module* module = nullptr;    // null for a library's kernel, which is of no context
  Library* library = nullptr;  // null for a module's
  std::string name;
  std::size_t kernel = 0;  // in its module
  std::atomic<int> dynamic_shared{0};
};
struct Module {
  int device = 0;
  Library* library = nullptr;
  unsigned registers = 32;       // a thread's, of all kernels
  int architecture = 90;         // that its PTX is for
  Clock::duration block_time{};  // simulates_time()
  std::unique_ptr<interpreter::Code> code;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::vector<std::uintptr_t> variables;

  const interpreter::KernelDetails& details(const Function& function) const { return code->kernels()[function.kernel]; }
};
inline Function& function_of(CUfunction function) { return *reinterpret_cast<Function*>(function); }
// On the current context's device; null with what is wrong.
Function* resolve(CUfunction handle, CUresult& result);
int blocks_per_multiprocessor(const Function& function, int threads, std::size_t dynamic_shared);

// A launch with its parameters.
struct KernelLaunch {
  Function* function = nullptr;
  CUfunction handle = nullptr;
  Launch launch;
  std::vector<std::byte> parameters;
  std::vector<void*> places;  // for who asks: in `parameters`
  void run() const;
};
CUresult prepare(KernelLaunch& made, CUfunction handle, const Launch& launch, void** values, void** extra);

// `dcgn vgpu run --record`: from the first call on. The copy is recorded when it is made.
void begin_recording();
void record_copy(const void* to, const void* from, std::size_t bytes);

// Copies and fills, ready to run; each checks what it is given.
CUresult make_copy(Work& work, const CUDA_MEMCPY3D& copy);
CUresult make_fill(Work& work, const CUDA_MEMSET_NODE_PARAMS& fill);

}  // namespace dcgn::virtual_gpu::emulated
