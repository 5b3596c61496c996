#include "core/bench/ddt_messages.hpp"

#include "bench/program.hpp"
#include "core/bench/ddt.hpp"
#include "core/bench/ddt_occupy_kernel.hpp"
#include "core/bench/p2p.hpp"

#include <dcgn/dcgn.hpp>
#include <dcgn/version.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace dcgn::bench {

const char* name_of(DdtPath path) {
  switch (path) {
    case DdtPath::host: return "host";
    case DdtPath::one_gpu: return "one-gpu";
    case DdtPath::two_gpus: return "two-gpus";
    case DdtPath::two_gpus_staged: return "two-gpus-staged";
    case DdtPath::two_processes: return "two-processes";
  }
  return "";
}

std::optional<DdtPath> parse_ddt_path(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(all_ddt_paths), std::end(all_ddt_paths), [&](DdtPath p) { return name == name_of(p); });
  return found == std::end(all_ddt_paths) ? std::nullopt : std::optional(*found);
}

int gpus_of(DdtPath path) {
  switch (path) {
    case DdtPath::host: return 0;
    case DdtPath::one_gpu: return 1;
    case DdtPath::two_gpus:
    case DdtPath::two_gpus_staged:
    case DdtPath::two_processes: return 2;
  }
  return 0;
}

namespace {

bool is_contiguous(const DdtShape& shape) { return shape.kind == DdtShape::Kind::contiguous; }

// What each end's shape is asked for: one without gaps is as long as the other is.
struct Sizes {
  std::int64_t mine, others;
};
Sizes sizes_of(const DdtMessage& m) {
  if (is_contiguous(m.shape) && !is_contiguous(m.other)) return {extent_of(m.other, m.bytes).size, m.bytes};
  if (is_contiguous(m.other)) return {m.bytes, extent_of(m.shape, m.bytes).size};
  return {m.bytes, m.bytes};
}

// A layout's memory at one end.
class End {
 public:
  End(const std::optional<Device>& device, const DdtShape& shape, std::int64_t bytes, std::uint64_t seed)
      : shape_(shape), bytes_(bytes), first_(static_cast<std::size_t>(extent_of(shape, bytes).extent)) {
    bench::fill(first_, seed);
    if (device) {
      on_device_ = std::make_unique<DeviceBuffer<std::byte>>(*device, first_.size());
      on_device_->upload(first_.data());
    } else {
      host_ = first_;
    }
  }
  TypedBuffer typed() {
    const Datatype type = datatype_of(shape_, bytes_);
    return on_device_ ? TypedBuffer(*on_device_, type) : TypedBuffer(host_, type);
  }
  Bytes packed() const { return packed_by_blocks(shape_, bytes_, first_); }
  // How many bytes are not what they should be, after these have come.
  std::uint64_t wrong_after(const Bytes& packed) const {
    Bytes found = host_;
    if (on_device_) {
      found.resize(first_.size());
      on_device_->download(found.data());
    }
    return count_different(found, spread_by_blocks(shape_, bytes_, first_, packed));
  }

