#include "gateway.hpp"

#include "device/processor.hpp"
#include "transport/mpi_library.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/relax.hpp>
#include "message/engine/copying.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace dcgn::transport {

namespace {

using namespace std::chrono_literals;
using message::InFifo;
using message::Phase;

constexpr std::size_t slot_count = 16;

}  // namespace

Gateway::Gateway(Processes& processes, ProcessWatch& watch, message::RankMemory& memory, const Placement& placement,
                 const Config& config, const CopyEngine* devices, std::function<void(Code, const std::string&)> on_stop)
    : processes_(processes),
      watch_(watch),
      mpi_(processes.mpi()),
      memory_(memory),
      me_(*memory.gateway()),
      placement_(placement),
      direct_(config.direct),
      deadline_(config.deadline_s),
      devices_(devices),
      first_(memory.home().first_rank),
      ranks_(memory.home().ranks),
      on_stop_(std::move(on_stop)),
      slots_(slot_count, Buffer(sizeof(Header) + message::gateway_copied)),
      slot_requests_(slot_count),
      arrivals_(static_cast<std::size_t>(ranks_)),
      tags_(payload_tags),
      is_over_(over_.get_future().share()) {
  watch_.call_on_stop([this](Code code, const std::string& reason, bool dead) {
    if (dead) dead_ = true;
    on_stop_(code, reason);
  });
  processes_.start([this] { serve(); });
}

Gateway::~Gateway() {
  finish();
  watch_.call_on_stop(nullptr);
}

void Gateway::finish() {
  ending_.store(true, std::memory_order_release);
  // Others may go on for as long as they like, but not be gone without a word.
  const auto patience = std::max(deadline_, std::chrono::duration<double>(5));  // on a busy machine
  bool silent_before = false;  // one look more: this process may have been stopped as well, and just now goes on
  while (is_over_.wait_for(1s) != std::future_status::ready) {
    if (aborted()) continue;
    watch_.ask();
    const std::vector<std::string> silent = watch_.silent_for(patience);
    if (!silent.empty() && silent_before)
      fail(Code::deadline, "at the end of the job " + ProcessWatch::not_answering(silent.front()));
    silent_before = !silent.empty();
  }
}

void Gateway::abort(Code code, const std::string& reason) { watch_.stop(code, reason); }

std::vector<message::Envelope> Gateway::undelivered(int rank) const {
  std::vector<message::Envelope> messages;
  for (const Arrival& a : arrivals_[static_cast<std::size_t>(rank - first_)])
    if (a.header.kind != message::Kind::placed)
      messages.push_back({a.from, a.header.tag, a.header.context, a.header.elements, a.header.bytes});
  return messages;
}

void Gateway::fail(Code code, const std::string& reason) {
  on_stop_(code, reason);
  watch_.stop(code, reason);
}

// ---- messages of MPI

bool Gateway::test(MpiHandle& request, MpiStatus& status) const {
  int done = 0;
  check_mpi(mpi_, mpi_.test(&request, &done, &status), "MPI_Test");
  return done != 0;
}

void Gateway::post(int process, Buffer message, bool synchronous) {
  Post& p = posts_.emplace_back();
  p.bytes = std::move(message);
  contacted_.insert(process);
  const auto send = synchronous ? mpi_.issend : mpi_.isend;
  check_mpi(mpi_,
            send(processes_.communicator(), p.bytes.data(), static_cast<std::int64_t>(p.bytes.size()), process,
                 opening_tag, &p.request),
            "MPI_Isend");
}

void Gateway::post_header(int process, const Header& header) {
  Buffer message(sizeof header);
  std::memcpy(message.data(), &header, sizeof header);
  post(process, std::move(message));
}

void Gateway::post_payload(int process, int tag, const void* data, std::uint64_t bytes, Buffer own,
                           std::uint32_t* count) {
  Post& p = posts_.emplace_back();
  p.bytes = std::move(own);
  p.count = count;
  ++*count;
  check_mpi(mpi_,
            mpi_.isend(processes_.communicator(), data ? data : p.bytes.data(), static_cast<std::int64_t>(bytes),
                       process, tag, &p.request),
            "MPI_Isend");
}

bool Gateway::advance_posts() {
  bool any = false;
  for (auto p = posts_.begin(); p != posts_.end();) {
    MpiStatus status;
    if (!test(p->request, status)) {
      ++p;
      continue;
    }
    if (p->count) --*p->count;
    p = posts_.erase(p);
    any = true;
  }
  return any;
}

