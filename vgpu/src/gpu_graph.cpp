// Work that is recorded and given again.
#include "vgpu/src/gpu.hpp"
#include "vgpu/src/recorded_work.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

// What was captured serves no more: what served only few launches is not to be made soon again.
void end_of(RecordedWork::Form& form) {
  form.made = 0;
  form.enough = form.served >= RecordedWork::few ? 1 : std::min(2 * form.enough, RecordedWork::most_enough);
}

}  // namespace

Graph Gpu::record(const std::function<void(Stream&)>& work) {
  if (!work) throw Error(Code::configuration, "record", "no function, expected one that gives a stream work");
  if (recorded_) throw Error(Code::configuration, "record", "within record(), expected one at a time of a virtual GPU");
  const auto recorded = std::make_shared<RecordedWork>();
  recorded->of = this;
  Stream stream(shared_from_this());
  recorded_ = recorded.get();
  recorded_of_ = stream.parts_.get();
  try {
    work(stream);
  } catch (...) {
    recorded_ = nullptr;
    throw;
  }
  recorded_ = nullptr;
  return Graph(recorded);
}

void Gpu::refuse_recording(const Parts& streams, const char* call) const {
  if (is_recording(streams))
    throw Error(
        Code::configuration, "record",
        std::string(call) + " within record(), expected launches of kernels from source or PTX, copies and fills");
}

void Gpu::launch(Stream& stream, const Graph& graph) {
  Parts& streams = parts_of("launch", stream);
  refuse_recording(streams, "a launch of a graph");
  if (!graph.work_) throw Error(Code::configuration, "launch", "a graph that was moved from, expected one of record()");
  RecordedWork& work = *graph.work_;
  if (work.of != this)
    throw Error(Code::configuration, "launch", "a graph of another virtual GPU, expected one that this has recorded");
  const bool can_split = parts() > 1 && work.launches > work.never_split;
  if (!measures()) return give(streams, work, can_split);
  const bool split = measured().begin(streams, &work, 1, 1, can_split);
  statistics.trials = measured().trials();
  try {
    give(streams, work, split);
  } catch (...) {
    measured().cancel();
    throw;
  }
  measured().end(streams);
}

void Gpu::give(Parts& streams, RecordedWork& work, bool split) {
  RecordedWork::Form& form = work.forms[split ? 1 : 0];
  const auto make_calls = [&] {
    for (const RecordedWork::Step& step : work.steps) step(streams, split);
  };
  if (form.captured && !is_valid(form)) {
    form.captured.reset();
    end_of(form);
  }
  // Stealing gives out blocks as they are asked for.
  const bool may_capture = options.schedule == Schedule::fixed || options.schedule == Schedule::measured;
  if (!form.captured && may_capture && form.made >= form.enough) capture(streams, form, make_calls);
  if (!form.captured) ++form.made;
  // What each part reduces into is another stream's as long as that is busy: Gpu::use_reduced().
  const auto is_another_s = [&](std::uintptr_t address) {
    const Parts* const by = buffers_.at(address).reduced.by;
    return by && by != &streams && !by->idle();
  };
  if (!form.captured || std::any_of(form.reduces.begin(), form.reduces.end(), is_another_s)) return make_calls();
  streams.gather();
  for (const std::uintptr_t address : form.writes) buffers_.at(address).local.invalidate(&streams);
  for (const std::uintptr_t address : form.reduces) {
    ReducedCopies& reduced = buffers_.at(address).reduced;
    reduced.by = &streams;
    reduced.of.reset();
  }
  form.captured->launch(streams.use(0));
  ++form.served;
  statistics.launches += work.launches;
  statistics.whole += split ? work.never_split : work.launches;
  statistics.copies += form.copies_made;
  statistics.copied_bytes += form.copied_bytes;
  statistics.reductions += form.reductions;
}

bool Gpu::is_valid(const RecordedWork::Form& form) const {
  return form.age == age_ && form.copies == options.copies && form.schedule == options.schedule &&
         std::all_of(form.reads.begin(), form.reads.end(), [&](const auto& read) {
           const LocalCopies& local = buffers_.at(read.first).local;
           return local.current && local.writes == read.second;
         });
}

// Copies that are current when it begins are read; others are made within it, each time it is launched.
void Gpu::capture(Parts& streams, RecordedWork::Form& form, const std::function<void()>& make_calls) {
  synchronize_all();
  struct Before {
    bool current;
    unsigned uses;
    std::uint64_t writes;
  };
  std::map<std::uintptr_t, Before> before;
  std::erase_if(form.writes, [&](std::uintptr_t address) { return buffers_.count(address) == 0; });
  for (auto& [address, buffer] : buffers_) {
    LocalCopies& local = buffer.local;
    // What it writes it does not find as it was, the next time.
    if (std::find(form.writes.begin(), form.writes.end(), address) != form.writes.end()) local.current = false;
    local.made_by = nullptr;
    buffer.reduced.by = nullptr;
    buffer.reduced.of.reset();
    before[address] = {local.current, local.uses, local.writes};
  }
  const Statistics so_far = statistics;
  const std::uint64_t age = age_;
  try {
    form.captured = machine_->capture(streams, make_calls);
  } catch (const Error&) {  // where it is a call's own, that will throw it again
    all_written(&streams);
    for (auto& [address, buffer] : buffers_) buffer.reduced.of.reset();
    statistics = so_far;
    return end_of(form);
  }
  if (!form.captured) {  // the machine has no such thing
    form.enough = ~0U;
    return;
  }
  form.copies_made = statistics.copies - so_far.copies;
  form.copied_bytes = statistics.copied_bytes - so_far.copied_bytes;
  form.reductions = statistics.reductions - so_far.reductions;
  statistics = so_far;
  form.age = age_;
  form.copies = options.copies;
  form.schedule = options.schedule;
  // Memory of copies that it uses may have been given back while it was captured.
  bool is_good = age == age_;
  form.served = 0;
  form.reads.clear();
  form.reduces.clear();
  for (auto& [address, buffer] : buffers_) {
    const LocalCopies& local = buffer.local;
    const Before& was = before.at(address);
    const bool written = local.writes != was.writes || local.current != was.current;
    const bool known = std::find(form.writes.begin(), form.writes.end(), address) != form.writes.end();
    if (written && !known) form.writes.push_back(address);
    if (buffer.reduced.by == &streams) form.reduces.push_back(address);
    if (written && was.current) is_good = false;  // now it is known
    if (!written && was.current && local.uses != was.uses) form.reads.emplace_back(address, local.writes);
    // Nothing of it was done.
    if (written) buffer.local.invalidate(&streams);
    buffer.reduced.of.reset();
  }
  if (is_good) return;
  form.captured.reset();
  end_of(form);
}

}  // namespace dcgn::virtual_gpu
