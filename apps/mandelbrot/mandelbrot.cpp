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
#include <thread>
#include <utility>
#include <vector>

namespace dcgn::mandelbrot {

namespace {

// lines: begin
// Hands out strips until all have come back, and sends everybody home. Gives the seconds since the first request.
double run_master(Comm& comm, const Task& task, StripBook& book, std::vector<Pixel>& picture,
                  const std::function<void(int, int)>& progress) {
  std::uint64_t begin = 0;
  for (int working = comm.size() - 1; working > 0;) {
    Strip done;
    const int worker = comm.recv(done, any_source, request).source;
    if (!begin) begin = now_ns();
    if (done.rows) {
      book.take_back(worker, done);
      const auto offset = static_cast<std::size_t>(done.first) * static_cast<std::size_t>(task.width);
      comm.recv(Span(picture.data() + offset, pixels_in(task, done)), worker, result);
      if (progress) progress(book.rows_returned(), task.height);
    }
    const Strip next = book.hand_out(worker);
    comm.send(next, worker, order);
    if (next.rows == 0) --working;
  }
  return static_cast<double>(now_ns() - begin) * 1e-9;
}

// lines: end

}  // namespace

Outcome run(const Options& options, const std::function<void(int, int)>& progress) {
  validate(options);
  const Task& task = options.task;
  const int rows = std::min(options.strip, task.height);

  // lines: begin
  Config config;
  config.nodes = {options.nodes};
  Job job(config);

  Outcome outcome;
  outcome.pixels.resize(pixels_in(task, {0, task.height}));
  StripBook book(task.height, rows, job.placement().size());
  job.cpu(cpu_worker, task);
  job.cpu_rank(master, [&](Comm& comm) { outcome.work_s = run_master(comm, task, book, outcome.pixels, progress); });

  std::vector<DeviceBuffer<Pixel>> memory;
  const std::size_t pixels_per_slot = pixels_in(task, {0, rows});
  const Launch launch{
      .grid = one_block_per_slot, .block = static_cast<unsigned>(options.threads), .shared_bytes = sizeof(Strip)};
  for (int g = 0; g < job.world().gpus(); ++g) {
    memory.emplace_back(job.world().device(g), pixels_per_slot * static_cast<std::size_t>(options.nodes.slots));
    job.gpu_on(g, launch, SlotWorker{}, task, memory.back().data(), pixels_per_slot);
  }

  const Report report = job.run();
  // lines: end
  const bool master_here = job.world().is_here(master);
  outcome.elapsed_s = report.elapsed_s;
  for (const RankReport& r : apps::Meeting(std::move(job)).all_reports(report.ranks))
    outcome.ranks.push_back({r, 0, 0});
  if (!master_here) return outcome;
  outcome.owners = book.owners();
  for (int s = 0; s < book.strips(); ++s) {
    RankWork& work = outcome.ranks[static_cast<std::size_t>(outcome.owners[static_cast<std::size_t>(s)])];
    ++work.strips;
    work.rows += std::min(rows, task.height - s * rows);
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
