"""The closed forms of noise against sums, integrals and draws; the release's own noise against the model."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.promise.loss import epsilon_of, rho_for
from coterie.statistics.prediction import measurement as measured
from coterie.statistics.prediction.measurement import SensitivityBound
from coterie.statistics.prediction.noise_model import (
    Family,
    absolute_quantile,
    from_uniform,
    mean_absolute,
    mean_absolute_sum,
    points,
    sum_gradient,
    tail_area_slope,
    upper_tail_area,
)
from coterie.statistics.prediction.value_grid import ValueGrid
from coterie.statistics.releasing.measuring import Noise, release_scale
from coterie.statistics.specification.filters import Filter
from coterie.statistics.specification.specification import Neighbours, PrivacyBudget

FAMILIES = [Family.LAPLACE, Family.DISCRETE_LAPLACE, Family.GAUSSIAN, Family.DISCRETE_GAUSSIAN]
GRID = points(1, 15)[:, 0]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.7, 250.0])
def test_mean_quantile_and_draws_agree(family: Family, scale: float) -> None:
    draws = np.abs(from_uniform(family, GRID, scale))
    assert float(mean_absolute(family, np.array(scale))) == pytest.approx(float(draws.mean()), rel=2e-3)
    for probability in (0.5, 0.95):
        edge = absolute_quantile(family, scale, probability)
        assert (draws <= edge + 1e-9).mean() >= probability - 2e-3
        if not family.discrete:
            assert (draws <= edge).mean() == pytest.approx(probability, abs=2e-3)
        elif family is Family.DISCRETE_LAPLACE and edge >= 1:
            assert (draws <= edge - 1).mean() < probability + 2e-3


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("room", [0.0, 1.0, 3.0, 40.0, math.inf])
def test_one_sided_overshoot(family: Family, room: float) -> None:
    scale = 2.3
    expected = np.minimum(np.maximum(from_uniform(family, GRID, scale), 0.0), room).mean()
    found = float(upper_tail_area(family, np.array(scale), np.array(room)))
    assert found == pytest.approx(float(expected), rel=3e-3, abs=1e-3)


@given(st.sampled_from(FAMILIES[:3]), st.floats(0.4, 30.0), st.floats(0.0, 60.0))
def test_the_slope_of_the_overshoot(family: Family, scale: float, room: float) -> None:
    step = 1e-5 * scale
    ends = [float(upper_tail_area(family, np.array(scale + s * step), np.array(room))) for s in (-1, 1)]
    assert tail_area_slope(family, scale, room) == pytest.approx(
        (ends[1] - ends[0]) / (2 * step), rel=1e-3, abs=1e-5
    )


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_two_laplace_noises_have_a_textbook_mean(a: float, b: float) -> None:
    found = mean_absolute_sum([Family.LAPLACE] * 2, np.array([[a, b]]))[0]
    assert found == pytest.approx((a * a + a * b + b * b) / (a + b), rel=1e-9)


def test_a_sum_of_mixed_noises_against_draws() -> None:
    families = [Family.LAPLACE, Family.GAUSSIAN, Family.LAPLACE]
    scales = np.array([1.0, 2.0, 0.2])
    uniform = points(3, 15)
    total = sum(
        from_uniform(f, uniform[:, i], s) for i, (f, s) in enumerate(zip(families, scales, strict=True))
    )
    assert mean_absolute_sum(families, scales[None, :])[0] == pytest.approx(np.abs(total).mean(), rel=2e-3)


@given(st.lists(st.floats(0.01, 50.0), min_size=1, max_size=5))
def test_the_gradient_of_a_sum(scales: list[float]) -> None:
    families = [Family.LAPLACE if i % 2 == 0 else Family.GAUSSIAN for i in range(len(scales))]
    at = np.array(scales)
    gradient = sum_gradient(families, at)
    for i in range(len(at)):
        step = np.zeros(len(at))
        step[i] = 1e-4 * at[i]
        ends = mean_absolute_sum(families, np.array([at - step, at + step]))
        assert gradient[i] == pytest.approx((ends[1] - ends[0]) / (2 * step[i]), rel=1e-4, abs=1e-7)


@pytest.mark.statistical
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("secure", [True, False])
def test_released_noise_has_the_promised_size_and_no_other(family: Family, secure: bool) -> None:
    """5,000 draws; the mean of |noise| within 6 standard errors (odds below 1e-8), and 30 % off is rejected."""
    scale, draws = 2.5, 5000
    noise = Noise.secure() if secure else Noise.seeded(3)
    fine = Fraction(1) if family.discrete else Fraction(1, 2**32)
    m = replace(measured.count(Filter()), unit=fine, bound=SensitivityBound(scale, scale, "", ""))
    if family.discrete:  # 2.5 steps are no whole sensitivity: the budget makes them
        m = replace(m, bound=SensitivityBound(5.0, 5.0, "", ""))
    ratio = Fraction(2) if family.discrete else Fraction(1)
    budget = ratio**2 / 2 if family.gaussian else ratio
    values = noise.add([0], m, family, budget, Neighbours.ADD_REMOVE, "test", draws).ravel()
    if family.discrete:
        assert (values == np.rint(values)).all()
    size = np.abs(values)
    expected, error = float(mean_absolute(family, np.array(scale))), size.std() / math.sqrt(draws)
    assert abs(size.mean() - expected) < 6 * error
    for factor in (0.7, 1.3):
        assert abs(size.mean() - float(mean_absolute(family, np.array(factor * scale)))) > 6 * error


@pytest.mark.parametrize("family", FAMILIES)
def test_opendp_certifies_the_loss_that_the_budget_pays_for(family: Family) -> None:
    """A peer's own privacy map, at our sensitivity and scale, gives back no more than the budget."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    budget, sensitivity = Fraction(7, 10), 1.0 if family.discrete else 3.7
    scale = release_scale(family, sensitivity, budget, family.gaussian)
    kind, whole = (int, int(sensitivity)) if family.discrete else (float, sensitivity)
    domain = dp.vector_domain(dp.atom_domain(T=int) if kind is int else dp.atom_domain(T=float, nan=False))
    if family.gaussian:
        loss = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale).map(float(sensitivity))
    else:
        loss = dp.m.make_laplace(domain, dp.l1_distance(T=kind), scale=scale).map(whole)
    assert 0.999 * float(budget) <= loss <= float(budget) * (1 + 1e-9)


