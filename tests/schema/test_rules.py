"""Edit rules: what is understood, what it means for a row, and a sentence for everything that cannot be."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import random
from typing import Any

import numpy as np
import pytest

from coterie import Schema
from coterie.errors import SchemaError
from coterie.schema.rule_checks import witnesses
from coterie.schema.rules import Rows

PROTECT: dict[str, Any] = {"role": "protect"}
SCHEMA: dict[str, Any] = {
    "unit": {"column": "household", "at_most": 2},
    "attributes": {
        "household": {"role": "identifier"},
        "age": {**PROTECT, "type": "integer", "domain": {"lower": 0, "upper": 100}},
        "status": {
            **PROTECT,
            "type": "categorical",
            "categories": ["1", "2", "3"],
            "value_labels": {"1": "single", "2": "married", "3": "widowed"},
        },
        "school": {**PROTECT, "type": "ordinal", "categories": ["none", "low", "mid", "high"]},
        "wages": {**PROTECT, "domain": {"lower": 0, "upper": 50}, "decimals": 1},
        "pension": {**PROTECT, "domain": {"lower": 0, "upper": 50}, "decimals": 1},
        "total": {**PROTECT, "domain": {"lower": 0, "upper": 100}, "decimals": 1},
        "start": {**PROTECT, "type": "date", "domain": {"lower": "2000-01-01", "upper": "2020-01-01"}},
        "end": {**PROTECT, "type": "date", "domain": {"lower": "2000-01-01", "upper": "2020-01-01"}},
        "smoker": {**PROTECT, "type": "boolean"},
        "hours per week": {**PROTECT, "type": "integer", "domain": {"lower": 0, "upper": 100}},
    },
}


def schema(*rules: Any, **entries: dict[str, Any]) -> Schema:
    content = copy.deepcopy(SCHEMA)
    content["rules"] = list(rules)
    for name, entry in entries.items():
        content["attributes"][name] |= entry
    return Schema.load(content)


def row(**values: Any) -> Rows:
    """One row; labels in words, None for what is missing."""
    labels = {
        "status": ("1", "2", "3"),
        "school": ("none", "low", "mid", "high"),
        "smoker": ("false", "true"),
    }
    usual: dict[str, Any] = {
        "age": 40,
        "status": "2",
        "school": "mid",
        "wages": 10.0,
        "pension": 5.0,
        "total": 15.0,
        "start": dt.date(2005, 1, 1),
        "end": dt.date(2006, 1, 1),
        "smoker": "false",
        "hours per week": 40,
    }
    found = {}
    for name, value in (usual | values).items():
        if isinstance(value, dt.date):
            value = (value - dt.date(1970, 1, 1)).days
        elif isinstance(value, str):
            value = labels[name].index(value)
        found[name] = np.array([np.nan if value is None else float(value)])
    return Rows(found, labels)


@pytest.mark.parametrize(
    ("rule", "violated", "fine"),
    [
        ("age < 15 -> status = single", {"age": 14}, {"age": 15}),
        ("age < 15 → status = '1'", {"age": 14}, {"age": 14, "status": "1"}),
        ("age<15->status=1", {"age": 0}, {"age": None}),
        ("age >= 18 -> status is not missing", {"status": None}, {"age": 3, "status": None}),
        ("status in (married, widowed) -> age > 15", {"age": 15}, {"age": 15, "status": "1"}),
        ("status not in (single, widowed) and age ≤ 20 -> school != none", {"age": 20, "school": "none"}, {}),
        ("not (age < 15 or status = single) -> school >= low", {"school": "none"}, {"school": None}),
        ("school < mid or smoker = no", {"smoker": "true"}, {"smoker": "true", "school": "low"}),
        ("smoker = true -> age >= 12", {"smoker": "true", "age": 11}, {"age": 11}),
        ("end >= start", {"end": dt.date(2004, 12, 31)}, {"end": dt.date(2005, 1, 1)}),
        ("start > 2001-02-03", {"start": dt.date(2001, 2, 3)}, {"start": dt.date(2001, 2, 4)}),
        ("wages + 2 * pension <= 20", {"pension": 5.1}, {}),
        ("wages - pension <> 0", {"pension": 10.0}, {}),
        ("`hours per week` > 60 -> age > 15", {"hours per week": 61, "age": 15}, {"age": 15}),
        ("total = wages + pension", {"total": 15.1}, {"wages": 0.1, "pension": 0.2, "total": 0.3}),
        ("total = 2*wages − pension", {"total": 16}, {"total": 15}),
        ("age = 40 -> wages = 10", {"wages": 10.5}, {"age": 41, "wages": 10.5}),
        ("total = 2 * (wages + pension) - 15", {"total": 16}, {"total": 15}),
        ("end <= start + 365", {"end": dt.date(2006, 1, 2)}, {}),
        ("not age < 15 or status = single and wages = 0", {"age": 3}, {"age": 3, "status": "1", "wages": 0}),
    ],
)
def test_a_row_violates_a_rule_only_where_it_is_false(
    rule: str, violated: dict[str, Any], fine: dict[str, Any]
) -> None:
    (found,) = schema(rule, total={"domain": {"lower": -50, "upper": 200}}).edit_rules.all
    assert found.violated(row(**violated)).tolist() == [True]
    assert found.violated(row(**fine)).tolist() == [False]
    assert found.text == rule


def test_what_follows_is_settled_in_order() -> None:
    """Wages do not apply to children, so neither does the total, nor what depends on it."""
    found = schema(
        "total = wages + pension",
        wages={"not_applicable": "age < 15"},
        total={"missing": "own category"},
        smoker={"not_applicable": "total is missing"},
    ).edit_rules
    child, grown = (found.settled(row(age=age, total=99.0)).values for age in (14, 15))
    assert np.isnan([child["wages"], child["total"], child["smoker"]]).all()
    assert [float(grown[name][0]) for name in ("wages", "total", "smoker")] == [10, 15, 0]
    assert found.needed_for(["smoker"]) == ("total",)
    assert found.needed_for(["wages"]) == ("age",)
    assert found.derived == {"total"}


def test_rules_are_written_and_read_back() -> None:
    made = schema("age < 15 → status = single", "end >= start", school={"not_applicable": "age < 6"})
    assert Schema.load(made.to_yaml()) == made
    assert "- age < 15 → status = single" in made.to_yaml()
    assert made["school"].gaps
    assert not schema().edit_rules
    assert "rules" not in schema().to_dict()


WRONG: list[tuple[list[Any], dict[str, dict[str, Any]], str]] = [
    (["agee < 15 -> status = single"], {}, r"column that is not protected: 'agee'\. Did you mean 'age'\?"),
    (["hours per week > 3"], {}, r"'hours'.*backticks"),
    (["age < 15 -> status = singel"], {}, r"label that 'status' does not have: singel\. Did you mean"),
    (["status < single"], {}, r"labels have no order.*ordinal"),
    (["status = age"], {}, r"compares 'status' with 'age', which has other labels"),
    (["age in (1, 2)"], {}, "label of 'age', which has numbers"),
    (["age + status > 3"], {}, "calculates with 'status', which has labels"),
    (["start > age"], {}, "mixes dates"),
    (["start > 5"], {}, "compares a date with a number"),
    (["start > 2001-13-01"], {}, "has no date at '2001-13-01'"),
    (["wages * pension < 3"], {}, "multiplies columns"),
    (["0 < age < 5"], {}, "more than two things"),
    (["3 < 5"], {}, "compares numbers only"),
    (["age < 15 ->"], {}, "ends too early"),
    (["age < 15 status"], {}, "does not end at 'status'"),
    (["(age < 15"], {}, "bracket that is not closed"),
    (["age"], {}, "has no comparison"),
    (["age > lambda: 3"], {}, "sign that no rule has: :"),
    (["age > [3]"], {}, r"sign that no rule has: \["),
    (["age < 15 -> age < 20 -> age < 30"], {}, "does not end at '->'"),
    (["not " * 3000 + "age < 15"], {}, "is too long"),
    (["(" * 300 + "age" + ")" * 300 + " < 15"], {}, "does not end at"),
    (["age.real > 3", "age if age else age"], {}, "column that is not protected: 'age.real'"),
    (["age = (wages, pension)"], {}, "needs a column"),
    (["wages < (pension < 3)"], {}, "needs a column"),
    (["age < 15; import os"], {}, "sign that no rule has: ;"),
    (["__import__('os') = 1"], {}, "rule is about one row"),
    (
        ["count(status) = 1"],
        {},
        r"calls 'count\(…\)', but a rule is about one row\. .*household, are not supported",
    ),
    (["household = 3"], {}, "about the unit 'household'.*not supported"),
    (["age is small"], {}, "`is` without `missing`"),
    ([{"if": "age < 15"}], {}, "not a list of texts"),
    (["total = wages + total"], {}, "circle"),
    (
        ["total = wages + pension", "wages = total - pension"],
        {"wages": {"domain": {"lower": -50, "upper": 100}}},
        "circle",
    ),
    (["total = wages + pension", "total = 2 * wages"], {}, "another rule decides already"),
    (["total = wages + pension"], {"total": {"not_applicable": "age < 3"}}, "another rule decides already"),
    (
        ["total = wages + pension"],
        {"wages": {"not_applicable": "age < 3"}},
        "makes 'total' missing where 'wages' is",
    ),
    (["total = wages - pension"], {}, "beyond its domain: they reach from -50 to 50"),
    (["age = wages + pension"], {}, "integer, values that are not whole"),
    (["total = wages + pension"], {"wages": {"decimals": None}}, "broken by rounding"),
    (["total = wages + school"], {}, "calculates with 'school', which has no numbers"),
    (
        ["total = wages + pension"],
        {"wages": {"not_applicable": "total > 5"}, "total": {"missing": "own category"}},
        "Rules go round in a circle",
    ),
    (
        [],
        {"status": {"not_applicable": "school = none"}, "school": {"not_applicable": "status = single"}},
        "circle",
    ),
    ([], {"status": {"not_applicable": "agee < 3"}}, "not_applicable of 'status': 'agee < 3' names a column"),
    (["age < 0"], {}, "No row can satisfy these rules together: age < 0"),
    (
        ["age < 15 -> status = single", "age < 18 -> status = married"],
        {},
        r"Rule 'age < 15.* contradicts the others",
    ),
    (
        ["age < 18 -> status = single", "age > 16 -> status = married"],
        {},
        "Rules 'age < 18 -> status = single' and 'age > 16 -> status = married' contradict each other",
    ),
    (
        ["age < 15 -> wages = 0"],
        {"wages": {"not_applicable": "age < 15"}},
        "'age < 15 -> wages = 0' can be satisfied by missing values only",
    ),
    (
        ["wages > 10", "wages < 5", "wages is missing -> age < 15"],
        {"wages": {"missing": "own category"}},
        "can be satisfied by missing values only",
    ),
    (
        ["status = single", "status = married", "status is missing -> age < 15"],
        {"status": {"missing": "own category"}},
        "can be satisfied by missing values only",
    ),
    (  # among so many others that not all rows can be tried
        [
            "age < 15 -> status = single",
            "age < 18 -> status = married",
            *(f"{name} > {age} -> age > {age}" for age in range(2, 9) for name in ("pension", "wages")),
            "wages + pension + age > 1",
        ],
        {},
        "'age < 15 -> status = single' and 'age < 18 -> status = married' contradict each other",
    ),
    (["end >= start", "start > end"], {}, "No row can satisfy"),
    (["wages + pension > 90", "wages < 30"], {}, "No row was found that satisfies"),
]


@pytest.mark.parametrize(("rules", "entries", "says"), WRONG)
def test_every_fault_is_a_sentence(rules: list[Any], entries: dict[str, dict[str, Any]], says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        schema(*rules, **entries)


@pytest.mark.parametrize(
    "rules",
    [
        # A rule may forbid that another one applies: that is no contradiction.
        ["age < 15 -> school in (none, low)", "school >= mid -> age > 10"],
        ["age < 15 -> status = single", "status = married -> age >= 18"],
        ["age < 18 -> status = single", "age >= 18 -> status != single"],
        ["end >= start", "start >= 2005-01-01", "end <= 2005-01-01"],
    ],
)
def test_rules_that_hold_together_are_accepted(rules: list[str]) -> None:
    made = schema(*rules)
    for known in witnesses(made.edit_rules, made.protected):
        assert not known.rules.violated(known.rows).any()
        assert known.pattern.shape[1] == len(next(iter(known.rows.values.values())))
    # For ages of 15 to 17, say, there is a known row in which no condition holds, and one for each that can.
    assert any(known.pattern.any() for known in witnesses(made.edit_rules, made.protected)) or len(rules) == 3


def refusal(content: dict[str, Any]) -> str | None:
    try:
        Schema.load(content)
    except SchemaError as error:
        return str(error)
    return None


def test_contradictions_are_those_that_all_rows_show() -> None:
    """Every row of tiny tables is tried: a rule that applies somewhere is true in a row that satisfies all rules."""
    answers: dict[str, tuple[str | None, ...]] = {
        "a": ("x", "y"),
        "b": ("x", "y", "z"),
        "c": ("x", "y", None),
    }
    attributes = {
        name: {
            **PROTECT,
            "type": "categorical",
            "categories": [label for label in labels if label],
            "missing": "own category" if None in labels else "error",
        }
        for name, labels in answers.items()
    }
    rows = [dict(zip(answers, found, strict=True)) for found in itertools.product(*answers.values())]
    draw, refused = random.Random(5), 0
    for _ in range(300):
        rules = []
        for _ in range(draw.randint(1, 4)):
            (one, other) = draw.sample(sorted(answers), 2)
            said = draw.choice(("c is missing", "b != x", "a != y", ""))
            when = draw.choice((f"{one} = {draw.choice('xy')}", said))
            rules.append((when, f"{other} {draw.choice(('=', '!='))} {draw.choice('xy')}"))
        told = [" -> ".join(filter(None, rule)) for rule in rules]

        def holds(condition: str, row: dict[str, str | None]) -> bool | None:
            if condition == "":
                return True
            name, operator, value = condition.split(" ", 2)
            if operator == "is":
                return row[name] is None
            return None if row[name] is None else (row[name] == value) == (operator == "=")

        fine = [
            row
            for row in rows
            if not any(holds(when, row) and holds(then, row) is False for when, then in rules)
        ]
        contradiction = not fine or any(
            any(holds(when, row) for row in rows)
            and not any(holds(when, row) and holds(then, row) for row in fine)
            for when, then in rules
        )
        problem = refusal({"attributes": attributes, "rules": told})
        refused += problem is not None
        # A pair may contradict where each of its rules alone can still be satisfied.
        assert contradiction == (problem is not None) or "contradict each other" in str(problem), told
    assert 50 < refused < 250
