// The state of one rank: its FIFOs, its records, what it waits for. One caller at a time.
//
// A rank outlives the kernels and threads that make its calls: all of this lives in memory of the rank's own (device
// memory for a slot of a CUDA device), and only what other ranks must reach, the FIFOs and the acknowledgement words,
// is where both sides can. Design: matching is the receiver's own affair, and everything that crosses between ranks is
// a packet, a credit or an acknowledgement.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/call.hpp>
#include <dcgn/message/arena.hpp>
#include <dcgn/message/copy_queue.hpp>
#include <dcgn/message/fifo.hpp>
#include <dcgn/message/grid_barrier.hpp>
#include <dcgn/message/reason.hpp>
#include <dcgn/message/trace_log.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::message {

// Contexts keep apart what must not match: each communicator has a pair, for the user's messages and for the library's
// own. These are the world's.
inline constexpr std::uint32_t user_context = 0;
inline constexpr std::uint32_t collective_context = 1;
DCGN_HOST_DEVICE constexpr bool is_collective(std::uint32_t context) { return context & 1; }
// Pairs: a small message's header has room for as many.
inline constexpr std::int32_t most_communicators = 256;

struct Row;  // payload.hpp

struct Envelope {
  std::int32_t peer = any_source;
  std::int32_t tag = any_tag;
  std::uint32_t context = 0;
  std::uint32_t elements = 0;  // as in the header
  std::uint64_t bytes = 0;
};

// A send, a receive, or a message that came unexpected.
enum class State : std::uint32_t {
  idle,        // on the free list
  queued,      // send: waits for room in its FIFO, in order
  announced,   // send: pull or offer is in the FIFO; waits for the acknowledgement
  streaming,   // send: the offer was accepted, pieces are going out; receive: pieces are coming in
  posted,      // receive: nothing has matched yet
  copying,     // receive: a copy engine fetches the message, or will
  unexpected,  // arrived message: no receive has matched yet
  background,  // a call that goes on beside others; what it waits for
  complete,
};

struct Record {
  Record* next;
  State state;
  std::uint32_t generation;  // odd or even makes no difference; 0 is never used, so a Request of 0 is null
  Envelope envelope;         // send: to whom; receive: what is wanted, then what matched; unexpected: what arrived
  unsigned char* buffer;     // send, receive: the user's; unexpected: the stored payload of an eager message
  std::uint64_t capacity;    // receive: bytes of the buffer
  std::uint64_t moved;       // bytes sent or received so far
  std::uint64_t address;     // unexpected, copying: where to pull from, or the payload of a small message
  Kind kind;                 // unexpected: how it came
  std::uint32_t ack;         // send: my acknowledgement word; receive, unexpected: the sender's
  Code code;
  std::uint32_t flags;
  Call call;
  std::uint64_t order;  // unexpected: counts arrivals; copying: the number of its request; streaming: fragments of its
                        // that are under way

  static constexpr std::uint32_t is_receive = 1 << 0;
  static constexpr std::uint32_t synchronous = 1 << 1;
  static constexpr std::uint32_t buffered = 1 << 2;   // free buffer and record when done; nobody waits for it
  static constexpr std::uint32_t on_device = 1 << 3;  // the buffer of a host thread's message is in a GPU's memory
  static constexpr std::uint32_t readable = 1 << 4;   // unexpected, copying: as in the header
  static constexpr std::uint32_t waited = 1 << 5;     // the call that receives it waits for nothing else
  static constexpr std::uint32_t placed = 1 << 6;     // the sender stores it, or was asked to
  static constexpr std::uint32_t opened = 1 << 7;     // copying: in memory of another process; Exports::close() it
};

