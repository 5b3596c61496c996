// The keys of booksim2, and what becomes of each here.
#include "memnet/src/booksim_parts.hpp"

#include <algorithm>

namespace dcgn::memnet {

namespace {

constexpr std::string_view report = "changes what booksim2 writes, not what it simulates";
constexpr std::string_view power = "of booksim2's power model; [energy] has this simulator's";
constexpr std::string_view allocator = "allocators here are separable, with round-robin arbiters and one iteration";
constexpr std::string_view batch = "of batches, which sim_type does not ask for";
constexpr std::string_view converge = "a run here measures for three sample periods";
constexpr std::string_view requests = "without use_read_write it has no effect";
constexpr std::string_view speed = "switches here pass one flit for each input, output and cycle";
constexpr std::string_view buffers = "each VC has a buffer of its own here";
constexpr std::string_view stage = "this pipeline stage takes one cycle here";
constexpr std::string_view special = "there is no counterpart here";

const std::vector<BooksimKey>& known() {
  using enum BooksimUse;
  static const std::vector<BooksimKey> keys = {
      {"topology", taken, "torus", ""},
      {"k", taken, "8", ""},
      {"n", taken, "2", ""},
      {"c", taken, "1", ""},
      {"x", taken, "8", ""},
      {"y", taken, "8", ""},
      {"xr", taken, "1", ""},
      {"yr", taken, "1", ""},
      {"routing_function", taken, "none", ""},
      {"use_noc_latency", taken, "1", ""},
      {"network_file", taken, "", ""},
      {"num_vcs", taken, "16", ""},
      {"vc_buf_size", taken, "8", ""},
      {"credit_delay", taken, "0", ""},
      {"routing_delay", taken, "1", ""},
      {"speculative", taken, "0", ""},
      {"traffic", taken, "uniform", ""},
      {"injection_rate", taken, "0.1", ""},
      {"injection_rate_uses_flits", taken, "0", ""},
      {"packet_size", taken, "1", ""},
      {"sample_period", taken, "1000", ""},
      {"warmup_periods", taken, "3", ""},
      {"latency_thres", taken, "500.0", ""},
      {"seed", taken, "0", ""},

      {"subnets", fixed, "1", special},
      {"link_failures", fixed, "0", "topology.failed names the channels here"},
      {"channel_file", fixed, "", special},
      {"router", fixed, "iq", "routers here are input-queued"},
      {"vc_alloc_delay", fixed, "1", stage},
      {"sw_alloc_delay", fixed, "1", stage},
      {"st_prepare_delay", fixed, "0", stage},
      {"st_final_delay", fixed, "1", stage},
      {"input_speedup", fixed, "1", speed},
      {"output_speedup", fixed, "1", speed},
      {"internal_speedup", fixed, "1.0", speed},
      {"noq", fixed, "0", special},
      {"buf_size", fixed, "-1", buffers},
      {"buffer_policy", fixed, "private", buffers},
      {"wait_for_tail_credit", fixed, "0", "a VC here is free for the next packet once the tail has been sent"},
      {"vc_busy_when_full", fixed, "0", special},
      {"vc_prioritize_empty", fixed, "0", special},
      {"vc_priority_donation", fixed, "0", special},
      {"hold_switch_for_packet", fixed, "0", "flits of packets take turns on a channel here"},
      {"vct", fixed, "0", special},
      {"classes", fixed, "1", "an open loop here has one class of traffic"},
      {"injection_process", fixed, "bernoulli", "sources here are Bernoulli processes"},
      {"priority", fixed, "none", "packets here have no priorities"},
      {"use_read_write", fixed, "0", "an open loop here has no replies; [requests] has, in a memory network"},
      {"packet_size_rate", fixed, "1", "packets of an open loop here have one size"},
      {"sim_type", fixed, "latency", "batches have no counterpart here", "throughput"},
      {"sim_count", fixed, "1", "`dcgn sim sweep` makes several runs"},
      {"include_queuing", fixed, "1", "latencies here begin at a packet's creation"},
      {"measure_stats", fixed, "1", special},

      {"vc_allocator", ignored, "islip", allocator},
      {"sw_allocator", ignored, "islip", allocator},
      {"spec_sw_allocator", ignored, "prio", allocator},
      {"arb_type", ignored, "round_robin", allocator},
      {"alloc_iters", ignored, "1", allocator},
      {"spec_check_elig", ignored, "1", "no grant is lost to speculation here"},
      {"spec_check_cred", ignored, "1", "no grant is lost to speculation here"},
      {"spec_mask_by_reqs", ignored, "0", "no grant is lost to speculation here"},
      {"vc_shuffle_requests", ignored, "0", allocator},
      {"output_delay", ignored, "0", "booksim2 does not read it"},
      {"output_buffer_size", ignored, "-1", "without speed-up it has no effect"},
      {"in_ports", ignored, "5", "booksim2 does not read it"},
      {"out_ports", ignored, "5", "booksim2 does not read it"},
      {"physical_subnetworks", ignored, "1", "booksim2 does not read it"},
      {"limit", ignored, "0", "booksim2 does not read it"},
      {"fail_seed", ignored, "0", "without link_failures it has no effect"},
      {"perm_seed", ignored, "0", "of traffic = randperm, which is refused"},
      {"class_priority", ignored, "0", "without priorities it has no effect"},
      {"private_bufs", ignored, "-1", buffers},
      {"private_buf_size", ignored, "1", buffers},
      {"private_buf_start_vc", ignored, "-1", buffers},
      {"private_buf_end_vc", ignored, "-1", buffers},
      {"max_held_slots", ignored, "-1", buffers},
      {"feedback_aging_scale", ignored, "1", buffers},
      {"feedback_offset", ignored, "0", buffers},
      {"burst_alpha", ignored, "0.5", "of injection_process = on_off, which is refused"},
      {"burst_beta", ignored, "0.5", "of injection_process = on_off, which is refused"},
      {"burst_r1", ignored, "-1.0", "of injection_process = on_off, which is refused"},
      {"batch_size", ignored, "1000", batch},
      {"batch_count", ignored, "1", batch},
      {"max_outstanding_requests", ignored, "0", batch},
      {"sent_packets_out", ignored, "", batch},
      {"max_samples", ignored, "10", converge},
      {"warmup_thres", ignored, "0.05", converge},
      {"acc_warmup_thres", ignored, "0.05", converge},
      {"stopping_thres", ignored, "0.05", converge},
      {"acc_stopping_thres", ignored, "0.05", converge},
      {"pair_stats", ignored, "0", report},
      {"print_activity", ignored, "0", report},
      {"print_csv_results", ignored, "0", report},
      {"deadlock_warn_timeout", ignored, "256", report},
      {"viewer_trace", ignored, "0", report},
      {"watch_file", ignored, "", report},
      {"watch_flits", ignored, "", report},
      {"watch_packets", ignored, "", report},
      {"watch_transactions", ignored, "", report},
      {"watch_out", ignored, "", report},
      {"stats_out", ignored, "", report},
      {"sim_power", ignored, "0", power},
      {"power_output_file", ignored, "pwr_tmp", power},
      {"tech_file", ignored, "", power},
      {"channel_width", ignored, "128", power},
      {"channel_sweep", ignored, "0", power},

      {"write_fraction", ignored, "0.5", requests},
      {"read_request_begin_vc", ignored, "0", requests},
      {"read_request_end_vc", ignored, "5", requests},
      {"write_request_begin_vc", ignored, "2", requests},
      {"write_request_end_vc", ignored, "7", requests},
      {"read_reply_begin_vc", ignored, "8", requests},
      {"read_reply_end_vc", ignored, "13", requests},
      {"write_reply_begin_vc", ignored, "10", requests},
      {"write_reply_end_vc", ignored, "15", requests},
      {"read_request_subnet", ignored, "0", requests},
      {"read_reply_subnet", ignored, "0", requests},
      {"write_request_subnet", ignored, "0", requests},
      {"write_reply_subnet", ignored, "0", requests},
      {"read_request_size", ignored, "1", requests},
      {"write_request_size", ignored, "1", requests},
      {"read_reply_size", ignored, "1", requests},
      {"write_reply_size", ignored, "1", requests},
  };
  return keys;
}

}  // namespace

const std::vector<BooksimKey>& booksim_keys() { return known(); }

const BooksimKey* find_booksim_key(std::string_view name) {
  const auto at = std::find_if(known().begin(), known().end(), [&](const BooksimKey& key) { return key.name == name; });
  return at == known().end() ? nullptr : &*at;
}

}  // namespace dcgn::memnet
