#include "job/background.hpp"

#include "device/emulated/carrier.hpp"
#include "device/emulated/sanitizer.hpp"

#include <dcgn/arch/relax.hpp>
#include <dcgn/arch/scope.hpp>
#include "message/engine/calls.hpp"
#include "message/engine/operations.hpp"
#include "message/engine/records.hpp"

#include <cstddef>
#include <new>
#include <utility>

namespace dcgn::job {

using device::Carrier;
using message::Endpoint;
using message::Record;

namespace {
// Each has a stack. ThreadSanitizer notes the calls of all fibers of a thread in one place, of 64 Ki frames, and writes
// beyond its end: a fiber that waits leaves some 25 there.
constexpr int most_under_way = device::sanitizer::tsan ? 512 : 4096;
}  // namespace

// What a collective keeps between its messages.
struct Background::Space {
  static constexpr std::align_val_t line{64};
  struct Free {
    void operator()(unsigned char* p) const { ::operator delete(p, line); }
  };

  explicit Space(std::size_t bytes)
      : scratch(static_cast<unsigned char*>(::operator new(bytes, line))),
        lapses(message::most_at_once),
        requests(message::most_at_once) {}

  std::unique_ptr<unsigned char, Free> scratch;
  std::vector<message::Lapse> lapses;
  std::vector<Request> requests;
};

// What of the endpoint is a call's own.
struct Background::Standing {
  std::uint32_t busy, threads;
  message::Call call;
  unsigned char* scratch;
  message::Lapse* lapses;
  Request* requests;

  static Standing of(const Endpoint& me) {
    return {me.busy, me.threads, me.call, me.collectives.scratch, me.collectives.lapses, me.collectives.requests};
  }
  void give_to(Endpoint& me) const {
    me.busy = busy;
    me.threads = threads;
    me.call = call;
    me.collectives.scratch = scratch;
    me.collectives.lapses = lapses;
    me.collectives.requests = requests;
  }
};

class Background::Undertaking final : public device::Fiber {
 public:
  Undertaking(Background& background, message::Call its_call, std::int32_t its_pair, Record* its_record,
              std::unique_ptr<Space> its_space, std::function<Code()> act)
      : Fiber(device::StackSize::rank, Kin::same),
        call(its_call),
        pair(its_pair),
        record(its_record),
        space(std::move(its_space)),
        standing{.busy = 0,
                 .threads = 1,
                 .call = message::Call::none,
                 .scratch = space->scratch.get(),
                 .lapses = space->lapses.data(),
                 .requests = space->requests.data()},
        background_(background),
        agent_(detail::agent),
        act_(std::move(act)) {}

  void check_cancelled() const override { background_.program_->check_cancelled(); }

  const message::Call call;
  const std::int32_t pair;
  Record* const record;
  std::unique_ptr<Space> space;
  Standing standing;
  Code code = Code::ok;
  std::exception_ptr thrown;
  bool over = false;

 private:
  Fiber& run() override {
    detail::agent = agent_;
    try {
      code = act_();
    } catch (...) {
      thrown = std::current_exception();
    }
    act_ = nullptr;  // what it holds ends with it
    over = true;
    Carrier* const carrier = Carrier::current();
    return carrier ? carrier->yield_to(*background_.program_) : background_.thread_;
  }

