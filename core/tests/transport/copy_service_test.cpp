// Copies asked for by ranks: threads, and blocks of kernels that run.
#include "support.hpp"
#include "transport_kernels.hpp"

#include "transport/copy_service.hpp"

#include <dcgn/gpu/launch.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

namespace dcgn::test {
namespace {

using message::CopyQueue, message::copy_queue_length;
using transport::CopyEngine, transport::CopyService;

void fail_loudly(const Error& error) {
  std::fprintf(stderr, "the service failed: %s\n", error.what());
  std::abort();  // whoever waits for a copy would wait for ever
}

// What `ranks` ranks ask for: each `count` pieces of `piece` bytes from one kind of memory to another.
struct Ranks {
  Ranks(int ranks, Kind to, Kind from, Kind words, std::size_t piece, std::uint32_t count)
      : sent(pattern(static_cast<std::size_t>(ranks) * piece * count, 5)),
        source(from, sent),
        target(to, Bytes(sent.size())),
        done(words, Bytes(static_cast<std::size_t>(ranks) * copy_queue_length * sizeof(std::uint32_t))),
        queues(static_cast<std::size_t>(ranks) * sizeof(CopyQueue)),
        posted(static_cast<std::size_t>(ranks) * sizeof(std::uint32_t)),
        posters(static_cast<std::size_t>(ranks) * sizeof(Poster)) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
      posters.get<Poster>()[r] = {queues.get<CopyQueue>() + r,
                                  posted.get<std::uint32_t>() + r,
                                  reinterpret_cast<std::uint32_t*>(done.data()) + r * copy_queue_length,
                                  target.data() + r * piece * count,
                                  source.data() + r * piece * count,
                                  piece,
                                  count};
  }