// Acknowledgement words. Each use of one has a turn of its own, which the receiver repeats in its answer: so an answer
// to an earlier use is none, and the sender need not clear the word first (two stores of a GPU may arrive in any
// order).
inline constexpr std::uint64_t ack_none = 0;
inline constexpr std::uint64_t ack_pulling = 1;         // one side is reading or writing the other's buffer
inline constexpr std::uint64_t ack_pulled = 2;          // the message is received
inline constexpr std::uint64_t ack_withdrawn = 3;       // one side has taken its buffer back
inline constexpr std::uint64_t ack_accepted = 4;        // an accepted offer: this plus the receiver's record,
inline constexpr std::uint64_t ack_place = 1ull << 40;  // and this where the sender is to store what it announced
inline constexpr std::uint32_t ack_index_bits = 16;

DCGN_HOST_DEVICE inline std::uint32_t ack_index(std::uint32_t ack) { return ack & ((1u << ack_index_bits) - 1); }
// An answer as it stands in the word.
DCGN_HOST_DEVICE inline std::uint64_t ack_word(std::uint32_t ack, std::uint64_t answer) {
  return static_cast<std::uint64_t>(ack >> ack_index_bits) << 48 | answer;
}
// The answer that a word holds for this use of it.
DCGN_HOST_DEVICE inline std::uint64_t ack_answer(std::uint32_t ack, std::uint64_t word) {
  return word >> 48 == ack >> ack_index_bits ? word << 16 >> 16 : ack_none;
}

// Bytes for each thread of a call, as is_placed() has them.
inline constexpr std::uint32_t place_each = 256;

struct List {
  Record* first = nullptr;
  Record* last = nullptr;

  DCGN_HOST_DEVICE void append(Record* r) {
    r->next = nullptr;
    if (last)
      last->next = r;
    else
      first = r;
    last = r;
  }
  // `before` is the record in front of `r`, null where `r` is the first.
  DCGN_HOST_DEVICE void remove(Record* before, Record* r) {
    (before ? before->next : first) = r->next;
    if (last == r) last = before;
  }
};

// How a rank has messages copied, and which: the requests that are not done hold places of its queue, in order.
struct Copies {
  CopyQueue* queue = nullptr;       // null: nobody copies for this rank
  std::uint32_t* posted = nullptr;  // its word of the array that the host looks at
  std::uint32_t* done = nullptr;    // [copy_queue_length], beside the rank: request n's is done[n % length]
  HostCopier* host = nullptr;       // a host thread's, where there are GPUs: asks this one and not the queue
  std::uint32_t requests = 0;       // posted so far
  List under_way, waiting;          // receives: posted, oldest first; for a place, only while others are under way
};

// Unexpected messages lie in lists by context and tag, each in order of arrival: a receive of one tag looks through one
// of them, however many messages of other tags have come.
inline constexpr std::uint32_t unexpected_lists = 64;

DCGN_HOST_DEVICE inline std::uint32_t unexpected_list(std::uint32_t context, std::int32_t tag) {
  const std::uint32_t mixed = (static_cast<std::uint32_t>(tag) ^ context << 5) * 0x9e3779b1u;
  return mixed >> 26;
}

// What a rank has done, fast calls apart: see its FIFOs.
struct Statistics {
  std::uint64_t sent_messages = 0, sent_bytes = 0;
  std::uint64_t received_messages = 0, received_bytes = 0;  // that matched a receive
  std::uint64_t wait_ns = 0;
  std::uint64_t activity = 0;        // grows with everything that the rank does here
  std::uint64_t slow[reasons] = {};  // messages that took the slow path, by their Reason
};

// What is wrong with a collective's arguments, or with what the others gave.
enum class Flaw : std::uint32_t {
  none,           // the code says it
  root,           // no rank of the communicator
  not_member,     // the calling rank is none
  input,          // elements, where as many as are expected are wanted
  output,         // elements, where at least as many are
  blocks,         // elements that are not as many for each rank
  counts,         // not one for each rank
  displacements,  // likewise
  count,          // negative; `envelope.peer` is whose
  displacement,   // likewise
  part,           // ends behind its buffer; likewise
  overlap,        // input and output: bytes from one to the other, and in place; -1: never
  parts_overlap,  // of the output: those of two ranks, the second `envelope.peer`
  device_memory,  // in a GPU's memory, where a CPU rank computes
  shorter,        // what came from `envelope.peer`
  communicators,  // all pairs of contexts are in use
  members,        // no space for a table of so many
  grid,           // more places than ranks
  other_root,     // than that of `envelope.peer`
  other_element,  // likewise, in bytes
  other_call,     // than that of `envelope.peer`
  under_way,      // as many calls as can be
};

