// Messages with datatypes between two CPU ranks, to and fro: what figures 9 to 12 and 15 of the 2016 paper measure.
#pragma once

#include "core/bench/ddt_row.hpp"
#include "core/bench/ddt_shape.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dcgn::bench {

// Where the two ends' buffers are. staged: the GPUs do without each other's memory, and all goes through the host's;
// two_processes: as two_gpus, each end and its GPU in a process of its own.
enum class DdtPath { host, one_gpu, two_gpus, two_gpus_staged, two_processes };

inline constexpr DdtPath all_ddt_paths[] = {DdtPath::host, DdtPath::one_gpu, DdtPath::two_gpus,
                                            DdtPath::two_gpus_staged, DdtPath::two_processes};

const char* name_of(DdtPath path);
std::optional<DdtPath> parse_ddt_path(std::string_view name);
int gpus_of(DdtPath path);

struct DdtMessage {
  DdtShape shape{}, other{};  // at rank 0, which leads, and at rank 1; one without gaps has as much as the other shape
  std::int64_t bytes = 0;     // about
  DdtPath path = DdtPath::host;
  double seconds = 0.2;  // that a row should take
  // Per cent of the blocks that each GPU has at once, which others' kernels, one after the other, take meanwhile.
  int occupied = 0;
};

// Whether both shapes have as many bytes.
bool fit(const DdtMessage& message);

// Half a round trip: of plain copies, the limit (not of one that is staged or occupied); of a message without gaps at
// either end; and of this one. Every byte of both ends is compared with a walk over the blocks. Throws what Job does.
std::vector<DdtRow> measure_ddt_message(const DdtMessage& message);
// The messages among these, of two_processes, by each of the two; the rows are the first one's alone.
std::vector<DdtRow> measure_ddt_message_here(const DdtMessage& message);

}  // namespace dcgn::bench