void Gateway::repost(std::size_t slot) {
  check_mpi(mpi_,
            mpi_.irecv(processes_.communicator(), slots_[slot].data(), static_cast<std::int64_t>(slots_[slot].size()),
                       mpi_.any_source, opening_tag, &slot_requests_[slot]),
            "MPI_Irecv");
}

// The messages of a process come into the slots in the order in which they were sent, so they are looked at in turn.
// MPI gets a slot back at the next look: who waits for its message need not wait for that.
bool Gateway::receive() {
  if (idle_slot_) repost(*std::exchange(idle_slot_, std::nullopt));
  MpiStatus status;
  if (!test(slot_requests_[next_slot_], status)) return false;
  handle(slots_[next_slot_], status.bytes, status.source);
  idle_slot_ = next_slot_;
  next_slot_ = (next_slot_ + 1) % slot_count;
  return true;
}

void Gateway::handle(Buffer& slot, std::int64_t bytes, int source) {
  const unsigned char* const message = slot.data();
  Header h;
  if (bytes < static_cast<std::int64_t>(sizeof h)) throw Error(Code::device, "MPI", "a message of a stranger");
  std::memcpy(&h, message, sizeof h);
  switch (h.kind) {
    case Kind::eager:
    case Kind::offer: {
      Arrival a{};
      const bool eager = h.kind == Kind::eager;
      const bool small = message::fits_small(h.context, h.tag, h.bytes) && !h.elements;
      a.header.kind = !eager ? message::Kind::offer : small ? message::Kind::small : message::Kind::eager;
      a.header.context = h.context;
      a.header.tag = h.tag;
      a.header.bytes = h.bytes;
      a.header.elements = h.elements;
      a.from = h.from;
      a.process = source;
      a.sending = h.sending;
      a.payload_tag = h.payload_tag;
      a.fragment = h.fragment;
      if (a.header.kind == message::Kind::small) {
        std::memcpy(&a.header.address, message + sizeof h, h.bytes);
      } else if (eager) {
        a.payload = {message + sizeof h, static_cast<std::size_t>(h.bytes)};
        a.slot = &slot;
      }
      deliver_or_keep(h.to - first_, std::move(a));
      break;
    }
    case Kind::accept:
    case Kind::received: {
      const auto found = sendings_.find(h.sending);
      if (found == sendings_.end()) throw Error(Code::device, "MPI", "an answer to what nobody asked");
      Sending& s = found->second;
      InFifo& fifo = me_.in[s.rank];
      if (h.kind == Kind::received && s.accepted) {
        s.received = true;
        break;
      }
      if (h.kind == Kind::received) {
        message::acknowledge(fifo, s.ack, message::ack_pulled);
        sendings_.erase(found);
        break;
      }
      s.payload_tag = h.payload_tag;
      s.fragment = h.fragment;
      if (!s.from)
        message::acknowledge(fifo, s.ack, message::ack_accepted + h.sending);
      else if (!message::begin_pull(fifo, s.ack))
        break;  // the sender has its buffer back, for the job is being stopped
      s.accepted = true;
      break;
    }
    case Kind::last: break;
  }
}

// ---- the end

// All that was sent from here has been received by MPI at its destination when the synchronous message that follows it
// has; and when that is so of all processes, which the barrier tells, nothing is on its way any more.
bool Gateway::advance_end() {
  switch (end_) {
    case End::open: {
      if (!posts_.empty() || !sendings_.empty()) return false;
      Header wire{};
      wire.kind = Kind::last;
      Buffer message(sizeof wire);
      std::memcpy(message.data(), &wire, sizeof wire);
      const std::set<int> contacted = contacted_;
      for (const int process : contacted) post(process, message, true);
      end_ = End::told;
      return true;
    }
    case End::told:
      if (!posts_.empty()) return false;
      check_mpi(mpi_, mpi_.ibarrier(processes_.communicator(), &barrier_), "MPI_Ibarrier");
      end_ = End::barrier;
      return true;
    case End::barrier: {
      MpiStatus status;
      if (!posts_.empty() || !test(barrier_, status)) return false;
      end_ = End::over;
      return true;
    }
    case End::over: return false;
  }
  return false;
}

// What ranks here wait for comes first: MPI looks at its connections each time that it is asked.
bool Gateway::step() {
  bool any = false;
  for (int rank = 0; rank < ranks_; ++rank) {
    any |= take_from(rank);
    if (!arrivals_[static_cast<std::size_t>(rank)].empty()) any |= deliver(rank);
  }
  if (!receivings_.empty()) any |= advance_receivings();
  if (!sendings_.empty()) any |= advance_sendings();
  if (!posts_.empty()) any |= advance_posts();
  return receive() || any;
}

