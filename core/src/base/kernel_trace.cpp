#include "base/kernel_trace.hpp"

#include "base/input_file.hpp"
#include "base/output_file.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <string_view>

namespace dcgn::base {

namespace {

constexpr std::string_view magic = "DCGNKERN";
constexpr std::uint64_t version = 1;
constexpr int kind_bits = 3;
constexpr std::uint64_t most_lines = std::uint64_t{1} << 52;

void put_number(std::vector<std::uint8_t>& bytes, std::uint64_t number) {
  for (; number >= 128; number >>= 7) bytes.push_back(static_cast<std::uint8_t>(number | 128));
  bytes.push_back(static_cast<std::uint8_t>(number));
}

// False where the bytes end within it, or it has more than 64 bits.
bool get_number(const std::uint8_t*& at, const std::uint8_t* end, std::uint64_t& number) {
  number = 0;
  for (unsigned shift = 0; at != end && shift < 64; shift += 7) {
    const std::uint8_t byte = *at++;
    number |= std::uint64_t{byte & 127U} << shift;
    if (byte < 128) return true;
  }
  return false;
}

// Small numbers for small differences of either sign.
std::uint64_t folded(std::uint64_t difference) { return difference << 1 ^ (0 - (difference >> 63)); }
std::uint64_t unfolded(std::uint64_t number) { return number >> 1 ^ (0 - (number & 1)); }

bool has_touches(WarpEvent::Kind kind) {
  return kind == WarpEvent::Kind::load || kind == WarpEvent::Kind::store || kind == WarpEvent::Kind::atomic;
}

class FileReader {
 public:
  FileReader(const std::string& path, const std::string& content)
      : path_(path),
        begin_(reinterpret_cast<const std::uint8_t*>(content.data())),
        at_(begin_),
        end_(begin_ + content.size()) {}

  void expect_magic() {
    const auto size = static_cast<std::size_t>(end_ - at_);
    if (std::string_view(reinterpret_cast<const char*>(at_), std::min(size, magic.size())) != magic)
      fail("no kernel trace, expected \"" + std::string(magic) + "\"");
    at_ += magic.size();
    if (const std::uint64_t its = number(); its != version)
      fail("version " + std::to_string(its) + ", expected " + std::to_string(version));
  }
  std::uint64_t number() {
    std::uint64_t found = 0;
    if (!get_number(at_, end_, found)) fail("the file ends within a number");
    return found;
  }
  // Of things that take at least a byte each.
  std::size_t count() {
    const std::uint64_t found = number();
    if (found > static_cast<std::uint64_t>(end_ - at_))
      fail(std::to_string(found) + " things in " + std::to_string(end_ - at_) + " bytes");
    return static_cast<std::size_t>(found);
  }
  unsigned extent(unsigned most) {
    const std::uint64_t found = number();
    if (found == 0 || found > most)
      fail("an extent of " + std::to_string(found) + ", expected 1 to " + std::to_string(most));
    return static_cast<unsigned>(found);
  }
  std::string text() {
    const std::size_t size = count();
    at_ += size;
    return {reinterpret_cast<const char*>(at_ - size), size};
  }
  std::vector<std::uint8_t> bytes() {
    const std::size_t size = count();
    at_ += size;
    return {at_ - size, at_};
  }
  bool at_end() const { return at_ == end_; }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(Code::io, "kernel trace", path_ + ": offset " + std::to_string(at_ - begin_) + ": " + why);
  }

 private:
  const std::string& path_;
  const std::uint8_t *const begin_, *at_, *const end_;
};

LaunchTrace read_launch(FileReader& file) {
  LaunchTrace launch;
  launch.kernel = file.text();
  if (std::any_of(launch.kernel.begin(), launch.kernel.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 32; }))
    file.fail("a kernel's name with control characters");
  launch.grid.x = file.extent(0x7fffffff);
  for (unsigned* const one : {&launch.grid.y, &launch.grid.z}) *one = file.extent(65535);
  for (unsigned* const one : {&launch.block.x, &launch.block.y, &launch.block.z}) *one = file.extent(1024);
  launch.shared_bytes = file.number();
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (threads > 1024) file.fail("blocks of " + std::to_string(threads) + " threads, expected at most 1024");
  launch.blocks.resize(file.count());
  std::uint64_t next = 0;
  for (BlockTrace& block : launch.blocks) {
    block.number = next + file.number();
    next = block.number + 1;
    if (block.number >= launch.block_count())
      file.fail("block " + std::to_string(block.number) + " of a grid of " + std::to_string(launch.block_count()));
    block.ends.resize(file.count());
    if (block.ends.size() != (threads + 31) / 32)
      file.fail(std::to_string(block.ends.size()) + " warps of " + std::to_string(threads) + " threads");
    std::uint64_t end = 0;
    for (std::uint32_t& its : block.ends) its = static_cast<std::uint32_t>(end += file.count());
    block.bytes = file.bytes();
    if (end != block.bytes.size()) file.fail("warps of " + std::to_string(end) + " bytes, expected as many as follow");
    WarpEvent event;
    for (std::size_t warp = 0; warp < block.warps(); ++warp) {
      try {
        for (WarpReader reader = block.warp(warp); reader.next(event);) {
        }
      } catch (const Error&) {
        file.fail("block " + std::to_string(block.number) + ", warp " + std::to_string(warp) +
                  ": bytes that are no events");
      }
    }
  }
  return launch;
}

