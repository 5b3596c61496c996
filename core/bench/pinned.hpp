// Words that CPUs and all GPUs reach.
#pragma once

#include <dcgn/device.hpp>

#include <cstddef>
#include <cstdint>

namespace dcgn::bench {

class PinnedWords {
 public:
  // `count` zeros.
  PinnedWords(Device device, std::size_t count)
      : device_(device),
        words_(static_cast<std::uint64_t*>(device.allocate_host(count * sizeof(std::uint64_t)))),
        count_(count) {}
  PinnedWords(const PinnedWords&) = delete;
  PinnedWords& operator=(const PinnedWords&) = delete;
  ~PinnedWords() {
    try {
      device_.free_host(words_);
    } catch (const Error&) {  // a device that has faulted; that was reported where it was met
    }
  }

  std::uint64_t* data() const { return words_; }
  std::size_t size() const { return count_; }

 private:
  Device device_;
  std::uint64_t* words_;
  std::size_t count_;
};

}  // namespace dcgn::bench
