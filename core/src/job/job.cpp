#include "device/early_exit.hpp"
#include "device/emulated/schedule.hpp"
#include "device/processor.hpp"
#include "job/world_state.hpp"
#include "message/describe.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/gpu/comm.hpp>
#include <dcgn/gpu/kernel.hpp>
#include <dcgn/job.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace dcgn {

struct Job::Plan {
  struct GpuKernel {
    Launch launch;
    detail::KernelImage image;
  };
  struct Gpu {
    std::vector<GpuKernel> kernels;
    detail::KernelImage finish;
  };
  std::function<void(Comm&)> every_cpu;
  std::map<int, std::function<void(Comm&)>> cpu;
  std::set<int> reserved;
  std::vector<Gpu> gpus;
  bool started = false;
};

namespace {

// Everything that runs in a job, counted, so that run() can wait for it, and give up on what does not stop.
class Runners {
 public:
  void begin(std::string name) {
    const std::lock_guard lock(mutex_);
    running_.insert(std::move(name));
  }
  void end(const std::string& name) {
    const std::lock_guard lock(mutex_);
    running_.erase(name);
    changed_.notify_all();
  }
  bool idle() const {
    const std::lock_guard lock(mutex_);
    return running_.empty();
  }
  // Waits for all to end; once the world has been aborted, for `grace` longer. Returns who still runs.
  std::set<std::string> wait(const job::WorldState& world, std::chrono::duration<double> grace) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point aborted_at{};
    std::unique_lock lock(mutex_);
    while (!running_.empty()) {
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      if (!world.aborted()) continue;
      if (aborted_at == Clock::time_point{}) aborted_at = Clock::now();
      if (Clock::now() - aborted_at > grace) break;
    }
    return running_;
  }
  // The first exception that is not merely an echo of the world's being stopped.
  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  std::exception_ptr error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> running_;
  std::exception_ptr error_;
};

// Runs one rank's or GPU's work; an exception stops the world.
template <class Body>
void guarded(job::WorldState& world, Runners& runners, const std::string& who, Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    // What the watchdog decided is told by its report, and what follows from it is no news.
    if (e.code() != Code::aborted && e.code() != Code::deadline && !world.aborted())
      runners.fail(std::current_exception());
    // Its text says which rank it is, if it knows.
    const std::string text = e.what(), prefix = "dcgn: ";
    world.abort(
        {e.code(), e.rank() < 0 ? who + ": " + text : text.substr(text.starts_with(prefix) ? prefix.size() : 0)});
  } catch (const std::exception& e) {
    if (!world.aborted()) runners.fail(std::current_exception());
    world.abort({Code::aborted, who + " threw: " + e.what()});
  } catch (...) {
    if (!world.aborted()) runners.fail(std::current_exception());
    world.abort({Code::aborted, who + " threw something that is no std::exception"});
  }
}

void run_cpu(job::WorldState& world, Runners& runners, const std::string& who, int rank,
             const std::function<void(Comm&)>& kernel) {
  // In deterministic mode the ranks are fibers of one thread.
  std::optional<device::BusyThread> busy;
  std::optional<device::EarlyExit> exit;
  if (!world.config().seed) {
    busy.emplace();
    exit.emplace(who);
  }
  Comm comm = world.attach(rank);
  // In here, so that the exception is known for what it is before the rank is detached.
  guarded(world, runners, who, [&] {
    kernel(comm);
    comm.finish();
  });
}

