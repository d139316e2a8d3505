"""The table of sensitivities of a privacy unit (the design's UNITS.md, sections 1 to 3), line by line and by enumeration.

A unit of at most c rows is added to every table of a few other rows. S: its contents are replaced, and their number stays.
A: it is there or not. X: it is exchanged for any other of 0 to c rows. What is largest over all pairs is what the line says;
lines that are called loose may stay below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from coterie.statistics.prediction import measurement as measured
from coterie.statistics.prediction.measurement import Measurement
from coterie.statistics.prediction.value_grid import ValueGrid, distances
from coterie.statistics.releasing.measuring import finish
from coterie.statistics.specification.filters import Filter
from unit_neighbours import moves

LOW, MIDDLE, HIGH = -2.0, 2.0, 6.0
WIDTH, LARGEST = HIGH - LOW, 6.0
Row = tuple[str, float | None]
Rows = Sequence[Row]
VALUES = (LOW, MIDDLE, HIGH)
ROWS: list[Row] = [(group, value) for group in "gh" for value in (LOW, HIGH)]
GAPPY: list[Row] = [("g", value) for value in (None, *VALUES)]
SINGLE: list[Row] = [("g", value) for value in VALUES]
GRID = ValueGrid.of(LOW, HIGH)
TWO = 2.0**0.5


def histogram(rows: Rows) -> list[float]:
    return [sum(row == cell for row in rows) for cell in ROWS]


def gapped_histogram(rows: Rows) -> list[float]:
    return [sum(row == cell for row in rows) for cell in GAPPY]


def one_count(rows: Rows) -> list[float]:
    return [sum(value == HIGH for _, value in rows)]


def one_sum(rows: Rows) -> list[float]:
    return [sum(value for _, value in rows if value is not None)]


def sums_by_group(rows: Rows) -> list[float]:
    return [sum(value or 0.0 for name, value in rows if name == group) for group in "gh"]


def present_and_centred(rows: Rows) -> list[float]:
    there = [value - MIDDLE for _, value in rows if value is not None]
    return [len(there), sum(there)]


def weighted_count(rows: Rows) -> list[float]:
    """Weights of 1 and 5, so w_max is 5."""
    return [sum(5.0 if group == "g" else 1.0 for group, value in rows if value == HIGH)]


def padded(made: Measurement) -> Callable[[Rows], list[float]]:
    def read(rows: Rows) -> list[float]:
        places = GRID.places(np.array([value for _, value in rows], dtype=float)).tolist()
        return [made.value(finish(made, len(places), sum(places), sum(place**2 for place in places)))]

    return read


def quantile_score(level: float) -> Callable[[Rows], list[float]]:
    """Of each of the three values, ties among them."""

    def read(rows: Rows) -> list[float]:
        counts = np.array([sum(value == at for _, value in rows) for at in VALUES])
        return [float(score) for score in -np.asarray(distances(counts, level))]

    return read


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize(
    ("read", "kinds", "first", "second"),
    [
        (histogram, ROWS, (2, 1, 2), (TWO, 1, TWO)),
        (gapped_histogram, GAPPY, (2, 1, 2), (TWO, 1, TWO)),  # missing has its own cell, and changes nothing
        (one_count, ROWS, (1, 1, 1), (1, 1, 1)),
        (one_sum, SINGLE, (WIDTH, LARGEST, max(WIDTH, LARGEST)), (WIDTH, LARGEST, WIDTH)),
        (
            sums_by_group,
            ROWS,
            (2 * LARGEST, LARGEST, 2 * LARGEST),
            (max(WIDTH, TWO * LARGEST), LARGEST, max(WIDTH, TWO * LARGEST)),
        ),
        # B is the largest |y − centre|.
        (present_and_centred, GAPPY, (max(2 * 4, 1 + 4), 1 + 4, max(2 * 4, 1 + 4)), None),
        (weighted_count, ROWS, (5, 5, 5), (5, 5, 5)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_readings_that_add_up(
    read: Callable[[Rows], list[float]],
    kinds: list[Row],
    first: tuple[float, float, float],
    second: tuple[float, float, float] | None,
    c: int,
) -> None:
    """L1 (`first`) and L2 (`second`) of a row under S, A and X; c rows move the reading c times as far, and no further."""
    found = moves(read, kinds, c, others=1)
    for place, relation in enumerate("SAX"):
        assert found[relation][0] == pytest.approx(c * first[place])
        if second is not None:
            assert found[relation][1] == pytest.approx(c * second[place])


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.75])
def test_the_score_of_a_quantile_ties_too(level: float, c: int) -> None:
    found = moves(quantile_score(level), SINGLE, c, others=2 * c)
    entering = max(level, 1 - level)
    for relation, each in (("S", 1.0), ("A", entering), ("X", 1.0)):
        assert found[relation][2] <= c * each + 1e-9
    assert found["S"][2] == pytest.approx(c)
    assert found["A"][2] == pytest.approx(c * entering)
    bound = measured.quantile(Filter(), "x", GRID, level, 10).bound
    assert bound.swap == pytest.approx(1.0)
    assert bound.enter == pytest.approx(entering)


@pytest.mark.parametrize(("c", "least"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 3)])
def test_padded_means_and_spreads(c: int, least: int) -> None:
    """Means are tight under S and X; variances and standard deviations are called loose."""
    mean = measured.mean(Filter(), "x", GRID, least)
    found = moves(padded(mean), SINGLE, c, others=least)
    assert found["S"][0] == pytest.approx(c * WIDTH / least)
    assert found["X"][0] == pytest.approx(c * WIDTH / least)
    assert found["A"][0] <= WIDTH * max(c / (least + c), c / (2 * least)) + 1e-9
    assert c * mean.bound.swap >= found["X"][0] - 1e-9
    assert c * mean.bound.enter >= found["A"][0] - 1e-9
    if least > 1:
        for made, largest in (
            (measured.variance(Filter(), "x", GRID, least), c * WIDTH**2 / least),
            (measured.std(Filter(), "x", GRID, least), c * WIDTH / least**0.5),
        ):
            found = moves(padded(made), SINGLE, c, others=least)
            assert max(norms[0] for norms in found.values()) <= largest + 1e-9
            assert c * made.bound.swap == pytest.approx(largest)
