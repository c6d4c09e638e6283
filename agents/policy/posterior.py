"""What an arm taught so far: a normal-inverse-gamma belief on its residual log gain, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel

# How far other bottlenecks speak for this one, and how far another task speaks for this: as so many observations.
SIBLING_LIMIT = 2.0
CARRY_LIMIT = 6.0


class Moments(BaseModel, frozen=True):
    """Count, mean and sum of squared deviations of what was observed; a count may be fractional once discounted."""

    n: float = 0.0
    mean: float = 0.0
    m2: float = 0.0

    def add(self, value: float) -> Moments:
        return self.merge(Moments(n=1.0, mean=value))

    def merge(self, other: Moments) -> Moments:
        """The moments of both samples together (Chan's update)."""
        n = self.n + other.n
        if n == 0:
            return self
        delta = other.mean - self.mean
        return Moments(
            n=n, mean=self.mean + delta * other.n / n, m2=self.m2 + other.m2 + delta**2 * self.n * other.n / n
        )

    def capped(self, limit: float) -> Moments:
        """The same mean and variance, told with the weight of at most `limit` observations."""
        if self.n <= limit:
            return self
        return Moments(n=limit, mean=self.mean, m2=self.m2 * limit / self.n)


@dataclass(frozen=True, slots=True)
class NormalInverseGamma:
    """Mean and variance of a normal, both unknown: variance ~ InvGamma(alpha, beta), mean ~ N(mean, variance / kappa).

    Source: conjugate analysis of the normal, e.g. Gelman et al., Bayesian Data Analysis, section 3.3.
    """

    mean: float
    kappa: float
    alpha: float
    beta: float

    def update(self, seen: Moments) -> NormalInverseGamma:
        if seen.n == 0:
            return self
        kappa = self.kappa + seen.n
        mean = (self.kappa * self.mean + seen.n * seen.mean) / kappa
        shift = self.kappa * seen.n * (seen.mean - self.mean) ** 2 / (2 * kappa)
        return NormalInverseGamma(mean, kappa, self.alpha + seen.n / 2, self.beta + seen.m2 / 2 + shift)

    @property
    def dof(self) -> float:
        return 2 * self.alpha

    @property
    def scale(self) -> float:
        """Scale of the marginal of the mean, a Student t with `dof` degrees of freedom."""
        return math.sqrt(self.beta / (self.alpha * self.kappa))

    @property
    def sd(self) -> float:
        """Standard deviation of that marginal; `alpha` stays above 1 here, so it exists."""
        return self.scale * math.sqrt(self.dof / (self.dof - 2))

    def above(self, value: float) -> float:
        """Probability that the mean exceeds `value`."""
        return 1.0 - student_cdf((value - self.mean) / self.scale, self.dof)

    def draw(self, rng: np.random.Generator) -> float:
        return self.mean + self.scale * float(rng.standard_t(self.dof))


def prior(spread: float) -> NormalInverseGamma:
    """Before anything was seen: no residual expected, its mean with standard deviation `spread`."""
    return NormalInverseGamma(0.0, 1.0, 2.0, max(spread, 1e-3) ** 2)


def posterior(spread: float, own: Moments, siblings: Moments) -> NormalInverseGamma:
    """An arm's belief: the prior, then the same technique on other bottlenecks (discounted), then its own record."""
    return prior(spread).update(siblings.capped(SIBLING_LIMIT)).update(own)


def student_cdf(t: float, dof: float) -> float:
    """Distribution function of Student's t, by the regularised incomplete beta function."""
    if t == 0:
        return 0.5
    tail = 0.5 * _beta_fraction(dof / (dof + t * t), dof / 2, 0.5)
    return 1.0 - tail if t > 0 else tail


def _beta_fraction(x: float, a: float, b: float) -> float:
    """I_x(a, b). Lentz's continued fraction converges fast for x below (a + 1) / (a + b + 2), mirrored beyond."""
    if x >= 1:
        return 1.0
    if x <= 0:
        return 0.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_fraction(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(1 - (a + b) * x / (a + 1), tiny)
    total = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            total *= c * d
        if abs(c * d - 1) < 1e-13:
            break
    return front * total / a
