// The gateway: carries messages between the ranks of this process and those of others, over MPI, on the thread that
// calls it. It matches nothing: to a rank it is one more peer, with a FIFO to and from it (dcgn/message/endpoint.hpp).
// CPU ranks that wait do its work meanwhile, so that a message need not go from thread to thread.
//
// What a rank sends eagerly goes on as one message of MPI and into the destination's FIFO; so does what it announces
// and is not long, copied from its memory. What else it announces is announced there as an offer. When that has been
// matched the payload follows in fragments: from the sender's memory where the host may read it, else from what the
// sender streams through its FIFO; into the receiver's buffer where the host may write it, else through its FIFO. A
// payload that is not long and lies where the host may read it follows its offer at once, and MPI keeps it until the
// offer has been matched. An MPI that is CUDA-aware reads and writes what CPU ranks have on GPUs.
//
// All messages that open an exchange have one tag, and MPI keeps those between two processes in order; so
// non-overtaking between any two ranks follows from the FIFOs' own order.
#pragma once

#include "device/shared_work.hpp"
#include "message/memory.hpp"
#include "message/thresholds.hpp"
#include "transport/copy_engine.hpp"
#include "transport/process_watch.hpp"
#include "transport/processes.hpp"

#include <dcgn/config.hpp>
#include <dcgn/error.hpp>
#include <dcgn/placement.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace dcgn::transport {

class Gateway final : private device::SharedWork {
 public:
  // `on_stop` stops the ranks of this process: it is told why, and not to call abort(). `devices`, if it is not null,
  // has the GPUs whose memory MPI is given. Made by all processes together.
  Gateway(Processes& processes, ProcessWatch& watch, message::RankMemory& memory, const Placement& placement,
          const Config& config, const CopyEngine* devices, std::function<void(Code, const std::string&)> on_stop);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;
  // Waits as finish() does, unless the job is stopped.
  ~Gateway();

