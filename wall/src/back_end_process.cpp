#include "wall/src/back_end_process.hpp"

#include <dcgn/error.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace dcgn::wall {

namespace {

constexpr auto patience = std::chrono::seconds(30);  // of messages that are on their way

// Mesa's llvmpipe has two rasterizers, which round the middle between two of 255 steps each its own way, and chooses by
// what else is in a tile of 64 x 64 pixels: exact walls do with one.
constexpr const char* alike_name = "LP_PERF";
constexpr const char* alike_value = "no_rast_linear";

// Beside this program, where it is installed, and where it was built.
std::string library_path() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::string tried;
  for (const fs::path& folder : {program / ".." / DCGN_LIBRARY_FOLDER / "dcgn", fs::path(DCGN_WALL_BUILT)}) {
    const fs::path file = (folder / "libdcgn_wall_back_end.so").lexically_normal();
    if (fs::exists(file, ignored)) return file.string();
    tried += (tried.empty() ? "" : ", ") + file.string();
  }
  throw Error(Code::unsupported, "wall",
              "no libdcgn_wall_back_end.so (" + tried +
                  "): expected a build of all targets, with freeglut's and Mesa's headers; "
                  "scripts/install-packages wall");
}

std::string with_before(const char* variable, const std::string& first) {
  const char* const others = std::getenv(variable);
  return others && *others ? first + ":" + others : first;
}

// For a shell.
std::string quoted(const std::string& word) {
  std::string all = "'";
  for (const char c : word) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

}  // namespace

BackEndProcess::BackEndProcess(const Screen& screen, const Setup& setup, const std::vector<std::string>& remote,
                               const std::vector<std::string>& command)
    : screen_(screen), setup_(setup) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(Code::io, "wall", std::string("no socket: ") + std::strerror(errno));
  socket_ = transport::Socket(ends[0]);
  const transport::Socket theirs(ends[1]);
  const std::string library = library_path();
  const std::string folder = std::filesystem::path(library).parent_path().string();  // of libglut.so.3, too
  if (screen.host.empty()) {
    const std::string display = screen.display, preload = with_before("LD_PRELOAD", library);
    const std::string libraries = with_before("LD_LIBRARY_PATH", folder);
    const std::string fd = std::to_string(theirs.fd());
    child_ = Child(command, [&] {
      fcntl(theirs.fd(), F_SETFD, 0);
      if (setup_.shared_picture >= 0) fcntl(setup_.shared_picture, F_SETFD, 0);
      setenv("DCGN_WALL_INPUT", fd.c_str(), 1);
      setenv("DCGN_WALL_OUTPUT", fd.c_str(), 1);
      setenv("LD_PRELOAD", preload.c_str(), 1);
      setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
      if (!display.empty()) setenv("DISPLAY", display.c_str(), 1);
      if (setup_.exact) setenv(alike_name, alike_value, 0);
      personality(static_cast<unsigned long>(personality(0xffffffff)) | ADDR_NO_RANDOMIZE);  // addresses alike
    });
    return;
  }
  // By the input and output of what runs commands there: the program itself has neither.
  std::string there = "exec 3<&0 4>&1 </dev/null >&2; cd " + quoted(std::filesystem::current_path().string()) +
                      " && exec env DCGN_WALL_INPUT=3 DCGN_WALL_OUTPUT=4 LD_PRELOAD=" + quoted(library) +
                      " LD_LIBRARY_PATH=" + quoted(folder) +
                      " DISPLAY=" + quoted(screen.display.empty() ? ":0" : screen.display) +
                      (setup.exact ? std::string(" ") + alike_name + "=" + alike_value : "");
  for (const std::string& word : command) there += " " + quoted(word);
  std::vector<std::string> all;
  for (const std::string& word : remote) {
    std::string one = word;
    if (const std::size_t at = one.find("{host}"); at != std::string::npos) one.replace(at, 6, screen.host);
    all.push_back(one);
  }
  all.push_back(there);
  child_ = Child(all, [&] {
    dup2(theirs.fd(), STDIN_FILENO);
    dup2(theirs.fd(), STDOUT_FILENO);
  });
}

void BackEndProcess::balance(const Cut& cut, const std::vector<Rect>& screens) {
  setup_.balanced = static_cast<std::int32_t>(screens.size());
  regions_ = bytes_of_all(screens) + bytes_of_all(cut);
}

std::string BackEndProcess::setup() const { return bytes_of(setup_) + regions_; }

void BackEndProcess::send(Kind kind, const std::string& content) const {
  // Where it does not arrive, the stream's end will say so.
  static_cast<void>(send_message(socket_.fd(), kind, content, Clock::now() + patience));
}

std::optional<Message> BackEndProcess::receive() {
  constexpr std::size_t large = 1 << 16;  // enough to tell the link from the calls
  const auto began = Clock::now();
  std::optional<Message> message = receive_message(socket_.fd(), began + patience);
  if (message && message->content.size() >= large)
    link_.bytes_per_s = static_cast<double>(message->content.size()) /
                        std::max(1e-9, std::chrono::duration<double>(Clock::now() - began).count());
  return message;
}

void BackEndProcess::end_of_stream() {
  ended_ = true;
  waiting.reset();
  if (child_.ended(5000)) return;
  cut_ = true;
  child_.end(SIGKILL);
  child_.ended(5000);
}

std::optional<std::string> BackEndProcess::how_it_died() const {
  if (cut_) return "a connection that broke";
  if (child_.killed()) return child_.how();
  return std::nullopt;
}

void BackEndProcess::let_end() {
  if (!child_.ended(5000)) child_.end(SIGKILL);
  child_.ended(5000);
}

void BackEndProcess::count(const Tick& tick) {
  if (tick.frame > 1) {  // the first has the start-up
    ++frames_;
    busy_ms_ += static_cast<double>(tick.busy_ns) * 1e-6;
    drawn_ms_ += static_cast<double>(tick.drawn_ns) * 1e-6;
  }
  last_ = tick;
}

ScreenReport BackEndProcess::report() const {
  const double frames = static_cast<double>(std::max<std::int64_t>(1, frames_));
  return {screen_.name, last_.swaps, busy_ms_ / frames, drawn_ms_ / frames, last_.given_pixels, last_.given_bytes};
}

void BackEndProcess::add_to(WallPicture& whole) const {
  const auto shown = waiting->as<Picture>();
  const auto* const rgb = reinterpret_cast<const std::uint8_t*>(waiting->content.data() + sizeof shown);
  const Rect& part = screen_.part;
  if (shown.width != screen_.shown_width() || shown.height != screen_.shown_height() ||
      waiting->content.size() != sizeof shown + static_cast<std::size_t>(shown.width) * shown.height * 3)
    throw Error(Code::mismatch, "wall", screen_.name + " sent a picture of another size than the layout has");
  for (int y = 0; y < part.height; ++y)
    for (int x = 0; x < part.width; ++x) {
      int from_x = x, from_y = y;
      if (screen_.turn == 1) from_x = part.height - 1 - y, from_y = x;
      if (screen_.turn == 2) from_x = part.width - 1 - x, from_y = part.height - 1 - y;
      if (screen_.turn == 3) from_x = y, from_y = part.width - 1 - x;
      std::memcpy(&whole.rgb[(static_cast<std::size_t>(part.y + y) * whole.width + part.x + x) * 3],
                  rgb + (static_cast<std::size_t>(from_y) * shown.width + from_x) * 3, 3);
    }
}

}  // namespace dcgn::wall