// An error that a call of this rank returned.
struct Failure {
  Code code = Code::ok;
  Call call = Call::none;
  std::int64_t value = 0;     // the bad argument
  std::int64_t expected = 0;  // its bound
  Envelope envelope{};
  Flaw flaw = Flaw::none;
};

// What of one peer's part in a round is left to the ordinary calls: see rounds.hpp. All zero between calls.
struct Lapse {
  std::uint32_t unsent = 0, unreceived = 0;
};
// Peers in a round.
inline constexpr int most_at_once = 256;

struct DeviceBarrier;  // device_barrier.hpp
struct WorldBarriers;  // the same

// What a slot has for the collectives that it is in with another slot: see inbox.hpp. An Inbox is where it lies.
struct InboxState {
  static constexpr std::uint32_t segments = 4;

  Packet* to = nullptr;         // at the peer; null where there is none
  Packet* from = nullptr;       // here
  std::uint32_t turn = 0;       // collectives that both have been in
  std::uint32_t seen = 0;       // the first turns, of which this rank has seen the peer's last one
  std::uint32_t signature = 0;  // that this rank has sent in the turn before,
  std::uint32_t bytes = 0;      // and of how many
};
struct alignas(32) Inbox : InboxState {};

// The packets of a turn between two ranks, as one of them has them.
struct Flight {
  Packet* to = nullptr;    // at the peer
  Packet* from = nullptr;  // here
  std::uint32_t turn = 0;

  // From packet `at` of the segment on.
  DCGN_HOST_DEVICE Row sent(std::uint32_t at) const;
  DCGN_HOST_DEVICE Row came(std::uint32_t at) const;
};
// Slots that are in a turn together.
inline constexpr int most_in_turn = 16;

// Which collectives a rank has begun: how many of each communicator, and for reports the latest of all.
struct Turns {
  static constexpr std::uint32_t kept = 32;
  std::uint32_t begun[most_communicators];
  // [n % kept]: number n of whichever communicator came last; see collective/tag.hpp for the words, 0: none.
  std::uint64_t latest[kept];
  std::uint64_t sizes[kept];  // of these, what all ranks must give alike
  // What tells each communicator from others that have or had its number; that of the world is 0.
  std::uint64_t communicators[most_communicators];

  // Bits that tell nothing of those that they are made of (splitmix64).
  DCGN_HOST_DEVICE static constexpr std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
  // A communicator as a notice has it, together with a call in it: whoever reads one of them from another notice than
  // the other comes to a communicator that there is not.
  DCGN_HOST_DEVICE static constexpr std::uint64_t seal(std::uint64_t communicator, std::uint64_t word,
                                                       std::uint64_t size, std::uint32_t number) {
    return communicator ^ mixed(word ^ mixed(size ^ mixed(number)));
  }

  // The whole number of the call that latest[i] is about, of whose communicator the rank has begun so many: one of its
  // last `kept`, because each of those has overwritten the one so many before.
  DCGN_HOST_DEVICE static constexpr std::uint32_t number_at(std::uint32_t i, std::uint32_t so_many) {
    return so_many - 1 - (so_many - 1 - i) % kept;
  }
  // Which communicator a word is about.
  DCGN_HOST_DEVICE static constexpr std::uint32_t pair_of(std::uint64_t word) {
    return static_cast<std::uint32_t>(word) >> 17;
  }
};

// A rank's team among those of the world.
struct TeamOfWorld {
  std::int32_t number = 0, first = 0, members = 0;
  std::int32_t largest = 0;  // ranks of the largest team, and no fewer than there are teams
};

