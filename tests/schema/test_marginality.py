"""Marginality (Sánchez et al. 2016, eq. 4) and the total order by distance to the most marginal category."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import taxonomies

from coterie.errors import ParameterError
from coterie.schema.taxonomy.semantics import (
    LARGEST_CLUSTER,
    cluster_counts,
    distance_matrix,
    domain_marginality,
    marginality,
    marginality_order,
)
from coterie.schema.taxonomy.tree import Edge, Taxonomy


@given(taxonomies(), st.data())
def test_marginality_is_the_sum_of_distances_exactly(tree: Taxonomy, data: st.DataObject) -> None:
    size = len(tree.categories)
    records = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, size - 1)), max_size=30))
    clusters = np.array([cluster for cluster, _ in records], dtype=np.int32)
    codes = np.array([code for _, code in records], dtype=np.int32)
    distance = distance_matrix(tree)
    scores = marginality(cluster_counts(clusters, codes, 3, size), distance)
    for cluster in range(3):
        for candidate in range(size):
            members = [code for where, code in records if where == cluster]
            # Any order of addition gives the same double: that is what the grid is for.
            assert scores[cluster, candidate] == sum(distance[code, candidate] for code in members)


def test_the_order_starts_at_the_most_marginal_and_moves_away_from_it() -> None:
    lone = [Edge("far", "deep"), Edge("deep", "root")]
    tree = Taxonomy.build([*lone, *(Edge(label, "near") for label in "abc"), Edge("near", "root")])
    distance = distance_matrix(tree)
    order = marginality_order(distance)
    assert tree.labels(order) == ["far", "a", "b", "c"]
    assert domain_marginality(distance).argmax() == tree.codes(["far"])[0]


@given(taxonomies())
def test_the_public_order_is_a_permutation_by_rising_distance(tree: Taxonomy) -> None:
    distance = distance_matrix(tree)
    order = marginality_order(distance)
    assert sorted(order.tolist()) == list(range(len(distance)))
    assert domain_marginality(distance)[order[0]] == domain_marginality(distance).max()
    along = distance[order[0], order]
    assert (np.diff(along) >= 0).all()
    ties = np.diff(along) == 0
    assert (np.diff(order)[ties] > 0).all()


def test_a_cluster_too_large_for_exact_sums_is_refused() -> None:
    distance = distance_matrix(Taxonomy.flat("ab"))
    marginality(np.array([[LARGEST_CLUSTER, 0.0]]), distance)
    with pytest.raises(ParameterError, match="smaller k"):
        marginality(np.array([[LARGEST_CLUSTER, 1.0]]), distance)
