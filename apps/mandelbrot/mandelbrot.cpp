#include "apps/mandelbrot/mandelbrot.hpp"

#include "apps/mandelbrot/strips.hpp"
#include "apps/mandelbrot/worker_kernel.hpp"
#include "apps/meeting/meeting.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/gpu/launch.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace dcgn::mandelbrot {

namespace {

// lines: begin
// Hands out strips until all have come back, and sends everybody home. Gives the seconds since the first request.
double run_master(Comm& comm, const World& world, StripBook& book, Pixel* picture,
                  const std::function<void(int)>& progress) {
  std::uint64_t begin = 0;
  for (int working = comm.size() - 1; working > 0;) {
    Strip done;
    const int worker = comm.recv(done, any_source, request).source;
    if (!begin) begin = now_ns();
    if (done.pixels) {
      if (!world.is_here(worker))
        comm.recv(Span(picture + done.first, static_cast<std::size_t>(done.pixels)), worker, result);
      book.take_back(worker, done);
      progress(book.pixels_returned());
    }
    const Strip next = book.hand_out(worker);
    comm.send(next, worker, order);
    if (next.pixels == 0) --working;
  }
  return static_cast<double>(now_ns() - begin) * 1e-9;
}
// lines: end

}  // namespace

Outcome run(const Options& options, const std::function<void(int, int)>& progress) {
  validate(options);
  const Task& task = options.task;
  const auto tell = [&](int pixels) {
    if (progress) progress(pixels / task.width, task.height);
  };
  Outcome outcome;
  // lines: begin
  Job job({.nodes = {options.nodes}});
  World& world = job.world();
  const int strip = strip_pixels(options);
  StripBook book(task.width * task.height, strip, world.size());
  outcome.pixels.resize(
      world.is_here(master) ? static_cast<std::size_t>(task.width) * static_cast<std::size_t>(task.height) : 0);
  Pixel* const picture = outcome.pixels.data();
  std::optional<Pin> pinned;
  if (picture && world.gpus()) pinned.emplace(world.device(0), picture, outcome.pixels.size() * sizeof(Pixel));
  job.cpu(cpu_worker, task, picture);
  job.cpu_rank(master, [&](Comm& comm) { outcome.work_s = run_master(comm, world, book, picture, tell); });
  const Launch launch{
      .grid = one_block_per_slot, .block = static_cast<unsigned>(options.threads), .shared_bytes = sizeof(Strip)};
  std::vector<DeviceBuffer<Pixel>> memory;
  for (int g = 0; g < world.gpus(); ++g) {
    memory.emplace_back(world.device(g),
                        picture ? 0 : static_cast<std::size_t>(strip) * static_cast<std::size_t>(options.nodes.slots));
    job.gpu_on(g, launch, SlotWorker{}, task, picture, memory.back().data(), strip);
  }
  const Report report = job.run();
  // lines: end
  const bool master_here = picture != nullptr;
  outcome.elapsed_s = report.elapsed_s;
  for (const RankReport& r : apps::Meeting(std::move(job)).all_reports(report.ranks))
    outcome.ranks.push_back({r, 0, 0});
  if (!master_here) return outcome;
  outcome.owners = book.owners();
  for (int s = 0; s < book.strips(); ++s) {
    RankWork& work = outcome.ranks[static_cast<std::size_t>(outcome.owners[static_cast<std::size_t>(s)])];
    ++work.strips;
    work.pixels += book.strip(s).pixels;
  }
  return outcome;
}

std::int64_t count_wrong(const Task& task, const std::vector<Pixel>& pixels) {
  // A picture that takes a GPU milliseconds takes a core minutes: all cores, each every so many rows.
  const int workers = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, std::max(1, task.height));
  std::atomic<std::int64_t> wrong{0};
  const auto check = [&](int first) {
    std::int64_t mine = 0;
    for (int row = first; row < task.height; row += workers)
      for (int column = 0; column < task.width; ++column) {
        const auto i = static_cast<std::size_t>(row) * static_cast<std::size_t>(task.width);
        mine += !(pixels[i + static_cast<std::size_t>(column)] == pixel_at(task, row, column));
      }
    wrong += mine;
  };
  std::vector<std::jthread> threads;
  for (int w = 1; w < workers; ++w) threads.emplace_back(check, w);
  check(0);
  threads.clear();  // joins
  return wrong;
}

}  // namespace dcgn::mandelbrot
