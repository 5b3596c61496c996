#include "device_clock_kernel.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/gpu/kernel.hpp>

#include <functional>
#include <memory>
#include <new>
#include <string>

namespace dcgn::trace {

namespace {

constexpr std::uint32_t tries = 32;
constexpr std::uint64_t longest_ns = 1'000'000'000;  // a kernel that does not begin until then never will

// In pinned memory of the host.
struct Board {
  alignas(64) std::uint32_t asked;
  alignas(64) std::uint32_t answered;
  std::uint64_t time, step;
};

// %globaltimer goes in steps, of 32 ns or of a microsecond, as the driver has set it. It is the same for all
// multiprocessors of a GPU and does not change its pace with their clock, as clock64() does in both respects: so events
// have it as it is, and the bound on errors has the step.
struct Answer {
  DCGN_HOST_DEVICE void operator()(gpu::Context&, Board* board) const {
    std::uint64_t first = now_ns(), step = ~std::uint64_t{0};
    for (int i = 0; i < 64; ++i) {
      std::uint64_t next = now_ns();
      while (next == first) next = now_ns();
      step = next - first < step ? next - first : step;
      first = next;
    }
    board->step = step;
    const std::uint64_t since = now_ns();
    for (std::uint32_t n = 1; n <= tries; ++n) {
      while (load_acquire(board->asked) != n)
        if (now_ns() - since > longest_ns) return;
      board->time = now_ns();
      store_release(board->answered, n);
    }
  }
};

}  // namespace

base::Reading read_clock(const dcgn::Device& device) {
  if (device.kind() == DeviceKind::emulated) return {};
  const std::unique_ptr<void, std::function<void(void*)>> memory(device.allocate_host(sizeof(Board)),
                                                                 [&](void* p) { device.free_host(p); });
  Board* const board = new (memory.get()) Board{};
  Stream stream(device, StreamPriority::high);
  device.launch(stream, {.grid = 1, .block = 1}, Answer{}, board);
  base::Reading best{0, 0, ~std::uint64_t{0}};
  for (std::uint32_t n = 1; n <= tries; ++n) {
    const std::uint64_t before = now_ns();
    store_release(board->asked, n);
    while (load_acquire(board->answered) != n && now_ns() - before < longest_ns) continue;
    const std::uint64_t after = now_ns(), error = (after - before) / 2 + 1;
    if (load_acquire(board->answered) != n) break;
    if (error < best.error) best = {board->time, before + (after - before) / 2, error};
  }
  stream.synchronize();
  if (best.error == ~std::uint64_t{0})
    throw Error(Code::deadline, "trace", "device " + std::to_string(device.index()) + " does not tell the time");
  best.error += board->step;
  return best;
}

}  // namespace dcgn::trace
