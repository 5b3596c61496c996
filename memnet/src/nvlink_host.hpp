// A model of a real host: eight H200 GPUs on NVLink 4 through NVSwitches. A few measured figures calibrate it, the
// others are predicted; nvlink_host_rows() says which is which.
//
// A GPU has a channel to each of four switches, each standing for a bundle of NVLinks; a packet is 128 bytes of payload
// and a header of 16, the switches have 64 VCs of 2 KB: these are assumed. Copy engines send as fast as channels take
// it, kernels at the rate of their stores. A transfer takes its start-up and its bytes over the bandwidth that the
// simulated network settles at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::memnet {

// What calibrates the model: measured on the host itself. GB/s are 1e9 bytes of payload a second.
struct NvlinkHost {
  int gpus = 8;
  int planes = 4;                      // switches; a GPU's links are spread over them
  double engine_gbytes = 393;          // one GPU to one other, copy engine: the channels' payload
  double store_gbytes = 368;           // the same, stores by all blocks of a kernel
  double block_gbytes = 46;            // the same, by one block of 1024 threads
  double send_startup_us = 6.3;        // a send and receive of 8 bytes
  double broadcast_startup_us = 14.1;  // collectives of 8 bytes
  double reduce_startup_us = 19.8;
  double exchange_startup_us = 15.2;  // an all-to-all of 8 bytes

  // Throws Error(configuration) naming the value that cannot be.
  void validate() const;
};

// Who sends to whom, all at once.
enum class HostPattern : std::uint8_t {
  pair,        // GPU 0 to GPU 1
  both_ways,   // GPUs 0 and 1 to each other
  ring,        // each to the next
  all_to_all,  // each to all others, in random order
};

enum class HostSender : std::uint8_t { copy_engine, kernel };

// What each sender's payload settles at, in GB/s: the slowest one's. `packets` of each sender are simulated.
double pattern_gbytes(const NvlinkHost& host, HostPattern pattern, HostSender sender, std::uint64_t seed = 1,
                      int packets = 4000);

struct HostRow {
  std::string what;
  double measured = 0;
  double model = 0;
  std::string unit;
  bool calibrates = false;  // else predicted

  double deviation() const { return model / measured - 1; }
};

// The figures of the machine and of NCCL on it, beside the model's.
std::vector<HostRow> nvlink_host_rows(const NvlinkHost& host = {}, std::uint64_t seed = 1);

}  // namespace dcgn::memnet
