#include "base/output_file.hpp"

#include <dcgn/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace dcgn::base {

namespace {

// A pattern for mkostemp(). It does not grow with the target's name, which may be as long as names can be.
std::string part_beside(const std::string& target) {
  return (std::filesystem::path(target).parent_path() / ".dcgn_XXXXXX").string();
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  constexpr const char* cannot = "cannot be written";
  int file = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  const bool is_new = file < 0 && errno == ENOENT;
  if (is_new) file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) fail(cannot, errno);
  struct stat status {};
  if (::fstat(file, &status) != 0) {
    const int error = errno;
    ::close(file);
    fail(cannot, error);
  }
  if (!S_ISREG(status.st_mode)) {
    stream_ = file;
    return;
  }
  mode_ = status.st_mode & 07777;  // of a new file too, which has what the umask leaves
  // While the file is there: a link to one that is not would be taken for a file itself.
  std::error_code none;
  target_ = std::filesystem::canonical(path_, none).string();
  if (::close(file) != 0) fail(cannot, errno);
  if (none) fail(cannot, none.value());
  // Gone again at once, so that nothing is left of a program that is stopped.
  if (is_new && ::unlink(target_.c_str()) != 0 && errno != ENOENT) fail(cannot, errno);
}

OutputFile::~OutputFile() {
  if (stream_ >= 0) ::close(stream_);  // nothing was written, so nothing can be lost
}

void OutputFile::write(std::string_view content) {
  write([&](std::FILE* stream) {
    if (std::fwrite(content.data(), 1, content.size(), stream) != content.size()) fail("not written", errno);
  });
}

void OutputFile::write(const std::function<void(std::FILE*)>& content) {
  if (stream_ >= 0) return fill(std::exchange(stream_, -1), content);

  std::string part = part_beside(target_);
  int file = ::mkostemp(part.data(), O_CLOEXEC);
  if (file < 0 && (errno == EACCES || errno == EPERM || errno == EROFS)) {
    file = ::open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0) fail("not written", errno);
    return fill(file, content);
  }
  if (file < 0) fail("not written", errno);
  replace(part, [&] { fill(file, content); });
}

void OutputFile::write_durably(const std::function<void(const std::string&)>& content) {
  if (stream_ >= 0) fail("not written: expected a file on a disk", EINVAL);
  std::string part = part_beside(target_);
  const int file = ::mkostemp(part.data(), O_CLOEXEC);
  if (file < 0 || ::close(file) != 0) fail("not written", errno);
  replace(part, [&] {
    content(part);
    to_disk(part);
  });
  to_disk(std::filesystem::path(target_).parent_path().string());  // the folder, which has the new name
}

// `part`, once it is filled, takes the target's place; it is gone where it cannot be filled.
void OutputFile::replace(const std::string& part, const std::function<void()>& make) const {
  try {
    make();
    if (::chmod(part.c_str(), mode_) != 0) fail("its mode cannot be set", errno);
    if (::rename(part.c_str(), target_.c_str()) != 0) fail("not written", errno);
  } catch (...) {
    ::unlink(part.c_str());
    throw;
  }
}

void OutputFile::to_disk(const std::string& path) const {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && ::fsync(file) == 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!done) fail("not brought to the disk", error);
}

void OutputFile::fail(const char* what, int error) const {
  throw Error(Code::io, "output", path_ + ": " + what + ": " + std::strerror(error));
}

// Takes the descriptor over, and closes it in any case.
void OutputFile::fill(int file, const std::function<void(std::FILE*)>& content) const {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(::fdopen(file, "wb"), &std::fclose);
  if (!stream) {
    const int error = errno;
    ::close(file);
    fail("not written", error);
  }
  content(stream.get());
  if (std::fflush(stream.get()) != 0) fail("not written", errno);
  if (std::ferror(stream.get())) fail("not written", EIO);  // an earlier write, whose reason is forgotten
  if (std::fclose(stream.release()) != 0) fail("not written", errno);
}

}  // namespace dcgn::base