def test_the_scale_of_a_choice_gives_back_its_budget_under_both_notions() -> None:
    for zcdp, budget in ((False, Fraction(1, 2)), (True, Fraction(1, 50))):
        epsilon = 2 * 0.9 / release_scale(Family.RANK, 0.9, budget, zcdp)  # the exponential mechanism
        cost = epsilon**2 / 8 if zcdp else epsilon
        assert float(budget) * (1 - 1e-9) <= cost <= float(budget)


@pytest.mark.statistical
@pytest.mark.parametrize("secure", [True, False])
def test_a_quantile_is_found_where_it_is(secure: bool) -> None:
    m = measured.quantile(Filter(), "x", ValueGrid.of(0.0, 100.0), 0.25, 200)
    values = np.random.Generator(np.random.PCG64(5)).uniform(0, 100, 4000)
    counts = m.candidates.counts(m.domains[0].places(values))
    noise = Noise.secure() if secure else Noise.seeded(9)
    found = list(noise.choose(counts, m, Fraction(1), False, Neighbours.REPLACE_ONE, "q", 60))
    assert abs(np.mean(found) - np.quantile(values, 0.25)) < 1.0
    # ε = 1, n·f = 40 records a unit: errors of about 2/40, plus half a cell of the grid.
    assert np.abs(np.array(found) - np.quantile(values, 0.25)).mean() < 1.0


# --- accounting -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-9])
def test_conversions_are_inverse_and_safe(epsilon: float, delta: float) -> None:
    rho = rho_for(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho, delta) == pytest.approx(epsilon, rel=1e-4)
    assert epsilon_of(1.01 * rho, delta) > epsilon


def test_the_conversion_is_between_the_limits_known_by_hand() -> None:
    """ρ-zCDP gives at most ρ + 2√(ρ·ln 1/δ) (Bun and Steinke 2016), and never less than ρ."""
    for rho in (0.01, 0.5, 3.0):
        assert rho < epsilon_of(rho, 1e-6) <= rho + 2 * math.sqrt(rho * math.log(1e6))


def test_budgets_in_their_currency() -> None:
    assert PrivacyBudget(epsilon=Fraction(2)).total == 2
    assert PrivacyBudget(rho=Fraction(1, 3)).total == Fraction(1, 3)
    rho = PrivacyBudget(epsilon=Fraction(1), delta=Fraction(1, 10**6)).total
    assert Fraction(2, 100) < rho < Fraction(3, 100)