// What a slot remembers of the WorldBarriers that it has come to: how many, and their arrivals after the last one.
struct WorldMet {
  std::uint64_t arrivals = 0;
  std::uint32_t barriers = 0;
};

// What a rank has for collectives and communicators: see dcgn/collective/.
struct CollectiveSpace {
  unsigned char* scratch = nullptr;
  std::uint64_t scratch_bytes = 0;  // the same at all ranks
  Turns* turns = nullptr;
  std::uint32_t used[most_communicators / 32] = {1};  // bit by bit, the pairs of contexts; the world's is the first
  Arena tables{nullptr, 0};                           // members of communicators
  Lapse* lapses = nullptr;                            // [most_at_once]
  Request* requests = nullptr;                        // [most_at_once]
  // Ranks that share a device, or are a process's CPU ranks, follow each other: where each such team begins, of those
  // with FIFOs of their own.
  const std::int32_t* teams = nullptr;
  std::int32_t team_count = 0;
  // The same of hosts, of all ranks: those of a host have FIFOs to each other. Each but the last has so many at least.
  const std::int32_t* hosts = nullptr;
  std::int32_t host_count = 0;
  std::int32_t least_of_host = 0;
  // 1 where all ranks of the world are slots of one process, all of whose threads read and write the others' memory.
  std::uint32_t slots_reach_all = 0;
  // Of a slot: where those of its GPU meet, the first of whom is this one; most_device_barriers for each.
  std::int32_t device_barriers_first = 0;
  DeviceBarrier* device_barriers = nullptr;
  Inbox* inboxes = nullptr;         // of a slot, [near]; null where there are none
  Flight flights[most_in_turn];     // of the present turn, by number
  std::uint32_t inbox_packets = 0;  // of a segment, the same everywhere: a power of two
  std::uint32_t given_up = 0;       // Phase::aborted while a call is not to be ended
  std::uint32_t world_packets = 0;  // the same if all ranks of the world have inboxes of each other, else 0
  TeamOfWorld team;                 // to find it takes a GPU's thread more than a microsecond
  const WorldBarriers* world_barriers = nullptr;  // where all ranks of the world are slots that meet so
  WorldMet world_met;
};

// The stages of a running job; a rank looks at it whenever it has waited for a while.
enum class Phase : std::uint32_t {
  running = 0,
  aborted = 1,
  survey = 2,  // and above: say what you wait for, then go on waiting; each survey has its own number
};

// Why a rank asks the watchdog to look.
enum class Alarm : std::uint32_t { none, deadline, rank_ended, failure };

inline constexpr int notice_envelopes = 6;

// What a waiting rank tells the watchdog, in memory that the host can read. Plain fields are written before `survey`.
struct alignas(64) Notice {
  std::uint32_t survey;   // the survey that this answers
  std::uint32_t idle;     // 1 while the rank has been waiting for some time and found nothing to do
  std::uint32_t alarm;    // an Alarm that the rank raised
  std::uint32_t arrived;  // messages in the unexpected list
  Call call;
  std::uint32_t is_receive;
  std::int32_t stalled;    // a source whose message cannot be stored for want of space; -1: none
  std::uint32_t requests;  // incomplete ones among those waited for
  Envelope waits_for;
  std::uint64_t activity;
  std::uint64_t waited_ns;
  Envelope unexpected[notice_envelopes];
  std::uint64_t turns[Turns::kept];         // as Turns::latest has them
  std::uint64_t sizes[Turns::kept];         // and Turns::sizes
  std::uint32_t turn_numbers[Turns::kept];  // of each the whole number
  std::uint64_t seals[Turns::kept];         // see Turns::seal
  std::uint32_t beside;                     // the most calls that the rank has had under way beside others
  Failure failure;
};

