#include "pixels/staging.hpp"

#include "pixels/fence.hpp"
#include "pixels/gl.hpp"
#include "pixels/interop.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <utility>

namespace dcgn::pixels {

namespace {

class HostStaging final : public Staging {
 public:
  explicit HostStaging(std::int64_t capacity) : Staging(capacity), memory_(static_cast<std::size_t>(capacity)) {}
  void begin_read(const char* operation, const Checked& pixels) override {
    read_image(operation, pixels, memory_.data());
  }
  bool ready(std::uint64_t) override { return true; }
  std::byte* memory() override { return memory_.data(); }
  std::byte* to_fill(const char*, std::uint64_t) override { return memory_.data(); }
  void finish_write(const char* operation, const Checked& pixels) override {
    write_image(operation, pixels, memory_.data());
  }

 private:
  std::vector<std::byte> memory_;
};

// A pixel buffer object that stays mapped: its memory is pinned, and coherent once a fence has been passed.
class PinnedStaging final : public Staging {
 public:
  PinnedStaging(const char* operation, std::int64_t capacity) : Staging(capacity), buffer_(made(), gl().DeleteBuffers) {
    constexpr GLbitfield access = GL_MAP_READ_BIT | GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
    gl().NamedBufferStorage(buffer_.name(), capacity, nullptr, access | GL_CLIENT_STORAGE_BIT);
    memory_ = static_cast<std::byte*>(gl().MapNamedBufferRange(buffer_.name(), 0, capacity, access));
    check_error(operation, "a pixel buffer object of " + std::to_string(capacity) + " bytes", Code::out_of_resources);
  }
  void begin_read(const char* operation, const Checked& pixels) override {
    read_image_to_buffer(operation, pixels, buffer_.name());
    fence_.set();
  }
  bool ready(std::uint64_t wait_ns) override { return fence_.passed("pixels::read", wait_ns); }
  std::byte* memory() override { return memory_; }
  std::byte* to_fill(const char* operation, std::uint64_t deadline_ns) override {
    wait_ready(operation, *this, deadline_ns);
    return memory_;
  }
  void finish_write(const char* operation, const Checked& pixels) override {
    write_image_from_buffer(operation, pixels, buffer_.name());
    fence_.set();
  }

 private:
  static GLuint made() {
    GLuint name = 0;
    gl().CreateBuffers(1, &name);
    return name;
  }
  Owned buffer_;
  std::byte* memory_ = nullptr;
  Fence fence_;
};

}  // namespace

void wait_ready(const char* operation, Staging& staging, std::uint64_t deadline_ns) {
  if (!staging.ready(deadline_ns))
    throw Error(Code::deadline, operation,
                "GL has not come to the end of its work within " + std::to_string(deadline_ns / 1'000'000) + " ms");
}

Path resolve(const char* operation, Path path, const Comm& comm) {
  switch (path) {
    case Path::automatic: return interop_refusal(comm).empty() ? Path::interop : Path::pinned;
    case Path::interop:
      if (const std::string refusal = interop_refusal(comm); !refusal.empty())
        throw Error(Code::unsupported, operation, "the path interop cannot be taken: " + refusal);
      return path;
    case Path::copy:
    case Path::pinned: return path;
  }
  return path;
}

StagingPool::Lease StagingPool::get(const char* operation, std::int64_t bytes) {
  // The smallest that is large enough; one that is too small goes, so that sizes which change do not pile up.
  const auto larger = [](const auto& a, const auto& b) { return a->capacity() < b->capacity(); };
  std::sort(free_.begin(), free_.end(), larger);
  const auto found =
      std::find_if(free_.begin(), free_.end(), [&](const auto& staging) { return staging->capacity() >= bytes; });
  if (found != free_.end()) {
    std::unique_ptr<Staging> staging = std::move(*found);
    free_.erase(found);
    return {*this, std::move(staging)};
  }
  if (!free_.empty()) free_.erase(free_.begin());
  const std::int64_t capacity = std::max<std::int64_t>(bytes, 4096);
  if (path_ == Path::copy) return {*this, std::make_unique<HostStaging>(capacity)};
  if (path_ == Path::interop) return {*this, make_interop_staging(operation, capacity)};
  return {*this, std::make_unique<PinnedStaging>(operation, capacity)};
}

std::string to_string(Path path) {
  switch (path) {
    case Path::automatic: return "automatic";
    case Path::copy: return "copy";
    case Path::pinned: return "pinned";
    case Path::interop: return "interop";
  }
  return "";
}

}  // namespace dcgn::pixels
