"""Lemma 1 of Sánchez et al. 2016 by brute force: how far one replacement moves the sorted list of centroids.

The lemma is about consecutive clusters of any sizes that do not depend on the data, so it is tried for every place of
the larger cluster; the chain puts it last.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.chain.partition.clustering import mean, summarise
from coterie.chain.partition.univariate import individual_ranking
from coterie.chain.sensitivity import LOCAL
from coterie.schema.attributes import Domain

TOP = 10
tables = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 3)).flatmap(
    lambda shape: st.tuples(
        st.just(shape[0]),
        st.lists(
            st.integers(0, TOP),
            min_size=shape[0] * shape[1] + shape[2] % shape[0],
            max_size=shape[0] * shape[1] + shape[2] % shape[0],
        ),
    )
)


def sums(values: list[int], sizes: list[int]) -> list[int]:
    ordered = sorted(values)
    ends = np.cumsum(sizes)
    return [sum(ordered[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


def replacements(values: list[int]) -> list[list[int]]:
    return [
        [*values[:place], new, *values[place + 1 :]] for place in range(len(values)) for new in range(TOP + 1)
    ]


@given(tables)
def test_lemma_1_for_every_place_of_the_remainder(table: tuple[int, list[int]]) -> None:
    k, values = table
    q, rest = divmod(len(values), k)
    for larger in range(q):
        sizes = [k + rest if place == larger else k for place in range(q)]
        before = sums(values, sizes)
        for other in replacements(values):
            moved = [abs(new - old) for new, old in zip(sums(other, sizes), before, strict=True)]
            # Σ|C_j||Δc_j| ≤ Δ: the per-cluster-size variant (dp-um, idp-ls), hence also Σ|Δc_j| ≤ Δ/k.
            assert sum(moved) <= TOP
            assert sum(Fraction(step, size) for step, size in zip(moved, sizes, strict=True)) <= Fraction(
                TOP, k
            )


def test_the_bound_is_reached() -> None:
    """Without this the test above could hold for a bound far too large."""
    assert sums([0, 0, 0, 0], [2, 2]) == [0, 0]
    assert sums([TOP, 0, 0, 0], [2, 2]) == [0, TOP]  # Σ|Δc| = Δ/k exactly


def test_the_chain_puts_the_remainder_last() -> None:
    values = np.array([5.0, 1, 4, 2, 3, 7, 6, 0])
    clustering = individual_ranking(values, 3)
    assert clustering.sizes.tolist() == [3, 5]
    assert mean(summarise(values, clustering, 0)).tolist() == [1.0, 5.0]


def test_lemma_1_fails_when_a_record_is_added_or_removed() -> None:
    """n 9 → 8 at k = 3: one centroid fewer, so the two lists cannot even be compared."""
    nine = np.arange(9.0)
    assert individual_ranking(nine, 3).count == 3
    assert individual_ranking(nine[:-1], 3).count == 2


@given(tables)
def test_idp_ls_loses_at_most_two_epsilon_for_the_centroid_list(table: tuple[int, list[int]]) -> None:
    """Scales frozen at the data: the exact loss is max Σ|Δc_j|/b_j = ε Σ|Δc_j|/LS_j over all replacements."""
    k, values = table
    column = np.array(values, dtype=float)
    clustering = individual_ranking(column, k)
    sensitivity = LOCAL.compute(summarise(column, clustering, 1), Domain(lower=0, upper=TOP), k)
    sizes = clustering.sizes.tolist()
    before = sums(values, sizes)
    for other in replacements(values):
        moved = np.array([abs(a - b) for a, b in zip(sums(other, sizes), before, strict=True)])
        assert np.sum(moved / clustering.sizes / sensitivity) <= 2 + 1e-12


def test_idp_ls_can_lose_almost_two_epsilon() -> None:
    """So the paper's ε does not hold for the list, and 2ε is no careless bound.

    Values that rise evenly by 1 in clusters of 1: replacing 0 by the top moves every value by one step, and every
    scale but the outer ones is near Δ/2.
    """
    top = 1000
    values = np.arange(0, top + 1, dtype=float)
    summary = summarise(values, individual_ranking(values, 1), 1)
    sensitivity = LOCAL.compute(summary, Domain(lower=0, upper=top), 1)
    moved = np.append(values[1:], top) - values
    loss = float(np.sum(moved / sensitivity))
    assert 1.3 < loss <= 2
