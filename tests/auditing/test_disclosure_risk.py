"""The risk of the original: figures of tiny tables counted by hand, estimators against their closed forms, refusals."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coterie
from coterie.auditing.disclosure_risk import WARNING, Risk
from coterie.auditing.key_groups import KeyGroups, deepest_search, individual_risk, unique_by
from coterie.errors import DataError, ParameterError, SchemaError
from coterie.report.risk_page import figure_lines, key_lines, risk_page, singled_out, subset_lines

ATTRIBUTES: dict[str, Any] = {
    "home": {"role": "identifier"},
    "age": {
        "type": "integer",
        "role": "protect",
        "domain": {"lower": 0, "upper": 120},
        "missing": "own category",
    },
    "sex": {"type": "categorical", "role": "protect", "categories": {"labels": ["f", "m"]}},
    "place": {"role": "keep"},
    "weight": {"role": "keep"},
    "ill": {"type": "boolean", "role": "protect"},
    "pay": {"role": "protect", "domain": {"lower": 0, "upper": 100}},
}
# Groups by age, sex and place: rows 0 and 1 are alike, rows 2, 3 and 4 too, each of the others is alone.
PEOPLE: dict[str, Any] = {
    "home": [1, 1, 2, 2, 3, 3, 4],
    "age": [30, 30, 40, 40, 40, 80, None],
    "sex": ["f", "f", "m", "m", "m", "m", "f"],
    "place": ["a", "a", "b", "b", "b", "b", "a"],
    "weight": [10, 30, 20, 20, 20, 5, 2],
    "ill": [True, True, True, False, True, False, False],
    "pay": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5],
}
KEYS = ["age", "sex", "place"]


def found(people: dict[str, Any] = PEOPLE, **asked: Any) -> Risk:
    described = {**ATTRIBUTES, **asked.pop("changed", {})}
    unit = asked.pop("unit", None)
    schema = {"attributes": described, **({"unit": unit} if unit else {})}
    return coterie.risk(people, schema, **{"keys": KEYS, **asked})


def test_groups_counted_by_hand() -> None:
    risk = found(sensitive="ill")
    now = risk.now
    assert (now.records, now.combinations, now.smallest, now.uniques) == (7, 4, 1, 2)
    assert now.below == {2: 2, 3: 4, 5: 7}
    assert now.sizes == {"1": 2, "2": 2, "3 to 4": 3, "5 to 9": 0, "10 to 19": 0, "20 or more": 0}
    assert (now.highest, now.mean) == (1, 4 / 7)
    assert now.population_highest == 1  # the table is its own population
    assert now.expected == pytest.approx(4)
    assert now.population_mean == pytest.approx(4 / 7)
    assert now.without == {"age": 0, "sex": 2, "place": 2}
    assert now.diversity is not None
    assert (now.diversity.smallest, now.diversity.alike) == (1, 4)  # rows 0, 1 and the two unique ones
    assert risk.before is None
    assert risk.verdict == "2 of 7 records (29\u00a0%) share their age, sex and place with nobody"
    assert repr(risk) == f"<Risk: {risk.verdict}>"


def test_minimal_unique_sets_by_hand() -> None:
    """Ages 80 and missing are enough alone, so nothing else is minimal for these two."""
    now = found().now.unique_by
    assert now.by_size == {1: 2, 2: 0, 3: 0}
    assert now.contribution == {"age": 1.0, "sex": 0.0, "place": 0.0}
    first = {one.keys: (one.uniques, one.below_3, one.smallest) for one in now.subsets}
    assert first[("age",)] == (2, 4, 1)
    assert first[("sex",)] == (0, 0, 3)
    assert first[("sex", "place")] == (0, 0, 3)


def test_minimal_unique_sets_by_brute_force() -> None:
    draw = np.random.default_rng(8)
    for _ in range(20):
        keys, rows = int(draw.integers(1, 6)), int(draw.integers(1, 30))
        table = draw.integers(0, 3, (rows, keys))
        groups = KeyGroups.of([str(key) for key in range(keys)], [table[:, key] for key in range(keys)])
        names = range(keys)
        minimal: list[tuple[int, tuple[int, ...]]] = []
        for row in range(rows):
            for size in range(1, keys + 1):
                for subset in combinations(names, size):
                    alone = (table[:, subset] == table[row, subset]).all(axis=1).sum() == 1
                    smaller = any(record == row and set(other) < set(subset) for record, other in minimal)
                    if alone and not smaller:
                        minimal.append((row, subset))
        smallest = {
            row: min(len(subset) for record, subset in minimal if record == row) for row, _ in minimal
        }
        counts = {size: list(smallest.values()).count(size) for size in range(1, keys + 1)}
        scores = [math.factorial(keys - len(subset)) for _, subset in minimal]
        shares = {
            str(key): sum(s for s, (_, subset) in zip(scores, minimal, strict=True) if key in subset)
            / (sum(scores) or 1)
            for key in names
        }
        got = unique_by(groups)
        assert got.by_size == counts
        assert got.contribution == pytest.approx(shares)
        assert len(got.subsets) == 2**keys - 1


def test_many_keys_are_searched_as_deep_as_is_affordable() -> None:
    assert [deepest_search(keys) for keys in (1, 6, 8, 12, 40)] == [1, 6, 8, 3, 1]
    draw = np.random.default_rng(1)
    table = draw.integers(0, 2, (200, 14))
    groups = KeyGroups.of([f"k{key}" for key in range(14)], list(table.T))
    got = unique_by(groups)
    assert got.deepest == 2
    assert sum(got.by_size.values()) == int((groups.sizes == 1).sum())
    assert "more than 2 keys" in singled_out(found_with(groups))


def found_with(groups: KeyGroups) -> Any:
    from coterie.auditing.disclosure_risk import _key_risk

    return _key_risk(groups, None, None, None, None)


def test_combinations_beyond_64_bits_are_told_apart() -> None:
    draw = np.random.default_rng(3)
    codes = [draw.integers(0, 2**20, 500) for _ in range(5)]
    codes.append(np.zeros(500, dtype=np.int64))
    twice = [np.concatenate([one, one[:100]]) for one in codes]
    groups = KeyGroups.of("abcdef", twice)
    assert (len(groups.sizes), int((groups.sizes == 2).sum())) == (500, 100)
    assert np.array_equal(groups.of_record[:100], groups.of_record[500:])


# Benedetti and Franconi: r = E[1/F | f], F − f negative binomial (f, p).


def series(f: int, p: float) -> float:
    """Σ over F ≥ f of C(F−1, f−1) p^f (1−p)^(F−f) / F, term by term."""
    total, term, size = 0.0, p**f, f
    while size < 60 * f / p:
        total += term / size
        term *= size / (size - f + 1) * (1 - p)
        size += 1
    return total


def test_individual_risk_has_its_closed_forms() -> None:
    p = np.array([0.9, 0.5, 0.1, 0.01, 1e-4, 1e-6])
    odds, log = p / (1 - p), np.log(1 / p)
    assert individual_risk(np.full(6, 1), 1 / p) == pytest.approx(odds * log, rel=1e-9)
    assert individual_risk(np.full(6, 2), 2 / p) == pytest.approx(odds - odds**2 * log, rel=1e-7)
    for f in (1, 2, 3, 10, 40, 41, 300):
        for share in (0.8, 0.3) if f == 300 else (0.8, 0.3, 0.02):  # 0.02^300 is no double
            got = individual_risk(np.array([f]), np.array([f / share]))[0]
            assert got == pytest.approx(series(f, share), rel=1e-9)
            assert got != pytest.approx(share / f, rel=1e-4)  # 1/F̂, the naive estimate, is another number
            assert share / f < got < 1 / f


def test_individual_risk_at_the_ends() -> None:
    assert individual_risk(np.array([1, 2, 50, 10**6]), np.array([1, 2, 50, 10**6.0])) == pytest.approx(
        [1, 1 / 2, 1 / 50, 1e-6]
    )
    assert individual_risk(np.array([3]), np.array([1.0])) == pytest.approx([1 / 3])  # weights below 1
    large = individual_risk(np.array([10**6]), np.array([1e9]))
    assert large == pytest.approx([1e-9], rel=1e-3)  # F is known well then


def test_weights_tell_the_population() -> None:
    risk = found(weight="weight")
    assert (risk.population, risk.population_from) == (107, "weights 'weight'")
    f, people = [2, 3, 1, 1], [40, 60, 5, 2]
    each = [series(size, size / many) for size, many in zip(f, people, strict=True)]
    assert risk.now.expected == pytest.approx(sum(size * one for size, one in zip(f, each, strict=True)))
    assert risk.now.population_highest == pytest.approx(max(each))
    declared = found(population=70)
    assert declared.now.population_highest == pytest.approx(series(1, 0.1))
    scaled = found(weight="weight", population=214)
    assert scaled.population == pytest.approx(214)
    assert scaled.now.population_highest == pytest.approx(series(1, 1 / 4))


def test_the_weight_of_the_schema_is_the_default() -> None:
    declared = {"type": "continuous", "role": "weight", "domain": {"lower": 1, "upper": 100}}
    risk = found(changed={"weight": declared})
    assert risk.now.to_dict() == found(weight="weight").now.to_dict()
    assert risk.population_from == "weights 'weight'"
    assert "weight" not in found(changed={"weight": declared}, keys=None).keys


def test_relative_weights_are_noticed() -> None:
    relative = found({**PEOPLE, "weight": [1.0, 1.2, 0.8, 1, 1, 1, 1]}, weight="weight")
    assert any("relative" in words for words in relative.notes)
    assert not any("relative" in words for words in found(weight="weight").notes)


def test_households() -> None:
    """1 − Π(1 − r): home 1 has two of two alike, home 2 two of three, home 3 one of three and a unique one."""
    units = found(unit={"column": "home", "at_most": 4}).now.units
    assert units is not None
    expected = [1 - 0.5**2, 1 - (2 / 3) ** 2, 1, 1]
    assert (units.units, units.highest) == (4, 1)
    assert units.expected == pytest.approx(sum(expected))
    assert found().now.units is None


def test_missing_is_a_value_of_its_own() -> None:
    people = {**PEOPLE, "age": [None, None, 40, 40, 40, 80, None]}
    assert (
        found(people).now.uniques == 1
    )  # the three without an age are alike; a wildcard would match everybody
    assert found(people).now.combinations == 3
    assert any("missing" in words for words in found().notes)


def test_before_and_after_recoding() -> None:
    changed = {"age": {**ATTRIBUTES["age"], "recode": {"top": 40}}}
    risk = found(changed=changed)
    assert risk.before is not None
    assert (risk.before.uniques, risk.now.uniques) == (2, 1)
    assert risk.recoded == {"age": "values above 40 as 40"}
    assert risk.verdict.endswith("; before recoding 2 (29\u00a0%)")
    unrecoded = found(changed=changed, keys="sex, place")
    assert unrecoded.before is None
    assert all(len(line) == 3 for line in figure_lines(risk))
    assert all(len(line) == 2 for line in figure_lines(unrecoded))


def test_keys_default_to_protected_columns_that_are_not_continuous() -> None:
    assert found(keys=None).keys == ("age", "sex", "ill")


def test_undescribed_bounds_do_not_matter() -> None:
    open_still = {
        "age": {"type": "integer", "role": "protect"},
        "sex": {"role": "protect", "type": "categorical"},
    }
    assert found(changed=open_still).now.to_dict() == found().now.to_dict()


@pytest.mark.parametrize(
    ("asked", "kind", "sentence"),
    [
        ({"keys": "age, height"}, SchemaError, "no attribute 'height'"),
        ({"keys": ""}, ParameterError, "No key is named"),
        ({"keys": ["age", "age"]}, ParameterError, "named twice"),
        ({"keys": "home", "unit": {"column": "home", "at_most": 4}}, ParameterError, "column of the unit"),
        ({"weight": "age"}, ParameterError, "is a key already"),
        ({"weight": "wgt"}, SchemaError, "no attribute 'wgt'"),
        ({"sensitive": "sex"}, ParameterError, "is a key already"),
        ({"population": 3}, ParameterError, "smaller than the table"),
        ({"weight": "place", "keys": "age"}, DataError, "not a number"),
    ],
)
def test_refusals(asked: dict[str, Any], kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        found(**asked)


@pytest.mark.parametrize(
    ("cell", "sentence"), [(0, "zero or negative"), (-3, "zero or negative"), (None, "gaps")]
)
def test_weights_that_are_none(cell: int | None, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence) as refused:
        found({**PEOPLE, "weight": [cell, 1, 1, 1, 1, 1, 1]}, weight="weight")
    assert not any(sign.isdigit() for sign in str(refused.value))


def test_too_many_possible_keys_are_asked_for() -> None:
    attributes = {f"c{n}": {"type": "integer", "role": "protect"} for n in range(9)}
    with pytest.raises(ParameterError, match="9 could be keys"):
        coterie.risk({name: [1, 2] for name in attributes}, {"attributes": attributes})
    with pytest.raises(DataError, match="no rows"):
        found({name: [] for name in PEOPLE})


def test_the_page_and_the_report_are_marked(tmp_path: Path) -> None:
    changed = {"age": {**ATTRIBUTES["age"], "recode": {"top": 40}}, "pl<b>ace": {"role": "keep"}}
    people = {**PEOPLE, "pl<b>ace": PEOPLE["place"]}
    risk = found(people, changed=changed, keys=["age", "pl<b>ace"], unit={"column": "home", "at_most": 4})
    page = risk_page(risk)
    assert WARNING in page
    assert "pl<b>ace" not in page
    assert page.count("<svg") >= 4  # two figures, each wide and narrow
    assert "homes with a re-identified member" in page
    coterie.write_report(risk, tmp_path)
    assert (tmp_path / "risk.html").read_text() == page
    assert (tmp_path / "risk.html").stat().st_mode & 0o077 == 0
    assert risk.to_dict()["warning"] == WARNING
    assert key_lines(risk.now)
    assert subset_lines(risk.now)
    assert "Nobody is unique" in risk_page(found(keys="sex"))


def test_no_certificate_knows_of_it() -> None:
    release = coterie.protect(
        {"sex": ["f", "m", "f", "f"]}, {"attributes": {"sex": ATTRIBUTES["sex"]}}, method="laplace", epsilon=1
    )
    assert "unique" not in release.certificate.to_json()


def test_a_million_records_in_seconds() -> None:
    """A tenth of it, so that the suite stays quick: all 63 subsets of six keys."""
    draw = np.random.default_rng(2)
    codes = [draw.integers(0, many, 100_000) for many in (90, 2, 20, 8, 30, 60)]
    got = unique_by(KeyGroups.of("abcdef", codes))
    assert len(got.subsets) == 63
