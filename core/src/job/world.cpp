#include "device/processor.hpp"
#include "device/quietly.hpp"
#include "job/world_state.hpp"
#include "trace/ranges.hpp"

#include <dcgn/buffers.hpp>
#include <dcgn/gpu/comm.hpp>
#include <dcgn/world.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace dcgn {

namespace detail {
void slot_out_of_range(unsigned index, int slots) {
  throw Error(Code::invalid_rank, "slot",
              "slot " + std::to_string(index) + " is out of range, " +
                  (slots ? "expected 0.." + std::to_string(slots - 1) : "the GPU has none"));
}
}  // namespace detail

namespace job {

namespace {

// What the processes of a job tell each other at its start.
struct Hello {
  NodeShape shape;
  std::uint64_t collective_bytes, lane_bytes;
  std::uint64_t sees;    // the same where processes see the same GPUs
  std::uint64_t traces;  // whether a trace is recorded
  std::uint64_t cores;   // the same where processes run on the same ones
};

std::string host_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

// Which GPUs this process sees: those of its host, but for what it was told to leave alone.
std::uint64_t what_is_seen() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return std::hash<std::string>{}(host_name() + '/' + (visible ? visible : "all"));
}

std::uint64_t where_it_runs() {
  return std::hash<std::string>{}(host_name() + '/' + std::to_string(device::core_set()));
}

// Where processes see the same GPUs and there are enough for all, each takes those that the ones before it leave.
int first_device_of(const std::vector<Hello>& all, std::size_t rank) {
  int before = 0, wanted = 0;
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (all[p].sees != all[rank].sees) continue;
    if (p < rank) before += all[p].shape.gpus;
    wanted += all[p].shape.gpus;
  }
  return before && all[rank].shape.gpus && wanted <= Device::count() ? before : 0;
}

// Every process is a node. `first_device`: from which one on this process takes its GPUs.
Placement place_processes(const Config& config, transport::Processes* processes, int& first_device) {
  first_device = 0;
  if (!processes) return Placement(config.nodes);
  const int size = processes->size();
  // Whoever finds something wrong says so only when all have told theirs: otherwise they would wait for it.
  Hello mine{{.count = 0},   config.collective_bytes, config.lane_bytes,
             what_is_seen(), !config.trace.empty(),   where_it_runs()};
  std::exception_ptr wrong;
  try {
    const Placement given(config.nodes);
    if (given.nodes() != 1 && given.nodes() != size)
      throw Error(Code::configuration, "world",
                  std::to_string(given.nodes()) + " nodes in a job of " + std::to_string(size) +
                      " processes, expected the process's own or one for each");
    mine.shape = given.shape(given.nodes() == 1 ? 0 : processes->rank());
    mine.shape.count = 1;
  } catch (const Error&) {
    wrong = std::current_exception();
  }
  const std::vector<Hello> all = processes->all_gather(mine);
  if (wrong) std::rethrow_exception(wrong);
  const auto beside = std::count_if(all.begin(), all.end(), [&](const Hello& h) { return h.cores == mine.cores; });
  device::share_cores(static_cast<int>(beside));
  std::vector<NodeShape> nodes;
  for (int p = 0; p < size; ++p) {
    const Hello& h = all[static_cast<std::size_t>(p)];
    const std::string who = "process " + std::to_string(p) + " of " + std::to_string(size);
    if (!h.shape.count)
      throw Error(Code::aborted, "world", who + " has nodes that make no sense; what it says tells why");
    const auto same = [&](const char* member, std::uint64_t theirs, std::uint64_t own) {
      if (theirs != own)
        throw Error(Code::configuration, "world",
                    who + " has Config::" + member + "=" + std::to_string(theirs) + ", this one " +
                        std::to_string(own) + "; expected the same in all");
    };
    same("collective_bytes", h.collective_bytes, config.collective_bytes);
    same("lane_bytes", h.lane_bytes, config.lane_bytes);
    if (h.traces != !config.trace.empty())
      throw Error(Code::configuration, "world",
                  who + (h.traces ? " records a trace, this one does not" : " records no trace, this one does") +
                      "; expected Config::trace in all, or in none");
    nodes.push_back(h.shape);
  }
  first_device = first_device_of(all, static_cast<std::size_t>(processes->rank()));
  return Placement(nodes);
}

