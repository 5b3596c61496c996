#include "vgpu/src/driver/measured.hpp"

#include "device/cuda/cuda_driver.hpp"
#include "vgpu/src/driver/code.hpp"
#include "vgpu/src/driver/program.hpp"
#include "vgpu/src/driver/real.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <system_error>

namespace dcgn::virtual_gpu::driver {

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What holding back a launch costs where the program has nothing else to do: the GPU is idle for as long.
constexpr double pause_s = 50e-6;
// Of the time, all of that; and how long one launch is held back, for work of which nothing is known, and for any.
// Kernels may wait for what the program does next.
constexpr double held_share = 0.01, longest_hold_s = 0.25, longest_known_s = 5;

// A kernel's code is rewritten once its launches have taken so many times as long as that will.
constexpr double worth_a_look = 50;

}  // namespace

std::int64_t BusyTime::end() {
  using Clock = std::chrono::steady_clock;
  const std::int64_t now = std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(), begun = begun_;
  if (begun != 0) ns_ += now - begun;
  return now;
}

Waiting::Waiting() : measured_(Program::get().measured()) {
  measured_.waited_ = true;
  measured_.ahead_ = 0;
}

InFlight::InFlight(Program& program) : measured_(program.measured()) {
  // Either this sees that pages are being moved, or who moves them sees this.
  while (++measured_.in_flight_, measured_.moving_) {
    --measured_.in_flight_;
    const Call wait(Call::Lightly{});
  }
}

Measured::Entry& Measured::entry(ProgramKernel& kernel, std::uint64_t blocks, std::uint64_t threads,
                                 bool may_be_split) {
  const int key =
      2 * SplitPolicy::size_class(static_cast<double>(blocks) * static_cast<double>(threads)) + (may_be_split ? 1 : 0);
  if (!kernel.measured) kernel.measured = &kernels_[kernel.name];
  for (Entry& one : kernel.measured->entries)
    if (one.key == key) return one;
  Entry& made = kernel.measured->entries.emplace_back(Entry{key, &policy_.add_kind()});
  made.kind->can_split = may_be_split && kernel.can_split;
  return made;
}

SplitPolicy::Choice Measured::next(Program& program, ProgramKernel& kernel, Entry& entry, std::uint64_t blocks) {
  if (!policy_.is_watched()) policy_.set_busy(busy_.seconds());
  if (!kernel.looked_at) {
    use_code(program, kernel.code);
    if (!local_ || kernel.code->is_decided() ||
        (!policy_.is_short(*entry.kind) && entry.kind->seconds > worth_a_look * kernel.code->price()))
      look_at(program, kernel);
  }
  return policy_.next(*entry.kind, static_cast<double>(blocks));
}

void Measured::look_at(Program& program, ProgramKernel& kernel) {
  kernel.looked_at = true;
  const Kernel* const taken = taken_kernel(program, kernel);
  const KernelInfo* const info = taken ? &taken->info() : nullptr;
  std::string& why = kernel.measured->why;
  why = !info                    ? kernel.code->why_left()
        : !info->reasons.empty() ? info->reasons.front()
        : !info->remarks.empty() ? info->remarks.front()
                                 : std::string();
  kernel.can_split = why.empty();
  for (Entry& one : kernel.measured->entries) one.kind->can_split = kernel.can_split && one.key % 2 == 1;
  if (!kernel.can_split || kernel.code->is_ready() || kernel.code->is_candidate()) return;
  kernel.code->set_candidate();
  candidates_.push_back(kernel.code);
  once_s_ += kernel.code->load_price();
  policy_.set_once(once_s_);
}

void Measured::note_whole(Entry& entry, const std::string& why) {
  if (entry.split == 0) policy_.note_whole(*entry.kind);
  entry.why = why;
}

void Measured::use_code(Program& program, const std::shared_ptr<Code>& code) {
  if (!local_) return look_at(program, *code);
  if (code->is_noted()) return;
  code->set_noted();
  used_.push_back(code);
}

// What later launches that are split have to know of it.
void Measured::look_at(Program& program, Code& code) {
  const Module* const module = code.take(program);
  if (!module) {
    if (code.may_allocate()) program.note_alone("memory of malloc in kernels");
    if (code.has_variables()) program.note_alone("a variable of a module that is left whole");
    return;
  }
  for (const KernelInfo& kernel : module->kernels()) program.note_kernel(kernel);
  if (Gpu::has_variables_alone(*module))
    program.note_alone("device variables, whose addresses kernels may have stored");
}

Measured::Idle Measured::idle_of(CUstream stream) {
  if (captures(stream)) return Idle::unknown;
  const CUresult state = DCGN_REAL(cuStreamQuery)(stream);
  return state == CUDA_SUCCESS ? Idle::yes : state == CUDA_ERROR_NOT_READY ? Idle::no : Idle::unknown;
}

// Not while a graph is recorded, which a wait would spoil. Queries alone; when they have found nothing, what may be on
// streams that nobody knows of is waited for.
Measured::Idle Measured::look_for_idle(Program& program) {
  if (program.any_captures()) return Idle::unknown;
  const auto own = std::this_thread::get_id();
  for (const std::thread::id thread : threads_)
    if (thread != own) return Idle::unknown;  // of another thread's own stream nobody can ask
  Idle all = idle_of(CU_STREAM_LEGACY);
  if (all == Idle::yes && !threads_.empty()) all = idle_of(CU_STREAM_PER_THREAD);
  for (auto stream = streams_.begin(); all == Idle::yes && stream != streams_.end(); ++stream) all = idle_of(*stream);
  if (all != Idle::yes) return all;
  if (!program.ended_are_idle()) return Idle::no;
  return DCGN_REAL(cuCtxSynchronize)() == CUDA_SUCCESS ? Idle::yes : Idle::unknown;
}

