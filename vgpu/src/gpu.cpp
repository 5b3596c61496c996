#include "vgpu/src/gpu.hpp"

#include "device/processor.hpp"
#include "vgpu/src/split_launch.hpp"

#include <dcgn/config.hpp>
#include <dcgn/error.hpp>
#include <dcgn/gpu/kernel.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

std::unique_ptr<Machine> make_machine(const std::vector<Device>& devices, [[maybe_unused]] bool asleep) {
  if (devices.empty())
    throw Error(Code::configuration, "VirtualGpu", "a virtual GPU of no devices, expected at least one");
  const DeviceKind kind = devices.front().kind();
  for (const Device& device : devices)
    if (device.kind() != kind)
      throw Error(Code::configuration, "VirtualGpu",
                  "devices " + std::to_string(devices.front().index()) + " and " + std::to_string(device.index()) +
                      " are of two kinds, expected real or emulated ones alone");
  for (const Device& from : devices)
    for (const Device& to : devices)
      if (!from.link_to(to).direct)
        throw Error(Code::unsupported, "VirtualGpu",
                    "device " + std::to_string(from.index()) + " cannot reach the memory of device " +
                        std::to_string(to.index()) + ", expected devices with peer access to each other");
#if defined(DCGN_HAS_CUDA)
  if (kind == DeviceKind::cuda) return make_cuda_machine(devices, asleep);
#endif
  return make_emulated_machine(devices);
}

bool all_have_atomics(const std::vector<Device>& devices) {
  return std::all_of(devices.begin(), devices.end(), [&](const Device& from) {
    return std::all_of(devices.begin(), devices.end(),
                       [&](const Device& to) { return from.link_to(to).native_atomics; });
  });
}

std::uint64_t blocks_of(const std::string& kernel, const Launch& launch) {
  const auto in_numbers = [](Dim3 d) {
    return std::to_string(d.x) + " x " + std::to_string(d.y) + " x " + std::to_string(d.z);
  };
  const Dim3 grid = launch.grid, block = launch.block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > most_blocks || grid.y > 65535 || grid.z > 65535)
    throw Error(Code::configuration, "launch",
                kernel + ": a grid of " + in_numbers(grid) +
                    " blocks, expected at least 1 in each direction, and at most 2147483647 x 65535 x 65535");
  if (block.x == 0 || block.y == 0 || block.z == 0)
    throw Error(Code::configuration, "launch",
                kernel + ": a block of " + in_numbers(block) + " threads, expected at least 1 in each direction");
  return std::uint64_t{grid.x} * grid.y * grid.z;
}

}  // namespace

double deadline_setting() { return dcgn::detail::setting("DCGN_DEADLINE", 60.0, 1e-3); }

Gpu::Gpu(const std::vector<Device>& devices, const Options& its_options, bool asleep)
    : options(its_options),
      machine_(make_machine(devices, asleep)),
      native_atomics_(all_have_atomics(devices)),
      idle_markers_(devices.size()) {}

Gpu::~Gpu() = default;

Stream& Gpu::own_stream() {
  // It does not keep the Gpu alive, whose it is.
  if (!own_stream_) own_stream_.reset(new Stream(std::shared_ptr<Gpu>(std::shared_ptr<Gpu>(), this)));
  return *own_stream_;
}

Module Gpu::load(const std::string& name, const std::string& text, const AssemblerOptions& its_options,
                 std::unique_ptr<Binary> own) {
  return Module(std::make_shared<LoadedCode>(shared_from_this(), name, text, its_options, std::move(own)));
}

void Gpu::run_chunks(Parts& streams, std::uint64_t blocks, std::uint64_t step, const LaunchPiece& launch,
                     bool last_on_first) {
  ++statistics.launches;
  const bool alone = options.schedule == Schedule::part_0;
  std::vector<Chunk> chunks = split_evenly(blocks, alone ? 1 : parts(), step);
  chunks.resize(static_cast<std::size_t>(parts()));
  if (options.schedule == Schedule::stealing && parts() > 1) {
    streams.order();
    return steal(streams, std::move(chunks), launch);
  }
  Chunk last{0, 0};
  if (last_on_first && !alone && chunks.front().count != 0) {
    --chunks.front().count;
    last = {chunks.front().first + chunks.front().count, 1};
  }
  // By value: a thread that has not come back by the deadline may be at it still.
  const auto give = [&streams, chunks, launch](int part) {
    for (Chunk left = chunks[static_cast<std::size_t>(part)]; left.count != 0;) {
      const Chunk piece{left.first, std::min(left.count, most_blocks)};
      launch(part, piece, streams.use(part));
      left.first += piece.count;
      left.count -= piece.count;
    }
  };
  if (alone || !machine_->gains_by_threads()) {
    streams.order();
    for (int part = parts(); part-- > 0;) give(part);
  } else {
    if (!crew_) crew_ = std::make_unique<Crew>(parts() - 1);
    streams.begin_together();
    crew_->run(std::make_shared<const Crew::Work>([&streams, give](int part) {
                 streams.order_part(part);
                 give(part);
                 streams.end_part(part);
               }),
               options.deadline_s);
  }
  if (last.count == 0) return;
  streams.gather();
  launch(0, last, streams.use(0));
}

