"""The shipped taxonomies hold exactly the labels of the data."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from random_trees import data_file

from coterie.errors import ParameterError
from coterie.schema.taxonomy.loading import adult, read_wordnet
from coterie.schema.taxonomy.semantics import distance_matrix


@pytest.mark.parametrize(("attribute", "leaves"), [("occupation", 14), ("native-country", 41)])
def test_sizes_and_shape(attribute: str, leaves: int) -> None:
    tree = adult(attribute)
    assert len(tree.categories) == leaves
    assert 3 <= max(len(tree.ancestors(label)) for label in tree.categories) <= 6


@pytest.mark.parametrize("attribute", ["occupation", "native-country"])
@pytest.mark.parametrize("file", ["adult_train.csv.gz", "adult_test.csv.gz"])
def test_every_label_of_the_data_is_a_category(attribute: str, file: str) -> None:
    with gzip.open(data_file(file), "rt", encoding="utf-8") as lines:
        labels = {row[attribute] for row in csv.DictReader(lines)} - {"?"}
    tree = adult(attribute)
    assert labels <= set(tree.categories)
    if file == "adult_train.csv.gz":
        assert labels == set(tree.categories)


def test_neighbours_in_meaning_are_near() -> None:
    countries = adult("native-country")
    distance = distance_matrix(countries)
    france, germany, japan = countries.codes(["France", "Germany", "Japan"])
    assert distance[france, germany] < distance[france, japan]
    work = adult("occupation")
    distance = distance_matrix(work)
    clerk, support, farmer = work.codes(["Adm-clerical", "Tech-support", "Farming-fishing"])
    assert distance[clerk, support] < distance[clerk, farmer]


@pytest.mark.parametrize("attribute", ["occupation", "native-country"])
def test_both_kinds_have_the_same_categories(attribute: str, wordnet_folder) -> None:  # type: ignore[no-untyped-def]
    mapping = Path(__file__).with_name(f"adult-{attribute}.wordnet.yaml")
    tree = read_wordnet(mapping, wordnet_folder)
    assert set(tree.categories) == set(adult(attribute).categories)
    assert tree.nodes[0] == "entity.n.01"
    assert 0.5 < np.max(distance_matrix(tree)) < 1


def test_another_attribute_is_refused() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'occupation'"):
        adult("ocupation")
