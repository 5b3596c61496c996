"""Stencils: an update from source steps fields as NumPy does, on any number of ranks, in memory of the host and of GPUs."""

import unittest
from typing import Any

import dcgn
from test_messages import needs_numpy, np, run

HEAT = dcgn.Update(
    """
    struct Heat {
      static constexpr int dims = 2, radius = 1;
      double rate;
      template <class Cells>
      DCGN_HOST_DEVICE double operator()(const Cells& u) const {
        return rate * (((u(-1, 0) + u(1, 0)) + u(0, -1)) + u(0, 1) - 4 * u(0, 0));
      }
    };
    """,
    "Heat",
)
SWAP = dcgn.Update(
    """
    struct Swap {  // each field becomes the other one, as it was beside
      static constexpr int dims = 1, radius = 1;
      template <class Cells>
      DCGN_HOST_DEVICE dcgn::Values<int, 2> operator()(const Cells& u, const Cells& v) const { return {{v(1), u(-1)}}; }
    };
    """,
    "Swap",
)
NY, NX, STEPS = 24, 16, 10


@needs_numpy
class Steps(unittest.TestCase):
    def test_are_numpy_s(self) -> None:
        start = np.random.default_rng(5).random((NY, NX))
        expected = start.copy()
        for _ in range(STEPS):
            around = sum(np.roll(expected, (s, 0)[::o], (0, 1)) for s in (1, -1) for o in (1, -1))
            expected = expected + 0.1 * (around - 4 * expected)

        def main(comm: dcgn.Comm, gpus: int) -> Any:
            u = dcgn.Field(dcgn.Grid([NX, NY], comm.size), comm, gpu=comm.rank % gpus if gpus else None)
            u.write_all(comm, start if comm.rank == 0 else None)
            stepper = dcgn.Stepper(comm, HEAT, u, 0.1, scheme="euler", dt=1)
            stepper.run(STEPS)
            self.assertEqual((stepper.steps, stepper.time), (STEPS, STEPS))
            whole = np.zeros((NY, NX)) if comm.rank == 1 else None
            u.read_all(comm, whole, 1)
            begin, end = u.part
            own = np.zeros((end[1] - begin[1], end[0] - begin[0]))
            u.read(own)
            u.write(own)
            return whole, begin, own

        for gpus in (0, 2):
            found: dict[int, Any] = {}
            job = dcgn.Job(cpus=2, gpus=gpus, slots=0)
            job.cpu(lambda comm: found.__setitem__(comm.rank, main(comm, gpus))).run()
            np.testing.assert_allclose(found[1][0], expected, rtol=1e-12)
            for _, begin, own in found.values():
                np.testing.assert_array_equal(own, found[1][0][begin[1] : begin[1] + own.shape[0]])

    def test_of_two_fields(self) -> None:
        def main(comm: dcgn.Comm) -> Any:
            grid = dcgn.Grid([8], comm.size, sides=[0.0])
            fields = [dcgn.Field(grid, comm, "int32") for _ in range(2)]
            fields[0].write_all(comm, np.arange(1, 9, dtype=np.int32) if comm.rank == 0 else None)
            dcgn.Stepper(comm, SWAP, fields, scheme="next", mode="borders_first").run(2)
            result = np.zeros(8, np.int32)
            fields[0].read_all(comm, result if comm.rank == 0 else None)
            return result.tolist()

        # u comes back to where it was, but for what left over the upper side.
        self.assertEqual(run(main)[0], [1, 2, 3, 4, 5, 6, 7, 0])

    def test_what_is_wrong_is_named(self) -> None:
        def one(**changed: Any) -> None:
            def main(comm: dcgn.Comm) -> None:
                u = dcgn.Field(dcgn.Grid([NX, NY], comm.size, sides=changed.get("sides", [])), comm)
                u.write(changed.get("start", np.zeros((NY, NX))))
                dcgn.Stepper(comm, HEAT, u, 0.1, **changed.get("options", {})).run(1)

            dcgn.run(main, cpus=1)

        cases = [
            ({"sides": ["open"]}, "the side \"open\", expected periodic, neumann or a number"),
            ({"options": {"scheme": "leapfrog"}}, "\"leapfrog\", expected one of euler, midpoint, rk4, next"),
            ({"options": {"dt": -1.0}}, "a time step of -1"),
            ({"start": np.zeros((NY, NX), np.float32)}, "of float32, expected float64"),
            ({"start": np.zeros((NX, NY))}, rf"shape \({NX}, {NY}\), expected \({NY}, {NX}\): x is the last index"),
            ({"start": np.full((NY, NX), np.nan)}, "finite"),
        ]
        for changed, text in cases:
            with self.assertRaisesRegex(dcgn.Error, text):
                one(**changed)

    def test_a_stepper_ends_with_its_kernel(self) -> None:
        kept: list[dcgn.Stepper] = []

        def main(comm: dcgn.Comm) -> None:
            kept.append(dcgn.Stepper(comm, HEAT, dcgn.Field(dcgn.Grid([NX, NY], comm.size), comm), 0.1))

        dcgn.run(main, cpus=1)
        with self.assertRaises(dcgn.Error) as caught:
            kept[0].run(1)
        self.assertEqual(caught.exception.code, "not_attached")


if __name__ == "__main__":
    unittest.main()