  // The ranks of this process have ended. Returns when all others have, too, and whatever they sent here has come; or
  // when the job is stopped.
  void finish();
  bool is_over() const { return is_over_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  // Stops the job in the other processes. Returns at once.
  void abort(Code code, const std::string& reason);

  // After finish(): messages that have come for a rank and that it has not taken.
  std::vector<message::Envelope> undelivered(int rank) const;

 private:
  using Buffer = std::vector<unsigned char>;

  // Begins every message of MPI but payloads.
  enum class Kind : std::uint32_t {
    eager,     // a whole message
    offer,     // there is one
    accept,    // send it, in fragments
    received,  // the offer has been matched, and nothing is left to send
    last,      // nothing more comes
  };
  struct Header {
    Kind kind;
    std::uint32_t context;
    std::int32_t from, to, tag;
    std::uint32_t sending;     // offer: the sender's number of it, which accept and received repeat
    std::int32_t payload_tag;  // accept: the payload's tag;  offer: the same where it follows at once, else 0
    std::uint32_t elements;
    std::uint64_t bytes;
    std::uint64_t fragment;  // offer: what the sender has to send it in, 0: any;  accept: what it is sent in
  };
  // Payloads have the tags that follow `opening_tag`: those that were accepted one of the receiver's, those that follow
  // their offers one of the sender's.
  static constexpr int opening_tag = 0, first_tag_at_once = 1 << 14, payload_tags = (1 << 15) - 1;
  // A message of MPI on its way out.
  struct Post {
    MpiHandle request = 0;
    Buffer bytes;
    std::uint32_t* count = nullptr;  // of those that somebody waits for
  };
  // What is to be put into a rank's FIFO. The payload is where MPI put it, until the arrival has to wait for room.
  struct Arrival {
    message::Header header;
    std::int32_t from;
    std::span<const unsigned char> payload;
    Buffer* slot = nullptr;  // whose payload is in one: it may be taken, and replaced
    Buffer kept;
    // Of an offer, as Header has them:
    std::int32_t process;
    std::uint32_t sending;
    std::int32_t payload_tag;
    std::uint64_t fragment;
  };
  // A message that a rank here has announced.
  struct Sending {
    int rank;  // its number here
    std::int32_t to;
    std::uint32_t ack;
    const unsigned char* from;  // null: the rank streams it
    std::uint64_t bytes, moved = 0;
    std::uint64_t fragment = 0;
    int process;
    std::int32_t payload_tag = 0;
    std::uint32_t under_way = 0;  // fragments
    bool accepted = false;        // or need not be
    bool received = false;        // the other end has matched what needed no accept, which is over with that
    Buffer gathered;
  };
  // One that was announced from elsewhere: in the rank's FIFO, then matched.
  struct Receiving {
    int rank;
    std::int32_t from;
    int process;
    std::uint32_t sending;
    std::uint32_t ack;
    std::uint64_t bytes, arrived = 0, passed = 0;
    std::uint64_t fragment;
    std::uint32_t record = 0;
    unsigned char* to = nullptr;  // the receiver's buffer, while it is lent
    bool is_here = false;         // the payload is, before it has been matched; then nobody waits for an answer
    bool matched = false;
    std::int32_t payload_tag = 0;
    MpiHandle request = 0;
    bool posted = false;
    Buffer staged;
    std::size_t before_payload = 0;  // bytes of it
    std::uint64_t in_staged = 0;     // bytes of it that have not been passed on end here
  };

  void serve();
  bool lend_a_hand(int sender) noexcept override;
  bool aborted() const;
  bool step();
  bool busy() const;
  bool take_from(int rank);
  bool receive();
  void handle(Buffer& slot, std::int64_t bytes, int source);
  bool deliver(int rank);
  bool deliver(int rank, Arrival& arrival);
  void deliver_or_keep(int rank, Arrival arrival);
  bool advance_posts();
  bool advance_sendings();
  bool advance_receivings();
  bool begin_receiving(Receiving& r);
  bool advance(Receiving& r);
  bool pass_on(Receiving& r);
  unsigned char* borrow(const Receiving& r);
  static Header answer_to(const Receiving& r, Kind kind);
  void hold(std::uint64_t bytes);
  bool is_on_device(const unsigned char* memory) const { return devices_ && devices_->is_device_memory(memory); }
  // One that is free, of these; 0: none.
  int take_tag(int begin, int end);
  void arrived_all(Receiving& r);
  bool advance_end();
  bool let_go() noexcept;

  void post(int process, Buffer message, bool synchronous = false);
  void post_header(int process, const Header& header);
  void post_payload(int process, int tag, const void* data, std::uint64_t bytes, Buffer own, std::uint32_t* count);
  void repost(std::size_t slot);
  bool test(MpiHandle& request, MpiStatus& status) const;
  int process_of(int rank) const { return placement_.place(rank).node; }
  void fail(Code code, const std::string& reason);

  Processes& processes_;
  ProcessWatch& watch_;
  const MpiCalls& mpi_;
  message::RankMemory& memory_;
  message::Endpoint& me_;
  const Placement& placement_;
  const bool direct_;
  const std::chrono::duration<double> deadline_;
  const CopyEngine* const devices_;
  const int first_, ranks_;
  const std::function<void(Code, const std::string&)> on_stop_;
  std::atomic<bool> dead_{false};

  std::atomic<std::uint64_t> helped_{0};  // steps that other threads did
  std::exception_ptr trouble_;            // that one of them met

  // Of the thread that calls MPI at the moment.
  std::vector<Buffer> slots_;  // messages come into these, in turn
  std::vector<MpiHandle> slot_requests_;
  std::vector<Buffer> spare_slots_;  // for those that are taken with what came into them
  std::size_t next_slot_ = 0;
  std::optional<std::size_t> idle_slot_;       // that is to be given to MPI again
  std::vector<std::deque<Arrival>> arrivals_;  // [rank here]
  std::uint64_t held_ = 0;                     // bytes of them, and of receivings that are here
  std::list<Post> posts_;
  std::map<std::uint32_t, Sending> sendings_;
  std::uint32_t next_sending_ = 0;
  std::list<Receiving> receivings_;
  std::vector<bool> tags_;   // of payloads, that are taken: those that come when they are accepted, and others that go
  std::set<int> contacted_;  // processes that something was sent to
  enum class End { open, told, barrier, over } end_ = End::open;
  MpiHandle barrier_ = 0;

  std::atomic<bool> ending_{false};
  std::promise<void> over_;
  std::shared_future<void> is_over_;
};

}  // namespace dcgn::transport
