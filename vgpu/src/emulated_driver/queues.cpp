// Streams' work, and who does it.
#include "vgpu/src/emulated_driver/driver.hpp"
#include "vgpu/src/emulated_driver/graph.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace dcgn::virtual_gpu::emulated {

namespace {

constexpr auto patience = std::chrono::milliseconds(20), tick = std::chrono::milliseconds(5);

bool is_ready(const Stream& stream, Clock::time_point now) {
  return !stream.running && !stream.helped && !stream.queue.empty() &&
         (stream.wanted || now - stream.queue.front().since >= patience);
}

// Starts threads for work that nobody waits for; each ends with what its stream had been given then.
void watch() {
  State& all = state();
  Guard guard(all.mutex);
  for (;;) {
    bool pending = false;
    const auto now = Clock::now();
    const auto look_at = [&](Stream& stream) {
      pending = pending || !stream.queue.empty();
      if (!is_ready(stream, now)) return;
      stream.helped = true;
      stream.wanted = false;
      std::thread([&stream] {
        Guard its(state().mutex);
        finish(its, stream, stream.given);
        stream.helped = false;
      }).detach();
    };
    for (Device& device : all.devices) look_at(device.legacy);
    for (Stream* stream : all.streams) look_at(*stream);
    std::erase_if(all.streams, [](const Stream* stream) { return stream->ended && stream->done == stream->given; });
    if (pending)
      all.changed.wait_for(guard, tick);
    else
      all.changed.wait(guard);
  }
}

void start_watching() {
  static const bool started = [] {
    std::thread(&watch).detach();  // to the end of the process, as the state
    return true;
  }();
  static_cast<void>(started);
}

}  // namespace

void complain(int device, const std::string& text) {
  const std::string number = device < 0 ? "" : " " + std::to_string(device);
  std::string line = text;  // an instruction may be of several
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fprintf(stderr, "dcgn: emulated GPU%s: %s\n", number.c_str(), line.c_str());
}

void count(const std::string& what) {
  const std::lock_guard guard(state().counts_mutex);
  ++state().counts[what];
}

bool simulates_time() {
  static const bool simulates = std::getenv("DCGN_TEST_EMULATED_US");
  return simulates;
}

int devices() {
  static const int there = [] {
    const char* const text = std::getenv("DCGN_VGPU_EMULATED");
    return std::clamp(text ? std::atoi(text) : 2, 0, most_devices);
  }();
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible) return there;
  if (!*visible) return 0;
  return std::min(there, static_cast<int>(std::count(visible, visible + std::strlen(visible), ',')) + 1);
}

// Made once and never destroyed: programs call the driver to their very end.
State& state() {
  static State& all = *[] {
    auto* const made = new State();
    for (int d = 0; d < most_devices; ++d) {
      Device& device = made->devices[static_cast<std::size_t>(d)];
      device.primary.device = device.legacy.device = d;
      device.legacy.id = made->next_id++;
    }
    return made;
  }();
  return all;
}

std::vector<Context*>& contexts() {
  thread_local auto* const stack = new std::vector<Context*>();  // used at exit, too
  return *stack;
}

CUresult standing() {
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  return static_cast<CUresult>(device_at(current()->device).error.load());
}

