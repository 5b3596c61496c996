// The simulator's traces: what is read and written again is the same file.
#include "fuzz.hpp"

#include "base/output_file.hpp"
#include "memnet/src/trace.hpp"

#include <fcntl.h>

using namespace dcgn;

namespace {

// What write_trace() writes, through a pipe.
class Written {
 public:
  Written() {
    fuzz::require(pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0 && fcntl(ends_[1], F_SETPIPE_SZ, 1 << 20) > 0,
                  "there is room for a pipe");
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(ends_[1]); }
  std::string take() const {
    std::string text(1 << 20, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends_[0], text.data(), text.size()))));
    return text;
  }

 private:
  int ends_[2];
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile in;
  static const Written out;
  in.write(data, size);
  fuzz::is_taken([&] {
    const memnet::Trace trace = memnet::read_trace(in.path());
    fuzz::require(fuzz::is_taken([&] { memnet::write_trace(out.path(), trace); }), "what was read can be written");
    fuzz::require(out.take() == fuzz::text_of(data, size), "what was read is written as it was");
  });
  return 0;
}
