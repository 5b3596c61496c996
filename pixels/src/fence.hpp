// A point in what GL was given to do.
#pragma once

#include "pixels/src/gl.hpp"

#include <cstdint>

namespace dcgn::pixels {

class Fence {
 public:
  Fence() = default;
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  ~Fence() { clear(); }

  void set() {
    clear();
    context_ = current_context();
    sync_ = gl().fence_sync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl().flush();
  }
  // Whether GL has come there, after waiting so long at most. Throws Error(device) where it never will.
  bool passed(const char* operation, std::uint64_t wait_ns) {
    if (!sync_) return true;
    const GLenum told = gl().client_wait_sync(sync_, GL_SYNC_FLUSH_COMMANDS_BIT, wait_ns);
    if (told == GL_WAIT_FAILED) throw Error(Code::device, operation, "waiting for GL failed");
    if (told == GL_TIMEOUT_EXPIRED) return false;
    clear();
    return true;
  }

 private:
  void clear() {
    if (sync_ && current_context() == context_) gl().delete_sync(sync_);
    sync_ = nullptr;
  }
  GLsync sync_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace dcgn::pixels