// Parts of the protocol that can be switched off, to see what each is worth (docs/guide/performance.md).
enum Without : std::uint32_t {
  without_quick = 1,     // calls that find all they need at once and keep no record
  without_checks = 2,    // deadlines and the abort word, in waits
  without_relaxed = 4,   // each header is written with release order
  without_bells = 8,     // no doorbells: FIFOs are looked at one by one, however many
  without_batches = 16,  // credit goes back for every message
  // Of collectives, where all ranks must do without the same:
  without_rounds = 32,      // each of few ranks sends to all others at once
  without_teams = 64,       // of many, those of each device first
  without_addresses = 128,  // ranks read and write each other's buffers
  without_hosts = 256,      // ranks of one host come together before they send to others
};

// With more ranks than this, doorbells say who has sent.
inline constexpr int few_ranks = 8;
// Doorbells that a thread looks at together.
inline constexpr int doorbell_group = 64;
// The doorbell of a FIFO is a byte, 0 or 1. Those of a group are eight words of eight bytes, in such an order that the
// sum of `word k << k` has the FIFOs' bits one after another.
DCGN_HOST_DEVICE constexpr int doorbell_place(int fifo) {
  return fifo / doorbell_group * doorbell_group + fifo % 8 * 8 + fifo / 8 % 8;
}

// Settings shared by the ranks of a world.
struct Limits {
  std::uint64_t deadline_ns;
  std::uint32_t errors_fatal;  // a failed call stops the job
  std::uint32_t padding;
};

class Background;  // core/src/message/engine/background.hpp
class Fragments;   // core/src/message/engine/fragments.hpp
class Exports;     // exports.hpp

struct alignas(64) Endpoint {
  std::int32_t rank, size;               // of the world
  OutFifo* out;                          // [fifos()]
  InFifo* in;                            // [fifos()]
  std::int32_t first, near;              // the ranks of processes that share memory: so many, from `first` on
  alignas(16) std::uint32_t busy;        // 1 during a call
  std::uint32_t stopped;                 // 1 once a call gave up for good: buffers of its posted receives may be gone
  std::uint32_t open;                    // sends and receives that are not complete, and messages that are kept
  std::uint32_t without;                 // parts of the protocol that are switched off: see Without
  std::int32_t node, device, slot, cpu;  // device and slot are -1 for a CPU rank, cpu is -1 for a slot
  std::int32_t home_first, home;         // of these, the ranks of this process, who know each other's addresses
  OutFifo* queued;                       // FIFOs with sends that wait for room
  std::int32_t next_fifo;                // behind the one that was last received from
  std::uint32_t next_choice;             // wait_any's rotation
  Record* records;
  std::uint32_t record_capacity, records_used;
  Record* free_records;
  std::uint32_t* free_acks;  // each with the turn that it had
  std::uint32_t ack_capacity, acks_used, acks_free;
  // Where there are many ranks, each sender also sets its byte here, so that one look finds who has sent.
  std::uint8_t* doorbells;               // [fifos(), rounded up to doorbell_group]; null where there are few
  std::int32_t last_fifo, cleared_fifo;  // whose doorbells may be wrong: see FifoFinder; -1: none
  const std::int32_t* mute;              // with doorbells: the FIFOs whose senders cannot reach them
  std::int32_t mute_count;
  std::int32_t next_mute;  // where the next look at those begins
  std::uint32_t threads;   // that take part in the call
  List posted, announced, streaming;
  List unexpected[unexpected_lists];
  std::uint64_t arrivals_counted;
  std::uint32_t unexpected_count;
  std::int32_t stalled;         // as in Notice
  std::uint32_t answered;       // the last survey that was answered
  Arena arrivals{nullptr, 0};   // payloads of unexpected messages
  Arena buffer{nullptr, 0};     // copies made by bsend
  std::uint32_t place_threads;  // of a call whose long messages the sender stores: see is_placed()
  Limits limits;
  const std::uint32_t* phase;  // Phase, or the number of a survey
  const std::uint32_t* ended;  // [near], 1 where a rank has ended
  Notice* notice;
  Call call;
  Statistics statistics;
  Failure first_failure, last_failure;
  Copies copies;
  GridBarrier grid_barrier;  // of the blocks that make a call together
  CollectiveSpace collectives;
  // Of a rank in host memory: how many buffers of its own others use, the gateway, or who was told their addresses. The
  // words of the ranks here lie side by side.
  std::uint32_t* lent;
  Background* background;  // of a CPU rank, once it has made a call that goes on beside others
  Fragments* fragments;    // of a CPU rank, where processes share memory
  Exports* exports;        // the same, and have GPUs that reach each other's
  TraceLog log;            // of the rank's calls, where a trace is recorded
};

