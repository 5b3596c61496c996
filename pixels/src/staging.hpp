// Memory that messages know, between an image and them: one way to have it for each path.
#pragma once

#include "pixels/src/access.hpp"
#include "pixels/src/shader_copier.hpp"

#include <dcgn/pixels.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace dcgn::pixels {

// Used for one thing at a time: begin_read, ready, memory; or to_fill, finish_write.
class Staging {
 public:
  virtual ~Staging() = default;
  std::int64_t capacity() const { return capacity_; }

  // What the image holds now, the image may change then.
  virtual void begin_read(const char* operation, const Checked& pixels) = 0;
  // Whether the pixels are in memory(), after waiting so long at most.
  virtual bool ready(std::uint64_t wait_ns) = 0;
  // Where they are; a GPU's with interop.
  virtual std::byte* memory() = 0;
  // Whether the system lets other processes read there: not what a driver maps.
  virtual bool is_shared() const { return true; }

  // Memory for as many pixels, which nobody uses any more.
  virtual std::byte* to_fill(const char* operation, std::uint64_t deadline_ns) = 0;
  virtual void finish_write(const char* operation, const Checked& pixels) = 0;

 protected:
  explicit Staging(std::int64_t capacity) : capacity_(capacity) {}

 private:
  std::int64_t capacity_;
};

// Throws Error(deadline) where the pixels have not come by then.
void wait_ready(const char* operation, Staging& staging, std::uint64_t deadline_ns);

// Throws Error(unsupported), saying why, where the path cannot be taken. automatic: one that can.
Path resolve(const char* operation, Path path, const Comm& comm);

// Those of one path, given out and taken back.
class StagingPool {
 public:
  explicit StagingPool(Path path)
      : path_(path),
        copier_(std::make_unique<ShaderCopier>(path == Path::interop ? ShaderCopier::Buffers::on_gpu
                                                                     : ShaderCopier::Buffers::on_host)) {}
  Path path() const { return path_; }

  class Lease {
   public:
    Lease() = default;
    Lease(StagingPool& pool, std::unique_ptr<Staging> staging) : pool_(&pool), staging_(std::move(staging)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&& other) noexcept {
      give_back();
      pool_ = other.pool_;
      staging_ = std::move(other.staging_);
      return *this;
    }
    ~Lease() { give_back(); }
    Staging* operator->() const { return staging_.get(); }
    Staging& operator*() const { return *staging_; }

   private:
    void give_back() {
      if (staging_) pool_->free_.push_back(std::move(staging_));
    }
    StagingPool* pool_ = nullptr;
    std::unique_ptr<Staging> staging_;
  };
  Lease get(const char* operation, std::int64_t bytes);

 private:
  Path path_;
  std::unique_ptr<ShaderCopier> copier_;  // what is given out refers to it
  std::vector<std::unique_ptr<Staging>> free_;
};

}  // namespace dcgn::pixels
