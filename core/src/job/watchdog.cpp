// The watchdog: one thread a world, which sleeps, looks whether a rank has raised an alarm or all of them wait, asks
// them for what, and stops them with a report.
//
// A deadlock is proven by two surveys: if every rank that has not ended answers both from within a wait that found
// nothing to do, and none did anything in between, then there was a moment between the two at which none was active
// and nothing was on its way, so nothing can happen any more. Where there are other processes it takes the deadline:
// what they may still send is not known here.
#include "job/deadlock.hpp"
#include "job/world_state.hpp"
#include "message/describe.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace dcgn::job {

namespace {
using namespace std::chrono_literals;
using message::Alarm;
using message::Phase;
constexpr auto look_every = 10ms;
constexpr auto answer_within = 1000ms, answer_others_within = 200ms;
constexpr auto others_answer_within = 5000ms;  // at once, as a rule: the job is being stopped anyhow
}  // namespace

bool WorldState::set_phase(std::uint32_t phase) {
  const std::lock_guard lock(mutex_);
  if (verdict_.code != Code::ok) return false;
  memory_.set_phase(phase);
  return true;
}

bool WorldState::alarmed() const {
  for (int r = home_.first_rank; r < home_.end_rank(); ++r)
    if (load_relaxed(memory_.notice(r).alarm) != 0) return true;
  return false;
}

bool WorldState::all_idle() const {
  bool somebody = false;
  for (int r = home_.first_rank; r < home_.end_rank(); ++r) {
    if (memory_.ended(r)) continue;
    somebody = true;
    if (!load_relaxed(memory_.notice(r).idle)) return false;
  }
  return somebody;
}

bool WorldState::survey(std::chrono::milliseconds within) {
  if (!set_phase(++survey_)) return false;
  const auto until = std::chrono::steady_clock::now() + within;
  for (;;) {
    bool all = true;
    for (int r = home_.first_rank; r < home_.end_rank() && all; ++r)
      all = memory_.ended(r) || load_acquire(memory_.notice(r).survey) == survey_;
    if (all || std::chrono::steady_clock::now() > until || aborted() || closing_.stop_requested()) return all;
    std::this_thread::sleep_for(1ms);
  }
}

namespace {

// With the answer to a survey, for whoever makes surveys; without one, for any thread, what a rank tells beside.
RankView view_of(const WorldState& world, message::RankMemory& memory, std::optional<std::uint32_t> survey, int r) {
  RankView v;
  v.place = world.place_of(r);
  v.ended = memory.ended(r);
  v.is_slot = world.placement().place(r).is_slot();
  v.attached = v.is_slot || world.attached(r);
  const message::Notice& n = memory.notice(r);
  v.answered = survey && !v.ended && load_acquire(n.survey) == *survey;
  for (std::size_t i = 0; i < message::Turns::kept; ++i) {
    v.notice.turns[i] = load_relaxed(n.turns[i]);
    v.notice.sizes[i] = load_relaxed(n.sizes[i]);
    v.notice.turn_numbers[i] = load_relaxed(n.turn_numbers[i]);
    v.notice.seals[i] = load_relaxed(n.seals[i]);
  }
  v.notice.beside = load_relaxed(n.beside);
  if (v.answered) {
    v.notice.call = n.call;
    v.notice.is_receive = n.is_receive;
    v.notice.arrived = n.arrived;
    v.notice.stalled = n.stalled;
    v.notice.requests = n.requests;
    v.notice.waits_for = n.waits_for;
    v.notice.activity = n.activity;
    v.notice.waited_ns = n.waited_ns;
    for (int i = 0; i < message::notice_envelopes; ++i) v.notice.unexpected[i] = n.unexpected[i];
  }
  return v;
}

std::vector<RankView> view(const WorldState& world, message::RankMemory& memory,
                           std::optional<std::uint32_t> survey = {}) {
  std::vector<RankView> ranks;
  for (int r = world.home().first_rank; r < world.home().end_rank(); ++r)
    ranks.push_back(view_of(world, memory, survey, r));
  return ranks;
}

}  // namespace

namespace {

// Of calls that are alike one is enough.
std::vector<transport::ProcessWatch::Fact> facts_of(const std::vector<Made>& calls) {
  std::map<std::array<std::uint64_t, 4>, std::int64_t> facts;
  for (const Made& m : calls)
    facts.try_emplace({collective::turn_word(m.call.context, m.call.tag, m.call.root),
                       static_cast<std::uint64_t>(m.call.bytes), m.communicator, m.number},
                      m.rank);
  std::vector<transport::ProcessWatch::Fact> list;
  list.reserve(facts.size());
  for (const auto& [what, rank] : facts) list.push_back({what, rank});
  return list;
}

}  // namespace

std::vector<Made> WorldState::made_elsewhere(const std::vector<Made>& here) {
  std::vector<Made> made;
  if (!watch_) return made;
  watch_->share(facts_of(here));
  for (const auto& [what, rank] : watch_->shared(others_answer_within))
    if (!home_.has(static_cast<int>(rank)))
      made.push_back(
          {static_cast<int>(rank), collective::Begun(what[0], what[1]), what[2], static_cast<std::uint32_t>(what[3])});
  return made;
}

