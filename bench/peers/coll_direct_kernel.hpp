// Collectives as loads and stores between the buffers of GPUs that reach each other's memory. The callers put barriers
// around them: before, since peers' input must be ready and their output free; after, since all must be done.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace dcgn::bench::peer {

inline constexpr int most_gpus = 16;

// Every rank's buffers, at this GPU's addresses.
struct DirectBuffers {
  const float* in[most_gpus];
  float* out[most_gpus];
  int ranks, rank;
};

// The words of a thread: those of one thread after the other, over all blocks.
struct Share {
  std::int64_t first, step;
};
__device__ inline Share share_of_thread() {
  return {static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
          static_cast<std::int64_t>(gridDim.x) * blockDim.x};
}

__device__ inline float plus(float a, float b) { return a + b; }
__device__ inline float4 plus(const float4& a, const float4& b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

// Word is a float or a float4; indices and counts are of words.
template <class Word>
__device__ Word load(const float* from, std::int64_t i) {
  return reinterpret_cast<const Word*>(from)[i];
}
template <class Word>
__device__ void store(float* to, std::int64_t i, const Word& word) {
  reinterpret_cast<Word*>(to)[i] = word;
}

// body(Batch<n>(), i, step) for this thread's words from `begin` to `end`: n of them are i, i + step, and so on, so
// that several loads are under way at once.
template <int n>
struct Batch {
  static constexpr int size = n;
};
template <class Body>
__device__ void each_batch(std::int64_t begin, std::int64_t end, const Body& body) {
  constexpr int most = 4;
  const auto [first, step] = share_of_thread();
  std::int64_t i = begin + first;
  for (; i + (most - 1) * step < end; i += most * step) body(Batch<most>(), i, step);
  for (; i < end; i += step) body(Batch<1>(), i, step);
}

// Ranks whose loads are under way at once.
inline constexpr int ranks_at_once = 4;

// store_word(i, sum) for this thread's words from `begin` to `end`: the sum over all ranks in their order, so that
// every rank has the same one.
template <class Word, class Store>
__device__ void sum_words(const DirectBuffers& b, std::int64_t begin, std::int64_t end, const Store& store_word) {
  each_batch(begin, end, [&](auto batch, std::int64_t i, std::int64_t step) {
    constexpr int size = decltype(batch)::size;
    Word sum[size]{};
    for (int group = 0; group < b.ranks; group += ranks_at_once) {
      Word got[ranks_at_once][size];
#pragma unroll
      for (int r = 0; r < ranks_at_once; ++r)
#pragma unroll
        for (int k = 0; k < size; ++k)
          if (group + r < b.ranks) got[r][k] = load<Word>(b.in[group + r], i + k * step);
#pragma unroll
      for (int r = 0; r < ranks_at_once; ++r)
#pragma unroll
        for (int k = 0; k < size; ++k)
          if (group + r < b.ranks) sum[k] = plus(sum[k], got[r][k]);
    }
#pragma unroll
    for (int k = 0; k < size; ++k) store_word(i + k * step, sum[k]);
  });
}

// store_word(i, word) for this thread's words of `from`.
template <class Word, class Store>
__device__ void copy_words(const float* from, std::int64_t count, const Store& store_word) {
  each_batch(0, count, [&](auto batch, std::int64_t i, std::int64_t step) {
    constexpr int size = decltype(batch)::size;
    Word got[size];
#pragma unroll
    for (int k = 0; k < size; ++k) got[k] = load<Word>(from, i + k * step);
#pragma unroll
    for (int k = 0; k < size; ++k) store_word(i + k * step, got[k]);
  });
}

// The k-th rank after this one: each begins with another, so that not all store into the same one.
__device__ inline int rank_after(const DirectBuffers& b, int k) {
  return b.rank + k < b.ranks ? b.rank + k : b.rank + k - b.ranks;
}

// Into every rank's output.
template <class Word>
__device__ void store_to_all(const DirectBuffers& b, std::int64_t i, const Word& word) {
  for (int k = 1; k <= b.ranks; ++k) store(b.out[rank_after(b, k)], i, word);
}

// The words that a rank sums up where each takes a part of them.
struct Part {
  std::int64_t begin, end;
};
__device__ inline Part part_of(std::int64_t words, int rank, int ranks) {
  const std::int64_t each = (words + ranks - 1) / ranks;
  const std::int64_t begin = each * rank < words ? each * rank : words;
  return {begin, begin + each < words ? begin + each : words};
}

// all_reduce where each rank sums up all words for itself.
template <class Word>
__device__ void reduce_one_shot(const DirectBuffers& b, std::int64_t words) {
  sum_words<Word>(b, 0, words, [&](std::int64_t i, const Word& sum) { store(b.out[b.rank], i, sum); });
}

// all_reduce where each rank sums up its part, for all.
template <class Word>
__device__ void reduce_two_shot(const DirectBuffers& b, std::int64_t words) {
  const auto [begin, end] = part_of(words, b.rank, b.ranks);
  sum_words<Word>(b, begin, end, [&](std::int64_t i, const Word& sum) { store_to_all(b, i, sum); });
}

// `words` are those of a part.
template <class Word>
__device__ void reduce_scatter(const DirectBuffers& b, std::int64_t words) {
  const std::int64_t mine = words * b.rank;
  sum_words<Word>(b, mine, mine + words, [&](std::int64_t i, const Word& sum) { store(b.out[b.rank], i - mine, sum); });
}

template <class Word>
__device__ void all_gather(const DirectBuffers& b, std::int64_t words) {
  const std::int64_t mine = words * b.rank;
  copy_words<Word>(b.in[b.rank], words, [&](std::int64_t i, const Word& word) { store_to_all(b, mine + i, word); });
}

// In place at rank 0, the root, which stores into the others.
template <class Word>
__device__ void broadcast(const DirectBuffers& b, std::int64_t words) {
  if (b.rank) return;
  copy_words<Word>(b.out[0], words, [&](std::int64_t i, const Word& word) {
    for (int to = 1; to < b.ranks; ++to) store(b.out[to], i, word);
  });
}

template <class Word>
__device__ void all_to_all(const DirectBuffers& b, std::int64_t words) {
  const std::int64_t mine = words * b.rank;
  each_batch(0, words, [&](auto batch, std::int64_t i, std::int64_t step) {
    constexpr int size = decltype(batch)::size;
    for (int group = 1; group <= b.ranks; group += ranks_at_once) {
      Word got[ranks_at_once][size];
#pragma unroll
      for (int r = 0; r < ranks_at_once; ++r)
#pragma unroll
        for (int k = 0; k < size; ++k)
          if (group + r <= b.ranks)
            got[r][k] = load<Word>(b.in[b.rank], words * rank_after(b, group + r) + i + k * step);
#pragma unroll
      for (int r = 0; r < ranks_at_once; ++r)
#pragma unroll
        for (int k = 0; k < size; ++k)
          if (group + r <= b.ranks) store(b.out[rank_after(b, group + r)], mine + i + k * step, got[r][k]);
    }
  });
}

}  // namespace dcgn::bench::peer