  Background& background_;
  void* const agent_;
  std::function<Code()> act_;
};

Background::Background(Endpoint& me) : me_(me), program_(&thread_) {}
Background::~Background() = default;

Request Background::begin(message::Call call, std::int32_t pair, std::function<Code()> act) {
  if (calls_.size() >= most_under_way) {
    message::fail(me_, {Code::out_of_resources, call, most_under_way, 0, {}, message::Flaw::under_way});
    return {};
  }
  Record* const record = message::take_record(me_);
  if (!record) {
    message::fail(me_, Code::out_of_resources, call, 0, 0);
    return {};
  }
  --me_.open;  // of no concern to calls that see to their FIFOs alone
  record->state = message::State::background;
  record->envelope = {};
  record->capacity = 0;
  std::unique_ptr<Space> space;
  if (spaces_.empty()) {
    space = std::make_unique<Space>(me_.collectives.scratch_bytes);
  } else {
    space = std::move(spaces_.back());
    spaces_.pop_back();
  }
  calls_.push_back(std::make_unique<Undertaking>(*this, call, pair, record, std::move(space), std::move(act)));
  const Request request = message::request_of(me_, record);
  const auto most = static_cast<std::uint32_t>(calls_.size());
  if (load_relaxed(me_.notice->beside) < most) store_relaxed(me_.notice->beside, most);
  resume(*calls_.back());
  if (calls_.back()->over) end(calls_.size() - 1);
  return request;
}

void Background::resume(Undertaking& u) noexcept {
  const Standing program = Standing::of(me_);
  u.standing.give_to(me_);
  running_ = &u;
  if (Carrier* const carrier = Carrier::current()) {
    program_ = &carrier->running();
    u.id = program_->id;
    carrier->switch_to(u);
  } else {
    program_ = &thread_;
    thread_.switch_to(u);
  }
  running_ = nullptr;
  u.standing = Standing::of(me_);
  program.give_to(me_);
}

void Background::step_back(const message::Waited& waited) noexcept {
  Record& r = *running_->record;
  r.envelope = waited.envelope;
  r.capacity = waited.capacity;
  r.flags = waited.is_receive ? Record::is_receive : 0;
  if (Carrier* const carrier = Carrier::current())
    carrier->switch_to(*program_);
  else
    running_->switch_to(thread_);
}

// It is over: its record is complete, whatever came of it.
void Background::end(std::size_t index) {
  const std::unique_ptr<Undertaking> u = std::move(calls_[index]);
  calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(index));
  Record& r = *u->record;
  if (u->code != Code::ok || u->thrown) {
    faults_.push_back({message::request_of(me_, &r), me_.last_failure, u->thrown});
    faults_.back().failure.code = u->code;
    faults_.back().failure.call = u->call;
  }
  r.state = message::State::complete;
  r.envelope = {};
  r.flags = 0;
  spaces_.push_back(std::move(u->space));
}

bool Background::go_on() noexcept {
  const std::uint64_t before = me_.statistics.activity;
  bool ended = false;
  for (std::size_t i = 0; i < calls_.size();) {
    resume(*calls_[i]);
    if (!calls_[i]->over) {
      ++i;
      continue;
    }
    end(i);
    ended = true;
  }
  return ended || me_.statistics.activity != before;
}

Background::Undertaking* Background::one_of(std::int32_t pair) const noexcept {
  for (const auto& u : calls_)
    if (pair < 0 || u->pair == pair) return u.get();
  return nullptr;
}

void Background::wait_for(const Undertaking& u) noexcept {
  constexpr gpu::ThreadScope scope{};
  const Request request = message::request_of(me_, u.record);
  bool done = false;
  message::wait_all(scope, me_, message::Call::wait, false, &request, 1, nullptr, done);
  if (me_.stopped) go_on();  // they find that out
}

void Background::finish() noexcept {
  while (const Undertaking* const u = one_of(-1)) wait_for(*u);
}

bool Background::finish(std::int32_t pair, bool hurried) noexcept {
  const Undertaking* u;
  while ((u = one_of(pair)) && !hurried) wait_for(*u);
  return !u;
}

const Background::Fault* Background::find_fault(const Request& request) const {
  for (const Fault& fault : faults_)
    if (fault.request.index() == request.index() && fault.request.generation() == request.generation()) return &fault;
  return nullptr;
}

std::optional<Background::Fault> Background::take_fault(const Request& request) {
  const Fault* const found = find_fault(request);
  if (!found) return std::nullopt;
  const auto at = faults_.begin() + (found - faults_.data());
  std::optional<Fault> fault(std::move(*at));
  faults_.erase(at);
  return fault;
}

std::optional<Background::Fault> Background::take_fault() {
  return faults_.empty() ? std::nullopt : take_fault(Request(faults_.front().request));
}

}  // namespace dcgn::job
