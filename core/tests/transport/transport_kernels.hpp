// What ranks inside kernels do with copies: ask for them, and wait for their words.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/message/copy_queue.hpp>

#include <cstddef>
#include <cstdint>

namespace dcgn::test {

// A kernel that is there before the copy is asked for: waits for the word, then sums the bytes.
struct SumWhenDone {
  DCGN_HOST_DEVICE void operator()(gpu::Context&, const std::uint32_t* word, std::uint32_t value,
                                   const unsigned char* bytes, std::size_t size, std::uint64_t* sum) const {
    while (load_acquire(*word) != value) relax();
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < size; ++i) total += (i + 1) * bytes[i];
    *sum = total;
  }
};

// What one rank posts: `count` pieces of `piece` bytes, in order, with as many on their way as the queue has room for.
struct Poster {
  message::CopyQueue* queue;
  std::uint32_t* posted;
  std::uint32_t* done;  // [copy_queue_length], zeroed
  unsigned char* to;
  const unsigned char* from;
  std::size_t piece;
  std::uint32_t count;

  DCGN_HOST_DEVICE void post_all() const {
    using message::copy_queue_length;
    for (std::uint32_t n = 0; n < count + copy_queue_length; ++n) {
      std::uint32_t& word = done[n % copy_queue_length];
      if (n >= copy_queue_length && n - copy_queue_length < count)
        while (load_acquire(word) != n - copy_queue_length + 1) relax();
      if (n >= count) continue;
      message::CopyRequest& request = queue->requests[n % copy_queue_length];
      request.to = reinterpret_cast<std::uint64_t>(to + n * piece);
      request.from = reinterpret_cast<std::uint64_t>(from + n * piece);
      request.bytes = piece;
      request.done = reinterpret_cast<std::uint64_t>(&word);
      request.value = n + 1;
      store_release(*posted, n + 1);
    }
  }
};

// A block a rank.
struct Post {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, const Poster* posters) const {
    if (ctx.thread_rank() == 0) posters[ctx.block_rank()].post_all();
  }
};

}  // namespace dcgn::test