  Bytes sent;
  Memory source, target, done;
  Pinned queues, posted, posters;
};

TEST(CopyService, ServesRanksInKernelsThatAskForMoreThanTheirQueuesHold) {
  constexpr int ranks = 5;
  for (const bool p2p : {true, false})
    for (const Kind to : kinds()) {
      SCOPED_TRACE(to_string(to) + (p2p ? ", p2p" : ", staged"));
      CopyEngine engine(two_devices(), p2p);
      const Ranks r(ranks, to, {Kind::device, 0}, {Kind::device, 0}, 20'001, 3 * copy_queue_length + 2);
      if (engine.is_pageable(r.target.data())) continue;
      {
        const CopyService service(engine, r.queues.get<CopyQueue>(), r.posted.get<std::uint32_t>(), ranks, fail_loudly);
        Stream stream{Device(0)};
        Device(0).launch(stream, {.grid = ranks, .block = 32}, Post{}, r.posters.get<Poster>());
        stream.synchronize();
      }
      EXPECT_TRUE(r.target.contents() == r.sent);
    }
}

TEST(CopyService, ServesThreads) {
  constexpr int ranks = 3;
  CopyEngine engine(two_devices(), false);
  const Ranks r(ranks, kinds().back(), {Kind::device, 0}, {Kind::pageable}, 5003, 100);
  const CopyService service(engine, r.queues.get<CopyQueue>(), r.posted.get<std::uint32_t>(), ranks, fail_loudly);
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (int t = 0; t < ranks; ++t) threads.emplace_back([&, t] { r.posters.get<Poster>()[t].post_all(); });
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(r.target.contents() == r.sent);
}

TEST(CopyService, WakesUpForWhatComesAfterALongSilence) {
  CopyEngine engine(two_devices(), true);
  const Ranks r(1, {Kind::device, 0}, {Kind::device, 0}, {Kind::pinned}, 1001, 20);
  const CopyService service(engine, r.queues.get<CopyQueue>(), r.posted.get<std::uint32_t>(), 1, fail_loudly);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  r.posters.get<Poster>()[0].post_all();
  EXPECT_TRUE(r.target.contents() == r.sent);
}

// Errors as the service tells them; `wait` returns the first.
class Told {
 public:
  void operator()(const Error& error) {
    first_ = std::make_unique<Error>(error);
    fetch_add(count_, 1u);
  }
  const Error& wait() {
    while (load_acquire(count_) == 0) relax();
    return *first_;
  }
  std::uint32_t count() { return load_acquire(count_); }

 private:
  std::unique_ptr<Error> first_;
  std::uint32_t count_ = 0;
};

TEST(CopyService, TellsOnceWhatGoesWrongAndStartsNoMore) {
  CopyEngine engine(two_devices(), true);
  const Pinned queues(2 * sizeof(CopyQueue)), posted(8);
  auto* queue = queues.get<CopyQueue>();
  std::uint32_t word = 0;
  const DeviceBuffer<unsigned char> bytes(Device(0), 17);
  queue[1].requests[0] = {.to = 0,
                          .from = reinterpret_cast<std::uint64_t>(bytes.data()),
                          .bytes = 17,
                          .done = reinterpret_cast<std::uint64_t>(&word),
                          .value = 1,
                          .padding = {}};
  queue[0].requests[0] = {
      .to = 0, .from = 0, .bytes = 0, .done = reinterpret_cast<std::uint64_t>(&word), .value = 2, .padding = {}};
  Told told;
  {
    const CopyService service(engine, queue, posted.get<std::uint32_t>(), 2, [&](const Error& e) { told(e); });
    store_release(posted.get<std::uint32_t>()[1], 1);
    const Error& error = told.wait();
    EXPECT_EQ(error.code(), Code::null_buffer);
    EXPECT_NE(std::string(error.what()).find("17 bytes"), std::string::npos) << error.what();
    store_release(posted.get<std::uint32_t>()[0], 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(told.count(), 1u);
  EXPECT_EQ(word, 0u);
}

TEST(CopyService, RefusesMemoryThatIsNotPinnedAndGoesOn) {
  CopyEngine engine(two_devices(), true);
  const Pinned queues(sizeof(CopyQueue)), posted(4), words(12);
  auto* word = words.get<std::uint32_t>();
  const Bytes pageable = pattern(100, 6);
  const Memory device({Kind::device, 0}, pattern(100, 7)), other({Kind::device, 0}, Bytes(100));
  const auto address = [](const void* p) { return reinterpret_cast<std::uint64_t>(p); };
  const auto request = [&](const void* to, const void* from, int n) {
    queues.get<CopyQueue>()->requests[n] = {.to = address(to),
                                            .from = address(from),
                                            .bytes = 100,
                                            .done = address(word + n),
                                            .value = static_cast<std::uint32_t>(n + 1),
                                            .padding = {}};
  };
  request(device.data(), pageable.data(), 0);
  request(pageable.data(), device.data(), 1);
  request(other.data(), device.data(), 2);
  const CopyService service(engine, queues.get<CopyQueue>(), posted.get<std::uint32_t>(), 1, fail_loudly);
  store_release(*posted.get<std::uint32_t>(), 3);
  while (!load_acquire(word[0]) || !load_acquire(word[1]) || !load_acquire(word[2])) relax();
  EXPECT_EQ(word[0], ~1u);
  EXPECT_EQ(word[1], ~2u);
  EXPECT_EQ(word[2], 3u);
  EXPECT_TRUE(pageable == pattern(100, 6));
  EXPECT_TRUE(device.contents() == pattern(100, 7));
  EXPECT_TRUE(other.contents() == pattern(100, 7));
}

TEST(CopyService, RefusesMoreRequestsThanAQueueHolds) {
  CopyEngine engine(two_devices(), true);
  const Pinned queues(2 * sizeof(CopyQueue)), posted(8);
  store_release(posted.get<std::uint32_t>()[1], copy_queue_length + 1);
  Told told;
  const CopyService service(engine, queues.get<CopyQueue>(), posted.get<std::uint32_t>(), 2,
                            [&](const Error& e) { told(e); });
  EXPECT_EQ(told.wait().code(), Code::out_of_resources);
  EXPECT_EQ(told.wait().rank(), 1);
}

}  // namespace
}  // namespace dcgn::test