void put_text(std::vector<std::uint8_t>& out, const std::string& text) {
  put_number(out, text.size());
  out.insert(out.end(), text.begin(), text.end());
}

void put_launch(std::vector<std::uint8_t>& out, const LaunchTrace& launch) {
  put_text(out, launch.kernel);
  for (const Dim3& shape : {launch.grid, launch.block})
    for (const unsigned one : {shape.x, shape.y, shape.z}) put_number(out, one);
  put_number(out, launch.shared_bytes);
  put_number(out, launch.blocks.size());
  std::uint64_t next = 0;
  for (const BlockTrace& block : launch.blocks) {
    put_number(out, block.number - next);
    next = block.number + 1;
    put_number(out, block.ends.size());
    std::uint32_t last = 0;
    for (const std::uint32_t end : block.ends) {
      put_number(out, end - last);
      last = end;
    }
    put_number(out, block.bytes.size());
    out.insert(out.end(), block.bytes.begin(), block.bytes.end());
  }
}

}  // namespace

void WarpWriter::put(std::uint64_t number) { put_number(bytes_, number); }
void WarpWriter::issue(std::uint32_t instructions) {
  if (instructions != 0)
    put(std::uint64_t{instructions} << kind_bits | static_cast<std::uint64_t>(WarpEvent::Kind::issue));
}
void WarpWriter::access(WarpEvent::Kind kind, std::uint32_t count, const std::vector<Touch>& touches) {
  put(std::uint64_t{count} << kind_bits | static_cast<std::uint64_t>(kind));
  put(touches.size());
  for (const Touch& touch : touches) {
    put(folded(touch.line - last_line_) << 4 | touch.sectors);
    last_line_ = touch.line;
  }
}
void WarpWriter::use(std::uint32_t back) {
  put(std::uint64_t{back} << kind_bits | static_cast<std::uint64_t>(WarpEvent::Kind::use));
}
void WarpWriter::barrier() { put(static_cast<std::uint64_t>(WarpEvent::Kind::barrier)); }

bool WarpReader::next(WarpEvent& event) {
  const auto check = [](bool holds) {
    if (!holds) throw Error(Code::io, "kernel trace", "a warp's bytes are no events");
  };
  if (at_ == end_) return false;
  std::uint64_t head = 0, touches = 0;
  check(get_number(at_, end_, head));
  const std::uint64_t kind = head & ((1U << kind_bits) - 1);
  check(kind <= static_cast<std::uint64_t>(WarpEvent::Kind::barrier) && head >> kind_bits <= 0xffffffff);
  event.kind = static_cast<WarpEvent::Kind>(kind);
  event.count = static_cast<std::uint32_t>(head >> kind_bits);
  event.touches.clear();
  if (!has_touches(event.kind)) return true;
  check(get_number(at_, end_, touches) && touches >= 1 && touches <= static_cast<std::uint64_t>(end_ - at_));
  for (std::uint64_t i = 0; i < touches; ++i) {
    std::uint64_t word = 0;
    check(get_number(at_, end_, word));
    last_line_ += unfolded(word >> 4);
    check(last_line_ < most_lines && (word & 15) != 0);
    event.touches.push_back({last_line_, static_cast<std::uint8_t>(word & 15)});
  }
  return true;
}

bool is_sampled(std::uint64_t block, std::uint64_t blocks, std::uint64_t most) {
  if (most == 0 || blocks <= most) return true;
  // A part's run begins where the part does: block * runs / blocks is the part's number.
  const std::uint64_t part = block * sampled_runs / blocks;
  const std::uint64_t begin = (part * blocks + sampled_runs - 1) / sampled_runs;
  return block - begin < (most + sampled_runs - 1) / sampled_runs;
}

void write_kernel_trace(OutputFile& file, const KernelTrace& trace) {
  std::vector<std::uint8_t> out(magic.begin(), magic.end());
  put_number(out, version);
  put_text(out, trace.program);
  put_number(out, trace.steps.size());
  file.write([&](std::FILE* to) {
    const auto flush = [&] {
      std::fwrite(out.data(), 1, out.size(), to);  // the file looks for errors once it is full
      out.clear();
    };
    for (const KernelStep& step : trace.steps) {
      put_number(out, static_cast<std::uint64_t>(step.kind));
      if (step.kind == KernelStep::Kind::launch)
        put_launch(out, step.launch);
      else
        put_number(out, step.bytes);
      flush();
    }
    flush();
  });
}

KernelTrace read_kernel_trace(const std::string& path) {
  const std::string content = read_file(path, "kernel trace");
  FileReader file(path, content);
  file.expect_magic();
  KernelTrace trace;
  trace.program = file.text();
  trace.steps.resize(file.count());
  for (KernelStep& step : trace.steps) {
    const std::uint64_t kind = file.number();
    if (kind > static_cast<std::uint64_t>(KernelStep::Kind::to_host))
      file.fail("a step of kind " + std::to_string(kind) + ", expected 0..2");
    step.kind = static_cast<KernelStep::Kind>(kind);
    if (step.kind == KernelStep::Kind::launch)
      step.launch = read_launch(file);
    else
      step.bytes = file.number();
  }
  if (!file.at_end()) file.fail("bytes behind the last step");
  return trace;
}

}  // namespace dcgn::base