// After made_elsewhere().
std::string WorldState::who_is_silent() {
  std::string text;
  if (watch_)
    for (const std::string& name : watch_->silent()) text += "\n" + transport::ProcessWatch::not_answering(name);
  return text;
}

std::string WorldState::mismatch(bool asked) {
  std::vector<Made> calls = calls_of(view(*this, memory_), home_.first_rank);
  if (asked) {
    const std::vector<Made> others = made_elsewhere(calls);
    calls.insert(calls.end(), others.begin(), others.end());
  }
  return describe_mismatch(calls);
}

std::string WorldState::describe_message(const message::Envelope& message) {
  const bool of_known = message::is_collective(message.context) && home_.has(message.peer);
  return message::describe_message(message, of_known
                                                ? number_of_message(view_of(*this, memory_, {}, message.peer), message)
                                                : std::optional<std::uint32_t>());
}

void WorldState::decide_alarm() {
  const auto alarm_of = [this](int r) { return static_cast<Alarm>(load_acquire(memory_.notice(r).alarm)); };
  // A call that failed comes first: a rank that waits for one that has failed and ended is what follows from it, and so
  // is a call that fails for that.
  const auto failed = [&](int r) { return home_.has(r) && alarm_of(r) == Alarm::failure; };
  for (const bool follows : {false, true})
    for (int r = home_.first_rank; r < home_.end_rank(); ++r) {
      if (!failed(r)) continue;
      const message::Failure& f = memory_.notice(r).failure;
      if ((f.code == Code::rank_ended && failed(f.envelope.peer)) != follows) continue;
      const bool follows_from_mismatch = f.code == Code::rank_ended && message::is_collective(f.call);
      abort({f.code, name_of(r) + ": " + message::to_string(f.call) + ": " + message::describe(f) +
                         (follows_from_mismatch ? mismatch(true) : std::string())});
      return;
    }
  for (int r = home_.first_rank; r < home_.end_rank(); ++r) {
    const Alarm alarm = alarm_of(r);
    if (alarm == Alarm::none) continue;
    survey(answer_within);
    const std::vector<RankView> ranks = view(*this, memory_, survey_);
    const std::vector<Made> elsewhere = made_elsewhere(calls_of(ranks, home_.first_rank));
    char deadline[32];
    std::snprintf(deadline, sizeof deadline, "%g s", config_.deadline_s);
    const bool ended = alarm == Alarm::rank_ended;
    abort({ended ? Code::rank_ended : Code::deadline,
           deadlock_report(ended ? name_of(r) + " waits for a rank that has ended"
                                 : "the deadline of " + std::string(deadline) + " has passed for " + name_of(r),
                           ranks, home_.first_rank, elsewhere) +
               who_is_silent()});
    return;
  }
}

bool WorldState::proven_deadlock() {
  if (!survey(answer_within)) return false;
  const std::vector<RankView> first = view(*this, memory_, survey_);
  if (!survey(answer_within)) return false;
  const std::vector<RankView> second = view(*this, memory_, survey_);
  std::size_t waiting = 0;
  for (std::size_t r = 0; r < first.size(); ++r) {
    // A rank that ended between the surveys was active.
    if (first[r].ended != second[r].ended) return false;
    if (first[r].ended) continue;
    if (!first[r].answered || !second[r].answered || first[r].notice.activity != second[r].notice.activity)
      return false;
    ++waiting;
  }
  // Who polls answers surveys too, but is not idle, and may do something else.
  if (!all_idle()) return false;
  if (waiting == 0) return false;  // all have ended meanwhile
  if (alarmed()) return false;     // a rank knows more
  abort({Code::deadlock,
         deadlock_report(waiting == 1 ? "deadlock: the one rank that has not ended waits for what cannot come"
                                      : "deadlock: all " + std::to_string(waiting) +
                                            " ranks that have not ended wait, and none can go on",
                         second, home_.first_rank)});
  return true;
}

void WorldState::watch() {
  auto next_survey = std::chrono::steady_clock::now();
  // Sleeps until the world is closed, which need not wait for the next look.
  std::mutex mutex;
  std::condition_variable_any closed;
  std::unique_lock lock(mutex);
  while (!closing_.stop_requested() && !aborted()) {
    closed.wait_for(lock, closing_.get_token(), look_every, [] { return false; });
    if (alarmed()) {
      decide_alarm();
    } else if (watch_ && watch_->asked()) {
      survey(answer_others_within);
      watch_->share(facts_of(calls_of(view(*this, memory_, survey_), home_.first_rank)));
      set_phase(static_cast<std::uint32_t>(Phase::running));
    } else if (!gateway_ && std::chrono::steady_clock::now() >= next_survey && all_idle()) {
      if (proven_deadlock()) return;
      set_phase(static_cast<std::uint32_t>(Phase::running));
      next_survey = std::chrono::steady_clock::now() + 1s;
    }
  }
}

}  // namespace dcgn::job
