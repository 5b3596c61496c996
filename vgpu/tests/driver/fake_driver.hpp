// A CUDA driver without GPUs, for tests of what stands in front of one: memory of the host, work that is done as late
// as it may be.
//
// A stream is a queue. What it holds is done when somebody waits for it, and of other streams only as much as events
// and the legacy default stream say: work that nothing makes wait for other work has not seen it, so that an order that
// was forgotten shows as a wrong result. Kernels are C++ functions known by their names; they see variables and
// parameters of the PTX that was loaded, as it was loaded, and end the program where a device touches memory that it
// may not.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fake {

inline constexpr int most_devices = 4;

struct Device;
struct Stream;

struct Context {
  int device = 0;
  std::array<bool, most_devices> reaches{};  // peers
  std::map<CUlimit, std::size_t> limits{};
};

using Works = std::vector<std::function<void()>>;

// Behind the n-th work of a stream.
struct Moment {
  Stream* stream = nullptr;
  std::uint64_t number = 0;
};

struct Work {
  std::function<void()> run;
  std::vector<Moment> after;
};

struct Stream {
  int device = 0;
  bool blocking = true;  // waits for the legacy default stream, and that for it
  std::uint64_t given = 0, done = 0;
  std::deque<Work> queue;
  bool captures = false;
  Works recorded;
  double clock = 0;  // ms that kernels would have taken: DCGN_TEST_FAKE_US, of a block, split DCGN_TEST_FAKE_SPLIT_US

  void give(std::function<void()> run, std::vector<Moment> after = {});
  void finish(std::uint64_t number);
  void finish() { finish(given); }
};

// Of PTX: what a launch and a look-up need.
struct Variable {
  std::vector<std::byte> content;
  std::string address_of;  // holds another's address
};
struct Module {
  int device = 0;
  unsigned registers = 255;  // a thread's, of all kernels: as many as they may have
  struct Kernel {
    std::vector<std::size_t> parameters;  // their sizes
    std::size_t own = 0;                  // before those of a chunk
  };
  std::map<std::string, Kernel> kernels;
  std::map<std::string, std::unique_ptr<Variable>> variables;
};
struct Function {
  Module* module;
  std::string name;
};

// A launch as a kernel sees it.
class Blocks {
 public:
  Blocks(const Function& function, std::array<unsigned, 3> grid, std::array<unsigned, 3> block,
         std::vector<std::vector<std::byte>> parameters);

  struct Index {
    unsigned x, y, z;
  };
  // Of those that are launched here, in the whole grid.
  std::uint64_t count() const;
  Index at(std::uint64_t number) const;
  Index grid() const { return whole_; }
  unsigned threads() const { return block_[0] * block_[1] * block_[2]; }

  template <class T>
  T parameter(std::size_t number) const {
    T value;
    std::memcpy(&value, parameters_[number].data(), sizeof value);
    return value;
  }
  // Memory that the launch's device reaches.
  template <class T>
  T* memory(std::size_t number) const {
    auto* const address = parameter<T*>(number);
    check(address);
    return address;
  }
  // By the pointer that the module has for it, where it has one.
  void* variable(const std::string& name) const;

 private:
  void check(const void* address) const;

  const Function& function_;
  std::array<unsigned, 3> grid_, block_;
  std::vector<std::vector<std::byte>> parameters_;
  bool split_;
  Index first_{}, whole_{};
};

struct Piece {
  std::size_t bytes;
  std::set<int> reach;    // devices; empty: the owner, and its peers
  int owner;              // -1: the host
  bool ordinary = false;  // what cuMemAlloc() gives
};

struct State {
  std::recursive_mutex mutex;
  std::array<Context, most_devices> primary;
  std::array<Stream, most_devices> legacy;
  std::set<Stream*> streams;
  std::map<std::uintptr_t, Piece> memory;
  std::map<std::string, unsigned long long> counts;                      // of what tests look for
  std::map<CUmemGenericAllocationHandle, std::pair<int, int>> physical;  // file and device
};
State& state();
struct Lock {
  std::lock_guard<std::recursive_mutex> guard{state().mutex};
};

// DCGN_TEST_FAKE_GPUS, of which CUDA_VISIBLE_DEVICES leaves some.
int devices();
std::vector<Context*>& contexts();  // the calling thread's, the current one last
inline Context* current() { return contexts().empty() ? nullptr : contexts().back(); }
Stream& stream_of(CUstream stream);
std::unique_ptr<Module> parse(const std::string& text, int device);
using Shape = std::array<unsigned, 3>;
// What a launch does when its turn comes, on the module's device.
CUresult prepare(std::function<void()>& work, CUfunction function, Shape grid, Shape block, void** values,
                 void** extra);
CUresult launch(CUfunction function, Shape grid, Shape block, CUstream stream, void** values, void** extra);
[[noreturn]] void fail(const std::string& what);

// In fake_kernels.cpp. Null where there is none of that name.
using Kernel = void (*)(const Blocks& blocks);
Kernel find_kernel(const std::string& name);

}  // namespace fake
