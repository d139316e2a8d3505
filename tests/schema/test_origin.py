"""Where a bound or a label comes from: per value, through copies and files, until a reason is stated."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import Schema, protect
from coterie.errors import SchemaError
from coterie.promise.certificate import Bounds, CertifiedLabels
from coterie.schema.attributes import Categories, Domain, Order, Source

LABELS = ("a", "b", "c")


def schema(domain: dict[str, Any] | None = None, categories: dict[str, Any] | None = None) -> Schema:
    return Schema.load(
        {
            "attributes": {
                "income": {
                    "type": "integer",
                    "role": "protect",
                    "domain": {"lower": 0, "upper": 9} | (domain or {}),
                },
                "ward": {
                    "type": "categorical",
                    "role": "protect",
                    "categories": {"labels": list(LABELS)} | (categories or {}),
                },
            }
        }
    )


TABLE = pa.table({"income": [1, 2, 3, 4] * 5, "ward": ["a", "b", "a", "b"] * 5})


def certified(described: Schema) -> Any:
    return protect(TABLE, described, method="laplace", epsilon=1).certificate


@pytest.mark.parametrize(
    ("domain", "categories", "status", "words"),
    [
        ({}, {}, "proved", None),
        ({"source": "declared"}, {"source": "declared"}, "proved", None),
        ({"source": "data"}, {}, "refuted", "the bounds of income were taken"),
        ({"from_data": ["upper"]}, {}, "refuted", "the upper bound of income was taken"),
        ({"from_data": ["lower"]}, {}, "refuted", "the lower bound of income was taken"),
        ({"from_data": ["lower", "upper"]}, {}, "refuted", "the bounds of income were taken"),
        ({}, {"source": "data"}, "refuted", "the labels of ward were taken"),
        ({}, {"from_data": ["c"]}, "refuted", ": some labels of ward were taken"),
        ({"source": "data", "public_because": "the form"}, {}, "proved", None),
        (
            {"source": "data", "public_because": {"upper": "the form"}},
            {},
            "refuted",
            "the lower bound of income",
        ),
        ({"from_data": ["upper"], "public_because": {"upper": "the form"}}, {}, "proved", None),
        ({"from_data": ["upper"], "public_because": {"lower": "the form"}}, {}, "refuted", "upper bound"),
        (
            {},
            {"source": "data", "public_because": {"a": "map", "b": "map"}},
            "refuted",
            "some labels of ward",
        ),
        ({}, {"from_data": ["c"], "public_because": {"c": "map"}}, "proved", None),
        (
            {},
            {"source": "data", "public_because": "map", "order": "frequency"},
            "refuted",
            "category order of ward",
        ),
        ({}, {"source": "data", "order": "listed"}, "refuted", "category order of ward"),
    ],
)
def test_the_status_follows_the_origin_of_each_value(
    domain: dict[str, Any], categories: dict[str, Any], status: str, words: str | None
) -> None:
    described = Schema.load(schema(domain, categories).to_yaml())  # as a file too
    assert described.attributes == schema(domain, categories).attributes
    guarantee = certified(described).guarantee
    assert guarantee.status == status
    assert words is None or words in guarantee.label


def test_the_certificate_shows_what_is_public_and_why() -> None:
    described = schema(
        {"from_data": ["upper"]}, {"from_data": ["c"], "public_because": {"c": "the town's map"}}
    )
    certificate = certified(described)
    income, ward = certificate.attributes
    assert "ward (c): public because the town's map" in certificate.notes
    assert (income.domain.lower, income.domain.upper, income.domain.from_data) == ("0", None, ("upper",))
    assert ward.categories.labels == LABELS
    assert ward.categories.public_because == {"c": "the town's map"}
    income, ward = certified(
        schema({"source": "data", "public_because": "a form"}, {"from_data": ["c"]})
    ).attributes
    assert (income.domain.lower, income.domain.upper, income.domain.public_because) == ("0", "9", "a form")
    assert (ward.categories.labels, ward.categories.source) == (None, Source.DATA)
    assert "c" not in json.dumps(ward.categories.model_dump(mode="json")["labels"])


def test_older_certificates_keep_their_signed_bytes() -> None:
    """Entries that they did not have are absent, not null."""
    old = {"lower": "0", "upper": "9", "source": "declared", "epsilon": None}
    assert Bounds.model_validate(old).model_dump(mode="json") == old
    labels = {"taxonomy": None, "labels": ["a", "b"], "order": "listed", "source": "declared", "sha256": None}
    assert CertifiedLabels.model_validate(labels).model_dump(mode="json") == labels


@pytest.mark.parametrize(
    "reason", ["", "   ", "-", "…", "\u200b", {}, {"upper": ""}, {"upper": "?"}, {"middle": "x"}, 5, ["x"]]
)
def test_a_reason_is_a_sentence(reason: object) -> None:
    with pytest.raises(SchemaError):
        schema({"source": "data", "public_because": reason})


@pytest.mark.parametrize("entry", [{"from_data": ["C"]}, {"public_because": {"C": "map"}}, {"source": "dp"}])
def test_a_label_that_is_not_listed(entry: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        schema(None, entry)


def test_a_source_written_as_text_counts() -> None:
    """`model_copy` does not read its update: the text "data" stays a text."""
    for entry in ("income", "ward"):
        attribute = schema({}, {})[entry]
        name = "domain" if attribute.domain else "categories"
        public = getattr(attribute, name).model_copy(update={"source": "data"})
        assert attribute.model_copy(update={name: public}).from_data


_BOUND_EDITS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "lower": st.sampled_from([-1.0, 0.0]),
            "upper": st.sampled_from([5.0, 120.0]),
            "public_because": st.sampled_from(["", "  ", "-", (("lower", "a form"),), None]),
            "search": st.none(),
        },
    ),
    max_size=5,
)


@given(
    taken=st.sampled_from(
        [{"source": "data"}, {"from_data": ["upper"]}, {"source": "dp", "from_data": ["upper"]}]
    ),
    edits=_BOUND_EDITS,
)
def test_no_copy_of_a_bound_makes_it_public(taken: dict[str, Any], edits: list[dict[str, Any]]) -> None:
    domain = Domain.model_validate({"lower": 0, "upper": 9} | taken)
    for edit in edits:
        domain = domain.model_copy(update=edit)
        assert "upper" in domain.leaks
    described = schema().model_copy()
    income = described["income"].model_copy(update={"domain": domain})
    described = Schema(attributes=(income, described["ward"]))
    assert "bound" in described["income"].from_data
    if domain.public_because not in ("", "  ", "-"):
        assert Schema.load(described.to_yaml())["income"].from_data == described["income"].from_data


@given(
    taken=st.sampled_from([{"source": Source.DATA}, {"from_data": ("c",)}]),
    edits=st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "labels": st.sampled_from(
                    [("a", "b", "C"), ("a", "b", "c", "d"), ("c", "b", "a"), ("x", "y")]
                ),
                "order": st.sampled_from(list(Order)),
                "most": st.just(7),
                "public_because": st.sampled_from(["", None, (("a", "map"),)]),
            },
        ),
        max_size=5,
    ),
)
def test_no_copy_of_labels_makes_them_public(taken: dict[str, Any], edits: list[dict[str, Any]]) -> None:
    categories = Categories(labels=LABELS, **taken)
    for edit in edits:
        categories = categories.model_copy(update=edit)
        assert categories.leaks
