// Stencils. Two phases separate: each rank has a part of the plane, on a GPU or in its own memory, and what is
// written for one cell is computed for all of them, while the halos are on the way.
#include <dcgn/dcgn.hpp>
#include <dcgn/stencil.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

// Allen and Cahn's equation: du/dt = u - u^3 + laplace u. Where u is not 1 or -1, it goes there.
struct AllenCahn {
  static constexpr int dims = 2, radius = 1;
  template <class Cells>
  DCGN_HOST_DEVICE float operator()(const Cells& u) const {
    const float here = u(0, 0);
    return here - here * here * here + (u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - 4 * here);
  }
  double fastest_rate() const { return 2 + 8; }  // near 1, of what changes sign from cell to cell
};

int main() {
  const dcgn::GridShape shape{.extents = {96, 64}};  // periodic; layers along y, one for each rank
  const int gpus = dcgn::Device::count();
  std::vector<float> all(96 * 64);

  // Two ranks; with GPUs, each drives one of them. They need no slots: CPU ranks send what is in their memory.
  dcgn::Job job({.nodes = {{.cpus = 2, .gpus = std::min(gpus, 2), .slots = 0}}});
  job.cpu([&](dcgn::Comm& comm) {
    const dcgn::Grid grid(shape, comm.size());
    dcgn::Field<float> u =
        gpus ? dcgn::Field<float>(grid, comm, dcgn::Device(comm.rank() % gpus)) : dcgn::Field<float>(grid, comm);
    u.fill([](const dcgn::Box::Cell& at) {  // the same whatever the parts
      std::minstd_rand random(static_cast<unsigned>(at[0] + 96 * at[1] + 1));
      random.discard(2);
      return static_cast<float>(random()) / static_cast<float>(std::minstd_rand::max()) - 0.5f;
    });

    dcgn::Stepper stepper(comm, AllenCahn{}, {.scheme = dcgn::Scheme::midpoint, .dt = 0.1}, u);
    stepper.run(400);
    u.read(comm, grid.all(), all, 0);  // to rank 0
    if (comm.rank() == 0) std::printf("t = %g; %s\n", stepper.time(), stepper.chosen().c_str());
  });
  job.run();

  const auto cell = [&](std::size_t x, std::size_t y) { return all[x + 96 * y]; };
  for (std::size_t y = 0; y < 64; y += 4) {
    for (std::size_t x = 0; x < 96; x += 2) std::putchar(cell(x, y) > 0 ? '#' : '.');
    std::putchar('\n');
  }
  const auto separated = std::count_if(all.begin(), all.end(), [](float u) { return std::abs(u) > 0.8f; });
  std::printf("%.0f %% of the cells are in one phase or the other\n",
              100.0 * static_cast<double>(separated) / (96 * 64));
  return separated > 96 * 64 / 2 ? 0 : 1;
}
