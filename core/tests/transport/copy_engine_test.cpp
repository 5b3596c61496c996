// Copies between all kinds of memory, on whatever devices there are.
#include "support.hpp"
#include "transport_kernels.hpp"

#include "tests/expect.hpp"
#include "tests/sanitized.hpp"
#include "transport/copy_engine.hpp"

#include <dcgn/gpu/launch.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace dcgn::test {
namespace {

using transport::CopyEngine;

constexpr std::size_t margin = 64;  // around what is written

// Copies `size` bytes at the offsets, by `move`, and checks them and what lies around them.
template <class Move>
void check_copy(Kind to, std::size_t to_offset, Kind from, std::size_t from_offset, std::size_t size, Move&& move) {
  SCOPED_TRACE(std::to_string(size) + " bytes from " + to_string(from) + " + " + std::to_string(from_offset) + " to " +
               to_string(to) + " + " + std::to_string(to_offset));
  const Bytes sent = pattern(size + from_offset, 1);
  Bytes expected = pattern(size + 2 * margin, 2);
  const Memory source(from, sent);
  const Memory target(to, expected);
  move(target.data() + to_offset, source.data() + from_offset, size);
  std::memcpy(expected.data() + to_offset, sent.data() + from_offset, size);
  EXPECT_TRUE(target.contents() == expected);
  EXPECT_TRUE(source.contents() == sent);
}

class Engine : public ::testing::TestWithParam<bool> {
 protected:
  const CopyEngine engine_{two_devices(), GetParam()};
};

INSTANTIATE_TEST_SUITE_P(, Engine, ::testing::Bool(), [](const auto& p) { return p.param ? "p2p" : "staged"; });

TEST_P(Engine, CopiesBetweenAnyTwoPlacesOfAnySizeAtAnyAddress) {
  for (const Kind to : kinds())
    for (const Kind from : kinds())
      for (const std::size_t size : {1, 3, 16, 4097, 262'143, (2 << 20) + 1, sanitized ? 3'000'001 : 9'000'001})
        check_copy(to, size % 13, from, size % 7, size,
                   [&](void* t, const void* f, std::size_t n) { engine_.copy(t, f, n); });
}

TEST_P(Engine, IsBusyUntilWhatWasStartedIsDone) {
  const Kind here{Kind::device, 0}, there = kinds().back();
  const Bytes sent = pattern(9'000'001, 3);
  const Memory source(here, sent), target(there, Bytes(sent.size())), word({Kind::pinned}, Bytes(4));
  EXPECT_FALSE(engine_.busy());
  auto* const done = reinterpret_cast<std::uint32_t*>(word.data());
  engine_.start(target.data(), source.data(), sent.size(), done, 1);
  while (engine_.busy()) std::this_thread::yield();
  EXPECT_EQ(load_acquire(*done), 1u);
  EXPECT_TRUE(target.contents() == sent);
}

TEST_P(Engine, CopiesMoreThanItsBuffersHold) {
  const Kind here{Kind::device, 0}, there = kinds().back();
  for (const auto& [to, from] : {std::pair(there, here), std::pair(here, there), std::pair(here, Kind{Kind::pinned}),
                                 std::pair(Kind{Kind::pageable}, here)})
    check_copy(to, 1, from, 3, sanitized ? 2'000'003 : 70'000'003,
               [&](void* t, const void* f, std::size_t n) { engine_.copy(t, f, n); });
}

TEST_P(Engine, WritesTheWordWhereverItIsWhenTheBytesHaveArrived) {
  for (const Kind word_kind : kinds()) {
    SCOPED_TRACE("word: " + to_string(word_kind));
    for (const Kind to : kinds())
      for (const Kind from : kinds())
        for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{sanitized ? 300'001 : 3'000'001}}) {
          const Memory words(word_kind, Bytes(12, 0xee));
          check_copy(to, 2, from, 1, size, [&](void* t, const void* f, std::size_t n) {
            auto* word = reinterpret_cast<std::uint32_t*>(words.data() + 4);
            engine_.start(t, f, n, word, 0x12345678);
            std::uint32_t found = 0;
            while (found != 0x12345678) {
              relax();
              if (word_kind.what == Kind::device)
                Device(word_kind.index).copy(&found, word, sizeof found);
              else
                found = load_acquire(*word);
            }
          });
          const Bytes after = words.contents();
          EXPECT_EQ(Bytes(after.begin(), after.begin() + 4), Bytes(4, 0xee));
          EXPECT_EQ(Bytes(after.begin() + 8, after.end()), Bytes(4, 0xee));
        }
  }
}

TEST_P(Engine, ReachesAKernelThatRunsOnEachDeviceAndWaitsForTheCopy) {
  constexpr std::size_t size = 300'001;
  const Bytes sent = pattern(size, 3);
  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < size; ++i) expected += (i + 1) * sent[i];
  for (const Kind from : kinds()) {
    SCOPED_TRACE("from " + to_string(from));
    const Memory source(from, sent);
    struct Side {
      explicit Side(Device d)
          : target({Kind::device, d.index()}, Bytes(size)),
            word({Kind::device, d.index()}, Bytes(4)),
            sum(sizeof(std::uint64_t)),
            stream(d) {}
      Memory target, word;
      Pinned sum;
      Stream stream;
    };
    std::vector<std::unique_ptr<Side>> sides;
    for (const Device& d : two_devices()) sides.push_back(std::make_unique<Side>(d));
    for (const Device& d : two_devices()) {
      Side& s = *sides[static_cast<std::size_t>(d.index())];
      d.launch(s.stream, {.grid = 1, .block = 1}, SumWhenDone{}, reinterpret_cast<std::uint32_t*>(s.word.data()), 9u,
               s.target.data(), size, s.sum.get<std::uint64_t>());
    }
    for (const auto& s : sides) EXPECT_FALSE(s->stream.idle());
    for (const auto& s : sides)
      engine_.start(s->target.data(), source.data(), size, reinterpret_cast<std::uint32_t*>(s->word.data()), 9);
    for (const auto& s : sides) {
      s->stream.synchronize();
      EXPECT_EQ(*s->sum.get<std::uint64_t>(), expected);
    }
  }
}

TEST_P(Engine, ServesSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t)
    threads.emplace_back([this, t] {
      const auto all = kinds();
      for (unsigned i = 0; i < 12; ++i)
        check_copy(all[(t + i) % all.size()], t, all[(t + i / 4) % all.size()], i,
                   (sanitized ? 250'000 : 2'500'000) + 1001 * t,
                   [&](void* to, const void* from, std::size_t n) { engine_.copy(to, from, n); });
    });
  for (std::thread& t : threads) t.join();
}

TEST_P(Engine, KnowsWhoseMemoryItIs) {
  const bool p2p = GetParam();
  for (const Device& d : two_devices()) {
    const DeviceBuffer<unsigned char> own(d, 1000);
    EXPECT_TRUE(engine_.is_device_memory(own.data()));
    EXPECT_TRUE(engine_.is_device_memory(own.data() + 999));
    EXPECT_FALSE(engine_.is_pageable(own.data()));
    for (const Device& reader : two_devices())
      EXPECT_EQ(engine_.kernels_can_read(own.data() + 7, reader.index()),
                reader.index() == d.index() || (p2p && reader.can_reach(d)));
  }
  const Pinned pinned(100);
  const Bytes pageable(100);
  EXPECT_FALSE(engine_.is_device_memory(nullptr));
  EXPECT_FALSE(engine_.is_device_memory(pinned.get()));
  EXPECT_FALSE(engine_.is_device_memory(pageable.data()));
  EXPECT_FALSE(engine_.kernels_can_read(nullptr, 0));
  EXPECT_TRUE(engine_.is_pageable(pageable.data()));
  EXPECT_FALSE(engine_.is_pageable(nullptr));
  EXPECT_TRUE(engine_.kernels_can_read(pinned.get() + 50, 0));
  EXPECT_EQ(engine_.kernels_can_read(pageable.data(), 0), Device(0).kind() == DeviceKind::emulated);
}

TEST_P(Engine, RefusesNullAndCopiesNothingToNowhere) {
  std::uint32_t word = 0;
  engine_.copy(nullptr, nullptr, 0);
  engine_.start(nullptr, nullptr, 0, &word, 3);
  while (load_acquire(word) != 3) relax();
  EXPECT_EQ(error_of([&] { engine_.copy(nullptr, &word, 4); }).code(), Code::null_buffer);
  EXPECT_EQ(error_of([&] { engine_.copy(&word, nullptr, 4); }).code(), Code::null_buffer);
  EXPECT_EQ(error_of([&] { engine_.start(&word, &word, 0, nullptr, 4); }).code(), Code::null_buffer);
}

TEST(CopyEngine, RefusesMemoryOfADeviceThatItWasNotGiven) {
  if (Device::count() < 2 || Device(0).kind() == DeviceKind::emulated) GTEST_SKIP() << "no two CUDA devices";
  const CopyEngine engine({Device(0)}, true);
  const DeviceBuffer<unsigned char> here(Device(0), 8), there(Device(1), 8);
  const Error error = error_of([&] { engine.copy(here.data(), there.data(), 8); });
  EXPECT_EQ(error.code(), Code::device);
  EXPECT_TRUE(contains(error.what(), "memory of device 1, expected of 0"));
}

TEST(CopyEngine, WithoutDevicesCopiesHostMemory) {
  const CopyEngine engine({}, true);
  const Bytes sent = pattern(100, 4);
  Bytes got(100);
  engine.copy(got.data(), sent.data(), 100);
  EXPECT_EQ(got, sent);
}

}  // namespace
}  // namespace dcgn::test
