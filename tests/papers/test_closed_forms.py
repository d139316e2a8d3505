"""The closed forms against a simulation of the same text, and the judges against runs whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.papers import closed_form
from coterie.papers.expectations import against
from coterie.papers.grids import PaperGrid
from coterie.papers.judging import everywhere, jackknife, within

VALUES = np.random.Generator(np.random.PCG64(1)).gamma(2, 10, size=200).round()
HIGH = 1.5 * VALUES.max()
DRAWS = 20_000


@pytest.mark.parametrize("step", [None, 1.0])
@pytest.mark.parametrize(
    ("method", "k"), [("laplace", 1), ("dp-ir", 7), ("dp-um", 7), ("idp-ls", 7), ("idp-cbls", 9)]
)
def test_closed_forms_are_the_means_of_many_draws(method: str, k: int, step: float | None) -> None:
    groups = closed_form.grouped(VALUES, method, k, 0, HIGH, 2.0)
    unit = np.maximum(HIGH / 100, groups.values)
    noise = np.random.Generator(np.random.PCG64(0)).laplace(size=(DRAWS, len(groups.centre)))
    released = np.clip(groups.centre + groups.scale * noise, 0, HIGH)
    if step:
        released = np.clip(np.rint(released), 0, np.floor(HIGH))
    rows = np.repeat(released, groups.sizes, axis=1)
    squared, error = (
        np.sum((rows - groups.values) ** 2, axis=1),
        closed_form.squared_error(groups, 0, HIGH, step),
    )
    absolute = np.sum(np.abs(rows - groups.values) / unit, axis=1)
    variance = np.var(rows, axis=1, ddof=1)
    for drawn, exact in (
        (squared, error.mean),
        (absolute, closed_form.absolute_error(groups, unit, 0, HIGH, step)),
        (variance, closed_form.variance(groups, 0, HIGH, step)),
    ):
        assert abs(drawn.mean() - exact) < 5 * drawn.std() / np.sqrt(DRAWS)  # fixed seed; 5 of 10⁶ otherwise
    assert np.var(squared) == pytest.approx(error.variance, rel=0.1)


def test_groups_are_those_of_the_text() -> None:
    groups = closed_form.grouped(np.arange(10.0), "idp-cbls", 3, 0, 20, 1.0)
    assert groups.sizes.tolist() == [3, 3, 4]
    # The smallest becomes the second smallest, the largest the second largest: 6 7 8 9 → 7 7 8 8.
    assert groups.centre.tolist() == [1, 4, 7.5]
    # Expression (2): |x_max − x_min'| + |x_min'' − x_min'| + |x_max − x_max'| = (9 − 7) + (8 − 7) + (9 − 8).
    assert groups.scale.tolist() == [1, 1, 1]
    local = closed_form.grouped(np.arange(10.0), "idp-ls", 3, 0, 20, 0.5)
    assert local.scale.tolist() == pytest.approx([20 / 3 / 0.5, 17 / 3 / 0.5, 14 / 4 / 0.5])


def test_tiny_and_huge_scales_keep_their_digits() -> None:
    centre, scale = np.full(3, 40.0), np.array([0.0, 1e-9, 1e9])
    one, two = closed_form.deviation(centre, scale, 0, 100, None, highest=2)
    assert one == pytest.approx([0, 0, 10], abs=1e-6)  # all noise: half of the draws at either end
    assert two == pytest.approx([0, 2e-18, (40**2 + 60**2) / 2], rel=1e-6)


def _grid(runs: np.ndarray) -> PaperGrid:
    return PaperGrid((1,), ("1",), {"m": {("a", "1", 1): runs}}, {}, {})


def _mean(grid: PaperGrid) -> float:
    return grid.mean["m"]["a", "1", 1]


def test_a_range_is_judged_with_its_chance_of_error() -> None:
    runs = np.random.Generator(np.random.PCG64(0)).normal(1.0, 0.1, size=100)
    found = jackknife(_mean, _grid(runs))
    assert float(found.error[0]) == pytest.approx(runs.std(ddof=1) / 10, rel=0.3)
    sure = within("c", "p", found, 0.5, 1.5, "t")
    unsure = within("c", "p", found, 0.5, float(found.value[0]) + 0.001, "t")
    assert sure.holds
    assert sure.error == "below 1 in 1,000,000"
    assert unsure.holds
    assert unsure.error.startswith("about ")


def test_where_there_is_a_closed_form_the_runs_must_agree_with_it() -> None:
    runs = np.random.Generator(np.random.PCG64(0)).normal(1.0, 0.1, size=100)
    right, wrong = (
        jackknife(_mean, _grid(runs * factor), exact=[_grid(np.ones(1))]) for factor in (1.0, 2.0)
    )
    assert within("c", "p", right, 0, 3, "t").holds
    assert not within("c", "p", wrong, 0, 3, "t").holds
    assert "which disagree" in within("c", "p", wrong, 0, 3, "t").measured


def test_many_points_are_contradicted_only_beyond_chance() -> None:
    generator = np.random.Generator(np.random.PCG64(0))
    level = generator.normal(0.0, 1.0, size=(200, 50))  # no truth at any point
    assert "contradicted at 0" in everywhere("c", "p", level, least=0.0).measured
    level[0] -= 2
    judged = everywhere("c", "p", level, least=0.0)
    assert not judged.holds
    assert "contradicted at 1" in judged.measured


def test_a_mean_far_from_its_closed_form_is_noticed_and_rare_draws_are_not() -> None:
    exact, error = np.array([1.0, 2.0]), np.array([0.01, 0.01])
    assert against(exact, exact + 0.05, error, np.zeros(2), 100, "text").holds
    assert not against(exact, exact + 0.07, error, np.zeros(2), 100, "text").holds
    assert against(exact, exact + 0.07, error, np.full(2, 0.02), 100, "text").holds
    assert not against(exact, exact * 1.001, np.zeros(2), np.zeros(2), 100, "text").holds