// Threads of the program's own end in their own time; but they have to begin.
void wait_for_reserved(job::WorldState& world, const std::set<int>& ranks) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(world.config().deadline_s);
  for (const int r : ranks)
    while (world.home().has(r) && !world.memory().ended(r) && !world.aborted()) {
      if (!world.attached(r) && std::chrono::steady_clock::now() > until)
        world.abort({Code::deadline, world.name_of(r) + " was reserved, and no thread has attached as it"});
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

RankReport report_of(job::WorldState& world, int rank, const message::RankMemory::Snapshot& s) {
  const message::Statistics& t = s.endpoint.statistics;
  RankReport r;
  r.rank = rank;
  r.place = world.placement().place(rank);
  r.sent_messages = t.sent_messages;
  r.sent_bytes = t.sent_bytes;
  r.received_messages = t.received_messages;
  r.received_bytes = t.received_bytes;
  for (const message::OutFifo& fifo : s.out) {
    r.sent_messages += fifo.messages_by_fast_calls();
    r.sent_bytes += fifo.fast_bytes;
  }
  for (const message::InFifo& fifo : s.in) {
    r.received_messages += fifo.messages_by_fast_calls();
    r.received_bytes += fifo.fast_bytes;
  }
  r.wait_s = static_cast<double>(t.wait_ns) * 1e-9;
  for (std::uint32_t i = 0; i < message::reasons; ++i)
    if (t.slow[i]) r.slow.push_back({message::to_string(static_cast<message::Reason>(i)), t.slow[i]});
  std::sort(r.slow.begin(), r.slow.end(), [](const SlowMessages& a, const SlowMessages& b) {
    return a.messages != b.messages ? a.messages > b.messages : a.reason < b.reason;
  });
  r.open_receives = s.posted;
  const message::Failure& f = s.endpoint.first_failure;
  if (f.code != Code::ok && r.place.is_slot())
    r.failure = std::string(message::to_string(f.call)) + ": " + message::describe(f);
  return r;
}

// Messages that were sent to ranks of this process and never received, in words; empty where there are none.
std::string left_over(job::WorldState& world, const std::vector<message::RankMemory::Snapshot>& ranks) {
  constexpr int most_lines = 16;
  std::string text;
  std::uint64_t total = 0;
  int lines = 0;
  bool collectives = false;
  const auto line = [&](const auto& what) {
    if (lines++ < most_lines) text += "\n  " + what();
  };
  const auto messages = [](std::uint64_t count) {
    return std::to_string(count) + (count == 1 ? " message" : " messages");
  };
  for (std::size_t to = 0; to < ranks.size(); ++to) {
    const int rank = ranks[to].endpoint.rank;
    for (const message::Envelope& e : ranks[to].unexpected) {
      ++total;
      collectives = collectives || message::is_collective(e.context);
      line([&] { return world.describe_message(e) + " at rank " + std::to_string(rank); });
    }
    const message::RankMemory& memory = world.memory();
    const topology::Home &home = memory.home(), &circle = memory.circle();
    if (const message::Endpoint* gateway = memory.gateway(); gateway && circle.ranks < gateway->size) {
      const message::InFifo& in = ranks[to].in.back();
      const std::uint64_t in_fifo = gateway->out[to].sent - in.received;
      total += in_fifo;
      if (in_fifo)
        line([&] {
          message::Incoming first;
          const message::Header& h = first.header;
          if (memory.host_resident(rank) && message::Rx::peek(in, first))
            return world.describe_message({first.rank, h.tag, h.context, 0, h.bytes}) + " at rank " +
                   std::to_string(rank) +
                   (in_fifo > 1 ? ", and " + messages(in_fifo - 1) + " more from other processes" : "");
          return messages(in_fifo) + " from ranks of other processes, in memory of its GPU, at rank " +
                 std::to_string(rank);
        });
      for (const message::Envelope& e : world.gateway()->undelivered(rank)) {
        ++total;
        collectives = collectives || message::is_collective(e.context);
        line([&] { return world.describe_message(e) + " at rank " + std::to_string(rank); });
      }
    }
    for (int from = circle.first_rank; from < circle.end_rank(); ++from) {
      const message::InFifo& in = ranks[to].in[memory.fifo(from)];
      std::uint64_t sent = 0;
      if (home.has(from)) {
        const message::OutFifo& out = ranks[static_cast<std::size_t>(from - home.first_rank)].out[memory.fifo(rank)];
        sent = out.sent + out.messages_by_fast_calls();
      } else {
        sent = memory.told_sent(from, rank);
      }
      const std::uint64_t in_fifo = sent - in.received - in.messages_by_fast_calls();
      if (!in_fifo) continue;
      total += in_fifo;
      line([&] {
        message::Incoming first;
        const message::Header& h = first.header;
        if (memory.host_resident(rank) && message::Rx::peek(in, first))
          return world.describe_message({from, h.tag, h.context, 0, h.bytes}) + " at rank " + std::to_string(rank) +
                 (in_fifo > 1 ? ", and " + messages(in_fifo - 1) + " more from there" : "");
        return messages(in_fifo) + " from rank " + std::to_string(from) + " at rank " + std::to_string(rank);
      });
    }
  }
  if (!total) return {};
  if (lines > most_lines) text += "\n  and more";
  const std::string mismatch = world.mismatch(false);
  if (collectives && mismatch.empty())
    text += "\nranks that made these collectives had no use for them; expected the same roots, and sizes that fit";
  text += mismatch;
  return messages(total) + (total == 1 ? " was" : " were") + " sent and never received:" + text;
}

}  // namespace

Job::Job(Config config) : world_(std::move(config)), plan_(std::make_unique<Plan>()) {
  plan_->gpus.resize(static_cast<std::size_t>(world_.gpus()));
}
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;
Job::~Job() {
  if (!plan_ || plan_->started) return;
  // It has never run: nobody is to wait for its ranks.
  job::WorldState& world = *world_.state_;
  world.let_go();
  for (int r = world.home().first_rank; r < world.home().end_rank(); ++r)
    if (placement().place(r).is_slot() || !world.attached(r)) world.detach(r);
}

