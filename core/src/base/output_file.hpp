// A file that a run writes once its work is done: a picture, a JSON document, a checkpoint.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace dcgn::base {

// Tried at once, so that a path that cannot be written is known before the work, and there whole at the end or not at
// all: until then an older file stays as it is. Links are followed and an older file's mode is kept. A pipe or a device
// gets its content as a stream. Where the folder takes no new file, the older one is written over in place. Until it is
// complete a file's name begins with .dcgn_; what is left of processes that were killed meanwhile, the next one that
// writes into the folder on the same host removes.
class OutputFile {
 public:
  // Throws Error(io), naming the path, where it cannot be written.
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  const std::string& path() const { return path_; }
  // Whether one would replace the other, by whatever name or link. Pipes and devices are never the same file: they take
  // one after the other.
  bool same_file(const OutputFile& other) const { return !target_.empty() && target_ == other.target_; }

  // One of these, at most once. Throw Error(io), naming the path; `content` may throw what it likes, and then no file
  // is left.
  void write(std::string_view content);
  void write(const std::function<void(std::FILE*)>& content);
  // For what is not to be lost: `content` fills the empty file of the name that it gets, and the older file makes way
  // once the new one is on the disk, whatever happens to the program or the machine meanwhile. A stream, or a folder
  // that takes no new file, is an error.
  void write_durably(const std::function<void(const std::string& name)>& content);

 private:
  [[noreturn]] void fail(const char* what, int error) const;
  void fill(int file, const std::function<void(std::FILE*)>& content) const;
  void replace(const std::string& part, const std::function<void()>& make) const;
  void to_disk(const std::string& path) const;

  std::string path_;
  std::string target_;  // the regular file that the path means, behind all links; empty: a stream
  mode_t mode_ = 0;     // the target's
  int stream_ = -1;     // a pipe's or a device's, held open
};

}  // namespace dcgn::base
