"""The cost model: what it is fitted to, it finds."""

import math
import random
import unittest

from dcgn.model import fit


class Fit(unittest.TestCase):
    sizes = [8.0 * 4**k for k in range(10)]

    def test_finds_the_two_parameters(self) -> None:
        for alpha, beta in ((0.6, 46.0), (6.3, 370.0), (0.1, 1.0), (20.0, 0.01)):
            cost = fit(self.sizes, [alpha + n * 1e-3 / beta for n in self.sizes])
            assert cost
            self.assertAlmostEqual(cost.alpha_us / alpha, 1, places=5)
            self.assertAlmostEqual(cost.beta_gb_per_s / beta, 1, places=5)
            self.assertLess(cost.worst, 1e-5)

    def test_every_size_counts_the_same(self) -> None:
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        noise = random.Random(seed)
        times = [(2 + n * 1e-3 / 50) * noise.uniform(0.9, 1.1) for n in self.sizes]
        cost = fit(self.sizes, times)
        assert cost
        # Least squares of equal weights on log t is linear in small errors: a parameter is off by at most the sum of its
        # sensitivities times the largest error of a time.
        latency = [2 / (2 + n * 1e-3 / 50) for n in self.sizes]  # d log t / d log alpha
        aa = sum(a * a for a in latency)
        ab = sum(a * (1 - a) for a in latency)
        bb = sum((1 - a) ** 2 for a in latency)
        determinant = aa * bb - ab * ab
        largest = -math.log(0.9) * 1.1  # a tenth more for what is not linear
        alpha_bound = largest * sum(abs(bb * a - ab * (1 - a)) for a in latency) / determinant
        beta_bound = largest * sum(abs(aa * (1 - a) - ab * a) for a in latency) / determinant
        self.assertLess(abs(math.log(cost.alpha_us / 2)), alpha_bound)
        self.assertLess(abs(math.log(cost.beta_gb_per_s / 50)), beta_bound)

    def test_says_where_it_is_worst(self) -> None:
        times = [1 + n * 1e-3 / 10 for n in self.sizes]
        times[4] *= 3
        cost = fit(self.sizes, times)
        assert cost
        self.assertEqual(cost.worst_at, self.sizes[4])
        self.assertAlmostEqual(cost.worst, abs(cost.us(self.sizes[4]) / times[4] - 1), places=9)

    def test_times_that_do_not_grow_are_latency_alone(self) -> None:
        cost = fit(self.sizes, [9.0] * len(self.sizes))
        assert cost
        self.assertAlmostEqual(cost.us(self.sizes[-1]), 9, delta=0.01)

    def test_times_that_only_grow_are_bandwidth_alone(self) -> None:
        cost = fit(self.sizes, [n * 1e-3 / 5 for n in self.sizes])
        assert cost
        self.assertAlmostEqual(cost.beta_gb_per_s, 5, delta=0.05)

    def test_two_sizes_are_too_few(self) -> None:
        self.assertIsNone(fit([8.0, 64.0], [1.0, 2.0]))


if __name__ == "__main__":
    unittest.main()
