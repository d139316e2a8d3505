"""The papers' tables have the rows and domains that the papers print."""

from __future__ import annotations

import pytest

from coterie.papers import tables
from coterie.papers.data import available
from coterie.schema.attributes import Source

pytestmark = pytest.mark.skipif(
    not all(available(name) for name in ("census", "adult-train", "adult-test", "wine-red", "wine-white")),
    reason="public data not here: set COTERIE_DATA",
)


def test_numbers_of_records() -> None:
    assert tables.census().shape == (1080, 13)
    assert tables.adult().num_rows == 30_162
    assert tables.adult(("adult-train", "adult-test")).num_rows == 45_222
    assert tables.white_wine().num_rows == 4_898
    assert tables.both_wines().shape == (6_497, 11)


def test_domains_are_alpha_times_the_maximum_and_say_that_they_come_from_the_data() -> None:
    census = tables.census()
    schema = tables.numeric_schema(census.select(tables.CENSUS_SORIA_COMAS), alpha=1.5)
    assert len(schema.protected) == 9
    for attribute in schema.protected:
        domain = attribute.bounds()
        assert domain.lower == 0
        assert domain.upper == 1.5 * max(census.column(attribute.name).to_pylist())
        assert domain.source is Source.DATA


def test_categories_of_the_fragmented_adult_are_ranked_by_frequency() -> None:
    adult = tables.adult(("adult-train", "adult-test"))
    schema = tables.adult_fragmented_schema(adult)
    assert [attribute.name for attribute in schema.protected] == list(tables.ADULT_FRAGMENTED)
    labels = schema["native-country"].categories.labels  # type: ignore[union-attr]
    assert labels[0] == "United-States"  # type: ignore[index]
    assert schema["workclass"].order_from_data or schema["workclass"].from_data


def test_attributes_of_sanchez_2016() -> None:
    schema = tables.adult_sanchez_2016_schema(tables.adult())
    assert [attribute.name for attribute in schema.protected] == [
        "age",
        "hours-per-week",
        "occupation",
        "native-country",
    ]
    assert schema["age"].bounds().upper == 135
