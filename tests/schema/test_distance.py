"""δ of Sánchez et al. 2016, eq. (3): the formula, and the metric laws, exactly and without tolerance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from random_trees import taxonomies

from coterie.schema.taxonomy.loading import ADULT_ATTRIBUTES, adult
from coterie.schema.taxonomy.semantics import GRID, distance_matrix
from coterie.schema.taxonomy.tree import DEEPEST, Edge, Taxonomy


def by_sets(tree: Taxonomy, one: str, other: str) -> float:
    phi, psi = set(tree.ancestors(one)), set(tree.ancestors(other))
    return math.log2(1 + (len(phi | psi) - len(phi & psi)) / len(phi | psi))


def assert_metric(distance: np.ndarray) -> None:
    assert (np.diagonal(distance) == 0).all()
    assert (distance == distance.T).all()
    assert (distance[~np.eye(len(distance), dtype=bool)] > 0).all()
    assert distance.max() <= 1
    through = distance[:, :, None] + distance[None, :, :]  # a → b → c; sums on the grid are exact
    assert (distance[:, None, :] <= through).all()


def test_values_by_hand() -> None:
    tree = Taxonomy.build([Edge("x", "in"), Edge("y", "in"), Edge("in", "root"), Edge("z", "root")])
    distance = distance_matrix(tree)
    x, y, z = tree.codes(["x", "y", "z"])
    # φ(x) = {x, in, root}; with y two of four are common, with z one of four.
    assert distance[x, y] == pytest.approx(math.log2(1.5), abs=GRID)
    assert distance[x, z] == pytest.approx(math.log2(1.75), abs=GRID)


def test_a_flat_list_has_one_distance() -> None:
    distance = distance_matrix(Taxonomy.flat("abcd"))
    assert set(distance[~np.eye(4, dtype=bool)]) == {round(math.log2(5 / 3) / GRID) * GRID}


@given(taxonomies())
def test_the_matrix_is_the_formula_rounded_to_the_grid(tree: Taxonomy) -> None:
    distance = distance_matrix(tree)
    for i, one in enumerate(tree.categories):
        for j, other in enumerate(tree.categories):
            assert abs(distance[i, j] - by_sets(tree, one, other)) <= GRID / 2 + 1e-15
    assert (distance / GRID == np.rint(distance / GRID)).all()


@given(taxonomies(most=20))
def test_metric_laws_on_random_trees(tree: Taxonomy) -> None:
    assert_metric(distance_matrix(tree))


@pytest.mark.parametrize("attribute", ADULT_ATTRIBUTES)
def test_metric_laws_on_our_taxonomies(attribute: str) -> None:
    assert_metric(distance_matrix(adult(attribute)))


def test_metric_laws_hold_in_the_deepest_tree_where_slack_is_least() -> None:
    # A chain whose every node is a category: neighbouring deep nodes are as near as can be.
    names = [f"n{at:03d}" for at in range(DEEPEST)]
    chain = Taxonomy.build([Edge(names[at], names[at - 1] if at else None) for at in range(DEEPEST)], names)
    assert_metric(distance_matrix(chain))


def test_the_matrix_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        distance_matrix(Taxonomy.flat("ab"))[0, 1] = 0.0
