"""`recode:` in a schema: what the attribute is afterwards, how it is said and written, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import coterie
from coterie.errors import SchemaError
from coterie.schema.attributes import Attribute, AttributeType
from coterie.schema.recoded import band_ranks, recoded_numbers
from coterie.schema.taxonomy.loading import declared_taxonomy
from coterie.schema.taxonomy.tree import Edge, Taxonomy
from coterie.table.checked import column_of
from coterie.table.columns.column import MISSING_LABEL, CategoryColumn, released_field

AGE = {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 120}}
PAY = {"type": "continuous", "role": "protect", "domain": {"lower": 0.5, "upper": 98}}
BORN = {"type": "date", "role": "protect", "domain": {"lower": "1900-01-15", "upper": "2020-06-30"}}
SEEN = {
    "type": "timestamp",
    "role": "protect",
    "domain": {"lower": "2020-01-01T00:00:00", "upper": "2020-12-31T23:59:59"},
}
CIVIL = {
    "type": "categorical",
    "role": "protect",
    "categories": {"labels": ["single", "married", "cohabiting", "widowed"]},
}
CODED = {
    "type": "categorical",
    "role": "protect",
    "categories": {"labels": ["1", "2", "3"]},
    "value_labels": {"1": "single", "2": "married", "3": "cohabiting"},
}
GRADE = {"type": "ordinal", "role": "protect", "categories": {"labels": ["none", "low", "mid", "high"]}}
WORK = {"type": "categorical", "role": "protect", "categories": {"taxonomy": "adult:occupation"}}


def attribute(content: dict[str, Any], recode: Any, **more: Any) -> Attribute:
    return coterie.Schema.load({"attributes": {"it": {**content, **more, "recode": recode}}})["it"]


GOOD = [
    (AGE, {"top": 85, "bottom": 15}),
    (AGE, {"round_to": 5}),
    (AGE, {"top": 83, "round_to": 10}),
    (AGE, {"bands": [0, 15, 30, 120]}),
    (PAY, {"round_to": 0.1}),
    (PAY, {"bands": [10, 50]}),
    (BORN, {"top": "2010-12-31"}),
    (BORN, {"round_to": "quarter"}),
    (BORN, {"bands": ["1950-01-01", "2000-01-01"]}),
    (SEEN, {"round_to": "day"}),
    (SEEN, {"bottom": "2020-02-01T00:00:00"}),
    (CIVIL, {"labels": {"married": "partnered", "cohabiting": "partnered"}}),
    (CODED, {"labels": {"married": "partnered", "3": "partnered"}}),
    (GRADE, {"labels": {"none": "low"}}),
    (WORK, {"level": 1}),
]


@pytest.mark.parametrize(("content", "recode"), GOOD)
def test_recoding_is_read_written_back_and_part_of_the_schema(
    content: dict[str, Any], recode: dict[str, Any]
) -> None:
    schema = coterie.Schema.load({"attributes": {"it": {**content, "recode": recode}}})
    plain = coterie.Schema.load({"attributes": {"it": content}})
    assert coterie.Schema.load(schema.to_yaml()) == schema
    assert coterie.Schema.load(schema.to_dict()) == schema
    assert schema.to_dict()["attributes"]["it"]["recode"] == recode
    assert schema.to_yaml() != plain.to_yaml()  # by which releases, plans and ledgers tell requests apart
    assert schema["it"].in_file == plain["it"]
    assert pickle.loads(pickle.dumps(schema)) == schema
    released = schema.of_release
    assert released["it"].recode is None
    assert released["it"].in_file is released["it"]
    assert coterie.Schema(attributes=schema.attributes) == schema  # checked twice, recoded once
    assert schema["it"].recoded_in_words


@pytest.mark.parametrize(
    ("content", "recode", "lower", "upper"),
    [
        (AGE, {"top": 85, "bottom": 15}, 15, 85),
        (AGE, {"round_to": 7}, 0, 119),
        (AGE, {"top": 83, "round_to": 10}, 0, 80),
        (PAY, {"round_to": 0.1}, 0.5, 98),
        (PAY, {"round_to": 5}, 5, 95),
    ],
)
def test_the_domain_after_follows_from_the_declaration(
    content: dict[str, Any], recode: dict[str, Any], lower: float, upper: float
) -> None:
    found = attribute(content, recode)
    assert (found.bounds().lower, found.bounds().upper) == (lower, upper)
    before = found.in_file
    assert found.recode is not None
    values = np.linspace(before.bounds().lower, before.bounds().upper, 5001)
    after = recoded_numbers(values, before, found.recode)
    assert (after.min(), after.max()) == (lower, upper)
    assert np.array_equal(recoded_numbers(after, before, found.recode), after)  # twice is once
    assert (np.diff(after) >= 0).all()  # so that clipping before or after is the same


def test_values_outside_the_domain_stay_outside() -> None:
    found = attribute(AGE, {"round_to": 50, "bottom": 10})
    assert found.recode is not None
    after = recoded_numbers(np.array([-3.0, 2, 74, 75, 119, 121, np.nan]), found.in_file, found.recode)
    assert np.array_equal(after, [-3, 50, 50, 100, 100, 121, np.nan], equal_nan=True)
    banded = attribute(AGE, {"bands": [18, 65]})
    assert banded.recode is not None
    ranks = band_ranks(np.array([-1.0, 0, 17, 18, 64, 65, 120, 121, np.nan]), banded.in_file, banded.recode)
    assert np.array_equal(ranks, [-1, 0, 0, 1, 1, 2, 2, 3, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("content", "edges", "labels"),
    [
        (AGE, [0, 1, 15, 90], ("0", "1 to 14", "15 to 89", "90 to 120")),
        (AGE, [60, 120], ("0 to 59", "60 to 120")),
        (PAY, [10, 50], ("0.5 to below 10", "10 to below 50", "50 to 98")),
        (BORN, ["2000-01-01"], ("1900-01-15 to 1999-12-31", "2000-01-01 to 2020-06-30")),
    ],
)
def test_bands_are_ordered_labels(content: dict[str, Any], edges: list[Any], labels: tuple[str, ...]) -> None:
    found = attribute(content, {"bands": edges})
    assert found.type is AttributeType.ORDINAL
    assert found.domain is None
    assert found.categories is not None
    assert found.categories.labels == labels


def test_dates_go_to_the_beginning_of_their_period() -> None:
    for period, day in (("month", "2003-05-01"), ("quarter", "2003-04-01"), ("year", "2003-01-01")):
        found = attribute(BORN, {"round_to": period})
        assert found.recode is not None
        days = np.array(["2003-05-17", "1900-01-20"], "datetime64[D]").astype(np.int64).astype(np.float64)
        after = recoded_numbers(days, found.in_file, found.recode).astype(np.int64).astype("datetime64[D]")
        assert after.astype(str).tolist() == [day, "1900-01-15"]  # the first period begins at the lower bound


def test_labels_merge_and_codes_may_be_named_by_their_words() -> None:
    found = attribute(CIVIL, {"labels": {"married": "partnered", "cohabiting": "partnered"}})
    assert found.categories is not None
    assert found.categories.labels == ("single", "partnered", "widowed")
    coded = attribute(CODED, {"labels": {"cohabiting": "married"}})
    assert coded.categories is not None
    assert (coded.categories.labels, coded.value_labels) == (("1", "2"), (("1", "single"), ("2", "married")))
    yaml = "attributes:\n  it:\n    type: categorical\n    role: protect\n"
    yaml += "    categories: {labels: [yes, no, 01]}\n    recode: {labels: {no: 01}}\n"
    found = coterie.Schema.load(yaml)["it"]
    assert found.categories is not None
    assert found.categories.labels == ("yes", "01")


def test_new_labels_of_codes_are_codes() -> None:
    """Codes and words in one column would make it text, and no program would label it."""
    words = {1: "single", 2: "married", 3: "cohabiting", 4: "widowed", 5: "refused"}
    content = {
        "type": "categorical",
        "role": "protect",
        "categories": ["1", "2", "3", "4"],
        "value_labels": words,
        "missing_marks": [5, "7 to 8"],
        "missing": "own category",
    }
    merged = {"married": "partnered", "3": "partnered", "4": "was married"}
    found = attribute(content, {"labels": merged})
    assert found.categories is not None
    assert found.categories.labels == ("1", "6", "9")  # 5, 7 and 8 mean 'missing', 2 to 4 something else
    assert found.value_labels == (("1", "single"), ("6", "partnered"), ("9", "was married"))
    assert found.codes_by_words["partnered"] == "6"
    assert released_field(found, found.categories.labels).type == pa.int64()
    schema = coterie.Schema(attributes=(found,))
    cells = pa.chunked_array([["2", "cohabiting", "4", "single", "refused"]])
    column = column_of(cells, found, schema)
    assert isinstance(column, CategoryColumn)
    names = column.taxonomy.categories
    assert [names[code] for code in column.codes] == ["6", "6", "9", "1", MISSING_LABEL]
    ordinal = attribute({**content, "type": "ordinal"}, {"labels": {"2": "middle", "3": "middle"}})
    assert ordinal.categories is not None
    assert ordinal.categories.labels == ("1", "2", "4")  # which rise as before
    assert dict(ordinal.value_labels or ())["2"] == "middle"
    plain = {"type": "categorical", "role": "protect", "categories": ["1", "2", "3"]}
    bare = attribute(plain, {"labels": {"2": "x", "3": "x"}})
    assert bare.categories is not None
    assert (bare.categories.labels, bare.value_labels) == (("1", "4"), (("4", "x"),))
    own = attribute(plain, {"labels": {"2": "23", "3": "23"}})
    assert own.categories is not None
    assert (own.categories.labels, own.value_labels) == (("1", "23"), None)
    with pytest.raises(SchemaError, match="makes a missing code of an answer"):
        attribute(content, {"labels": {"4": "refused"}})


def test_a_taxonomy_is_cut() -> None:
    tree = Taxonomy.build(
        [
            Edge("all", None),
            Edge("a", "all"),
            Edge("b", "all"),
            Edge("a1", "a"),
            Edge("a2", "a"),
            Edge("a11", "a1"),
        ]
    )
    assert tree.cut(1).categories == ("a", "b")
    assert tree.cut(2).categories == ("a1", "a2", "b")
    assert [tree.at_level(label, 2) for label in ("a11", "a2", "b")] == ["a1", "a2", "b"]
    for level in (3, 9):
        with pytest.raises(SchemaError, match="has 3 levels"):
            tree.cut(level)
    with pytest.raises(SchemaError, match="flat list"):
        Taxonomy.flat("xy").cut(1)
    found = attribute(WORK, {"level": 1})
    assert found.categories is not None
    assert found.in_file.categories is not None
    schema = coterie.Schema(attributes=(found,))
    whole = declared_taxonomy(found.in_file.categories, schema.folder)
    assert declared_taxonomy(found.categories, schema.folder) == whole.cut(1)


@pytest.mark.parametrize(
    ("content", "recode", "words"),
    [
        (AGE, {"top": 85, "bottom": 15}, "values below 15 as 15; values above 85 as 85"),
        (AGE, {"bands": [15, 30]}, "in bands that begin at 15 and 30"),
        (BORN, {"round_to": "year"}, "moments as the beginning of their year"),
        (CIVIL, {"labels": {"married": "m", "cohabiting": "m"}}, "married and cohabiting as m"),
        (WORK, {"level": 1}, "labels deeper than level 1 of the taxonomy are named by their ancestor there"),
    ],
)
def test_recoding_in_words(content: dict[str, Any], recode: dict[str, Any], words: str) -> None:
    assert attribute(content, recode).recoded_in_words == words


def test_what_came_from_the_data_is_still_said_to_and_not_repeated() -> None:
    taken = {"lower": 0, "upper": 97, "source": "data"}
    assert attribute(AGE, {"top": 85}, domain=taken).from_data == "bounds of it"
    banded = attribute(AGE, {"bands": [30]}, domain=taken)
    assert banded.from_data == "labels of it"
    assert "97" not in (banded.recoded_in_words or "")
    reasoned = attribute(AGE, {"bands": [30]}, domain={**taken, "public_because": "the form ends there"})
    assert (reasoned.from_data, reasoned.stated) == ("", ["it: public because the form ends there"])
    labels = {
        "labels": ["a", "b", "c"],
        "from_data": ["b", "c"],
        "public_because": {"b": "it is in the codebook"},
    }
    merged = attribute(CIVIL, {"labels": {"b": "d", "c": "d"}}, categories=labels)
    assert merged.from_data == "some labels of it"  # nobody said why c is public
    assert merged.recoded_in_words == "labels merged"


def test_a_value_to_impute_is_recoded_too() -> None:
    assert attribute(AGE, {"top": 85}, missing="impute", impute=99).impute == 85
    assert attribute(AGE, {"bands": [30]}, missing="impute", impute=40).impute == "30 to 120"
    recode = {"labels": {"married": "m", "cohabiting": "m"}}
    assert attribute(CIVIL, recode, missing="impute", impute="married").impute == "m"


@pytest.mark.parametrize(
    ("content", "recode", "sentence"),
    [
        (AGE, {"top": 10, "bottom": 20}, "top is not above bottom"),
        (AGE, {"top": 130}, "outside the domain"),
        (AGE, {"bottom": -1}, "outside the domain"),
        (AGE, {"bands": [15, 200]}, "outside the domain"),
        (AGE, {"bands": [30, 15]}, "bands must rise"),
        (AGE, {"bands": []}, "bands must rise"),
        (AGE, {"bands": [0, 120]}, "at least one number inside"),
        (AGE, {"bands": 15}, "bands is a list"),
        (AGE, {"round_to": 0}, "above 0"),
        (AGE, {"round_to": 2.5}, "needs whole numbers"),
        (AGE, {"round_to": 200}, "fewer than two values"),
        (AGE, {"round_to": "year"}, "is a number"),
        (BORN, {"round_to": 7}, "one of month, quarter, year"),
        (BORN, {"round_to": "decade"}, "one of month, quarter, year"),
        (BORN, {"top": "2010-01-01T10:00"}, "is a date"),
        (AGE, {"labels": {"1": "2"}}, "need the attribute's labels"),
        (CIVIL, {"labels": {"divorced": "single"}}, "'divorced', which is not among the labels"),
        (CIVIL, {"labels": {}}, "gives old labels their new one"),
        (CIVIL, {"labels": {"married": " "}}, "gives old labels their new one"),
        (CIVIL, {"labels": dict.fromkeys(["single", "married", "cohabiting", "widowed"], "x")}, "become one"),
        (CIVIL, {"top": 3}, "need numbers or dates"),
        (CIVIL, {"level": 1}, "needs a taxonomy"),
        (GRADE, {"labels": {"none": "high"}}, "not neighbours"),
        (WORK, {"labels": {"Sales": "x"}}, "write recode: {level"),
        (WORK, {"level": 0}, "from 1 up"),
        (WORK, {"level": 1.5}, "from 1 up"),
        (AGE, {"top": 85, "bands": [15]}, "one way"),
        (AGE, {}, "one way"),
        (AGE, {"tops": 85}, "there is no such entry"),
        (AGE, 85, "must be a mapping"),
        ({**AGE, "domain": None}, {"top": 85}, "with their domain"),
        ({**AGE, "domain": {"lower": 0, "upper": 9, "source": "dp"}}, {"top": 8}, "not known before"),
        ({**AGE, "role": "keep"}, {"top": 85}, "released as it is"),
        ({**AGE, "role": "identifier"}, {"top": 85}, "dropped"),
        ({**PAY, "role": "weight"}, {"top": 85}, "not recoded"),
        ({"type": "boolean", "role": "protect"}, {"labels": {"true": "x"}}, "need the attribute's labels"),
    ],
)
def test_recoding_that_cannot_be_meant_is_refused(
    content: dict[str, Any], recode: Any, sentence: str
) -> None:
    with pytest.raises(SchemaError, match=sentence):
        attribute(content, recode)


def test_a_level_deeper_than_the_taxonomy_is_refused_when_it_is_used() -> None:
    schema = coterie.Schema(attributes=(attribute(WORK, {"level": 9}),))
    with pytest.raises(SchemaError, match="recoded at level 9, but the taxonomy has"):
        coterie.protect({"it": ["Sales", "Sales"]}, schema, method="ir", k=2)


def test_a_draft_never_recodes() -> None:
    assert all(a.recode is None for a in coterie.Schema.draft(coterie.demo_population()).schema.attributes)