// For one world at a time.
std::shared_ptr<transport::Processes> take_processes(const Config& config) {
  const std::shared_ptr<transport::Processes> all = transport::Processes::find(config);
  if (!all) return nullptr;
  if (all->stopped())
    throw Error(Code::unsupported, "world",
                "a job of these processes was stopped before, so they cannot be used again");
  if (config.seed)
    throw Error(Code::configuration, "world",
                "deterministic mode in one of " + std::to_string(all->size()) +
                    " processes; expected one process, or DCGN_MPI=off");
  if (!all->take(config.deadline_s))
    throw Error(Code::unsupported, "world", "there is a world of these processes already; expected one at a time");
  return {all.get(), [all](transport::Processes*) { all->give_back(); }};
}

// Of this process, which has something for each of its ranks: too many are refused here.
topology::Home home_of(const Placement& placement, const transport::Processes* processes) {
  const topology::Home home =
      processes ? topology::Home::of_node(placement, processes->rank()) : topology::Home::of_all(placement);
  message::RankMemory::check_ranks(home.ranks, false);
  return home;
}

std::vector<Device> take_devices(const Placement& placement, const topology::Home& home, int first) {
  int wanted = 0;
  for (int node = home.first_node; node < home.first_node + home.nodes; ++node) wanted += placement.shape(node).gpus;
  const int available = wanted ? Device::count() : 0;
  if (wanted > available)
    throw Error(Code::configuration, "world",
                "the nodes ask for " + std::to_string(wanted) + " GPUs, this machine has " + std::to_string(available) +
                    "; DCGN_EMULATED_GPUS=" + std::to_string(wanted) + " gives that many emulated ones");
  std::vector<Device> devices;
  devices.reserve(static_cast<std::size_t>(wanted));
  for (int g = 0; g < wanted; ++g) devices.emplace_back(first + g);
  return devices;
}

std::vector<Slots> slots_of_gpus(const Placement& placement, const topology::Home& home) {
  std::vector<Slots> slots;
  for (int node = home.first_node; node < home.first_node + home.nodes; ++node) {
    const NodeShape& s = placement.shape(node);
    for (int g = 0; g < s.gpus; ++g) slots.push_back({placement.first_rank(node) + s.cpus + g * s.slots, s.slots});
  }
  return slots;
}

// What the environment variables are checked for, for what the program sets itself; a deadline may be as short as it
// likes.
Config checked(Config config) {
  const auto refuse = [](const char* member, const std::string& value, const std::string& expected) {
    throw Error(Code::configuration, "world",
                std::string("Config::") + member + "=" + value + ": expected " + expected);
  };
  if (!(config.deadline_s > 0 && config.deadline_s <= 1e9))
    refuse("deadline_s", std::to_string(config.deadline_s), "more than 0 and at most 1e9 seconds");
  if (!(config.grace_s > 0 && config.grace_s <= 1e9))
    refuse("grace_s", std::to_string(config.grace_s), "more than 0 and at most 1e9 seconds");
  const auto at_most = [&](const char* member, std::uint64_t value, std::uint64_t most) {
    if (value > most) refuse(member, std::to_string(value), "at most " + std::to_string(most));
  };
  if (config.lane_bytes && (config.lane_bytes < 256 || config.lane_bytes > 1u << 30))
    refuse("lane_bytes", std::to_string(config.lane_bytes), "256 to 1073741824, or 0");
  if (config.copy_engine_bytes && config.copy_engine_bytes != Config::never_copied)
    at_most("copy_engine_bytes", *config.copy_engine_bytes, 1u << 30);
  if (config.fragment_bytes && (config.fragment_bytes < 4096 || config.fragment_bytes > 1u << 30))
    refuse("fragment_bytes", std::to_string(config.fragment_bytes), "4096 to 1073741824, or 0");
  at_most("unexpected_bytes", config.unexpected_bytes, 1ull << 40);
  at_most("buffered_bytes", config.buffered_bytes, 1ull << 40);
  if (config.collective_bytes < collective::least_scratch || config.collective_bytes > 1u << 30)
    refuse("collective_bytes", std::to_string(config.collective_bytes), "4096 to 1073741824");
  at_most("communicator_bytes", config.communicator_bytes, 1u << 30);
  at_most("requests", config.requests, 1u << 24);
  if (config.trace_events < 1 || config.trace_events > 1u << 30)
    refuse("trace_events", std::to_string(config.trace_events), "1 to 1073741824");
  return config;
}

