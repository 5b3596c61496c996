// What a world of ranks looks like and how it behaves. A member that the program does not set takes its value from the
// environment variable named beside it; else from the file that DCGN_CONFIG names; else the default given here. The
// file is TOML, with the variable's name in lower case and without DCGN_.
#pragma once

#include <dcgn/placement.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn {

namespace detail {
double setting(std::string_view name, double fallback, double least);
std::uint64_t setting(std::string_view name, std::uint64_t fallback, std::uint64_t least, std::uint64_t most);
std::uint64_t size_setting(std::string_view name, std::uint64_t least, std::uint64_t most);  // 0: not set, or 0
std::optional<std::uint64_t> optional_setting(std::string_view name);
bool flag_setting(std::string_view name, std::string_view yes, std::string_view no, bool fallback);
std::optional<std::uint64_t> copy_engine_setting(std::string_view name);
std::uint32_t without_setting(std::string_view name);  // words as bits of message::Without
// One of the words, empty where it is not set.
std::string word_setting(std::string_view name, std::initializer_list<std::string_view> words);
std::string text_setting(std::string_view name);    // empty where it is not set
std::string setting_origin(std::string_view name);  // "environment", the file's path, or "default"
}  // namespace detail

// Members are set by name: Config{.nodes = {{.cpus = 2}}, .deadline_s = 5}.
struct Config {
  // The nodes of the job, in order. In one process all of them live here. If a launcher or mpi_communicator has several
  // processes, each process is one node. Then this is either the process's own node, which may differ from the others',
  // or a list of all nodes, the same in each process.
  std::vector<NodeShape> nodes = {NodeShape{}};

  // The MPI between processes: "openmpi" or "mpich"; "tcp": none, as torchrun starts them; "off": this process is a job
  // of its own; empty: the launcher's, or the one that the program is linked with. DCGN_MPI=openmpi|mpich|tcp|off
  std::string mpi = detail::word_setting("DCGN_MPI", {"openmpi", "mpich", "tcp", "off"});

  // Who calls MPI. true: CPU ranks while they wait, one at a time, if MPI gives MPI_THREAD_SERIALIZED. false: a thread
  // of the process, which needs a core; MPI_THREAD_FUNNELED is enough for it. DCGN_PROGRESS=ranks|thread
  bool ranks_progress = detail::flag_setting("DCGN_PROGRESS", "ranks", "thread", true);

  // For a program that uses MPI itself: points to the MPI_Comm whose processes are the nodes, which all open their
  // world together. MPI must have been begun with MPI_THREAD_MULTIPLE. Null: the launcher says what there is.
  const void* mpi_communicator = nullptr;

  // Seconds that a call may wait without anything happening before the job is stopped with a report. DCGN_DEADLINE
  double deadline_s = detail::setting("DCGN_DEADLINE", 60.0, 1e-3);

  // Seconds that a job which is stopped waits for its kernels to return. Those that do not are left running, and the
  // report names them. DCGN_GRACE
  double grace_s = detail::setting("DCGN_GRACE", 10.0, 1e-3);

  // Messages up to this many bytes are sent eagerly, longer ones by rendezvous; at most half of a FIFO. Not set: 512
  // between ranks in host memory; 2048 between ranks of two processes that share memory, 1024 of two that do not; 4096
  // elsewhere. (In host memory a rendezvous is as fast from 256 bytes on when both sides are ready, but an eager send
  // lets the sender go on.) DCGN_EAGER_BYTES
  std::optional<std::uint64_t> eager_bytes = detail::optional_setting("DCGN_EAGER_BYTES");

  // Bytes of the ring between each pair of ranks, 256 to 1 GiB, rounded down to a power of two. 0: chosen by the number
  // of ranks, from 1 to 16 KiB (256 KiB with a CUDA GPU). Then a rank's rings take about 4 MiB in all, up to 4096
  // ranks, and 32 MiB at a CPU rank that slots of CUDA GPUs send to. DCGN_LANE_BYTES
  std::uint64_t lane_bytes = detail::size_setting("DCGN_LANE_BYTES", 256, 1u << 30);

  // Space of each rank for eager messages that come before they are asked for; 0: 256 MiB for a CPU rank (taken only as
  // it is used), 2 MiB for a slot. DCGN_UNEXPECTED_BYTES
  std::uint64_t unexpected_bytes = detail::setting("DCGN_UNEXPECTED_BYTES", 0, 0, 1ull << 40);

  // Space of each rank for bsend and sendrecv_replace; 0: 256 MiB for a CPU rank, 1 MiB for a slot. DCGN_BUFFERED_BYTES
  std::uint64_t buffered_bytes = detail::setting("DCGN_BUFFERED_BYTES", 0, 0, 1ull << 40);

