"""The schema: what YAML means, and every fault named with its place."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from coterie import Attribute, Domain, Role, Schema
from coterie.errors import SchemaError
from coterie.schema.attributes import AttributeType, Missing, Outside, Source
from coterie.schema.domain import LARGEST_BOUND

TEXT = """
coterie_schema: 1
attributes:
  person: {role: identifier}
  age: {type: integer, role: protect, domain: {lower: 0, upper: 120}, unit: years, weight: 2}
  income: {role: protect, domain: {lower: 0, upper: 1.5e5, source: data}, missing: own category, outside: clip}
  region: {role: keep}
"""


def _one(entry: str) -> str:
    return f"attributes:\n  x: {entry}\n"


def test_yaml_means_what_it_says() -> None:
    schema = Schema.load(TEXT)
    assert [attribute.name for attribute in schema.protected] == ["age", "income"]
    assert [attribute.name for attribute in schema.with_role(Role.KEEP)] == ["region"]
    age, income = schema["age"], schema["income"]
    assert (age.type, age.unit, age.weight) == (AttributeType.INTEGER, "years", Fraction(2))
    assert age.domain == Domain(lower=0, upper=120, source=Source.DECLARED)
    assert (age.missing, age.outside) == (Missing.ERROR, Outside.ERROR)
    assert income.type is AttributeType.CONTINUOUS
    assert income.domain is not None
    assert income.domain.source is Source.DATA
    assert (income.missing, income.outside) == (Missing.OWN_CATEGORY, Outside.CLIP)


def test_dropping_rows_is_no_policy_any_more() -> None:
    """A schema of an earlier version is told what to write instead."""
    with pytest.raises(
        SchemaError, match=r"'x': `missing: drop row` is no policy.*`missing: own category`.*`impute`"
    ):
        Schema.load(_one("{role: protect, domain: {lower: 0, upper: 1}, missing: drop row}"))


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(TEXT)
    assert Schema.load(path) == Schema.load(str(path))
    assert Schema.load(path).attributes == Schema.load(TEXT).attributes
    assert Schema.load(path).folder == tmp_path  # taxonomies are looked for beside the schema


bounds = st.floats(-1e9, 1e9)
attributes = st.builds(
    lambda role, low, width, weight, missing, outside, source: {
        "role": role,
        "domain": Domain(lower=low, upper=low + width, source=source),
        "weight": weight,
        "missing": missing,
        "outside": outside,
    },
    st.sampled_from([Role.PROTECT, Role.IDENTIFIER, Role.KEEP]),
    bounds,
    st.floats(1, 1e9),
    st.fractions(Fraction(1, 100), 100),
    st.sampled_from(list(Missing)),
    st.sampled_from(Outside),
    st.sampled_from(Source),
)
names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@given(st.dictionaries(names, attributes, min_size=1, max_size=5))
def test_yaml_and_back(content: dict[str, dict[str, object]]) -> None:
    schema = Schema(attributes=tuple(Attribute(name=name, **entry) for name, entry in content.items()))
    assert Schema.load(schema.to_yaml()) == schema


def test_the_width_is_exact() -> None:
    domain = Domain(lower=0.1, upper=1e6)
    assert domain.width == Fraction(1e6) - Fraction(0.1) != Fraction(1e6 - 0.1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (_one("{role: protect, domain: {lower: 5, upper: 1}}"), "inverted"),
        (_one("{role: protect, domain: {lower: 5, upper: 5}}"), "empty"),
        (_one("{role: protect, domain: {lower: low, upper: 5}}"), "must be a number"),
        (_one("{role: protect, domain: {lower: true, upper: 5}}"), "must be a number"),
        (_one("{role: protect, domain: {lower: .nan, upper: 5}}"), "finite"),
        (_one("{role: protect, domain: {lower: 0, upper: .inf}}"), "finite"),
        (_one("{role: protect, domain: {lower: 0, upper: 1e300}}"), "finite"),
        (_one("{role: protect, domain: {lower: 0, upper: 5, source: guess}}"), "source"),
        (_one("{role: protect, domain: {lower: 0, upper: 5, middle: 2}}"), "middle"),
        (_one("{role: protect, type: integer, domain: {lower: 0.5, upper: 5}}"), "whole"),
        (_one("{role: protect, type: integer, domain: {lower: 0, upper: 1e17}}"), "2^53"),
        (_one("{role: protect, type: colour}"), "type"),
        (_one("{role: protect, weight: 0}"), "weight"),
        (_one("{role: protect, weight: -1}"), "weight"),
        (_one("{role: protect, weight: much}"), "weight"),
        (_one("{role: protect, missing: ignore}"), "missing"),
        (_one("{role: protect, outside: drop}"), "outside"),
        (_one("{role: secret}"), "role"),
        (_one("{type: integer}"), "no role"),
        (_one("{role: protect, roll: 1}"), "unknown entry 'roll'"),
        (_one("protect"), "no description"),
        ("attributes:\n  x: {role: keep}\n  x: {role: keep}\n", "'x' appears twice"),
        ("attributes:\n  1: {role: keep}\n  '1': {role: keep}\n", "described twice"),
        ("attributes:\n  x: {role: keep}\nextra: 1\n", "unknown entry 'extra'"),
        ("coterie_schema: 2\nattributes:\n  x: {role: keep}\n", "version 2"),
        ("attributes: {}\n", "attributes"),
        ("attributes:\n  - x\n", "not a Coterie schema"),
        ("- a\n- b\n", "not a Coterie schema"),
        ("a: [1,\n", "not valid YAML at line"),
        ("a: !!python/object:os.system {}\nb: 1\n", "not valid YAML"),
        ("? [1, 2]\n: 3\n", "a name must be text"),
    ],
)
def test_every_fault_is_named(text: str, says: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.load(text)
    assert says in caught.value.problem
    assert caught.value.advice


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(SchemaError, match="Did you mean 'missing'"):
        Schema.load(_one("{role: protect, mising: error}"))
    with pytest.raises(SchemaError, match="Did you mean 'income'"):
        Schema.load(TEXT)["incme"]


@pytest.mark.parametrize("domain", ["domain:", "domain: {lower: , upper: }"])
def test_a_draft_with_open_bounds_is_read_but_not_ready(domain: str) -> None:
    schema = Schema.load(f"attributes:\n  x:\n    role: protect\n    {domain}\n")
    with pytest.raises(SchemaError, match="no domain"):
        schema["x"].bounds()


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"attributes: \xe9\n")
    with pytest.raises(SchemaError, match="UTF-8"):
        Schema.load(tmp_path / "latin.yaml")


def test_values_are_frozen() -> None:
    schema = Schema.load(TEXT)
    with pytest.raises(ValidationError):
        schema["age"].role = Role.KEEP  # type: ignore[misc]


def test_the_largest_bound_still_sums() -> None:
    assert Domain(lower=-LARGEST_BOUND, upper=LARGEST_BOUND).upper * 1e9 < float("inf")