 private:
  DdtShape shape_;
  std::int64_t bytes_;
  Bytes first_, host_;
  std::unique_ptr<DeviceBuffer<std::byte>> on_device_;
};

// Keeps a part of a GPU's blocks busy with others' kernels while it lasts.
class Occupation {
 public:
  Occupation(const Device& device, int per_cent)
      : launch_{.grid = 1, .block = device.kind() == DeviceKind::cuda ? Occupy::max_threads : 32u, .resident = false},
        stream_(device) {
    const int all = device.max_resident_blocks(launch_, Occupy{}, std::uint64_t{0}, static_cast<float*>(nullptr));
    launch_.grid = static_cast<unsigned>(std::max(1, all * per_cent / 100));
    sink_ = std::make_unique<DeviceBuffer<float>>(device, launch_.grid.volume());
    thread_ = std::thread([this, device] {
      try {
        while (!stop_) {
          constexpr std::uint64_t for_ns = 100'000;
          device.launch(stream_, launch_, Occupy{}, for_ns, sink_->data());
          stream_.synchronize();
        }
      } catch (const Error&) {
        failure_ = std::current_exception();
      }
    });
  }
  Occupation(const Occupation&) = delete;
  Occupation& operator=(const Occupation&) = delete;
  ~Occupation() { end(); }
  // Throws what went wrong meanwhile.
  void finish() {
    end();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  Launch launch_;
  Stream stream_;
  std::unique_ptr<DeviceBuffer<float>> sink_;
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_;
  std::thread thread_;
};

constexpr int data_tag = 0, count_tag = 1;

DdtRow row_of(const DdtMessage& m, std::string whose) {
  return {.whose = std::move(whose),
          .shape = m.shape.name,
          .action = "message",
          .place = name_of(m.path),
          .other = m.other.name,
          .about = m.bytes};
}

// Rank 0 sends what it has, and receives it back beside.
DdtRow measure_one(const DdtMessage& m, std::string whose) {
  const int gpus = gpus_of(m.path);
  const bool apart = m.path == DdtPath::two_processes;
  Config config;
  config.nodes = {{.cpus = apart ? 1 : 2, .gpus = apart ? 1 : gpus, .slots = 0}};
  if (m.path == DdtPath::two_gpus_staged) config.p2p = false;
  Job job(config);
  if (apart && job.world().size() != 2)
    throw Error(Code::configuration, "bench",
                std::to_string(job.world().size()) + " processes, expected 2, as by mpirun -n 2");
  const auto end = [&](int rank, const DdtShape& shape, std::int64_t bytes, std::uint64_t seed) {
    if (!job.world().is_here(rank)) return std::unique_ptr<End>();
    const auto device = gpus ? std::optional(job.world().device(apart ? 0 : rank % gpus)) : std::nullopt;
    return std::make_unique<End>(device, shape, bytes, seed);
  };
  const Sizes sizes = sizes_of(m);
  const auto out = end(0, m.shape, sizes.mine, 1), back = end(0, m.shape, sizes.mine, 2),
             there = end(1, m.other, sizes.others, 3);
  DdtRow row = row_of(m, std::move(whose));
  const Bytes packed = out ? out->packed() : End(std::nullopt, m.shape, sizes.mine, 1).packed();
  row.bytes = static_cast<std::int64_t>(packed.size());
  std::vector<std::unique_ptr<Occupation>> others;
  for (int g = 0; g < job.world().gpus() && m.occupied; ++g)
    others.push_back(std::make_unique<Occupation>(job.world().device(g), m.occupied));
  job.cpu([&](Comm& comm) {
    if (comm.rank() == 0) {
      const TypedBuffer sent = out->typed(), received = back->typed();
      const auto rounds = [&](std::uint64_t count) {
        comm.send(count, 1, count_tag);
        for (; count > 0; --count) {
          comm.send(ConstTypedBuffer(sent), 1, data_tag);
          comm.recv(received, 1, data_tag);
        }
      };
      time_rounds(row, m.seconds, {rounds, [] {}}, 2);
      comm.send(std::uint64_t{0}, 1, count_tag);
      comm.recv(row.wrong, 1, count_tag);
      row.wrong += back->wrong_after(packed) + out->wrong_after(packed);
      return;
    }
    const TypedBuffer mine = there->typed();
    for (std::uint64_t count = 0;;) {
      comm.recv(count, 0, count_tag);
      if (count == 0) break;
      for (; count > 0; --count) {
        comm.recv(mine, 0, data_tag);
        comm.send(ConstTypedBuffer(mine), 0, data_tag);
      }
    }
    comm.send(there->wrong_after(packed), 0, count_tag);
  });
  job.run();
  for (const auto& other : others) other->finish();
  return row;
}

Path copies_of(DdtPath path) {
  switch (path) {
    case DdtPath::host: return Path::cpu_cpu;
    case DdtPath::one_gpu: return Path::device_device_local;
    case DdtPath::two_gpus:
    case DdtPath::two_processes: return Path::device_device;
    case DdtPath::two_gpus_staged: return Path::slot_slot_staged;
  }
  return Path::cpu_cpu;
}

}  // namespace

bool fit(const DdtMessage& m) {
  const Sizes sizes = sizes_of(m);
  return extent_of(m.shape, sizes.mine).size == extent_of(m.other, sizes.others).size;
}

namespace {

// A message without gaps at either end, as long as this one.
DdtMessage plain_of(const DdtMessage& message) {
  DdtMessage plain = message;
  plain.shape = plain.other = *parse_ddt_shape("contiguous");
  plain.bytes = extent_of(message.shape, sizes_of(message).mine).size;
  return plain;
}

std::vector<DdtRow> measure_apart(const DdtMessage& m) {
  const std::string command = mpirun(2) + quoted(beside_this("dcgn_bench_processes")) + " --ddt " +
                              quoted(m.shape.name) + " " + quoted(m.other.name) + " " + std::to_string(m.bytes) + " " +
                              std::to_string(m.seconds) + " " + std::to_string(m.occupied);
  std::vector<DdtRow> rows;
  for (const auto& j : rows_of(command, 60 + 20 * m.seconds, "two-processes: ")) rows.push_back(ddt_row_from(j));
  return rows;
}

}  // namespace

std::vector<DdtRow> measure_ddt_message_here(const DdtMessage& message) {
  std::string ours = "dcgn " + std::string(version);
  if (message.occupied) ours += ", " + std::to_string(message.occupied) + " % occupied";
  std::vector<DdtRow> rows = {measure_one(plain_of(message), ours)};
  if (!is_contiguous(message.shape) || !is_contiguous(message.other)) rows.push_back(measure_one(message, ours));
  return rows;
}

std::vector<DdtRow> measure_ddt_message(const DdtMessage& message) {
  std::vector<DdtRow> rows;
  const DdtMessage plain = plain_of(message);
  if (!message.occupied) {
    const bool staged = message.path == DdtPath::two_gpus_staged;
    const Workload copies{
        .path = copies_of(message.path), .bytes = plain.bytes, .seconds = message.seconds, .window = 1};
    for (const Row& limit : limits_of_copies(copies, staged ? Measure::bandwidth : Measure::latency)) {
      DdtRow& row = rows.emplace_back(row_of(plain, limit.whose));
      row.action = "copy";
      row.bytes = limit.bytes;
      row.rounds = limit.rounds;
      row.p50_us = limit.p50_us;
      row.p99_us = limit.p99_us;
      row.gb_per_s = limit.gb_per_s;
      row.wrong = limit.wrong;
    }
  }
  const bool apart = message.path == DdtPath::two_processes;
  for (DdtRow& row : apart ? measure_apart(message) : measure_ddt_message_here(message)) rows.push_back(std::move(row));
  for (DdtRow& row : rows) row.about = message.bytes;
  return rows;
}

}  // namespace dcgn::bench
