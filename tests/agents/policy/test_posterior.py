"""The belief in closed form, against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.agents.policy.credit import divide
from argus.agents.policy.posterior import (
    SIBLING_LIMIT,
    Moments,
    NormalInverseGamma,
    posterior,
    prior,
    student_cdf,
)

gains = st.floats(-2, 2)
samples = st.lists(gains, max_size=12)


def of(values: list[float]) -> Moments:
    total = Moments()
    for value in values:
        total = total.add(value)
    return total


@given(samples)
def test_moments_are_those_of_the_sample(values: list[float]) -> None:
    m = of(values)
    assert m.n == len(values)
    if values:
        assert m.mean == pytest.approx(float(np.mean(values)), abs=1e-9)
        assert m.m2 == pytest.approx(float(np.var(values)) * len(values), abs=1e-9)


@given(samples, samples)
def test_merging_is_seeing_both(a: list[float], b: list[float]) -> None:
    both, joined = of([*a, *b]), of(a).merge(of(b))
    assert (joined.n, joined.mean, joined.m2) == pytest.approx((both.n, both.mean, both.m2), abs=1e-9)


@given(samples, st.floats(0.5, 6))
def test_a_cap_keeps_mean_and_variance(values: list[float], limit: float) -> None:
    m, capped = of(values), of(values).capped(limit)
    assert capped.n == min(m.n, limit)
    assert capped.mean == m.mean
    if m.n:
        assert capped.m2 / capped.n == pytest.approx(m.m2 / m.n, abs=1e-12)


@given(samples, samples)
def test_updates_compose(a: list[float], b: list[float]) -> None:
    """Seeing two samples one after the other is seeing them together: what conjugacy means."""
    start = prior(0.3)
    one, two = start.update(of(a)).update(of(b)), start.update(of([*a, *b]))
    assert (one.mean, one.kappa, one.alpha, one.beta) == pytest.approx(
        (two.mean, two.kappa, two.alpha, two.beta), abs=1e-9
    )


@settings(max_examples=6, deadline=None)
@given(st.lists(gains, min_size=1, max_size=6), st.floats(0.05, 1))
def test_the_posterior_mean_maximises_what_bayes_says(values: list[float], spread: float) -> None:
    """Numerically: integrate prior times likelihood on a grid of means and variances."""
    start = prior(spread)
    found = start.update(of(values))
    means = np.linspace(-4, 4, 401)
    variances = np.geomspace(1e-5, 50, 300)
    mu, var = np.meshgrid(means, variances, indexing="ij")
    log = -(start.alpha + 1.5) * np.log(var) - (start.beta + start.kappa * (mu - start.mean) ** 2 / 2) / var
    for value in values:
        log += -0.5 * np.log(var) - (value - mu) ** 2 / (2 * var)
    weight = np.exp(log - log.max()) * np.gradient(variances)[None, :]
    assert float((weight * mu).sum() / weight.sum()) == pytest.approx(found.mean, abs=0.02)


def test_before_anything_is_seen_the_mean_has_the_cards_spread() -> None:
    b = prior(0.25)
    assert b.mean == 0
    assert b.sd == pytest.approx(0.25)


def test_more_observations_narrow_the_belief() -> None:
    few, many = prior(0.3).update(of([0.1, 0.12])), prior(0.3).update(of([0.1, 0.12] * 10))
    assert many.scale < few.scale
    assert many.mean == pytest.approx(0.11, abs=0.01)


def test_siblings_count_for_two_observations_at_most() -> None:
    many = of([0.5] * 50)
    assert posterior(0.2, Moments(), many) == prior(0.2).update(many.capped(SIBLING_LIMIT))
    own = of([-0.5] * 4)
    assert posterior(0.2, own, many).mean < 0


@pytest.mark.parametrize(("t", "dof", "want"), [(0.0, 4, 0.5), (2.132, 4, 0.95), (-2.132, 4, 0.05), (1.812, 10, 0.95)])
def test_student_cdf_agrees_with_tables(t: float, dof: float, want: float) -> None:
    """Source of the values: any table of Student's t."""
    assert student_cdf(t, dof) == pytest.approx(want, abs=2e-4)


@given(st.floats(-30, 30), st.floats(2.1, 60))
def test_student_cdf_is_one(t: float, dof: float) -> None:
    assert 0 <= student_cdf(t, dof) <= 1
    assert student_cdf(t, dof) + student_cdf(-t, dof) == pytest.approx(1)
    # With two degrees of freedom it has a closed form.
    assert student_cdf(t, 2.0) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)), abs=1e-9)


def test_draws_follow_the_belief() -> None:
    b = NormalInverseGamma(0.2, 4.0, 5.0, 0.4)
    rng = np.random.default_rng(1)
    drawn = np.array([b.draw(rng) for _ in range(4000)])
    assert float(drawn.mean()) == pytest.approx(b.mean, abs=0.02)
    assert float((drawn > 0.3).mean()) == pytest.approx(b.above(0.3), abs=0.03)


@given(gains, st.lists(st.floats(0.001, 4), min_size=1, max_size=3))
def test_a_bundles_residual_is_divided_whole_and_by_variance(residual: float, variances: list[float]) -> None:
    parts = divide(residual, variances)
    assert sum(parts) == pytest.approx(residual, abs=1e-9)
    for part, variance in zip(parts, variances, strict=True):
        assert part * sum(variances) == pytest.approx(residual * variance, abs=1e-9)


def test_certain_members_share_alike() -> None:
    assert divide(0.3, [0.0, 0.0, 0.0]) == pytest.approx([0.1] * 3)