// Whether slots can have messages copied, and threads of the host those in a device's memory.
bool has_copy_engines(const Config& config, const std::vector<Device>& devices) {
  if (config.copy_engine_bytes == Config::never_copied) return false;
  return (!devices.empty() && devices.front().kind() == DeviceKind::cuda) || config.copy_engine_bytes.has_value();
}

// With CPU ranks there is always one: what they send may be on a device, or have a datatype. Emulated devices are of no
// concern to it unless they have been given copy engines.
std::unique_ptr<transport::CopyEngine> make_copy_engine(const Config& config, const Placement& placement,
                                                        const topology::Home& home,
                                                        const std::vector<Device>& devices) {
  bool cpu_ranks = false;
  for (int node = home.first_node; node < home.first_node + home.nodes; ++node)
    cpu_ranks = cpu_ranks || placement.shape(node).cpus;
  const bool engines = has_copy_engines(config, devices);
  if (!engines && !cpu_ranks) return nullptr;
  const bool cuda = !devices.empty() && devices.front().kind() == DeviceKind::cuda;
  return std::make_unique<transport::CopyEngine>(engines || cuda ? devices : std::vector<Device>{}, config.p2p,
                                                 config.trace.empty() ? 0 : config.trace_events);
}

// When all have come so far.
std::unique_ptr<transport::Sharing> find_sharing(const Config& config, transport::Processes* processes,
                                                 transport::Agreement& agreement, const std::vector<Device>& devices) {
  agreement.agree();
  return processes ? std::make_unique<transport::Sharing>(*processes, config, devices) : nullptr;
}

// Whether MPI is given the memory of GPUs; that of emulated ones is the host's.
bool mpi_takes_device_memory(const Config& config, transport::Processes* processes,
                             const std::vector<Device>& devices) {
  if (!processes || devices.empty() || !config.direct || !config.cuda_aware) return false;
  return devices.front().kind() == DeviceKind::emulated || processes->mpi().takes_cuda_memory();
}

// By rank of this process, the device whose kernels may read what a thread of the host has in a GPU's memory.
std::vector<int> readers_of(const Config& config, const Placement& placement, const topology::Home& home) {
  std::vector<int> readers;
  topology::GpuCount gpus(placement, home.first_node);
  for (int r = home.first_rank; r < home.end_rank(); ++r) {
    const Place place = placement.place(r);
    readers.push_back(place.is_slot() && config.direct ? gpus.of(place) : -1);
  }
  return readers;
}

}  // namespace