  // Space of each rank for what a collective has under way; what does not fit is done piece by piece. At least 4096.
  // DCGN_COLLECTIVE_BYTES
  std::uint64_t collective_bytes = detail::setting("DCGN_COLLECTIVE_BYTES", 64u << 10, 4096, 1u << 30);

  // Space of each rank for the tables of members of communicators. A communicator whose ranks are evenly spaced in the
  // world needs a table only while it is made. 0: 16 KiB and 64 bytes for each rank of the world.
  // DCGN_COMMUNICATOR_BYTES
  std::uint64_t communicator_bytes = detail::setting("DCGN_COMMUNICATOR_BYTES", 0, 0, 1u << 30);

  // Requests and unexpected messages that a rank can have at once; 0: 262144 for a CPU rank, 16384 for a slot.
  // DCGN_REQUESTS
  std::uint64_t requests = detail::setting("DCGN_REQUESTS", 0, 0, 1u << 24);

  // Deterministic mode: all ranks on one thread, under a scheduler that this seeds. Emulated GPUs only. DCGN_SEED
  std::optional<std::uint64_t> seed = detail::optional_setting("DCGN_SEED");

  // What an error that a call in a kernel returns does: stop the job (as an exception that leaves a CPU kernel does),
  // or nothing more. DCGN_ERRORS=fatal|returned
  bool errors_fatal = detail::flag_setting("DCGN_ERRORS", "fatal", "returned", true);

  // Whether ranks that share memory read each other's buffers directly; off: large messages are staged through FIFOs.
  // DCGN_DIRECT=on|off
  bool direct = detail::flag_setting("DCGN_DIRECT", "on", "off", true);

  // Whether GPUs talk through each other's memory, where their link allows it; off: all that passes between two GPUs is
  // staged through pinned host memory. DCGN_P2P=on|off
  bool p2p = detail::flag_setting("DCGN_P2P", "on", "off", true);

  // Whether processes of one host that follow each other share memory, and talk through it as ranks of one process do;
  // off: all that passes between processes goes by MPI, or what stands for it. DCGN_SHARE=on|off
  bool share = detail::flag_setting("DCGN_SHARE", "on", "off", true);

  // Whether an MPI that declares itself CUDA-aware is given the addresses of GPUs' memory that CPU ranks send and
  // receive; off: what passes between processes by MPI is staged. DCGN_CUDA_AWARE=on|off
  bool cuda_aware = detail::flag_setting("DCGN_CUDA_AWARE", "on", "off", true);

  // From how many bytes on the GPUs' copy engines move a message, rather than the threads that receive it. Where it is
  // not set: where they are faster, which the threads of the call decide; never on emulated GPUs, which have none (a
  // number makes them act as if). DCGN_COPY_ENGINE=on|off|bytes; on: not set, off: never_copied
  static constexpr std::uint64_t never_copied = ~std::uint64_t{0};
  std::optional<std::uint64_t> copy_engine_bytes = detail::copy_engine_setting("DCGN_COPY_ENGINE");

  // Bytes of a fragment, 4 KiB to 1 GiB. CPU ranks of two processes that share memory pass long messages in fragments
  // if they are in GPU memory or have a datatype. 0: 16 MiB if GPUs of the two reach each other, four fragments a GPU;
  // else eight a process, of 4 MiB in pinned memory of the host, or 512 KiB without a GPU. DCGN_FRAGMENT_BYTES
  std::uint64_t fragment_bytes = detail::size_setting("DCGN_FRAGMENT_BYTES", 4096, 1u << 30);

  // Between slots of GPUs that reach each other's memory, if both calls have at least so many threads: the sender
  // stores the message in the receiver's buffer, from 256 bytes a thread on, where otherwise the receiver would read
  // it. 0: never. DCGN_PLACE_THREADS
  std::uint32_t place_threads =
      static_cast<std::uint32_t>(detail::setting("DCGN_PLACE_THREADS", 32768, 0, 0xffffffffu));

  // Where to write what the ranks did, call by call (docs/guide/traces.md): a file whose name ends in .html, a page to
  // look at, or in .json, for `dcgn trace`, ui.perfetto.dev and chrome://tracing; empty: nothing is recorded. The
  // second job of a program with the same name puts -2 before the ending, and so on. DCGN_TRACE
  std::string trace = detail::text_setting("DCGN_TRACE");

  // Calls of each rank that such a trace has room for, 64 bytes each in memory of the rank's own; later ones are
  // counted. DCGN_TRACE_EVENTS
  std::uint64_t trace_events = detail::setting("DCGN_TRACE_EVENTS", 65536, 1, 1u << 30);

  // Parts of the protocol to do without, as bits of message::Without: to see what each is worth, and for nothing else.
  // DCGN_WITHOUT: words of quick, checks, relaxed, bells, batches, rounds, teams, addresses, hosts, with commas between
  std::uint32_t without = detail::without_setting("DCGN_WITHOUT");
};

}  // namespace dcgn
