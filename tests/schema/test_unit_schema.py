"""`unit:` in a schema: read, written back, and refused with a sentence where it cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest

import coterie
from coterie.errors import SchemaError
from coterie.schema.attributes import Schema
from coterie.schema.unit import Above

ATTRIBUTES = {
    "household": {"role": "identifier"},
    "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 120}},
    "region": {"type": "integer", "role": "keep"},
}


def schema(unit: Any) -> Schema:
    return coterie.Schema.load({"unit": unit, "attributes": ATTRIBUTES})


def test_a_unit_is_read_and_written_back() -> None:
    found = schema({"column": "household", "at_most": 4})
    assert found.unit is not None
    assert (found.unit.at_most, found.unit.above, found.unit.word) == (4, Above.TRUNCATE, "household")
    assert coterie.Schema.load(found.to_yaml()) == found
    assert found.to_dict()["unit"] == {"column": "household", "at_most": 4}
    strict = schema({"column": "household", "at_most": 1, "above": "refuse", "name": "home"})
    assert coterie.Schema.load(strict.to_dict()) == strict
    assert strict.unit is not None
    assert (strict.unit.word, strict.unit.rows) == ("home", "at most 1 row")


def test_without_a_unit_nothing_is_written() -> None:
    assert "unit" not in coterie.Schema.load({"attributes": ATTRIBUTES}).to_dict()


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ({"column": "household"}, "at_most: this entry is missing"),
        ({"at_most": 4}, "column: this entry is missing"),
        ({"column": "household", "at_most": 0}, "a whole number from 1 up"),
        ({"column": "household", "at_most": True}, "a whole number from 1 up"),
        ({"column": "household", "at_most": 2.5}, "a whole number from 1 up"),
        ({"column": "household", "at_most": "four"}, "a whole number from 1 up"),
        ({"column": "home", "at_most": 4}, "no attribute is named 'home'"),
        ({"column": "age", "at_most": 4}, "'age' has `role: protect`"),
        ({"column": "region", "at_most": 4}, "'region' has `role: keep`"),
        ({"column": "household", "at_most": 4, "above": "ignore"}, "no such choice"),
        ({"column": "household", "at_most": 4, "most": 3}, "no such entry"),
        ({"column": "household", "at_most": 4, "name": "row"}, "one word"),
        ("household", "mapping"),
    ],
)
def test_bad_units_are_refused(unit: Any, words: str) -> None:
    with pytest.raises(SchemaError) as refused:
        schema(unit)
    assert words in str(refused.value)