// The job is being stopped. Ends what MPI has under way, and the ranks get their buffers back; false where something
// did not end, so that MPI must not be called any more.
bool Gateway::let_go() noexcept {
  const auto until = std::chrono::steady_clock::now() + 200ms;
  bool all = !dead_;
  const auto end = [&](MpiHandle& request, bool receives) {
    int done = 0;
    MpiStatus status;
    if (!all || (receives && mpi_.cancel(&request))) all = false;
    while (all && !done) {
      if (mpi_.test(&request, &done, &status)) all = false;
      if (!done && std::chrono::steady_clock::now() > until) all = false;
      if (!done) std::this_thread::sleep_for(100us);
    }
  };
  for (std::size_t slot = 0; slot < slot_count; ++slot)
    if (slot != idle_slot_) end(slot_requests_[slot], true);
  for (Receiving& r : receivings_)
    if (r.posted) end(r.request, true);
  for (Post& p : posts_) end(p.request, false);
  for (const Receiving& r : receivings_)
    if (r.to) add_in_order(memory_.lent(first_ + r.rank), static_cast<std::uint32_t>(-1));
  for (const auto& [number, s] : sendings_)
    if (s.accepted && s.from) message::acknowledge(me_.in[s.rank], s.ack, message::ack_pulled);
  return all;
}

// Whether MPI has something under way that it may need to be asked about many times.
bool Gateway::busy() const {
  return !posts_.empty() || !receivings_.empty() || !sendings_.empty() || (end_ != End::open && end_ != End::over);
}

bool Gateway::aborted() const { return load_acquire(memory_.phase()) == static_cast<std::uint32_t>(Phase::aborted); }

// By a thread that waits, or has sent.
bool Gateway::lend_a_hand(int sender) noexcept {
  if (trouble_ || aborted()) return false;
  bool any = false;
  try {
    any = sender == everything ? step() : take_from(sender - first_);
  } catch (...) {
    trouble_ = std::current_exception();
  }
  if (sender == everything) helped_.fetch_add(1, std::memory_order_relaxed);
  return any;
}

void Gateway::serve() {
  constexpr auto awake_for = 1ms, awake_while_busy = 50ms;
  constexpr Clock::duration shortest_nap = 50us, longest_nap = 4ms, step_within = 4us;
  try {
    if (devices_) devices_->enter();
    for (std::size_t slot = 0; slot < slot_count; ++slot) repost(slot);
    if (processes_.any_thread()) offer();
    auto last = Clock::now();
    std::uint64_t helped = 0;
    auto nap = shortest_nap;
    while (!aborted() && end_ != End::over) {
      // Others are at it, and this thread would only be in their way: it sleeps as long again as they have been at it
      // all the time.
      if (const auto now = helped_.load(std::memory_order_relaxed); now != helped) {
        nap = (now - helped) * step_within > nap ? std::min(2 * nap, longest_nap) : shortest_nap;
        helped = now;
        std::this_thread::sleep_for(nap);
        last = Clock::now();
        continue;
      }
      nap = shortest_nap;
      const bool ending = ending_.load(std::memory_order_acquire);  // then all that ranks sent is in their FIFOs
      bool any = false, under_way = true;
      if (const Turn turn; turn) {
        if (trouble_) std::rethrow_exception(trouble_);
        any = step();
        if (!any && ending) any = advance_end();
        under_way = busy();
      }
      if (any) {
        last = Clock::now();
      } else if (const auto silence = Clock::now() - last; silence < (under_way ? awake_while_busy : awake_for)) {
        device::backoff.step();  // not relax(), by which others help
        continue;
      } else {
        std::this_thread::sleep_for(std::clamp(silence / 1000, shortest_nap, longest_nap / 2));
      }
      detail::relax_reset_host();
    }
  } catch (const std::exception& error) {
    // Where a process has died the watch is about to say which.
    for (const auto until = Clock::now() + 1s; !aborted() && Clock::now() < until;) std::this_thread::sleep_for(1ms);
    const auto* const known = dynamic_cast<const Error*>(&error);
    fail(known ? known->code() : Code::device, error.what());
  }
  withdraw();
  const bool clean = let_go();
  if (end_ != End::over) processes_.set_stopped(!clean);
  watch_.leave();
  over_.set_value();
}

}  // namespace dcgn::transport