// FIFOs go to the ranks of this process and of those that share memory with it, in order, and where there are others a
// last one to the gateway, which carries what passes between processes (core/src/gateway/gateway.hpp). In its FIFOs
// each header is followed by a packet that names the rank at the other end.
DCGN_HOST_DEVICE inline bool is_near(const Endpoint& me, std::int32_t rank) {
  return static_cast<std::uint32_t>(rank) - static_cast<std::uint32_t>(me.first) < static_cast<std::uint32_t>(me.near);
}
DCGN_HOST_DEVICE inline bool is_at_home(const Endpoint& me, std::int32_t rank) {
  return static_cast<std::uint32_t>(rank) - static_cast<std::uint32_t>(me.home_first) <
         static_cast<std::uint32_t>(me.home);
}
DCGN_HOST_DEVICE inline std::int32_t fifos(const Endpoint& me) { return me.near + (me.near != me.size); }
DCGN_HOST_DEVICE inline std::int32_t fifo_of(const Endpoint& me, std::int32_t rank) {
  return is_near(me, rank) ? rank - me.first : me.near;
}
DCGN_HOST_DEVICE inline OutFifo& fifo_to(Endpoint& me, std::int32_t rank) { return me.out[fifo_of(me, rank)]; }
DCGN_HOST_DEVICE inline InFifo& fifo_from(Endpoint& me, std::int32_t rank) { return me.in[fifo_of(me, rank)]; }
// A rank as its callers hold it: with what never changes at hand.
struct Port {
  Endpoint* me;
  OutFifo* out;
  InFifo* in;
  Turns* turns;  // as CollectiveSpace has it
  std::int32_t size, first, near;
  std::uint32_t watched;  // as TraceLog has it

  DCGN_HOST_DEVICE explicit Port(Endpoint& endpoint)
      : me(&endpoint),
        out(endpoint.out),
        in(endpoint.in),
        turns(endpoint.collectives.turns),
        size(endpoint.size),
        first(endpoint.first),
        near(endpoint.near),
        watched(endpoint.log.watched) {}
  // The FIFO of a rank that has one of its own: else it is not below `near`.
  DCGN_HOST_DEVICE std::uint32_t fifo(std::int32_t rank) const {
    return static_cast<std::uint32_t>(rank) - static_cast<std::uint32_t>(first);
  }
  DCGN_HOST_DEVICE operator Endpoint&() const { return *me; }
};

// Whether a message is so long, for a call of so many threads, that its sender stores it in the receiver's buffer where
// both can. That takes a journey more than a pull, and spares the link the requests for what is read: messages both
// ways at once get 359 GB/s each rather than 334 (H200), and one way 367 rather than 373.
DCGN_HOST_DEVICE inline bool is_placed(const Endpoint& me, std::uint32_t threads, std::uint64_t bytes) {
  return threads >= me.place_threads && bytes >= std::uint64_t{place_each} * threads;
}

// Whether a host thread's message lies where the thread must not touch it.
DCGN_HOST_DEVICE inline bool is_device_memory([[maybe_unused]] const Endpoint& me,
                                              [[maybe_unused]] const void* memory) {
#if defined(__CUDA_ARCH__)
  return false;  // who asks is no host thread
#else
  return me.copies.host && me.copies.host->is_device_memory(memory);
#endif
}

DCGN_HOST_DEVICE inline bool matches(const Envelope& wanted, std::int32_t source, std::int32_t tag,
                                     std::uint32_t context) {
  return wanted.context == context && (wanted.peer == any_source || wanted.peer == source) &&
         (wanted.tag == any_tag || wanted.tag == tag);
}

}  // namespace dcgn::message