void Job::set_every_cpu(std::function<void(Comm&)> kernel) {
  if (plan_->every_cpu)
    throw Error(Code::configuration, "job",
                "the CPU ranks have a kernel already: expected one call of Job::cpu, and Job::cpu_rank for others");
  plan_->every_cpu = std::move(kernel);
}

void Job::set_cpu(int rank, std::function<void(Comm&)> kernel) {
  const Place place = placement().place(rank);
  if (place.is_slot())
    throw Error(Code::invalid_rank, "job",
                "rank " + std::to_string(rank) + " is " + to_string(place) + ", no CPU rank");
  if (plan_->cpu.contains(rank))
    throw Error(Code::configuration, "job",
                "rank " + std::to_string(rank) + " has a kernel already: expected one call of Job::cpu_rank for it");
  plan_->reserved.erase(rank);
  plan_->cpu[rank] = std::move(kernel);
}

Job& Job::reserve(int rank) {
  set_cpu(rank, nullptr);
  plan_->cpu.erase(rank);
  plan_->reserved.insert(rank);
  return *this;
}

Comm Job::attach(int rank) {
  if (!plan_->reserved.contains(rank))
    throw Error(Code::invalid_rank, "attach",
                "rank " + std::to_string(rank) + " is not reserved, expected one that Job::reserve was called for");
  return world_.attach(rank);
}

void Job::add_gpu(int gpu, Launch launch, detail::KernelImage image, detail::KernelImage finish) {
  if (!world_.state_->slots_of_gpu(gpu))
    throw Error(Code::device, "job",
                "GPU " + std::to_string(gpu) + " has no slots, so no rank's kernel runs there; expected one that has " +
                    "(NodeShape::slots), or a launch of your own on Job::world().device(" + std::to_string(gpu) + ")");
  const bool is_line = launch.grid.y == 1 && launch.grid.z == 1;
  if (is_line && (launch.grid.x == one_block_per_slot || launch.grid.x == most_blocks_per_slot)) {
    const bool most = launch.grid.x == most_blocks_per_slot;
    const int slots = world_.handle(gpu).slots();
    const Device device = world_.device(gpu);
    launch.grid = Dim3(static_cast<unsigned>(slots));
    if (most && device.kind() == DeviceKind::cuda)
      launch.grid.x *= static_cast<unsigned>(std::max(1, device.max_resident_blocks(launch, image) / slots));
  }
  Plan::Gpu& plan = plan_->gpus.at(static_cast<std::size_t>(gpu));
  plan.kernels.push_back({launch, std::move(image)});
  plan.finish = std::move(finish);
}

