// What the fuzzer's targets have in common. Each NAME.cpp here is one: its LLVMFuzzerTestOneInput() gives a reader what
// it gets, and ends the program where the reader does what it must not.
#pragma once

#include <dcgn/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace dcgn::fuzz {

inline void require(bool is_so, const char* what) {
  if (is_so) return;
  std::fprintf(stderr, "fuzz: not so: %s\n", what);
  std::abort();
}

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// How many inputs were: a target whose seeds are all refused looks at nothing. Global, for libFuzzer leaves no other
// way to tell of it.
inline std::size_t num_taken = 0;

// Whether it is taken. It may be refused by an Error that says why, and by nothing else: other exceptions end the
// program.
template <class Read>
bool is_taken(const Read& read) {
  try {
    read();
    ++num_taken;
    return true;
  } catch (const Error& error) {
    const std::string text = error.what(), head = "dcgn: " + error.operation() + ": ";
    require(text.size() > head.size() && text.starts_with(head), "an error says what is wrong");
    return false;
  }
}

// Numbers from the input's front, zeros where it has ended.
class Numbers {
 public:
  Numbers(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  template <class T>
  T next() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const std::size_t bytes = std::min(sizeof value, size_);
    if (bytes) std::memcpy(&value, data_, bytes);
    data_ += bytes;
    size_ -= bytes;
    return value;
  }
  const std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

// A file for what reads one by its name, in memory where there is a folder for that.
class InputFile {
 public:
  InputFile() : path_(access("/dev/shm", W_OK) == 0 ? "/dev/shm/dcgn_fuzz_XXXXXX" : "/tmp/dcgn_fuzz_XXXXXX") {
    file_ = mkstemp(path_.data());
    require(file_ >= 0, "there is room for a file");
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() {
    ::close(file_);
    ::unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }
  void write(const void* data, std::size_t size) const {
    require(ftruncate(file_, 0) == 0 && pwrite(file_, data, size, 0) == static_cast<ssize_t>(size), "it is written");
  }

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace dcgn::fuzz