CUresult standing(CUstream stream) {
  if (is_default(stream)) return standing();
  if (reinterpret_cast<Stream*>(stream)->spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  return static_cast<CUresult>(device_at(reinterpret_cast<Stream*>(stream)->device).error.load());
}

Stream* make_stream(int device, unsigned flags, int priority) {
  auto* const made = new Stream();  // events may name it to the end
  made->device = device;
  made->flags = flags;
  made->priority = priority;
  made->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  made->id = state().next_id++;
  state().streams.insert(made);
  return made;
}

Stream* stream_of(CUstream stream) {
  if (!is_default(stream)) return reinterpret_cast<Stream*>(stream);
  if (!current()) return nullptr;
  const auto device = static_cast<std::size_t>(current()->device);
  if (stream != CU_STREAM_PER_THREAD) return &state().devices[device].legacy;
  thread_local std::array<Stream*, most_devices> own{};
  if (!own[device]) own[device] = make_stream(current()->device, 0, 0);
  return own[device];
}

void give(Stream& stream, Work run, std::vector<Moment> after, CUgraphNodeType type) {
  if (stream.capture) {
    record_node(stream, type, std::move(run));
    return;
  }
  Stream& the_legacy = device_at(stream.device).legacy;
  if (&stream == &the_legacy) {
    for (Stream* other : state().streams)
      if (other->blocking && other->device == stream.device && other->done < other->given)
        after.push_back({other, other->given});
  } else if (stream.blocking && the_legacy.done < the_legacy.given) {
    after.push_back({&the_legacy, the_legacy.given});
  }
  const bool first = stream.queue.empty();
  stream.queue.push_back({std::move(run), std::move(after), Clock::now()});
  ++stream.given;
  start_watching();
  if (first) state().changed.notify_all();
}

// An item is given behind all that it waits for, so who does the one can always do the others.
void finish(Guard& guard, Stream& stream, std::uint64_t number) {
  while (stream.done < number) {
    if (stream.running) {
      state().changed.wait(guard);
      continue;
    }
    stream.running = true;
    Stream::Item item = std::move(stream.queue.front());
    stream.queue.pop_front();
    for (const Moment& moment : item.after) finish(guard, *moment.stream, moment.number);
    if (item.run && device_at(stream.device).error == 0) {
      guard.unlock();
      item.run();
      item.run = nullptr;
      guard.lock();
    }
    stream.running = false;
    ++stream.done;
    if (!stream.queue.empty()) stream.queue.front().since = std::max(stream.queue.front().since, item.since);
    state().changed.notify_all();
  }
}

void finish_device(Guard& guard, int device) {
  Stream& the_legacy = device_at(device).legacy;
  finish(guard, the_legacy, the_legacy.given);
  std::vector<Moment> all;
  for (Stream* stream : state().streams)
    if (stream->device == device) all.push_back({stream, stream->given});
  for (const Moment& moment : all) finish(guard, *moment.stream, moment.number);
}

bool await_all(Guard& guard, Clock::duration longest) {
  std::uint64_t done = 0;
  for (auto since = Clock::now(); Clock::now() - since < longest;) {
    std::uint64_t given = 0, now_done = 0;
    const auto look_at = [&](Stream& stream) {
      stream.wanted = true;
      given += stream.given;
      now_done += stream.done;
    };
    for (Device& device : state().devices) look_at(device.legacy);
    for (Stream* stream : state().streams) look_at(*stream);
    if (now_done == given) return true;
    if (std::exchange(done, now_done) != now_done) since = Clock::now();
    state().changed.wait_for(guard, tick);
  }
  return false;
}

void record(Event& event, Stream& stream) {
  if (stream.capture) {
    event.capture = stream.capture;
    event.recorded = stream.tail;
    return;
  }
  event.capture = nullptr;
  event.recorded.clear();
  give(stream,
       [&event, &stream] { event.time = simulates_time() ? Clock::time_point(stream.simulated) : Clock::now(); });
  event.moment = {&stream, stream.given};
}

void wait(Stream& stream, Event& event) {
  if (event.capture) {  // the stream joins
    stream.capture = event.capture;
    stream.spoiled = event.capture->spoiled;
    for (Node* node : event.recorded)
      if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end()) stream.tail.push_back(node);
  } else if (event.moment.stream && event.moment.stream != &stream) {
    const auto catch_up = [&stream, other = event.moment.stream] {
      stream.simulated = std::max(stream.simulated.load(), other->simulated.load());
    };
    give(stream, catch_up, {event.moment});
  }
}

}  // namespace dcgn::virtual_gpu::emulated
