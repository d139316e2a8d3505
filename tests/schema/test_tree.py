"""Trees of categories: order, ancestors, round trips, and every way a tree can be wrong."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import taxonomies

from coterie.errors import DataError, SchemaError
from coterie.schema.taxonomy.tree import DEEPEST, Edge, Taxonomy

WORLD = [
    Edge("World", None),
    Edge("Europe", "World"),
    Edge("Asia", "World"),
    Edge("Italy", "Europe"),
    Edge("France", "Europe"),
    Edge("Japan", "Asia"),
]


def test_nodes_are_depth_first_with_sorted_siblings() -> None:
    tree = Taxonomy.build(WORLD)
    assert tree.nodes == ("World", "Asia", "Japan", "Europe", "France", "Italy")
    assert tree.parents == (-1, 0, 1, 0, 3, 3)
    assert tree.categories == ("Japan", "France", "Italy")


def test_ancestors_include_the_label_itself() -> None:
    tree = Taxonomy.build(WORLD)
    assert tree.ancestors("France") == ("France", "Europe", "World")
    assert tree.ancestors("World") == ("World",)
    with pytest.raises(SchemaError, match=r"no label 'Frence'.*'France'"):
        tree.ancestors("Frence")


def test_an_inner_concept_may_be_a_category() -> None:
    tree = Taxonomy.build(WORLD, ["France", "Europe", "Japan"])
    assert tree.categories == ("Japan", "Europe", "France")
    assert Taxonomy.build(tree.edges(), ["Italy"]).categories == ("Italy",)


def test_codes_and_labels_are_inverse() -> None:
    tree = Taxonomy.build(WORLD)
    codes = tree.codes(["Italy", "Japan", "Italy"])
    assert codes.dtype == np.int32
    assert codes.tolist() == [2, 0, 2]
    assert tree.labels(codes) == ["Italy", "Japan", "Italy"]


def test_unknown_values_are_refused_and_labels_listed_without_the_value() -> None:
    tree = Taxonomy.build(WORLD)
    with pytest.raises(DataError, match=r"not categories .* position 2.*'France'") as caught:
        tree.codes(["Italy", "Frrance", "Zorn"])
    assert "Frrance" not in str(caught.value)
    assert "Zorn" not in str(caught.value)


def test_an_inner_node_is_no_value_unless_the_domain_lists_it() -> None:
    with pytest.raises(DataError, match="not categories"):
        Taxonomy.build(WORLD).codes(["Europe"])


def test_flat_list_is_depth_one() -> None:
    tree = Taxonomy.flat(["b", "a"])
    assert tree.categories == ("a", "b")
    assert tree.ancestors("a") == ("a", "*")


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([], "empty"),
        ([Edge("a", "r"), Edge("b", "s")], "2 roots, among them 'r' and 's'"),
        ([Edge("a", "b"), Edge("b", "a")], "cycle and no root"),
        ([Edge("x", "r"), Edge("a", "b"), Edge("b", "a")], "cycle: following 'a'"),
        ([Edge("a", "a")], "cycle"),
        ([Edge("a", "r"), Edge("a", "r", 7)], r"'a' appears twice \(line 7\)"),
        ([Edge("b", "r"), Edge("a", "r"), Edge("a", "b", 7)], "below 'r' and below 'b'"),
        ([Edge("", "r", 3)], r"empty.*\(line 3\)"),
        ([Edge(" a", "r")], "blank"),
        ([Edge(f"n{at + 1:03d}", f"n{at:03d}") for at in range(DEEPEST)], f"{DEEPEST} levels"),
    ],
)
def test_a_wrong_tree_is_refused(edges: list[Edge], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Taxonomy.build(edges)


@pytest.mark.parametrize(
    ("categories", "message"),
    [(["Frence"], "'France'"), (["France", "France"], "twice"), ([], "no categories")],
)
def test_a_wrong_domain_is_refused(categories: list[str], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Taxonomy.build(WORLD, categories)


@given(taxonomies(), st.integers(0, 2**32))
def test_the_order_of_the_source_does_not_matter(tree: Taxonomy, seed: int) -> None:
    edges = tree.edges()
    random.Random(seed).shuffle(edges)
    again = Taxonomy.build(edges, tree.categories[::-1])
    assert again == tree
    assert again.digest() == tree.digest()


@given(taxonomies(), taxonomies())
def test_digests_tell_trees_apart(one: Taxonomy, other: Taxonomy) -> None:
    assert (one.digest() == other.digest()) == (one == other)


@given(taxonomies())
def test_ancestry_matrix_agrees_with_ancestors(tree: Taxonomy) -> None:
    matrix = tree.ancestry()
    for code, label in enumerate(tree.categories):
        assert {tree.nodes[place] for place in np.flatnonzero(matrix[code])} == set(tree.ancestors(label))
