"""Step 5: stencils. Two phases separate on a plane that two ranks share; what is written for one cell is computed for all."""

import numpy as np

import dcgn

ALLEN_CAHN = """
struct AllenCahn {  // du/dt = u - u^3 + laplace u
  static constexpr int dims = 2, radius = 1;
  template <class Cells>
  DCGN_HOST_DEVICE float operator()(const Cells& u) const {
    const float here = u(0, 0);
    return here - here * here * here + (u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - 4 * here);
  }
  double fastest_rate() const { return 2 + 8; }
};
"""
NX, NY = 96, 64


def main(comm: dcgn.Comm) -> None:
    u = dcgn.Field(dcgn.Grid([NX, NY], comm.size), comm, "float32")  # periodic
    begin, end = u.part
    noise = np.random.default_rng(1).random((NY, NX), np.float32) - 0.5
    u.write(noise[begin[1] : end[1]])  # x is the last index, and layers are along y
    stepper = dcgn.Stepper(comm, dcgn.Update(ALLEN_CAHN, "AllenCahn"), u, dt=0.1)
    stepper.run(400)

    plane = np.zeros((NY, NX), np.float32) if comm.rank == 0 else None
    u.read_all(comm, plane)
    if plane is not None:
        for row in plane[::4, ::2]:
            print("".join(".#"[int(cell > 0)] for cell in row))
        separated = (np.abs(plane) > 0.8).mean()
        print(f"t = {stepper.time:.0f}: {100 * separated:.0f} % of the cells are in one phase or the other")


dcgn.run(main, cpus=2)
