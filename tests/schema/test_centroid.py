"""The marginality centroid (Sánchez et al. 2016, eq. 5) against a brute-force reading of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from random_trees import taxonomies

from coterie.schema.taxonomy import semantics as centroid
from coterie.schema.taxonomy.semantics import (
    cluster_counts,
    distance_matrix,
    marginality_centroids,
    minimum_taxonomy,
)
from coterie.schema.taxonomy.tree import Edge, Taxonomy


def nodes_of_minimum_taxonomy(tree: Taxonomy, values: set[str]) -> set[str]:
    """The paths from the values up to the lowest of their common ancestors."""
    paths = [tree.ancestors(value) for value in values]
    common = set.intersection(*(set(path) for path in paths))
    lowest = max(common, key=lambda label: len(tree.ancestors(label)))
    return {label for path in paths for label in path[: path.index(lowest) + 1]}


@given(taxonomies(), st.data())
def test_against_brute_force(tree: Taxonomy, data: st.DataObject) -> None:
    size = len(tree.categories)
    groups = data.draw(
        st.lists(st.lists(st.integers(0, size - 1), min_size=1, max_size=8), min_size=1, max_size=5)
    )
    clusters = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    counts = cluster_counts(clusters, np.concatenate(groups), len(groups), size)
    distance = distance_matrix(tree)
    chosen = marginality_centroids(counts, tree, distance)
    inside = minimum_taxonomy(counts, tree)
    for row, group in enumerate(groups):
        allowed = nodes_of_minimum_taxonomy(tree, set(tree.labels(np.array(group))))
        candidates = [code for code in range(size) if tree.categories[code] in allowed]
        assert np.flatnonzero(inside[row]).tolist() == candidates
        scores = {code: sum(distance[code, value] for value in group) for code in candidates}
        assert chosen[row] == min(candidates, key=lambda code: (scores[code], code))


def test_leaves_only_means_a_value_of_the_cluster() -> None:
    tree = Taxonomy.build(
        [Edge("a", "in"), Edge("b", "in"), Edge("c", "in"), Edge("in", "root"), Edge("z", "root")]
    )
    counts = np.array([[1.0, 1.0, 0.0, 1.0]])
    chosen = marginality_centroids(counts, tree, distance_matrix(tree))
    assert tree.labels(chosen) == ["a"]


def test_an_inner_category_can_be_the_centroid_of_values_below_it() -> None:
    # Four siblings: 3·log2(3/2) = 1.75 from each to the others, 4·log2(4/3) = 1.66 from above.
    leaves = ["a", "b", "c", "d"]
    edges = [Edge("in", "root"), Edge("z", "root"), *(Edge(label, "in") for label in leaves)]
    tree = Taxonomy.build(edges, [*leaves, "in", "z"])
    counts = cluster_counts(np.zeros(4, dtype=np.int32), tree.codes(leaves), 1, 6)
    assert tree.labels(marginality_centroids(counts, tree, distance_matrix(tree))) == ["in"]


def test_blocks_do_not_change_the_result(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    tree = Taxonomy.flat("abcde")
    counts = np.random.default_rng(3).integers(0, 4, (50, 5)).astype(float) + np.eye(5)[np.arange(50) % 5]
    whole = marginality_centroids(counts, tree, distance_matrix(tree))
    monkeypatch.setattr(centroid, "_BLOCK", 7)
    assert (marginality_centroids(counts, tree, distance_matrix(tree)) == whole).all()