void Gpu::steal(Parts& streams, std::vector<Chunk> chunks, const LaunchPiece& launch) {
  // Two pieces under way on each part, so that it has the next one when one ends.
  constexpr std::size_t under_way = 2;
  // Pieces of a stream do not overlap: one that does not fill the multiprocessors several times leaves them idle, and
  // many of them cost as many launches.
  const std::uint64_t waves = 16 * static_cast<std::uint64_t>(device(0).properties().multiprocessors);
  const std::uint64_t sixteenth = chunks.front().count / 16;
  StealingQueue queue(std::move(chunks), std::max(waves, sixteenth));
  std::vector<std::deque<std::unique_ptr<Marker>>> pieces(static_cast<std::size_t>(parts()));
  using Clock = std::chrono::steady_clock;
  for (auto [more, since] = std::pair(true, Clock::now()); more;) {
    bool gave = false;
    for (int part = 0; part < parts() && more; ++part) {
      auto& mine = pieces[static_cast<std::size_t>(part)];
      auto& idle = idle_markers_[static_cast<std::size_t>(part)];
      for (; !mine.empty() && mine.front()->done(); mine.pop_front()) idle.push_back(std::move(mine.front()));
      if (mine.size() >= under_way) continue;
      const std::optional<Chunk> piece = queue.take(part);
      if (!piece) {
        more = false;
        break;
      }
      dcgn::Stream& stream = streams.use(part);
      launch(part, *piece, stream);
      if (idle.empty()) idle.push_back(machine_->make_marker(part));
      mine.push_back(std::move(idle.back()));
      idle.pop_back();
      mine.back()->record(stream);
      gave = true;
    }
    if (gave) {
      device::backoff.reset();
      since = Clock::now();
    } else if (more) {
      device::backoff.step();
      if (std::chrono::duration<double>(Clock::now() - since).count() < options.deadline_s) continue;
      device::backoff.reset();
      throw deadline_error("no part has ended its piece of blocks", options.deadline_s);
    }
  }
  device::backoff.reset();
  for (std::size_t part = 0; part < pieces.size(); ++part)
    std::move(pieces[part].begin(), pieces[part].end(), std::back_inserter(idle_markers_[part]));
  statistics.stolen_blocks += queue.stolen();
}

void Gpu::check_arguments(const KernelInfo& kernel, const std::vector<Argument>& arguments) const {
  if (arguments.size() != kernel.parameters.size())
    throw Error(Code::configuration, "launch",
                kernel.name + ": " + std::to_string(arguments.size()) + " arguments, expected " +
                    std::to_string(kernel.parameters.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].bytes != kernel.parameters[i].bytes)
      throw Error(Code::configuration, "launch",
                  kernel.name + ": argument " + std::to_string(i + 1) + " of " + std::to_string(arguments[i].bytes) +
                      " bytes, expected " + std::to_string(kernel.parameters[i].bytes));
}

// Chunks begin where pages of the largest chunked buffer do that is an argument, and are whole slices of the grid.
std::uint64_t Gpu::step_for(const Launch& launch, const std::vector<Argument>& arguments) const {
  std::size_t most = 0;
  for (const Argument& argument : arguments) {
    if (argument.bytes != sizeof(void*)) continue;
    const void* address = nullptr;
    std::memcpy(&address, argument.value, sizeof address);
    const std::byte* begin = nullptr;
    const Buffer* buffer = buffer_with(address, begin);
    if (buffer && address == begin && buffer->kind == Placement::Kind::chunked) most = std::max(most, buffer->bytes);
  }
  const ptx::GridShape grid{launch.grid.x, launch.grid.y, launch.grid.z};
  const std::uint64_t step = most == 0 ? 1 : blocks_of_a_page(grid.blocks(), parts(), most, machine_->page_bytes());
  return step_of_slices(grid, parts(), step);
}

Gpu::Checked Gpu::check_launch(const Kernel& kernel, const Launch& launch,
                               const std::vector<Argument>& arguments) const {
  const KernelInfo& info = kernel.info();
  if (&kernel.code_->gpu() != this)
    throw Error(Code::configuration, "launch",
                info.name + " was loaded by another virtual GPU, expected a kernel of this one");
  check_arguments(info, arguments);
  return {blocks_of(info.name, launch), parts() == 1 || !info.splittable()};
}

Parts& Gpu::parts_of(const char* operation, const Stream& stream) const {
  if (stream.gpu_.get() != this)
    throw Error(Code::configuration, operation, "a stream of another virtual GPU, expected one of this");
  return *stream.parts_;
}

MeasuredLaunches& Gpu::measured() {
  if (!measured_) {
    measured_ = std::make_unique<MeasuredLaunches>(*this);
    if (!place_all(Placement::owner(0))) measured_->overflow();
  }
  return *measured_;
}

