#include "vgpu/src/interpreter/asynchronous.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace dcgn::virtual_gpu::interpreter {

namespace {

// What is in the 8 bytes of an mbarrier.
struct Counter {
  std::uint64_t phase : 1, pending : 15, expected : 15, valid : 1;
  std::uint64_t bytes : 32;  // that are still to come
};
static_assert(sizeof(Counter) == 8);

template <class Change>
Counter change(std::byte* at, const Change& change_it) {
  Counter counter;
  std::memcpy(&counter, at, sizeof counter);
  const Counter before = counter;
  change_it(counter);
  if (counter.valid != 0 && counter.pending == 0 && counter.bytes == 0) {
    counter.phase ^= 1;
    counter.pending = counter.expected;
  }
  std::memcpy(at, &counter, sizeof counter);
  return before;
}
void arrive_at(Counter& counter, std::uint32_t count) { counter.pending = (counter.pending - count) & 0x7fff; }
void add_bytes(Counter& counter, std::uint32_t bytes) { counter.bytes = (counter.bytes + bytes) & 0xffffffff; }

void initialize(Warp& warp, const Op& op, Mask mask) {
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  for_lanes(mask, [&](int lane) {
    Counter counter{};
    counter.pending = counter.expected = b[lane] & 0x7fff;
    counter.valid = 1;
    std::memcpy(warp.at(op, lane, a, 8), &counter, sizeof counter);
  });
}
// d is the state before; op.list: 1, b arrive; 2, b bytes are expected; 4, of those one arrives, too; 8, b bytes have
// come.
void arrive(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  for_lanes(mask, [&](int lane) {
    const auto value = static_cast<std::uint32_t>(b[lane]);
    const Counter before = change(warp.at(op, lane, a, 8), [&](Counter& counter) {
      if ((op.list & 2) != 0) add_bytes(counter, value);
      if ((op.list & 8) != 0) add_bytes(counter, 0 - value);
      if ((op.list & 1) != 0) arrive_at(counter, value);
      if ((op.list & 4) != 0) arrive_at(counter, 1);
    });
    d[lane] = before.phase;
  });
}
void invalidate(Warp& warp, const Op& op, Mask mask) {
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) { std::memset(warp.at(op, lane, a, 8), 0, 8); });
}
// Whether the phase of b, a state or a parity, is over.
void test(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  for_lanes(mask, [&](int lane) {
    Counter counter;
    std::memcpy(&counter, warp.at(op, lane, a, 8), sizeof counter);
    d[lane] = counter.phase != (b[lane] & 1);
  });
}

// Of either memory: an address of shared memory is one of less than its bytes.
std::byte* anywhere(Warp& warp, const Op& op, int lane, const Word* address, bool shared, std::size_t bytes) {
  Op like = op;
  like.addressing = shared ? Addressing::shared : Addressing::absolute;
  like.offset = 0;
  if (bytes == 0) bytes = 1;
  std::byte* const last = warp.at(like, lane, address, 1);
  like.offset = static_cast<std::int64_t>(bytes - 1);
  warp.at(like, lane, address, 1);
  return last;
}

}  // namespace

Op::Run find_memory_barrier(const Qualified& q, Op& op) {
  op.list = 0;
  if (q.has(".init")) return &initialize;
  if (q.has(".inval")) return &invalidate;
  if (q.has(".arrive_drop") || q.has(".pending_count")) return nullptr;
  if (q.has(".arrive")) return op.list = q.has(".expect_tx") ? 6 : 1, &arrive;
  if (q.has(".expect_tx")) return op.list = 2, &arrive;
  if (q.has(".complete_tx")) return op.list = 8, &arrive;
  if (q.has(".test_wait") || q.has(".try_wait")) return &test;
  return nullptr;
}

void copy_small(Warp& warp, const Op& op, Mask mask) {
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c), *const e = warp.row(op.e);
  for_lanes(mask, [&](int lane) {
    const auto bytes = static_cast<std::size_t>(c[lane]);
    const std::size_t read = op.count != 0 ? std::min<std::size_t>(static_cast<std::uint32_t>(e[lane]), bytes) : bytes;
    std::byte* const to = warp.at(op, lane, a, bytes);
    if (read != 0) std::memcpy(to, anywhere(warp, op, lane, b, false, read), read);
    std::memset(to + read, 0, bytes - read);
  });
}

void copy_bulk(Warp& warp, const Op& op, Mask mask) {
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c), *const e = warp.row(op.e);
  const bool to_shared = (op.list & 1) != 0, from_shared = (op.list & 2) != 0;
  for_lanes(mask, [&](int lane) {
    const auto bytes = static_cast<std::uint32_t>(c[lane]);
    if (bytes == 0 || bytes % 16 != 0)
      warp.fail(op, lane, Fault::Kind::misaligned_address, std::to_string(bytes) + " bytes, expected a multiple of 16");
    std::memcpy(anywhere(warp, op, lane, a, to_shared, bytes), anywhere(warp, op, lane, b, from_shared, bytes), bytes);
    if (op.count != 0)
      change(anywhere(warp, op, lane, e, true, 8), [&](Counter& counter) { add_bytes(counter, 0 - bytes); });
  });
}

}  // namespace dcgn::virtual_gpu::interpreter
