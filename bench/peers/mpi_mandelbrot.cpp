// The Mandelbrot set by a work queue, GPU as slave: process 0 hands out strips, each other one drives a GPU: a kernel a
// strip, a copy to the host, a message.
//   mpirun -n GPUS+1 dcgn_peer_mpi_mandelbrot --size WIDTH --height H --iterations N --strip ROWS --steps PICTURES
#include "apps/mandelbrot/mandelbrot.hpp"
#include "apps/mandelbrot/strips.hpp"
#include "bench/peers/mandelbrot_kernel.hpp"
#include "bench/peers/mpi_app.hpp"

#include <dcgn/gpu/launch.hpp>

#include <algorithm>
#include <vector>

namespace {

using namespace dcgn;
using namespace dcgn::bench::peer;
using mandelbrot::Pixel, mandelbrot::Strip, mandelbrot::StripBook, mandelbrot::Task;

// lines: begin
constexpr int request = 1, result = 2, order = 3;

int bytes_in(Strip strip) { return strip.pixels * static_cast<int>(sizeof(Pixel)); }

// Hands out strips until all have come back, and sends everybody home.
void run_master(int strip, std::vector<Pixel>& picture) {
  StripBook book(static_cast<int>(picture.size()), strip, mpi_size());
  for (int working = mpi_size() - 1; working > 0;) {
    Strip done;
    MPI_Status status;
    check(MPI_Recv(&done, sizeof done, MPI_BYTE, MPI_ANY_SOURCE, request, MPI_COMM_WORLD, &status), "MPI_Recv");
    const int worker = status.MPI_SOURCE;
    if (done.pixels) {
      book.take_back(worker, done);
      check(MPI_Recv(picture.data() + done.first, bytes_in(done), MPI_BYTE, worker, result, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE),
            "MPI_Recv");
    }
    const Strip next = book.hand_out(worker);
    check(MPI_Send(&next, sizeof next, MPI_BYTE, worker, order, MPI_COMM_WORLD), "MPI_Send");
    if (next.pixels == 0) --working;
  }
}

struct Worker {
  Device device;
  Stream stream;
  DeviceBuffer<Pixel> on_gpu;
  Pinned<Pixel> on_host;

  Worker(const Device& on, std::size_t pixels) : device(on), stream(on), on_gpu(on, pixels), on_host(on, pixels) {}

  void run(const Task& task, const Launch& launch) {
    for (Strip strip;;) {
      check(MPI_Send(&strip, sizeof strip, MPI_BYTE, 0, request, MPI_COMM_WORLD), "MPI_Send");
      if (strip.pixels)
        check(MPI_Send(on_host.data(), bytes_in(strip), MPI_BYTE, 0, result, MPI_COMM_WORLD), "MPI_Send");
      check(MPI_Recv(&strip, sizeof strip, MPI_BYTE, 0, order, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
      if (strip.pixels == 0) return;
      device.launch(stream, launch, ComputeStrip{}, task, strip, on_gpu.data());
      device.copy(stream, on_host.data(), on_gpu.data(), static_cast<std::size_t>(bytes_in(strip)));
      stream.synchronize();
    }
  }
};
// lines: end

bench::AppRow measure(const AppArguments& a) {
  mandelbrot::Options o;
  o.task.width = a["size"];
  o.task.height = a["height"];
  o.task.iterations = static_cast<std::uint32_t>(a["iterations"]);
  const int rows = std::min(a["strip"], o.task.height), gpus = mpi_size() - 1;
  if (gpus < 1) throw std::runtime_error("1 process: expected one more than there are GPUs");
  std::vector<Pixel> picture(static_cast<std::size_t>(o.task.width) * static_cast<std::size_t>(o.task.height));
  std::vector<double> us;
  const auto pictures = [&](const auto& one) {
    for (int k = 0; k < 1 + a["steps"]; ++k) {
      check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
      const double begin = MPI_Wtime();
      one();
      if (k) us.push_back((MPI_Wtime() - begin) * 1e6);
    }
  };
  // lines: begin
  if (mpi_rank() == 0) {
    pictures([&] { run_master(rows * o.task.width, picture); });
  } else {
    const Device device((mpi_rank() - 1) % Device::count());
    Worker worker(device, static_cast<std::size_t>(rows) * static_cast<std::size_t>(o.task.width));
    const bool real = device.kind() == DeviceKind::cuda;
    const unsigned threads = real ? 128 : 32;
    const auto needed = (static_cast<unsigned>(rows * o.task.width) + threads - 1) / threads;
    const Launch launch{.grid = real ? needed : std::min(needed, 3u), .block = threads, .resident = false};
    pictures([&] { worker.run(o.task, launch); });
  }
  // lines: end
  bench::AppRow row{.whose = mpi_library(), .app = "mandelbrot", .size = o.task.width, .gpus = gpus};
  if (mpi_rank() == 0) row.wrong = static_cast<std::uint64_t>(mandelbrot::count_wrong(o.task, picture));
  set_figures(row, us, bench::pixels(o.task.width, o.task.height), bench::pixels_unit);
  return row;
}

}  // namespace

int main(int argc, char** argv) { return run_mpi_app(argc, argv, "dcgn_peer_mpi_mandelbrot", measure); }