bool Gpu::measures() {
  const bool measures = options.schedule == Schedule::measured && parts() > 1;
  // What part 0 does alone is not for others to see while it is under way.
  if (measured_ && !measures) {
    synchronize_all();
    measured_.reset();
    ++age_;
  }
  return measures;
}

void Gpu::launch(Stream& stream, const Kernel& kernel, const Launch& launch, const std::vector<Argument>& arguments) {
  Checked checked = check_launch(kernel, launch, arguments);
  const KernelInfo& info = kernel.info();
  const bool with_atomics = kernel.code_->traits(kernel.index_).memory.atomics;
  if (parts() > 1 && checked.whole && options.whole == Whole::refuse)
    throw Error(Code::unsupported, "launch",
                info.name + " cannot be split: " + info.reasons.front() +
                    "; expected another kernel, or Options::whole, which has it run on one device");
  if (!checked.whole && with_atomics && !native_atomics_)
    throw Error(Code::unsupported, "launch",
                info.name + " has atomics on memory that others share, expected devices whose links carry them");

  Parts& streams = parts_of("launch", stream);
  if (is_recording(streams)) {
    ++recorded_->launches;
    recorded_->never_split += checked.whole ? 1 : 0;
    const auto values = std::make_shared<const CopiedArguments>(arguments);
    recorded_->steps.emplace_back([this, kernel, launch, values, checked](Parts& its_streams, bool split) {
      this->launch(its_streams, kernel, launch, values->arguments(), {checked.blocks, checked.whole || !split});
    });
    return;
  }
  if (!measures()) return this->launch(streams, kernel, launch, arguments, checked);
  const Dim3 block = launch.block;
  checked.whole = !measured().begin(streams, &info, static_cast<double>(checked.blocks),
                                    static_cast<double>(block.x) * block.y * block.z, !checked.whole);
  statistics.trials = measured().trials();
  try {
    this->launch(streams, kernel, launch, arguments, checked);
  } catch (...) {
    measured().cancel();
    throw;
  }
  measured().end(streams);
}

void Gpu::launch(Parts& streams, const Kernel& kernel, const Launch& launch, const std::vector<Argument>& arguments,
                 const Checked& checked) {
  const auto [blocks, whole] = checked;
  LoadedCode& code = *kernel.code_;
  const KernelInfo& info = kernel.info();
  const LoadedCode::Traits& traits = code.traits(kernel.index_);
  const bool split_now = !whole && options.schedule != Schedule::part_0;
  const std::vector<LocalWord> local = look_at_memory(streams, launch, info, traits.memory, arguments, split_now);
  if (whole) {
    ++statistics.launches;
    ++statistics.whole;
    streams.gather();  // others need not wait for part 0
    const bool alone = parts() > 1 && info.splittable() && measured_ && measured_->local();
    Binary& binary = alone ? code.alone_binary() : code.whole_binary();
    binary.launch(kernel.index_, 0, streams.use(0), launch, traits.cooperative,
                  PartArguments(*this, arguments, local, 0).places);
    return;
  }
  const auto split = std::make_shared<const SplitLaunch>(*this, launch, arguments, local);
  // The last block reads what all have written, which is mostly small, and so on part 0. To read it over a link takes
  // ten times as long as to launch one block behind all others.
  const bool last_on_first = traits.memory.hands_over;
  run_chunks(
      streams, blocks, step_for(launch, arguments),
      [split, its_code = kernel.code_, index = kernel.index_](int part, const Chunk& piece, dcgn::Stream& its) {
        split->run(its_code->binary(), index, part, piece, its);
      },
      last_on_first);
  join_reduced(streams, local);
}

void Gpu::launch(Stream& stream, const Launch& launch, const ImageOfPart& image_of) {
  refuse_recording(parts_of("launch", stream), "a launch of a kernel object");
  std::vector<dcgn::detail::KernelImage> images;
  images.reserve(static_cast<std::size_t>(parts()));
  for (int part = 0; part < parts(); ++part) images.push_back(image_of(part));
  if (!emulated())
    throw Error(Code::unsupported, "launch",
                images.front().name() +
                    ": a kernel object cannot be split on CUDA devices, expected a kernel from source or PTX");
  const std::uint64_t blocks = blocks_of(images.front().name(), launch);
  if (blocks > most_blocks)
    throw Error(Code::configuration, "launch",
                images.front().name() + ": " + std::to_string(blocks) + " blocks, expected at most 2147483647");
  all_written(stream.parts_.get());  // what kernel objects write is not known
  run_chunks(*stream.parts_, blocks, 1, [&](int part, const Chunk& piece, dcgn::Stream& its) {
    dcgn::detail::KernelImage& image = images[static_cast<std::size_t>(part)];
    image.part_of = dcgn::detail::KernelImage::PartOf{launch.grid, static_cast<unsigned>(piece.first)};
    Launch of_piece = launch;
    of_piece.resident = false;
    of_piece.grid = static_cast<unsigned>(piece.count);
    device(part).launch(its, of_piece, image);
  });
}

}  // namespace dcgn::virtual_gpu
