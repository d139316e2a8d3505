"""The two sensitivities of marginality by brute force over whole small worlds of tables."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import taxonomies

from coterie.chain.sensitivity import cluster_sensitivity, list_sensitivity
from coterie.errors import ParameterError
from coterie.schema.taxonomy.semantics import cluster_counts, distance_matrix, marginality, marginality_order
from coterie.schema.taxonomy.tree import Edge, Taxonomy


def scores_of_list(ranks: np.ndarray, order: np.ndarray, distance: np.ndarray, k: int) -> np.ndarray:
    """Sort by the public order, cut clusters of k (the last takes the rest), score every category."""
    codes = order[np.sort(ranks)]
    count = max(1, len(codes) // k)
    clusters = np.minimum(np.arange(len(codes)) // k, count - 1)
    return marginality(cluster_counts(clusters, codes, count, len(distance)), distance)


def worst_change(order: np.ndarray, distance: np.ndarray, n: int, k: int) -> float:
    """max over all neighbouring tables of Σ_j max_a |m(S'_j, a) - m(S_j, a)|."""
    worst = 0.0
    for rest in combinations_with_replacement(range(len(distance)), n - 1):
        scored = [
            scores_of_list(np.array([*rest, value]), order, distance, k) for value in range(len(distance))
        ]
        for one, other in product(scored, repeat=2):
            worst = max(worst, float(np.abs(one - other).max(axis=1).sum()))
    return worst


@given(taxonomies(), st.data())
def test_one_replacement_moves_one_cluster_by_at_most_the_largest_distance(
    tree: Taxonomy, data: st.DataObject
) -> None:
    distance = distance_matrix(tree)
    code = st.integers(0, len(distance) - 1)
    members = data.draw(st.lists(code, min_size=1, max_size=10))
    before = np.bincount(members, minlength=len(distance))
    members[data.draw(st.integers(0, len(members) - 1))] = data.draw(code)
    after = np.bincount(members, minlength=len(distance))
    change = marginality(np.array([after, before], dtype=float), distance)
    assert np.abs(change[0] - change[1]).max() <= cluster_sensitivity(distance) <= 1


def test_the_bound_of_one_cluster_is_reached_whatever_k_is() -> None:
    """Neither δ_max/k (as for means) nor k·δ_max: GUARANTEES.md's counterexample."""
    distance = distance_matrix(Taxonomy.flat("ab"))
    for k in (1, 5, 50):
        scores = marginality(np.array([[k, 0.0], [k - 1, 1.0]]), distance)
        assert np.abs(scores[0] - scores[1]).max() == cluster_sensitivity(distance)


@settings(max_examples=25, deadline=None)
@given(taxonomies(most=6), st.sampled_from([(3, 1), (4, 2), (5, 2), (4, 1)]), st.data())
def test_the_path_bounds_the_change_of_the_whole_list(
    tree: Taxonomy, sizes: tuple[int, int], data: st.DataObject
) -> None:
    distance = distance_matrix(tree)
    order = np.array(data.draw(st.permutations(range(len(distance)))))
    n, k = sizes
    if len(distance) > 5:
        return
    worst = worst_change(order, distance, n, k)
    assert worst <= list_sensitivity(distance, order, max(1, n // k))


def test_the_path_is_reached_so_nothing_smaller_would_do() -> None:
    tree = Taxonomy.build([Edge("a", "in"), Edge("b", "in"), Edge("in", "root"), Edge("c", "root")])
    distance = distance_matrix(tree)
    order = marginality_order(distance)
    path = float(distance[order[:-1], order[1:]].sum())
    # Clusters {x}, {v} … at k = 1: the replaced record walks the whole order.
    assert worst_change(order, distance, 3, 1) == path == list_sensitivity(distance, order, 3)
    assert path > cluster_sensitivity(distance)
    assert list_sensitivity(distance, order, 1) == cluster_sensitivity(distance)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_list_is_private_at_the_path_and_not_at_the_papers_scale(epsilon: float) -> None:
    """Every output of every pair of neighbours: the loss is at most ε with P, and above ε with δ_max."""
    tree = Taxonomy.build([Edge("a", "in"), Edge("b", "in"), Edge("in", "*"), *(Edge(x, "*") for x in "cde")])
    distance = distance_matrix(tree)
    order = marginality_order(distance)

    def worst_loss(scale: float) -> float:
        worst = 0.0
        for rest in combinations_with_replacement(range(5), 3):
            logs = []
            for value in range(5):
                scores = scores_of_list(np.array([*rest, value]), order, distance, 1)
                weights = np.exp(-epsilon * scores / (2 * scale))
                logs.append(np.log(weights / weights.sum(axis=1, keepdims=True)))
            for one, other in product(logs, repeat=2):
                worst = max(worst, float((one - other).max(axis=1).sum()))  # each cluster's worst output
        return worst

    at_path = worst_loss(list_sensitivity(distance, order, 4))
    as_in_paper = worst_loss(cluster_sensitivity(distance))
    assert 0.3 * epsilon < at_path <= epsilon + 1e-12
    assert 1.2 * epsilon < as_in_paper <= min(4, 5 - 1) * epsilon + 1e-12


def test_one_label_costs_nothing_and_no_cluster_is_refused() -> None:
    assert math.isclose(list_sensitivity(distance_matrix(Taxonomy.flat("a")), np.array([0]), 5), 0.0)
    with pytest.raises(ParameterError, match="no cluster"):
        list_sensitivity(distance_matrix(Taxonomy.flat("ab")), np.array([0, 1]), 0)