WorldState::WorldState(Config config)
    : config_(checked(std::move(config))),
      processes_(take_processes(config_)),
      watch_(processes_ ? std::make_unique<transport::ProcessWatch>(*processes_) : nullptr),
      placement_(place_processes(config_, processes_.get(), first_device_)),
      agreement_(processes_.get()),
      home_(home_of(placement_, processes_.get())),
      devices_(take_devices(placement_, home_, first_device_)),
      slots_(slots_of_gpus(placement_, home_)),
      recorder_(config_.trace.empty() ? nullptr
                                      : std::make_unique<trace::Recorder>(config_, processes_.get(), devices_)),
      copy_engine_(make_copy_engine(config_, placement_, home_, devices_)),
      host_copier_(copy_engine_ ? std::make_unique<transport::HostCopier>(
                                      *copy_engine_, home_.first_rank, readers_of(config_, placement_, home_),
                                      mpi_takes_device_memory(config_, processes_.get(), devices_),
                                      [this](const Error& error) { abort_for_copy(error); })
                                : nullptr),
      sharing_(find_sharing(config_, processes_.get(), agreement_, devices_)),
      memory_(config_, placement_, home_, devices_, host_copier_.get(), has_copy_engines(config_, devices_),
              sharing_.get()),
      seats_(static_cast<std::size_t>(home_.ranks), Seat::free),
      packed_requests_(static_cast<std::size_t>(home_.ranks)) {
  if (config_.seed)
    for (const Device& d : devices_)
      if (d.kind() != DeviceKind::emulated)
        throw Error(Code::configuration, "world",
                    "deterministic mode needs emulated GPUs, device " + std::to_string(d.index()) + " is " +
                        d.properties().name + "; set DCGN_EMULATED_GPUS");
  if (recorder_) recorder_->begin([this](int gpu) { return slots_of_gpu(gpu) > 0; });
  // A profiler's ranges are of threads, which fibers of deterministic mode have not.
  if (!config_.seed && trace::has_ranges(recorder_ != nullptr))
    for (int r = home_.first_rank; r < home_.end_rank(); ++r)
      if (!placement_.place(r).is_slot())
        memory_.endpoint(r)->log.watched = message::TraceLog::has_events | message::TraceLog::has_ranges;
  if (processes_)
    gateway_ = std::make_unique<transport::Gateway>(
        *processes_, *watch_, memory_, placement_, config_,
        mpi_takes_device_memory(config_, processes_.get(), devices_) ? copy_engine_.get() : nullptr,
        [this](Code code, const std::string& reason) {
          abort({code, reason}, false);
        });
  if (!devices_.empty() && has_copy_engines(config_, devices_) && memory_.copy_queues())
    copy_service_ =
        std::make_unique<transport::CopyService>(*copy_engine_, memory_.copy_queues(), memory_.copies_posted(),
                                                 home_.ranks, [this](const Error& error) { abort_for_copy(error); });
  watchdog_ = std::thread([this] { watch(); });
}

WorldState::~WorldState() {
  if (gateway_) gateway_->finish();  // while the watchdog answers the other processes
  closing_.request_stop();
  watchdog_.join();
  gateway_.reset();
  write_trace(true);
  copy_service_.reset();
  copy_engine_.reset();  // waits for the copies that are under way, whose words are in memory_
}

void WorldState::check_gpu(int gpu) const {
  const int gpus = static_cast<int>(devices_.size());
  if (gpu >= 0 && gpu < gpus) return;
  const std::string who = processes_ ? "process " + process_number() : "the world";
  throw Error(Code::device, "world",
              "GPU " + std::to_string(gpu) + " is out of range, " +
                  (gpus ? "expected 0.." + std::to_string(gpus - 1) + (processes_ ? ", those of " + who : "")
                        : who + " has none"));
}

std::string WorldState::process_number() const {
  return std::to_string(processes_->rank()) + " of " + std::to_string(processes_->size());
}

Comm WorldState::attach(int rank) {
  const std::lock_guard lock(mutex_);
  const auto is_cpu = [&](int r) { return !placement_.place(r).is_slot(); };
  if (rank == -1) {
    for (int r = home_.first_rank; r < home_.end_rank() && rank < 0; ++r)
      if (is_cpu(r) && seat(r) == Seat::free) rank = r;
    if (rank < 0) throw Error(Code::invalid_rank, "attach", "no CPU rank is free");
  }
  const Place place = placement_.place(rank);  // throws where the rank is out of range
  if (place.is_slot())
    throw Error(Code::invalid_rank, "attach",
                "rank " + std::to_string(rank) + " is " + to_string(place) + "; a thread can be a CPU rank only");
  if (!home_.has(rank))
    throw Error(Code::invalid_rank, "attach",
                "rank " + std::to_string(rank) + " is " + to_string(place) + ", in another process than this one, " +
                    "node " + std::to_string(home_.first_node));
  Seat& s = seat(rank);
  if (s != Seat::free)
    throw Error(Code::invalid_rank, "attach",
                "rank " + std::to_string(rank) + (s == Seat::taken ? " is attached already" : " has ended"));
  s = Seat::taken;
  return Comm(shared_from_this(), *memory_.endpoint(rank));
}

