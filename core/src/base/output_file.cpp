#include "base/output_file.hpp"

#include <dcgn/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

namespace dcgn::base {

namespace {

constexpr std::size_t random_letters = 6;  // of mkostemp()

// What the names begin with of files that are being written by this process's kin: those that see each other by number.
// The same after a restart of the machine, when the processes before it are gone.
const std::string& beginning() {
  static const std::string text = [] {
    std::array<char, 256> host{}, numbers{};
    gethostname(host.data(), host.size() - 1);
    static_cast<void>(!readlink("/proc/self/ns/pid", numbers.data(), numbers.size() - 1));
    const std::size_t hash = std::hash<std::string>{}(std::string(host.data()) + '/' + numbers.data());
    std::array<char, 32> letters{};
    std::snprintf(letters.data(), letters.size(), ".dcgn_%08x_", static_cast<unsigned>(hash));
    return std::string(letters.data());
  }();
  return text;
}

// Removes what processes have left in the folder that were killed while they wrote there. What cannot be removed stays.
void remove_stale(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(beginning())) continue;
    const char *const from = name.data() + beginning().size(), *const to = name.data() + name.size();
    pid_t process = 0;
    const auto [after, error] = std::from_chars(from, to, process);
    const bool whole = error == std::errc() && process > 0 && after != to && *after == '_' &&
                       static_cast<std::size_t>(to - after) == 1 + random_letters;
    if (whole && ::kill(process, 0) != 0 && errno == ESRCH) ::unlink(entry->path().c_str());
  }
}

// The name of a new, empty file beside the target, open in `file`, which is negative where the system refuses it. The
// name does not grow with the target's, which may be as long as names can be.
std::string make_part(const std::string& target, int& file) {
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  remove_stale(folder);
  std::string part = (folder / (beginning() + std::to_string(::getpid()) + "_XXXXXX")).string();
  file = ::mkostemp(part.data(), O_CLOEXEC);
  return part;
}

// What a stream writes to: a descriptor, which it takes over, and why the first write that failed did; a stream itself
// knows of an earlier one only that it has failed.
struct Sink {
  int file;
  int error = 0;

  ~Sink() {
    if (file >= 0) ::close(file);
  }
  std::FILE* open() {
    cookie_io_functions_t calls{};
    calls.write = [](void* sink, const char* data, std::size_t size) {
      return static_cast<Sink*>(sink)->write(data, size);
    };
    return ::fopencookie(this, "wb", calls);
  }
  ssize_t write(const char* data, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      const ssize_t count = ::write(file, data + done, size - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && error == 0) error = errno;
      if (count < 0) break;
      done += static_cast<std::size_t>(count);
    }
    return static_cast<ssize_t>(done);
  }
};

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

  int file = -1;
  const std::string part = make_part(target_, file);
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
  int file = -1;
  const std::string part = make_part(target_, file);
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
  Sink sink{file};
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(sink.open(), &std::fclose);
  if (!stream) fail("not written", errno);
  try {
    content(stream.get());
  } catch (...) {
    if (sink.error) fail("not written", sink.error);  // which is why
    throw;
  }
  const bool written = std::fflush(stream.get()) == 0 && !std::ferror(stream.get());
  if (!written) fail("not written", sink.error ? sink.error : EIO);
  if (::close(std::exchange(sink.file, -1)) != 0) fail("not written", errno);
}

}  // namespace dcgn::base
