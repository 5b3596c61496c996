// What became of a program's launches and buffers, for `dcgn vgpu run` to tell in the end.
#pragma once

#include "vgpu/src/driver/measured.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace dcgn::virtual_gpu::driver {

class Program;

class Report {
 public:
  // Why nothing is split.
  void note_whole_program(const std::string& why);
  void note_split(const std::string& kernel);
  void note_whole(const std::string& kernel, const std::string& why);
  void note_buffer(std::size_t bytes) { ++buffers_, buffer_bytes_ += bytes; }
  void note_small_buffer(std::size_t bytes) { ++small_buffers_, small_bytes_ += bytes; }
  // By `dcgn vgpu run --check`: launches that were made both ways, and how their results differ.
  void note_check(const std::string& kernel) { ++kernels_[kernel].checked; }
  void note_difference(const std::string& kernel, const std::string& text) { ++kernels_[kernel].differences[text]; }
  void note_copy(std::size_t bytes_between_parts) { copied_between_ += bytes_between_parts; }
  // Something about the program as a whole, once.
  void note_remark(const std::string& text);
  // May be called by any thread, and without a Call.
  void note_error(const char* call, const char* text);

  // As JSON into the folder DCGN_VGPU_REPORT, a file for each process; at exit. Nothing where that is not set.
  void write(const Program& program, std::uint64_t copies, std::uint64_t copied_bytes) const;

 private:
  struct Kernel {
    std::uint64_t split = 0, checked = 0;
    std::map<std::string, std::uint64_t> differences;
    std::map<std::string, std::uint64_t> whole;  // launches by reason
    double whole_us = 0, split_us = 0;           // of those of one size that took most time; 0: not known
  };
  // Of launches that are made by what they take.
  static Kernel count(const SplitPolicy& policy, const Measured::OfKernel& measured);

  std::string why_whole_;
  std::map<std::string, Kernel> kernels_;
  std::map<std::string, std::uint64_t> remarks_;
  std::uint64_t buffers_ = 0, buffer_bytes_ = 0, small_buffers_ = 0, small_bytes_ = 0, copied_between_ = 0;
  mutable std::mutex errors_mutex_;
  std::map<std::string, std::uint64_t> errors_;
};

}  // namespace dcgn::virtual_gpu::driver
