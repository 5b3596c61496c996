// Page-aligned host memory for messages.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace dcgn::bench {

class Pages {
 public:
  explicit Pages(std::size_t bytes) : memory_(static_cast<unsigned char*>(::operator new(bytes, alignment))) {
    std::memset(memory_.get(), 0, bytes);  // every page is there
  }
  unsigned char* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t alignment{4096};
  struct Free {
    void operator()(unsigned char* memory) const { ::operator delete(memory, alignment); }
  };
  std::unique_ptr<unsigned char, Free> memory_;
};

}  // namespace dcgn::bench
