// What kernels call that no module defines: CUDA's runtime on the device.
#include "vgpu/src/interpreter/operations.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace dcgn::virtual_gpu::interpreter {

namespace {

// The heap of kernels: what one has allocated another may use and free.
struct Heap {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> blocks;
};
Heap& heap() {
  static Heap& all = *new Heap();  // launches may run to the very end
  return all;
}

template <class T>
T argument(Warp& warp, const Op& op, int lane, std::size_t number) {
  const Slot& slot = warp.call_site(op).arguments.at(number);
  T value{};
  const void* const from =
      slot.in_register ? static_cast<const void*>(warp.row(slot.row) + lane) : warp.frame_bytes(lane) + slot.offset;
  std::memcpy(&value, from, std::min<std::size_t>(sizeof value, slot.bytes));
  return value;
}
template <class T>
void give(Warp& warp, const Op& op, int lane, T value) {
  const CallSite& site = warp.call_site(op);
  if (site.results.empty()) return;
  const Slot& slot = site.results.front();
  if (slot.in_register)
    warp.row(slot.row)[lane] = put(value);
  else
    std::memcpy(warp.frame_bytes(lane) + slot.offset, &value, std::min<std::size_t>(sizeof value, slot.bytes));
}

// `text` at an address that the thread may read.
std::string text_at(Warp& warp, const Op& op, int lane, Word address) {
  Op read = op;
  read.addressing = Addressing::absolute;
  read.offset = 0;
  std::string text;
  std::array<Word, lanes> at{};
  for (at[static_cast<std::size_t>(lane)] = address;; ++at[static_cast<std::size_t>(lane)]) {
    const auto c = static_cast<char>(*warp.at(read, lane, at.data(), 1));
    if (c == 0) return text;
    text += c;
  }
}

template <class T>
std::string formatted(const std::string& format, T value) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int length = std::snprintf(nullptr, 0, format.c_str(), value);
  std::string text(static_cast<std::size_t>(std::max(length, 0)), ' ');
  std::snprintf(text.data(), text.size() + 1, format.c_str(), value);
#pragma GCC diagnostic pop
  return text;
}

// A printf whose arguments stand in memory one behind the other, each where its size allows.
void print(Warp& warp, const Op& op, Mask mask) {
  for_lanes(mask, [&](int lane) {
    const std::string format = text_at(warp, op, lane, argument<Word>(warp, op, lane, 0));
    const auto* const values = reinterpret_cast<const std::byte*>(argument<Word>(warp, op, lane, 1));
    std::size_t offset = 0;
    const auto next = [&](auto value) {
      offset = (offset + sizeof value - 1) / sizeof value * sizeof value;
      std::memcpy(&value, values + offset, sizeof value);
      offset += sizeof value;
      return value;
    };
    std::string out;
    int count = 0;
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        out += format[i];
        continue;
      }
      const std::size_t end = format.find_first_of("diouxXeEfFgGaAcsp%", i + 1);
      if (end == std::string::npos) {
        out += format.substr(i);
        break;
      }
      std::string one = format.substr(i, end - i + 1);
      const char kind = one.back();
      i = end;
      if (kind == '%') {
        out += '%';
        continue;
      }
      for (std::size_t star; (star = one.find('*')) != std::string::npos;)
        one.replace(star, 1, std::to_string(next(int{})));
      const bool wide = one.find('l') != std::string::npos || one.find('z') != std::string::npos ||
                        one.find('j') != std::string::npos || one.find('t') != std::string::npos;
      if (kind == 's')
        out += formatted(one, text_at(warp, op, lane, next(Word{})).c_str());
      else if (kind == 'p')
        out += formatted(one, reinterpret_cast<void*>(next(Word{})));
      else if (std::string_view("eEfFgGaA").find(kind) != std::string_view::npos)
        out += formatted(one, next(double{}));
      else if (wide)
        out += formatted(one, next(std::int64_t{}));
      else
        out += formatted(one, next(int{}));
      ++count;
    }
    std::fwrite(out.data(), 1, out.size(), stdout);
    give(warp, op, lane, count);
  });
  std::fflush(stdout);
}

void allocate(Warp& warp, const Op& op, Mask mask) {
  for_lanes(mask, [&](int lane) {
    const auto bytes = argument<Word>(warp, op, lane, 0);
    void* const memory = std::aligned_alloc(16, (std::max<Word>(bytes, 1) + 15) / 16 * 16);
    if (memory) {
      const std::lock_guard lock(heap().mutex);
      heap().blocks[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
    }
    give(warp, op, lane, memory);
  });
}

void release(Warp& warp, const Op& op, Mask mask) {
  for_lanes(mask, [&](int lane) {
    const auto address = argument<Word>(warp, op, lane, 0);
    if (address == 0) return;
    {
      const std::lock_guard lock(heap().mutex);
      if (heap().blocks.erase(address) == 0)
        warp.fail(op, lane, Fault::Kind::illegal_address, "free of what malloc has not given");
    }
    std::free(reinterpret_cast<void*>(address));
  });
}

void fail_assertion(Warp& warp, const Op& op, Mask mask) {
  const int lane = __builtin_ctz(mask);
  const auto text = [&](std::size_t number) { return text_at(warp, op, lane, argument<Word>(warp, op, lane, number)); };
  warp.fail(op, lane, Fault::Kind::trap,
            text(1) + ":" + std::to_string(argument<std::uint32_t>(warp, op, lane, 2)) + ": " + text(3) +
                ": assertion `" + text(0) + "` failed");
}

}  // namespace

Memory::Extent heap_extent(std::uintptr_t address) {
  const std::lock_guard lock(heap().mutex);
  const auto after = heap().blocks.upper_bound(address);
  if (after == heap().blocks.begin()) return {};
  const auto& [begin, bytes] = *std::prev(after);
  return {begin, begin + bytes};
}

SystemCall find_system_call(std::string_view name) {
  if (name == "vprintf") return &print;
  if (name == "malloc") return &allocate;
  if (name == "free") return &release;
  if (name == "__assertfail") return &fail_assertion;
  return nullptr;
}

}  // namespace dcgn::virtual_gpu::interpreter
