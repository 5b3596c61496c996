// A simulation as a TOML file describes it: examples/sim/ has some, config_keys() all keys.
#pragma once

#include "memnet/src/endpoint.hpp"
#include "memnet/src/gpu_cores.hpp"
#include "memnet/src/organisation.hpp"
#include "memnet/src/parameters.hpp"
#include "memnet/src/topology.hpp"
#include "memnet/src/trace.hpp"
#include "memnet/src/traffic.hpp"

#include <dcgn/error.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dcgn::memnet {

// Which sections the file has says what is simulated: [requests] a closed loop, [kernels] recorded kernels, [replay]
// the packets of a trace, [system] a workload on an organisation, none of these an open loop.
enum class RunKind : std::uint8_t { open_loop, closed_loop, kernels, replay, system };
std::string_view to_string(RunKind kind) noexcept;

// [requests]: what each of `terminals` asks for.
struct RequestPlan {
  std::vector<int> terminals;
  AccessPattern pattern;  // count, start and seed differ from one to the next
  int window = 512;
  double gap_cycles = 0;
  std::string trace;   // in place of the pattern
  std::string record;  // file to write
};

// [kernels], and of a [system] with a trace.
struct KernelPlan {
  std::string trace;
  BlockSchedule schedule = BlockSchedule::chunks;
  std::vector<int> gpus;  // terminals
  GpuCores cores;
};

// [system].
struct SystemPlan {
  Organisation organisation = Organisation::umn;
  Workload workload;  // without a trace
  SystemModel model;
};

struct Configuration {
  std::string file;
  std::string title;  // the topology's name without one
  RunKind kind = RunKind::open_loop;
  Topology topology{""};
  Parameters parameters;
  Traffic traffic;      // of an open loop
  double load = 0;      // of an open loop: flits per source and cycle
  RequestPlan plan;     // of a closed loop
  KernelPlan kernels;   // of kernels, and of a system that has a trace
  MemorySystem memory;  // of a closed loop and of kernels
  std::string packets;  // of a replay: the trace file
  SystemPlan system;
  // "FILE:LINE: KEY" of what errors may be about: by the key, and for "deadlock" and "ports" of the one that decides.
  std::map<std::string, std::string, std::less<>> places;
  // Files that the run reads or, by requests.record, writes: by the key that names each.
  std::vector<std::pair<std::string, std::string>> files;
  // Of a booksim2 configuration: "FILE:LINE: KEY = VALUE: ignored: why" of each key that changes nothing.
  std::vector<std::string> ignored;

  // The requesters of a closed loop, at their start. Throws Error(io) where a trace cannot be read, and
  // Error(configuration) where it is none of accesses or has more sources than there are requesters.
  std::vector<Requester> requesters() const;
  // Throws Error(io) where it cannot be read.
  base::KernelTrace kernel_trace() const;
  // What a replay sends. Throws Error(io) where it cannot be read, Error(configuration) where it does not fit.
  Trace packet_trace() const;
  // The error with the file, line and key that it is about in front, where those are known.
  Error explain(const Error& error) const;
};

// A file whose name ends in .cfg is one of booksim2, and settings may be booksim2's as well: see read_booksim().
// Throws Error(io) where the file cannot be read; Error(configuration) "FILE:LINE: KEY = VALUE: expected ..." for an
// unknown key, a wrong type or unit, a value out of range, one that means nothing for the kind of run, terminals that
// cannot reach each other. What needs the whole network, as a deadlock, is found when it is run: see explain().
Configuration load_configuration(const std::string& file, const std::vector<std::string>& settings = {});
// Without `lines` errors name no line of the content.
Configuration parse_configuration(const std::string& content, const std::string& file,
                                  const std::vector<std::string>& settings = {}, bool lines = true);

// A topology in short, as commands take it: KIND:ARGUMENTS, as in mesh:8x8, torus:4x4x4, flattened_butterfly:4x4:4,
// dragonfly:2,4,2, sFBFLY:8 (GPUs), UMN forms with CPUs overlay:3,1. Empty where the text has no such form.
std::string configuration_of(std::string_view short_form);
// How a kind is given in short, for errors: "dragonfly:P,A,H, as dragonfly:2,4,2"; empty for what has no such form.
std::string short_form_of(std::string_view kind);

}  // namespace dcgn::memnet
