#include "pixels/src/staging.hpp"

#include "pixels/src/fence.hpp"
#include "pixels/src/gl.hpp"
#include "pixels/src/interop.hpp"

#include <dcgn/error.hpp>

#include <sys/uio.h>
#include <unistd.h>

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

// Whether the system finds these bytes as it does for another process.
bool can_be_read(const std::byte* memory) {
  std::byte room{};
  const iovec here{&room, 1}, there{const_cast<std::byte*>(memory), 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

// A pixel buffer object that stays mapped: its memory is pinned, and coherent once a fence has been passed.
class PinnedStaging final : public Staging {
 public:
  PinnedStaging(const char* operation, std::int64_t capacity, ShaderCopier& copier)
      : Staging(capacity), copier_(copier), buffer_(made(), gl().delete_buffers) {
    constexpr GLbitfield access = GL_MAP_READ_BIT | GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
    gl().named_buffer_storage(buffer_.name(), capacity, nullptr, access | GL_CLIENT_STORAGE_BIT);
    memory_ = static_cast<std::byte*>(gl().map_named_buffer_range(buffer_.name(), 0, capacity, access));
    check_error(operation, "a pixel buffer object of " + std::to_string(capacity) + " bytes", Code::out_of_resources);
    is_shared_ = can_be_read(memory_);
  }
  void begin_read(const char* operation, const Checked& pixels) override {
    read_image_to_buffer(operation, pixels, buffer_.name(), copier_);
    fence_.set();
  }
  bool ready(std::uint64_t wait_ns) override { return fence_.passed("pixels::read", wait_ns); }
  std::byte* memory() override { return memory_; }
  bool is_shared() const override { return is_shared_; }
  std::byte* to_fill(const char* operation, std::uint64_t deadline_ns) override {
    wait_ready(operation, *this, deadline_ns);
    return memory_;
  }
  void finish_write(const char* operation, const Checked& pixels) override {
    write_image_from_buffer(operation, pixels, buffer_.name(), copier_);
    fence_.set();
  }

 private:
  static GLuint made() {
    GLuint name = 0;
    gl().create_buffers(1, &name);
    return name;
  }
  ShaderCopier& copier_;
  Owned buffer_;
  std::byte* memory_ = nullptr;
  bool is_shared_ = true;
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
  const auto take = [&](auto found) {
    std::unique_ptr<Staging> staging = std::move(*found);
    free_.erase(found);
    return Lease(*this, std::move(staging));
  };
  // Those that GL is still at are left alone, but for a few. Which was given back first comes first.
  constexpr std::ptrdiff_t most_busy = 2;
  const auto fits = [&](const auto& staging) { return staging->capacity() >= bytes; };
  const auto idle = std::find_if(free_.begin(), free_.end(), [&](const auto& s) { return fits(s) && s->ready(0); });
  if (idle != free_.end()) return take(idle);
  if (std::count_if(free_.begin(), free_.end(), fits) >= most_busy)
    return take(std::find_if(free_.begin(), free_.end(), fits));
  // One that is too small goes, so that sizes which change do not pile up.
  const auto small = std::find_if_not(free_.begin(), free_.end(), fits);
  if (small != free_.end()) free_.erase(small);
  const std::int64_t capacity = std::max<std::int64_t>((bytes + 3) / 4 * 4, 4096);
  if (path_ == Path::copy) return {*this, std::make_unique<HostStaging>(capacity)};
  if (path_ == Path::interop) return {*this, make_interop_staging(operation, capacity, *copier_)};
  return {*this, std::make_unique<PinnedStaging>(operation, capacity, *copier_)};
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
