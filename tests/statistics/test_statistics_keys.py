"""Counts by keys that are private, and numbers of distinct values.

A key of one record is shown with probability δ at most, computed by hand here; a threshold one lower breaks it.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from coterie.errors import CoterieError
from coterie.promise.loss import rho_for
from coterie.report.statistics_page import statistics_page
from coterie.statistics import plan, read_specification, release
from coterie.statistics.prediction.noise_model import Family, KeyThreshold, from_uniform
from coterie.statistics.releasing.measuring import Noise, compute, threshold_of
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import make_release

JOBS = {"teacher": 400, "nurse": 120, "baker, senior": 60, "zookeeper": 1}
TABLE = pa.table({"job": [job for job, n in JOBS.items() for _ in range(n)] + [None] * 9, "age": [30] * 590})
SCHEMA: dict[str, Any] = {
    "coterie_schema": 1,
    "attributes": {
        "job": {"role": "keep"},
        "age": {"role": "keep", "type": "integer", "domain": {"lower": 0, "upper": 99}},
    },
}
PRIVATE = {"kind": "count", "by": {"job": "private"}}


def document(**changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = {
        "coterie_statistics": 1,
        "release": "jobs",
        "population": "people",
        "schema": SCHEMA,
        "neighbours": "add-remove",
        "records": 1000,
        "budget": {"epsilon": 1, "delta": "1e-6"},
        "statistics": {"jobs": PRIVATE},
    }
    return content | changes


def law(variance: float, reach: int) -> dict[int, float]:
    """The discrete Gaussian, added up by hand."""
    weights = {x: math.exp(-x * x / (2 * variance)) for x in range(-reach, reach + 1)}
    whole = math.fsum(weights.values())
    return {x: weight / whole for x, weight in weights.items()}


# --- the threshold ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variance", ["0.3", "1", "25", "5000/3"])
@pytest.mark.parametrize("delta", ["0.05", "1e-6", "3e-9"])
def test_a_key_of_one_record_is_shown_with_probability_delta_at_most(variance: str, delta: str) -> None:
    threshold = KeyThreshold(Fraction(variance), Fraction(delta))
    noise = law(float(Fraction(variance)), 600)

    def shown(least: int) -> float:
        return math.fsum(p for x, p in noise.items() if 1 + x >= least)

    assert shown(threshold.least) <= float(Fraction(delta))
    assert shown(threshold.least - 1) > float(Fraction(delta))  # one lower breaks the promise
    assert float(threshold.seen(1)) == pytest.approx(shown(threshold.least), rel=1e-9)


def test_a_delta_that_a_tail_meets_exactly_is_decided_in_exact_arithmetic() -> None:
    """At δ = Pr(1 + N ≥ 5), rounded to a fraction just above or just below."""
    tail = Fraction(KeyThreshold(Fraction(4), Fraction(1, 10)).seen(1, least=5))
    assert KeyThreshold(Fraction(4), tail * (1 + Fraction(1, 10**40))).least == 5
    assert KeyThreshold(Fraction(4), tail * (1 - Fraction(1, 10**40))).least == 6


def test_a_noise_that_would_show_nothing_is_refused() -> None:
    with pytest.raises(CoterieError, match="no key would ever be shown"):
        _ = KeyThreshold(Fraction(10**14), Fraction("1e-6")).least


@pytest.mark.statistical
def test_keys_are_shown_as_often_as_computed() -> None:
    """20,000 keys of one record at a fixed seed, within 4 standard errors; a threshold one lower is rejected."""
    threshold, keys = KeyThreshold(Fraction(9), Fraction("0.03")), 20_000
    shown = Noise.seeded(5).show_keys({str(i): 1 for i in range(keys)}, threshold, "test")
    p = float(threshold.seen(1))
    spread = math.sqrt(p * (1 - p) / keys)
    assert abs(len(shown) / keys - p) < 4 * spread
    assert abs(len(shown) / keys - float(threshold.seen(1, threshold.least - 1))) > 4 * spread
    assert min(shown.values()) == threshold.least
    assert list(shown) == sorted(shown)


def test_the_whole_mechanism_keeps_epsilon_and_delta() -> None:
    """All outputs of small tables and their neighbours, by brute force: Σ max(p − e^ε·p′, 0) ≤ δ, both ways."""
    epsilon, delta = 1.0, 0.02
    specification = read_specification(document(budget={"epsilon": 1, "delta": "0.02"}, records=40))
    budget = plan(specification, report_losses=False).budgets[0]
    threshold = threshold_of(budget, specification)
    noise = law(float(threshold.variance), 80)

    def one(count: int, least: int) -> dict[int | None, float]:
        """What is seen of one key: its noisy count, or nothing."""
        if count == 0:
            return {None: 1.0}
        found: dict[int | None, float] = {None: 0.0}
        for x, p in noise.items():
            seen = count + x if count + x >= least else None
            found[seen] = found.get(seen, 0.0) + p
        return found

    def lost(first: dict[int | None, float], second: dict[int | None, float]) -> float:
        return math.fsum(max(p - math.exp(epsilon) * second.get(seen, 0.0), 0.0) for seen, p in first.items())

    def worst(least: int) -> float:
        pairs = [(one(count, least), one(count + 1, least)) for count in range(60)]
        return max(max(lost(a, b), lost(b, a)) for a, b in pairs)

    assert worst(threshold.least) <= delta
    assert worst(threshold.least - 3) > delta  # the test can tell


@pytest.mark.statistical
@pytest.mark.parametrize("count", [4, 14, 18, 25, 60])
def test_intervals_of_shown_keys_cover_the_true_count(count: int) -> None:
    """Of those that are shown; an interval that forgot the threshold fails for the small ones."""
    threshold = KeyThreshold(Fraction(16), Fraction("1e-5"))
    assert threshold.least == 19
    uniform = np.random.Generator(np.random.PCG64(3)).uniform(size=400_000 if count < 10 else 20_000)
    noisy = count + from_uniform(Family.DISCRETE_GAUSSIAN, uniform, 4.0)
    shown = noisy[noisy >= threshold.least].astype(int).tolist()
    ends = {value: threshold.interval(value, 0.95) for value in set(shown)}
    covered = np.mean([ends[value][0] <= count <= ends[value][1] for value in shown])
    assert covered >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / len(shown))
    if count < 10:
        plain = np.mean([abs(value - count) <= 8 for value in shown])
        assert plain < 0.5


# --- the release --------------------------------------------------------------------------------------------------


def test_what_is_shown_and_what_is_not(tmp_path: Path) -> None:
    made = release(read_specification(document()), TABLE, tmp_path / "out.json")
    text = (tmp_path / "out.json").read_text()
    names = [row["name"] for row in json.loads(text)["values"]]
    assert names == ['jobs["baker, senior"]', "jobs[nurse]", "jobs[teacher]"]
    values = {row["name"]: row for row in json.loads(text)["values"]}
    assert abs(values["jobs[teacher]"]["value"] - 400) < 60
    assert (
        values["jobs[nurse]"]["lower_95"]
        <= values["jobs[nurse]"]["value"]
        <= values["jobs[nurse]"]["upper_95"]
    )
    certificate = made.certificate.to_json()
    assert "zookeeper" not in text + certificate
    assert "a key is shown if its noisy count is 25 or more" in certificate
    assert "(ε = 1, δ = 0.000001) approximate differential privacy" in certificate
    assert made.certificate.guarantee.status == "proved"


def test_the_thresholds_are_paid_for_out_of_delta() -> None:
    asked = {"jobs": PRIVATE, "old": {**PRIVATE, "where": {"age": {"from": 65}}}, "n": {"kind": "count"}}
    specification = read_specification(document(statistics=asked))
    budget = specification.budget
    assert budget.noise_delta + 2 * budget.key_delta == Fraction("1e-6")
    assert float(budget.total) == pytest.approx(rho_for(1.0, 5e-7))
    chosen = plan(specification, report_losses=False)
    used = dict(zip((m.name for m in chosen.design.measurements), chosen.budgets, strict=True))
    assert sum(used.values()) <= budget.total
    assert set(used) >= {"counts by private job | all records", "counts by private job | age ≥ 65"}


def test_the_plan_predicts_the_error_of_a_shown_count() -> None:
    chosen = plan(read_specification(document()), report_losses=False)
    (error,) = chosen.errors
    noise = law(float(threshold_of(chosen.budgets[0], chosen.specification).variance), 200)
    assert error.mean == pytest.approx(sum(abs(x) * p for x, p in noise.items()), rel=0.01)


def test_a_tolerance_of_private_keys_can_be_solved_for() -> None:
    solved = plan(read_specification(document(statistics={"jobs": {**PRIVATE, "tolerance": 2}})), solve=True)
    assert solved.errors[0].mean <= 2
    assert solved.specification.budget.keys == 1


def labelled() -> dict[str, Any]:
    job = {"role": "keep", "type": "categorical", "categories": {"labels": ["king", "nurse"]}}
    return {**SCHEMA, "attributes": {**SCHEMA["attributes"], "job": job}}


def of_households() -> dict[str, Any]:
    """One household may have the only three bakers."""
    home = {"role": "identifier"}
    attributes = {**SCHEMA["attributes"], "home": home}
    return {**SCHEMA, "attributes": attributes, "unit": {"column": "home", "at_most": 3}}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unit": (
        document(schema=of_households(), neighbours="exchange"),
        "one record, and the schema names a unit.*List",
    ),
    "replace-one": (
        document(neighbours="replace-one"),
        "replace-one neighbours do not allow.*add-remove, or list",
    ),
    "pure": (
        document(budget={"epsilon": 1}),
        "by private keys: one that a single record has.*delta: 1e-6}, or list",
    ),
    "zcdp": (document(budget={"rho": 1}), "delta: 1e-6}, or list the public values"),
    "pilot": (document(pilot="0.1"), "a pilot would look at twice"),
    "mean": (
        document(statistics={"m": {"kind": "mean", "of": "age", "by": {"job": "private"}}}),
        "only a count can be by private keys",
    ),
    "two columns": (
        document(statistics={"m": {"kind": "count", "by": {"job": "private", "age": [1, 2]}}}),
        "stands alone under `by`",
    ),
    "totals": (document(statistics={"m": {**PRIVATE, "totals": True}}), "it has no `totals`"),
    "expected by key": (
        document(statistics={"m": {**PRIVATE, "expected": {"king": 1}}}),
        "nothing can be said of one of them",
    ),
    "declared": (document(schema=labelled()), r"so they are public.*by: {job: declared}"),
    "equation": (
        document(equations={"e": "jobs[king] / 2"}),
        "a count by private keys: the release finds them",
    ),
    "kind": (
        document(statistics={"m": {"kind": "counts by private keys"}}),
        "kind is not one that Coterie knows",
    ),
    "distinct of what": (
        document(statistics={"d": {"kind": "count_distinct", "of": "job"}}),
        "nothing says how many values 'job' can have.*at_most",
    ),
    "distinct of nothing": (document(statistics={"d": {"kind": "count_distinct"}}), "0 columns under `of`"),
    "at most": (
        document(statistics={"d": {"kind": "mean", "of": "age", "at_most": 3}}),
        "is no count_distinct",
    ),
    "more than there are": (
        document(statistics={"d": {"kind": "count_distinct", "of": "job", "at_most": 3, "expected": 4}}),
        "expected where it cannot lie: outside 0 to 3",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    content, message = BAD[name]
    with pytest.raises(CoterieError) as caught:
        read_specification(content)
    assert re.search(message, str(caught.value)), str(caught.value)


# --- count_distinct -----------------------------------------------------------------------------------------------


def distinct(table: pa.Table, of: str, schema: dict[str, Any], **entry: Any) -> int:
    statistics = {"d": {"kind": "count_distinct", "of": of, **entry}}
    specification = read_specification(document(schema=schema, statistics=statistics, budget={"epsilon": 1}))
    (found,) = compute(plan(specification, report_losses=False).design, open_records(table)).values()
    assert isinstance(found, int)
    return found


def test_distinct_values_of_every_kind_of_column() -> None:
    attributes = {
        "label": {"role": "keep", "type": "categorical", "categories": {"labels": ["a", "b", "c"]}},
        "text": {"role": "keep"},
        "whole": {"role": "keep", "type": "integer", "domain": {"lower": 0, "upper": 9}, "outside": "clip"},
        "kind": {"role": "keep"},
    }
    schema = {"coterie_schema": 1, "attributes": attributes}
    table = pa.table(
        {
            "label": ["a", "b", "a", "a"],
            "text": ["1", "1.0", " x ", ""],
            "whole": [3, 12, 9, 3],
            "kind": ["p", "p", "q", "q"],
        }
    )
    assert distinct(table, "label", schema) == 2
    assert distinct(table, "text", schema, at_most=10) == 2  # 1 and 1.0 are one value; a gap is none
    assert distinct(table, "whole", schema) == 2  # 12 counts as 9
    assert distinct(table, "whole", schema, where={"kind": "q"}) == 2
    assert distinct(table, "text", schema, at_most=10, where={"kind": "q"}) == 1


def test_no_record_moves_a_number_of_distinct_values_by_more_than_one() -> None:
    """All tables of up to four records over three values, all neighbours, by the code that releases."""
    schema = {"coterie_schema": 1, "attributes": {"g": {"role": "keep"}}}
    specification = read_specification(
        document(
            schema=schema,
            statistics={"d": {"kind": "count_distinct", "of": "g", "at_most": 3}},
            budget={"epsilon": 1},
        )
    )
    design = plan(specification, report_losses=False).design
    bound = design.asked[0].bound
    found = {}
    for size in range(5):
        for values in itertools.combinations_with_replacement("abc", size):
            table = pa.table({"g": pa.array(values, pa.string())})
            (found[values],) = compute(design, open_records(table)).values()
    moves: Counter[str] = Counter()
    for values, number in found.items():
        for added in "abc":
            larger = found.get(tuple(sorted((*values, added))))
            if larger is not None:
                moves["enter"] = max(moves["enter"], abs(larger - number))
        for place, new in itertools.product(range(len(values)), "abc"):
            changed = tuple(sorted((*values[:place], new, *values[place + 1 :])))
            moves["swap"] = max(moves["swap"], abs(found[changed] - number))
    assert moves["enter"] == bound.enter == 1
    assert moves["swap"] == bound.swap == 1


def test_a_number_of_distinct_values_is_published_as_a_whole_number_within_its_bound(tmp_path: Path) -> None:
    statistics = {"d": {"kind": "count_distinct", "of": "job", "at_most": 6, "expected": 4}}
    specification = read_specification(document(statistics=statistics, budget={"epsilon": 2}))
    chosen = plan(specification, report_losses=False)
    for seed in range(20):
        value = make_release(chosen, open_records(TABLE), Noise.seeded(seed))["d"]
        assert value.value in range(7)
        assert 0 <= value.lower <= value.value <= value.upper <= 6


# --- what is written ----------------------------------------------------------------------------------------------


def test_tables_raw_measurements_and_the_page_have_the_shown_keys_only(tmp_path: Path) -> None:
    statistics = {
        "jobs": PRIVATE,
        "again": PRIVATE,
        "young": {**PRIVATE, "where": {"age": {"below": 40}}},
        "n": {"kind": "count", "by": {"age": [29, 30]}, "totals": True},
    }
    specification = read_specification(
        document(statistics=statistics, budget={"epsilon": 3, "delta": "1e-6"})
    )
    made = release(specification, TABLE, tmp_path / "out.csv", seed=1, raw=tmp_path / "raw.json")
    rows = [row for row in made.values if row["statistic"] == "jobs"]
    assert [row["job"] for row in rows] == ["baker, senior", "nurse", "teacher"]
    assert {row["kind"] for row in rows} == {"count"}
    assert {row["job"] for row in made.values if row["statistic"] == "n"} == {"(all)"}
    # The same question is drawn once: a second draw would cost a second time.
    assert [row["value"] for row in made.values if row["statistic"] == "again"] == [
        row["value"] for row in rows
    ]
    raw = json.loads((tmp_path / "raw.json").read_text())
    counts = next(m for m in raw["measurements"] if m["name"] == "counts by private job | all records")
    assert counts["cells"] == [["baker, senior"], ["nurse"], ["teacher"]]
    assert [row["value"] for row in counts["rows"]] == [row["value"] for row in rows]
    page = statistics_page(made)
    assert "teacher" in page
    assert "zookeeper" not in page + (tmp_path / "raw.json").read_text() + (tmp_path / "out.csv").read_text()


@pytest.mark.parametrize("ending", [".csv", ".json", ".parquet"])
def test_a_release_that_shows_no_key_has_its_columns(ending: str, tmp_path: Path) -> None:
    few = pa.table({"job": ["a", "b", "c"], "age": [1, 2, 3]})
    made = release(read_specification(document()), few, tmp_path / f"out{ending}", seed=1)
    assert made.values == []
    if ending == ".csv":
        assert made.content.startswith(b"name,statistic,kind,of,job,value,")
    if ending == ".parquet":
        assert "job" in made.to_frame().column_names
