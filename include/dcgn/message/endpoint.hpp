// The state of one rank: its lanes, its records, what it waits for. One caller at a time.
//
// A rank outlives the kernels and threads that make its calls: all of this lives in memory of the rank's own (device
// memory for a slot of a CUDA device), and only what other ranks must reach, the lanes and the acknowledgement words,
// is where both sides can. Design: matching is the receiver's own affair, and everything that crosses between ranks is
// a cell, a credit or an acknowledgement.
#pragma once

#include <dcgn/gpu/atomic.hpp>
#include <dcgn/message/arena.hpp>
#include <dcgn/message/cell.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::message {

// Contexts keep apart what must not match: the user's messages and the library's own.
inline constexpr std::uint32_t user_context = 0;
inline constexpr std::uint32_t collective_context = 1;

// The public call that a rank is in; for reports.
enum class Call : std::uint32_t {
  none,
  send,
  ssend,
  bsend,
  isend,
  recv,
  irecv,
  sendrecv,
  sendrecv_replace,
  probe,
  iprobe,
  test,
  wait,
  wait_any,
  wait_all,
  barrier,
  broadcast,
  finish,
};

struct Envelope {
  std::int32_t peer = any_source;
  std::int32_t tag = any_tag;
  std::uint32_t context = 0;
  std::uint32_t padding = 0;
  std::uint64_t bytes = 0;
};

// A send, a receive, or a message that came unexpected.
enum class State : std::uint32_t {
  idle,        // on the free list
  queued,      // send: waits for room in its lane, in order
  announced,   // send: pull or offer is in the lane; waits for the acknowledgement
  streaming,   // send: the offer was accepted, pieces are going out; receive: pieces are coming in
  posted,      // receive: nothing has matched yet
  unexpected,  // arrived message: no receive has matched yet
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
  std::uint64_t address;     // unexpected: where to pull from, or the payload of a small message
  Kind kind;                 // unexpected: how it came
  std::uint32_t ack;         // send: my acknowledgement word; receive, unexpected: the sender's
  Code code;
  std::uint32_t flags;
  Call call;
  std::uint64_t order;  // unexpected: counts arrivals

  static constexpr std::uint32_t is_receive = 1;
  static constexpr std::uint32_t synchronous = 2;
  static constexpr std::uint32_t buffered = 4;  // free buffer and record when done; nobody waits for it
};

// Acknowledgement words: answered by the receiver, reset by the sender before each use.
inline constexpr std::uint64_t ack_none = 0;
inline constexpr std::uint64_t ack_pulling = 1;    // the receiver is reading the sender's buffer
inline constexpr std::uint64_t ack_pulled = 2;     // the message is received
inline constexpr std::uint64_t ack_withdrawn = 3;  // the sender has taken its buffer back
inline constexpr std::uint64_t ack_accepted = 4;   // an accepted offer: this plus the receiver's record

// Cells that the receiver has taken, in memory that the sender reads cheaply.
struct alignas(64) Credit {
  std::uint32_t taken;
};

struct OutLane {
  Ring ring;
  Credit* credit;
  std::uint64_t* acks;  // my acknowledgement words, where this lane's receiver can reach them
  std::uint32_t tail;   // cells written
  std::uint32_t taken;  // the credit as last read
  Record* first;        // sends that wait for room, in order
  Record* last;
  OutLane* next_queued;
  std::uint32_t queued;
  std::uint32_t direct;  // the receiver can read this rank's memory
  std::uint32_t eager;   // bytes; longer messages go by rendezvous
  std::uint64_t sent;    // messages
};

struct InLane {
  Ring ring;
  Credit* credit;
  std::uint64_t* acks;     // the sender's acknowledgement words
  std::uint32_t head;      // cells taken
  std::uint32_t returned;  // of which the sender knows
  std::uint64_t received;  // messages taken out of the lane
};

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

// Unexpected messages lie in lists by context and tag, each in order of arrival: a receive of one tag looks through one
// of them, however many messages of other tags have come.
inline constexpr std::uint32_t unexpected_lists = 64;

DCGN_HOST_DEVICE inline std::uint32_t unexpected_list(std::uint32_t context, std::int32_t tag) {
  const std::uint32_t mixed = (static_cast<std::uint32_t>(tag) ^ context << 5) * 0x9e3779b1u;
  return mixed >> 26;
}

struct Statistics {
  std::uint64_t sent_messages = 0, sent_bytes = 0;
  std::uint64_t received_messages = 0, received_bytes = 0;  // that matched a receive
  std::uint64_t wait_ns = 0;
  std::uint64_t activity = 0;  // grows with everything that the rank does
};

// An error that a call of this rank returned.
struct Failure {
  Code code = Code::ok;
  Call call = Call::none;
  std::int64_t value = 0;     // the bad argument
  std::int64_t expected = 0;  // its bound
  Envelope envelope;
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
  Failure failure;
};

// Settings shared by the ranks of a world.
struct Limits {
  std::uint64_t deadline_ns;
  std::uint32_t errors_fatal;  // a failed call stops the job
  std::uint32_t padding;
};

struct alignas(64) Endpoint {
  std::int32_t rank, size;
  std::int32_t node, device, slot, cpu;  // device and slot are -1 for a CPU rank, cpu is -1 for a slot
  OutLane* out;                          // [size]
  InLane* in;                            // [size]
  OutLane* queued;                       // lanes with sends that wait for room
  std::int32_t next_source;              // where the next round of polling starts
  std::uint32_t next_choice;             // wait_any's rotation
  Record* records;
  std::uint32_t record_capacity, records_used;
  Record* free_records;
  std::uint32_t* free_acks;
  std::uint32_t ack_capacity, acks_used, acks_free;
  std::uint32_t busy;     // 1 during a call
  std::uint32_t stopped;  // 1 once a call gave up for good: buffers of its posted receives may be gone
  List posted, announced, streaming;
  List unexpected[unexpected_lists];
  std::uint64_t arrivals_counted;
  std::uint32_t unexpected_count;
  std::int32_t stalled;  // as in Notice
  Arena arrivals;        // payloads of unexpected messages
  Arena buffer;          // copies made by bsend
  Limits limits;
  const std::uint32_t* phase;  // Phase, or the number of a survey
  const std::uint32_t* ended;  // [size], 1 where a rank has ended
  Notice* notice;
  Call call;
  Statistics statistics;
  Failure first_failure, last_failure;
};

DCGN_HOST_DEVICE inline bool matches(const Envelope& wanted, std::int32_t source, std::int32_t tag,
                                     std::uint32_t context) {
  return wanted.context == context && (wanted.peer == any_source || wanted.peer == source) &&
         (wanted.tag == any_tag || wanted.tag == tag);
}

}  // namespace dcgn::message
