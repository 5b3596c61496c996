"""The cost model of a message: a latency, and its bytes by a bandwidth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """t(n) = alpha + n / beta."""

    alpha_us: float
    beta_gb_per_s: float
    worst: float  # the largest |t(n) / measured - 1|
    worst_at: float  # its bytes

    def us(self, size: float) -> float:
        return self.alpha_us + size * 1e-3 / self.beta_gb_per_s


def fit(sizes: Sequence[float], us: Sequence[float]) -> Cost | None:
    """Least squares on log(t(n) / measured), so that small sizes count as much as large ones.

    None where fewer than three sizes say nothing about how well two parameters fit.
    """
    if len(set(sizes)) < 3 or min(us) <= 0 or min(sizes) <= 0:
        return None
    # Both parameters as logarithms, which keeps them above zero; Levenberg and Marquardt's steps.
    a, b = math.log(min(us)), math.log(us[-1] / sizes[-1])
    error, damping = _error(a, b, sizes, us), 1e-3
    for _ in range(200):
        aa = ab = bb = ra = rb = 0.0
        for n, t in zip(sizes, us):
            model = math.exp(a) + n * math.exp(b)
            da, db = math.exp(a) / model, n * math.exp(b) / model
            residual = math.log(model / t)
            aa, ab, bb = aa + da * da, ab + da * db, bb + db * db
            ra, rb = ra + da * residual, rb + db * residual
        left, right = aa * (1 + damping) + 1e-12, bb * (1 + damping) + 1e-12
        determinant = left * right - ab * ab
        step_a = (right * ra - ab * rb) / determinant
        step_b = (left * rb - ab * ra) / determinant
        # No further than a factor of e at a time: far off, the model's slope says little.
        scale = 1 / max(1.0, abs(step_a), abs(step_b))
        tried = _error(a - scale * step_a, b - scale * step_b, sizes, us)
        if tried < error:
            a, b, damping = a - scale * step_a, b - scale * step_b, damping / 10
            if error - tried < 1e-14 * error:
                break
            error = tried
        else:
            damping *= 10
            if damping > 1e12:
                break
    alpha, slope = math.exp(a), math.exp(b)
    worst, at = max((abs((alpha + n * slope) / t - 1), n) for n, t in zip(sizes, us))
    return Cost(alpha, 1e-3 / slope, worst, at)


def _error(a: float, b: float, sizes: Sequence[float], us: Sequence[float]) -> float:
    return sum(math.log((math.exp(a) + n * math.exp(b)) / t) ** 2 for n, t in zip(sizes, us))