void Measured::note_launched(const Program& program) {
  if (++ahead_ == 1) known_before_ = policy_.total();
  if (ahead_ < most_ahead_ || holds_back_ || policy_.stopped()) return;
  const bool wants_to_move = policy_.wants_idle() || wants_code_;
  // While contexts are made, too: who is far ahead by then has nothing left to launch.
  if (wants_to_move && local_) static_cast<void>(has_contexts(program));
  if (!wants_to_move && policy_.is_watched() && !timer_.waits_for_new()) return;
  const double now = seconds_now();
  if (began_ < 0) began_ = now;
  holds_back_ = held_s_ <= held_share * (now - began_);
}

// Looks whether all streams are idle, until they are, and lets other threads go on meanwhile.
void Measured::wait_for_gpu(Program& program) {
  if (!holds_back_.exchange(false)) return;
  const double begin = seconds_now();
  double longest = longest_hold_s;
  for (;;) {
    double took = 0;
    {
      const Call call;
      if (!program.on_first_device()) return;  // its streams are another GPU's
      const double under_way = policy_.total() - known_before_;
      longest = std::clamp(2 * under_way, longest, longest_known_s);
      const Idle idle = look_for_idle(program);
      took = seconds_now() - begin;
      if (idle != Idle::no || took >= longest) {
        if (idle == Idle::yes) waited_ = true;
        collect();
        // The first one tells that the launches take long; where later ones find no end either, kernels may wait.
        if (idle != Idle::yes) held_s_ += held_in_vain_++ == 0 ? took / 10 : took;
        held_s_ += pause_s;
        ahead_ = 0;
        busy_.note_waited();
        policy_.set_busy(busy_.seconds());
        most_ahead_ = policy_.is_watched() ? few_ahead : 8 * most_ahead_;  // short ones are waited for ever more seldom
        return;
      }
    }
    if (took < 1e-3)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// Has another thread make them, when they are asked for first.
bool Measured::has_contexts(const Program& program) {
  if (contexts_ == Contexts::none) {
    contexts_ = Contexts::being_made;
    const auto make = [this, devices = program.parts()] {
      CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;  // no capture of the program's is to know of it
      static_cast<void>(DCGN_REAL(cuThreadExchangeStreamCaptureMode)(&mode));
      try {
        for (const int device : devices) device::context_of(device);
        contexts_ = Contexts::there;
      } catch (const Error&) {
        contexts_ = Contexts::failed;
      }
      static_cast<void>(DCGN_REAL(cuThreadExchangeStreamCaptureMode)(&mode));
    };
    // Signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      maker_ = std::thread(make);
    } catch (const std::system_error&) {  // there is none to be had
      contexts_ = Contexts::failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (contexts_ == Contexts::failed) stop();
  return contexts_ == Contexts::there;
}

void Measured::end() {
  if (maker_.joinable()) maker_.join();
}

// At once where the program has waited for something; else ever more seldom, as asking costs.
bool Measured::wants_to_move(const Program& program) {
  if (!policy_.wants_idle() && !wants_code_) return false;
  if (local_ && !has_contexts(program)) return false;
  return waited_.exchange(false) || ++asked_ % every_ == 0;
}

void Measured::move(Program& program) {
  if (!program.gpu()) return stop();
  moving_ = true;
  if (in_flight_ == 0 && all_idle(program)) {
    collect();
    const double begin = seconds_now();
    const SplitPolicy::Move move = policy_.at_idle(begin);
    try {
      if (move == SplitPolicy::Move::spread) spread(program);
      if (move == SplitPolicy::Move::gather) gather(program);
      if (!local_ && wants_code_) load_candidates(program);
    } catch (const Error& error) {
      program.report().note_error("spread", error.what());
      stop();
    }
    const double end = seconds_now();
    if (local_ != policy_.local()) policy_.moved(move, end - begin, end);
    every_ = 16;
  } else if (every_ < 1024) {
    every_ *= 2;
  }
  moving_ = false;
}

void Measured::look_at_used(Program& program) {
  for (const auto& one : used_) {
    if (const auto code = one.lock())
      look_at(program, *code);
    else  // whose kernels may have left memory of their own
      program.note_alone("what code did that is not loaded any more");
  }
  used_.clear();
}

void Measured::load_candidates(Program& program) {
  wants_code_ = false;
  for (const auto& one : candidates_)
    if (const auto code = one.lock()) code->make_ready(program);
  candidates_.clear();
  once_s_ = 0;
  policy_.set_once(0);
}

void Measured::spread(Program& program) {
  program.wake();
  look_at_used(program);
  load_candidates(program);
  program.refresh_constants();
  local_ = false;
  if (!program.gpu()->place_all(program.spread_placement()))
    program.report().note_remark("too little memory to move all buffers: some stayed on the first GPU");
}

void Measured::gather(Program& program) {
  if (program.gpu()->place_all(Placement::owner(0))) {
    local_ = true;
    return;
  }
  program.report().note_remark("too little memory to move all buffers to the first GPU: they stayed on all");
  static_cast<void>(program.gpu()->place_all(program.spread_placement()));
  stop();
}

void Measured::overflow(Program& program) {
  look_at_used(program);
  wants_code_ = true;
  // What is under way writes anything.
  for (const CUstream stream : streams_) program.gpu()->note_all_written(program.stream(stream));
  program.gpu()->note_all_written(program.stream(CU_STREAM_LEGACY));
  local_ = false;
  policy_.moved(SplitPolicy::Move::spread, 0, seconds_now());
  stop();
}

}  // namespace dcgn::virtual_gpu::driver
