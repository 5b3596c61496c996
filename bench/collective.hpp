// The collectives that are measured, and what each is to bring: the same for ours and for peers. Sizes, counts and bus
// bandwidths are those of nccl-tests; root is rank 0, elements are floats, operations sums.
#pragma once

#include <dcgn/host_device.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace dcgn::bench {

enum class Collective {
  barrier,
  broadcast,
  reduce,
  all_reduce,
  reduce_scatter,
  all_gather,
  gather,
  scatter,
  all_to_all,
  scan
};

inline constexpr Collective all_collectives[] = {
    Collective::barrier,        Collective::broadcast,  Collective::reduce, Collective::all_reduce,
    Collective::reduce_scatter, Collective::all_gather, Collective::gather, Collective::scatter,
    Collective::all_to_all,     Collective::scan};

constexpr const char* name_of(Collective op) {
  switch (op) {
    case Collective::barrier: return "barrier";
    case Collective::broadcast: return "broadcast";
    case Collective::reduce: return "reduce";
    case Collective::all_reduce: return "all_reduce";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::all_gather: return "all_gather";
    case Collective::gather: return "gather";
    case Collective::scatter: return "scatter";
    case Collective::all_to_all: return "all_to_all";
    case Collective::scan: return "scan";
  }
  return "";
}

inline std::optional<Collective> parse_collective(std::string_view name) {
  const auto found = std::find_if(std::begin(all_collectives), std::end(all_collectives),
                                  [&](Collective op) { return name == name_of(op); });
  return found == std::end(all_collectives) ? std::nullopt : std::optional(*found);
}

constexpr bool has_operation(Collective op) {
  return op == Collective::reduce || op == Collective::all_reduce || op == Collective::reduce_scatter ||
         op == Collective::scan;
}
constexpr bool has_root(Collective op) {
  return op == Collective::broadcast || op == Collective::reduce || op == Collective::gather ||
         op == Collective::scatter;
}

// ---- how much

// Whether a rank's buffer has a part for each rank: its size is that of all parts.
DCGN_HOST_DEVICE constexpr bool sends_parts(Collective op) {
  return op == Collective::reduce_scatter || op == Collective::scatter || op == Collective::all_to_all;
}
DCGN_HOST_DEVICE constexpr bool receives_parts(Collective op) {
  return op == Collective::all_gather || op == Collective::gather || op == Collective::all_to_all;
}

// Elements that a rank gives, or gets, or each of them; of a part where there are parts. One at least.
DCGN_HOST_DEVICE constexpr std::int64_t count_of(Collective op, std::int64_t bytes, int ranks) {
  if (op == Collective::barrier) return 0;
  const auto part = static_cast<std::int64_t>(sizeof(float)) * (sends_parts(op) || receives_parts(op) ? ranks : 1);
  return bytes < part ? 1 : bytes / part;
}
// The size that this makes: that of the largest buffer of a rank.
constexpr std::int64_t bytes_of(Collective op, std::int64_t count, int ranks) {
  return count * static_cast<std::int64_t>(sizeof(float)) * (sends_parts(op) || receives_parts(op) ? ranks : 1);
}
// The sizes that are measured where these are asked for: whole elements, each once.
inline std::vector<std::int64_t> sizes_of(Collective op, const std::vector<std::int64_t>& asked, int ranks) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t bytes : asked) {
    const std::int64_t size = bytes_of(op, count_of(op, bytes, ranks), ranks);
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  }
  return sizes;
}

// Bus bandwidth by bandwidth: what the busiest link carries for each byte of the size.
constexpr double bus_factor(Collective op, int ranks) {
  const double others = ranks > 1 ? (ranks - 1.0) / ranks : 0;
  if (op == Collective::all_reduce) return 2 * others;
  return sends_parts(op) || receives_parts(op) ? others : 1;
}

// ---- what is in it: integers, so that any order of sums gives the same float

// 16,777,216 is the first integer that floats have no successor of.
inline constexpr int most_collective_ranks = 4096;

DCGN_HOST_DEVICE constexpr std::int64_t hash_of(std::int64_t i) {
  return 1 + (static_cast<std::uint32_t>(i) * 2654435761u >> 25);  // 1 to 128
}
// Element i of what this rank gives.
DCGN_HOST_DEVICE constexpr float given(int rank, std::int64_t i) { return static_cast<float>(hash_of(i) + rank); }
// The same, summed up over the first so many ranks.
DCGN_HOST_DEVICE constexpr float summed(int ranks, std::int64_t i) {
  const std::int64_t numbers = static_cast<std::int64_t>(ranks) * (ranks - 1) / 2;  // of the ranks, all together
  return static_cast<float>(ranks * hash_of(i) + numbers);
}

// Elements of a rank's two buffers.
DCGN_HOST_DEVICE constexpr std::int64_t given_count(Collective op, std::int64_t count, int ranks) {
  return op == Collective::broadcast ? 0 : sends_parts(op) ? count * ranks : count;
}
DCGN_HOST_DEVICE constexpr std::int64_t got_count(Collective op, std::int64_t count, int ranks) {
  return receives_parts(op) ? count * ranks : count;
}
// Whether this rank gets anything.
DCGN_HOST_DEVICE constexpr bool gets(Collective op, int rank) {
  return rank == 0 || (op != Collective::reduce && op != Collective::gather);
}

// Element i of what this rank is to get.
DCGN_HOST_DEVICE constexpr float expected(Collective op, int ranks, int rank, std::int64_t count, std::int64_t i) {
  switch (op) {
    case Collective::barrier: break;
    case Collective::broadcast: return given(0, i);
    case Collective::reduce:
    case Collective::all_reduce: return summed(ranks, i);
    case Collective::reduce_scatter: return summed(ranks, rank * count + i);
    case Collective::all_gather:
    case Collective::gather: return given(static_cast<int>(i / count), i % count);
    case Collective::scatter: return given(0, rank * count + i);
    case Collective::all_to_all: return given(static_cast<int>(i / count), rank * count + i % count);
    case Collective::scan: return summed(rank + 1, i);
  }
  return 0;
}
// Before the call; nothing that any rank gets.
inline constexpr float nothing_yet = -1;
// What is in a rank's second buffer before the call: the root of a broadcast has there what it gives.
DCGN_HOST_DEVICE constexpr float before(Collective op, int rank, std::int64_t i) {
  return op == Collective::broadcast && rank == 0 ? given(0, i) : nothing_yet;
}

}  // namespace dcgn::bench