void WorldState::detach(int rank) {
  const std::lock_guard lock(mutex_);
  seat(rank) = Seat::left;
  memory_.set_ended(rank, !aborted());  // else the others hear why
}

void WorldState::write_trace(bool kernels) noexcept {
  if (!recorder_) return;
  const auto has_ended = [&](int rank) {
    const std::lock_guard lock(mutex_);
    return placement_.place(rank).is_slot() ? kernels : seat(rank) != Seat::taken;
  };
  // A device that has failed tells nothing; one whose kernel did not stop might keep this waiting.
  if (copy_engine_ && kernels) device::quietly([&] { recorder_->add(copy_engine_->take_records()); });
  recorder_->write(memory_, placement_, has_ended, !aborted());
}

bool WorldState::attached(int rank) const {
  const std::lock_guard lock(mutex_);
  return seats_[static_cast<std::size_t>(rank - home_.first_rank)] != Seat::free;
}

void WorldState::let_go() {
  if (!gateway_ || gateway_->is_over() || aborted() || std::uncaught_exceptions() <= exceptions_) return;
  abort({Code::aborted, "process " + process_number() + " has left the job by an exception; what it says tells why"});
}

void WorldState::abort(Verdict verdict, bool tell) {
  const std::lock_guard lock(mutex_);
  if (verdict_.code != Code::ok) return;
  verdict_ = std::move(verdict);
  if (tell && gateway_) gateway_->abort(verdict_.code, verdict_.text);
  aborted_.store(true, std::memory_order_release);  // before anybody sees the phase and goes home
  memory_.set_phase(static_cast<std::uint32_t>(message::Phase::aborted));
}

void WorldState::abort_for_copy(const Error& error) {
  abort({error.code(), std::string("a copy of a message failed: ") + error.what()});
}

Verdict WorldState::verdict() const {
  const std::lock_guard lock(mutex_);
  return verdict_;
}

}  // namespace job

namespace {
std::shared_ptr<job::WorldState> make_state(Config config) {
  const std::vector<NodeShape> nodes = config.nodes;
  try {
    return std::make_shared<job::WorldState>(std::move(config));
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  } catch (const std::system_error& e) {
    throw Error(Code::out_of_resources, "world",
                std::string("the system gives no thread for the watchdog: ") + e.what());
  }
  throw Error(Code::out_of_resources, "world",
              "the system refused memory for " + std::to_string(Placement(nodes).size()) +
                  " ranks, which grows with their square; expected fewer ranks in one process");
}
}  // namespace

World::World(Config config) : state_(make_state(std::move(config))) {}
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() {
  if (state_) state_->let_go();
}

const Config& World::config() const noexcept { return state_->config(); }
const Placement& World::placement() const noexcept { return state_->placement(); }
bool World::is_here(int rank) const noexcept { return state_->home().has(rank); }
Comm World::attach(int rank) { return state_->attach(rank); }
int World::gpus() const noexcept { return static_cast<int>(state_->devices().size()); }

Device World::device(int gpu) const {
  state_->check_gpu(gpu);
  return state_->devices()[static_cast<std::size_t>(gpu)];
}

int World::slots(int gpu) const { return handle(gpu).slots(); }

gpu::Comm World::handle(int gpu) const {
  state_->check_gpu(gpu);
  const int slots = state_->slots_of_gpu(gpu);
  return {slots ? state_->memory().endpoint(state_->first_rank_of_gpu(gpu)) : nullptr, slots, size()};
}

std::uint64_t World::device_bytes(int gpu) const {
  state_->check_gpu(gpu);
  return state_->memory().bytes(gpu);
}
std::uint64_t World::host_bytes() const noexcept { return state_->memory().bytes(message::host_space); }

void World::abort(const std::string& reason) { state_->abort({Code::aborted, reason}); }
bool World::aborted() const noexcept { return state_->aborted(); }
std::string World::report() const { return state_->verdict().text; }

}  // namespace dcgn