Report Job::run() {
  Plan& plan = *plan_;
  if (plan.started) throw Error(Code::configuration, "job", "a job runs once");
  if (device::Carrier::current())
    throw Error(Code::configuration, "job", "run() was called in a rank of another job, expected a thread of its own");
  const std::shared_ptr<job::WorldState> world = world_.state_;
  const auto runners = std::make_shared<Runners>();

  // What is to run: a name for each, and its body. The bodies own what they use: should one not stop, it is left alone.
  struct Body {
    std::string name;
    std::function<void()> run;
    std::optional<Device> device = std::nullopt;
  };
  std::vector<Body> bodies;
  const topology::Home& home = world->home();
  for (int r = home.first_rank; r < home.end_rank(); ++r) {
    if (placement().place(r).is_slot() || plan.reserved.contains(r)) continue;
    const auto own = plan.cpu.find(r);
    const std::function<void(Comm&)> kernel = own != plan.cpu.end() ? own->second : plan.every_cpu;
    if (!kernel) throw Error(Code::configuration, "job", world->name_of(r) + " has no kernel: give one with Job::cpu");
    const std::string name = world->name_of(r);
    bodies.push_back({name, [world, runners, name, r, kernel] { run_cpu(*world, *runners, name, r, kernel); }});
  }
  for (int g = 0; g < world_.gpus(); ++g) {
    if (!world->slots_of_gpu(g)) continue;
    Plan::Gpu& gpu = plan.gpus[static_cast<std::size_t>(g)];
    const Place place = placement().place(world->first_rank_of_gpu(g));
    const std::string name = "GPU " + std::to_string(place.device) + " of node " + std::to_string(place.node);
    if (gpu.kernels.empty()) throw Error(Code::configuration, "job", name + " has no kernel: give one with Job::gpu");
    bodies.push_back(
        {name,
         [world, g, name, kernels = gpu.kernels, finish = gpu.finish] {
           std::optional<device::EarlyExit> exit;
           if (!world->config().seed) exit.emplace(name);
           const Device device = world->devices()[static_cast<std::size_t>(g)];
           const int first = world->first_rank_of_gpu(g);
           const int slots = world->slots_of_gpu(g);
           Stream stream(device);
           for (const Plan::GpuKernel& k : kernels) {
             const std::uint64_t begin = now_ns();
             device.launch(stream, k.launch, k.image);
             stream.synchronize();
             if (trace::Recorder* const recorder = world->recorder())
               recorder->add(g, {trace::Activity::Kind::kernel, begin, now_ns(), k.image.name(), 0});
           }
           device.launch(stream,
                         {.grid = Dim3(static_cast<unsigned>(slots)), .block = Dim3(gpu::warp_size), .resident = false},
                         finish);
           stream.synchronize();
           for (int s = 0; s < slots; ++s) world->detach(first + s);
         },
         world->devices()[static_cast<std::size_t>(g)]});
  }

  const char* const named = std::getenv("DCGN_TEST_SCHEDULE");
  const device::Strategy strategy = named ? device::strategy_of(named) : device::Strategy::chance;
  plan.started = true;
  const auto start = std::chrono::steady_clock::now();
  const auto run_body = [world, runners](const Body& body) {
    guarded(*world, *runners, body.name, body.run);
    runners->end(body.name);
  };
  for (const Body& body : bodies) runners->begin(body.name);
  std::vector<std::thread> threads;
  threads.reserve(bodies.size());
  std::size_t started = 0;
  try {
    if (const auto seed = world_.config().seed) {
      threads.emplace_back([run_body, bodies, seed, strategy, world, runners] {
        const std::string who = "a rank";  // where the running fiber has no name
        const device::EarlyExit exit(who);
        device::Schedule schedule(*seed, strategy);
        for (const Body& body : bodies) schedule.add(body.name, [&run_body, &body] { run_body(body); });
        if (transport::CopyService* service = world->copy_service()) {
          service->take_over();
          schedule.add("copies", [service, &runners] {
            for (; !runners->idle(); relax()) service->look();
          });
        }
        schedule.run();
      });
      started = bodies.size();
    } else {
      for (; started < bodies.size(); ++started)
        threads.emplace_back([run_body, body = bodies[started]] { run_body(body); });
    }
  } catch (const std::system_error& e) {
    world->abort({Code::out_of_resources, "the system gives no thread for " + bodies[started].name + ": " + e.what()});
    for (; started < bodies.size(); ++started) runners->end(bodies[started].name);
  }
  const double grace_s = world->config().grace_s;
  const std::set<std::string> stuck = runners->wait(*world, std::chrono::duration<double>(grace_s));
  for (std::thread& t : threads) stuck.empty() ? t.join() : t.detach();
  for (const Body& body : bodies)
    if (body.device && stuck.contains(body.name)) body.device->keep_memory();
  if (stuck.empty()) wait_for_reserved(*world, plan.reserved);
  std::vector<message::RankMemory::Snapshot> ranks;
  if (!world->aborted()) {
    for (int r = home.first_rank; r < home.end_rank(); ++r) {
      ranks.push_back(world->memory().snapshot(r));
      world->memory().tell_sent(ranks.back());
    }
    if (world->gateway()) world->gateway()->finish();
  }
  Report report;
  report.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  world->write_trace(stuck.empty());

  if (world->aborted()) {
    std::string text = world->verdict().text;
    char grace[32];
    std::snprintf(grace, sizeof grace, "%g s", grace_s);
    for (const std::string& name : stuck)
      text += "\n" + name + " did not stop within " + grace + " and was left running";
    const std::exception_ptr error = runners->error();
    if (error && stuck.empty()) std::rethrow_exception(error);
    throw Error(world->verdict().code, "job", text);
  }

  for (const message::RankMemory::Snapshot& s : ranks) report.ranks.push_back(report_of(*world, s.endpoint.rank, s));
  // A failed call that came too late for the watchdog to see: not first one that follows from another.
  const auto failed = [&](int rank) {
    return std::any_of(ranks.begin(), ranks.end(), [&](const message::RankMemory::Snapshot& s) {
      return s.endpoint.rank == rank && s.endpoint.first_failure.code != Code::ok;
    });
  };
  for (const bool follows : {false, true})
    for (const message::RankMemory::Snapshot& s : ranks) {
      const message::Failure& f = s.endpoint.first_failure;
      if (f.code != Code::ok && s.endpoint.limits.errors_fatal &&
          (f.code == Code::rank_ended && failed(f.envelope.peer)) == follows)
        throw Error(f.code, message::to_string(f.call), message::describe(f), s.endpoint.rank,
                    world->place_of(s.endpoint.rank));
    }
  const std::string lost = left_over(*world, ranks);
  if (!lost.empty()) throw Error(Code::unreceived, "job", lost);
  return report;
}

}  // namespace dcgn
