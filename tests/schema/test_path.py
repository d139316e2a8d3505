"""Public orders and their path length."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import taxonomies

from coterie.errors import ParameterError
from coterie.schema.taxonomy.loading import ADULT_ATTRIBUTES, adult
from coterie.schema.taxonomy.semantics import distance_matrix, marginality_order, path_length, short_order
from coterie.schema.taxonomy.tree import Taxonomy


@given(taxonomies())
def test_length_is_the_sum_of_steps(tree: Taxonomy) -> None:
    distance = distance_matrix(tree)
    order = marginality_order(distance)
    assert path_length(distance, order) == sum(distance[a, b] for a, b in pairwise(order))


@given(taxonomies())
def test_short_order_is_a_permutation_no_longer_than_the_trees_own(tree: Taxonomy) -> None:
    distance = distance_matrix(tree)
    order = short_order(distance)
    assert order.dtype == np.int32
    assert path_length(distance, order) <= path_length(distance, np.arange(len(distance)))
    assert (short_order(distance) == order).all()


@given(taxonomies(most=9, inner=False))
def test_short_order_is_near_the_shortest_of_all(tree: Taxonomy) -> None:
    distance = distance_matrix(tree)
    if len(distance) > 6:
        return
    best = min(path_length(distance, np.array(order)) for order in permutations(range(len(distance))))
    assert path_length(distance, short_order(distance)) <= 1.1 * best


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=3, max_size=9, unique=True))
def test_no_reversal_of_a_stretch_makes_the_order_shorter(points: list[tuple[int, int]]) -> None:
    """2-opt, on places in a plane: trees are so kind that nearest neighbour alone does well on them."""
    at = np.array(points, dtype=float)
    distance = np.hypot(*(at[:, None, :] - at[None, :, :]).transpose(2, 0, 1))
    order = short_order(distance)
    for i, j in combinations(range(len(order) + 1), 2):
        turned = np.concatenate([order[:i], order[i:j][::-1], order[j:]])
        assert path_length(distance, turned) >= path_length(distance, order) - 1e-9


@pytest.mark.parametrize("attribute", ADULT_ATTRIBUTES)
def test_short_order_is_no_longer_than_the_marginality_order_for_adult(attribute: str) -> None:
    distance = distance_matrix(adult(attribute))
    assert path_length(distance, short_order(distance)) <= path_length(distance, marginality_order(distance))


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2, 0]])
def test_an_order_that_is_no_permutation_is_refused(order: list[int]) -> None:
    with pytest.raises(ParameterError, match="exactly once"):
        path_length(distance_matrix(Taxonomy.flat("abc")), np.array(order))
