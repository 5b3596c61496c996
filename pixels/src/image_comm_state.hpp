// What an ImageComm keeps: memory between images and messages, and what it has begun.
#pragma once

#include "pixels/src/access.hpp"
#include "pixels/src/frame.hpp"
#include "pixels/src/staging.hpp"

#include <dcgn/pixels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace dcgn::pixels {

// Rows that go as one message.
struct Part {
  Checked pixels;
  StagingPool::Lease staging{};
  std::vector<std::byte> framed{};  // the message, where it is compressed, or copied for another process
  Request request{};
  enum class Stage { idle, reading, under_way, done } stage = Stage::idle;
};

// A send or receive, of one part or several.
struct Operation {
  const char* name;
  bool sends;
  int peer, tag;
  std::vector<Part> parts;
  Moved moved{};
  std::array<std::int64_t, 3> bytes_by{};  // of pixels, by Compression

  bool is_done() const { return parts.back().stage == Part::Stage::done; }
};

class ImageComm::State {
 public:
  State(Comm& comm, const Options& options);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  // Throws Error(device) unless the context is the one that this was made in.
  Checked enter(const char* operation, const Pixels& pixels);
  Operation operation(const char* name, bool sends, const Pixels& pixels, int peer, int tag);

  // Its pixels are read or its receive is posted.
  void begin(Operation& operation, Part& part);
  // A send's message leaves, once its pixels are there; says whether it did, after waiting so long at most for them.
  bool start(Operation& operation, Part& part, std::uint64_t wait_ns);
  // Its message has been sent or has come, as `status` says; what came is in the image then.
  void finish(Operation& operation, Part& part, const Status& status);

  // All sends that were begun here leave, in their order, and those of other ImageComms of the same context, which a
  // call that waits here would keep back; says whether they did, after waiting so long at most for each.
  bool start_pending(std::uint64_t wait_ns);
  // They do so no more for what is pending here.
  void leave_others();
  Moved complete(Operation& operation);
  std::optional<Moved> test(Operation& operation);
  // act(), after whose exception the memory of messages that are under way still stays.
  template <class Act>
  auto guarded(Operation& operation, const Act& act) {
    try {
      return act();
    } catch (...) {
      abandon(operation);
      throw;
    }
  }
  // Whether no message is under way that an exception has left.
  bool none_abandoned();

  std::uint64_t keep(std::unique_ptr<Operation> operation);

  Comm& comm;
  Options options;
  StagingPool pool;       // of the path
  StagingPool host_pool;  // of one through the host's memory
  double link_bytes_per_s;
  std::array<CompressionCost, 3> costs{};
  std::map<std::uint64_t, std::unique_ptr<Operation>> begun;  // by number

 private:
  struct Known;
  bool start_own(std::uint64_t wait_ns);
  Compression choose(const Operation& operation, const Part& part, const std::byte* memory);
  bool compresses() const { return options.compression != Compression::none; }
  StagingPool& pool_of_messages() { return compresses() ? host_pool : pool; }
  [[noreturn]] void deadline(const char* operation) const;
  void abandon(Operation& operation);

  void* context_;
  std::uint64_t next_ = 1;
  int since_measured_ = 0;
  std::vector<Part> abandoned_;
};

}  // namespace dcgn::pixels
