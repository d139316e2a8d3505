"""Rules of a schema in a release: every synthetic row satisfies them, at no cost, and nothing else about them goes out."""

from __future__ import annotations

import copy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.chain.synthesis import enforcement
from coterie.errors import CoterieError, DataError, ParameterError
from coterie.schema.attributes import Schema
from coterie.table.checked import check
from coterie.table.columns.column import CategoryColumn, NumericColumn
from coterie.table.columns.places import as_held, as_rows, rows_like

PROTECT: dict[str, Any] = {"role": "protect"}
MONEY: dict[str, Any] = {**PROTECT, "domain": {"lower": 0, "upper": 50}, "decimals": 1}
YEAR: dict[str, Any] = {**PROTECT, "type": "integer", "domain": {"lower": 2000, "upper": 2020}}
SCHEMA: dict[str, Any] = {
    "attributes": {
        "age": {**PROTECT, "type": "integer", "domain": {"lower": 0, "upper": 100}},
        "status": {**PROTECT, "type": "categorical", "categories": ["single", "married", "widowed"]},
        "job": {
            **PROTECT,
            "type": "categorical",
            "categories": ["farm", "office", "none"],
            "not_applicable": "age < 15",
        },
        "hours": {
            **PROTECT,
            "type": "integer",
            "domain": {"lower": 0, "upper": 80},
            "not_applicable": "job is missing or job = none",
        },
        "wages": MONEY,
        "pension": MONEY,
        "total": {**MONEY, "domain": {"lower": 0, "upper": 100}},
        "start": YEAR,
        "end": YEAR,
    },
    "rules": ["age < 15 -> status = single", "total = wages + pension", "end >= start"],
}


def people(records: int = 600) -> pa.Table:
    draw = np.random.default_rng(1)
    age = draw.integers(0, 90, records)
    job = draw.choice(["farm", "office", "none"], records)
    works = (age >= 15) & (job != "none")
    wages, pension = (draw.uniform(0, 50, records).round(1) for _ in range(2))
    start = draw.integers(2000, 2010, records)
    return pa.table(
        {
            "age": age,
            "status": np.where(age < 15, "single", draw.choice(["single", "married", "widowed"], records)),
            "job": pa.array(job, mask=age < 15),
            "hours": pa.array(draw.integers(0, 81, records), mask=~works),
            "wages": wages,
            "pension": pension,
            "total": (wages + pension).round(1),
            "start": start,
            "end": start + draw.integers(0, 11, records),
        }
    )


def satisfied(released: pa.Table) -> None:
    frame: pd.DataFrame = released.to_pandas()
    child = frame["age"] < 15
    assert (frame.loc[child, "status"] == "single").all()
    assert (frame["job"].isna() == child).all()
    assert (frame["hours"].isna() == (child | (frame["job"] == "none"))).all()
    assert np.allclose(frame["total"], frame["wages"] + frame["pension"], rtol=0, atol=1e-9)
    assert (frame["end"] >= frame["start"]).all()


@pytest.fixture(scope="module")
def release() -> coterie.Release:
    return coterie.protect(people(), SCHEMA, method="dp-synthetic", epsilon=1)


def test_every_synthetic_row_satisfies_every_rule(release: coterie.Release) -> None:
    satisfied(release.table)
    assert release.table["status"].to_pandas().nunique() == 3
    assert release.table["hours"].to_pandas().nunique() > 5


def test_rules_cost_nothing_and_a_derived_column_is_not_measured(release: coterie.Release) -> None:
    certificate = release.certificate
    assert certificate.guarantee.status == "proved"
    assert certificate.guarantee.value == "1"
    parts = {a.name: a for a in certificate.attributes}
    assert parts["total"].epsilon is None
    assert parts["total"].mechanism == "not measured: total = wages + pension"
    assert certificate.dependence is not None
    spent = sum(Fraction(a.epsilon) for a in parts.values() if a.epsilon) + Fraction(
        certificate.dependence.epsilon or 0
    )
    assert spent == 1
    assert "total" not in str(release.measurements.to_pydict())


def test_the_certificate_lists_the_rules_and_nothing_about_the_original(release: coterie.Release) -> None:
    listed = release.certificate.rules
    assert set(SCHEMA["rules"]) <= set(listed)
    assert "job is not applicable if age < 15" in listed
    assert "before" not in release.certificate.to_json()
    again = coterie.Certificate.from_json(release.certificate.to_json())
    assert again == release.certificate
    plain = {"attributes": {"age": SCHEMA["attributes"]["age"]}}
    without = coterie.protect(people().select(["age"]), plain, method="dp-synthetic", epsilon=1).certificate
    assert '"rules"' not in without.to_json()  # certificates from before keep their bytes


def test_internal_figures_count_before_and_after() -> None:
    table = people().to_pandas()
    table.loc[table["age"] < 15, "status"] = "widowed"
    table.loc[:4, "total"] = 0.0
    table["job"] = table["job"].fillna("farm")
    children = int((table["age"] < 15).sum())
    made = coterie.protect(
        table, SCHEMA | {"attributes": _imputed("hours")}, method="dp-synthetic", epsilon=1
    )
    figures = made.internal.to_dict()["rules"]
    assert figures["age < 15 -> status = single"] == {"before": children, "after": 0}
    assert figures["total = wages + pension"]["before"] == 5
    assert figures["job is not applicable if age < 15"] == {"before": children, "after": 0}
    assert all(found["after"] == 0 for found in figures.values())
    satisfied(pa.Table.from_pandas(made.data))


def _imputed(name: str) -> dict[str, Any]:
    attributes: dict[str, Any] = copy.deepcopy(SCHEMA["attributes"])
    attributes[name]["missing"] = "impute"
    return attributes


def test_without_any_luck_rows_are_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcement, "TRIES", 0)
    made = coterie.protect(people(), SCHEMA, method="dp-synthetic", epsilon=1, seed=2)
    satisfied(made.table)


def test_drawing_anew_keeps_as_many_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of adults do not take the place of children that violate a rule: shares of conditions stay as they were."""
    free = {"attributes": {k: v for k, v in SCHEMA["attributes"].items() if k in ("age", "status")}}
    ruled = free | {"rules": SCHEMA["rules"][:1]}
    table = people().select(["age", "status"])
    ages = [
        coterie.protect(table, schema, method="dp-synthetic", epsilon="0.05", seed=3).table["age"].to_numpy()
        for schema in (free, ruled)
    ]
    assert (ages[0] < 15).sum() == (ages[1] < 15).sum()


def test_a_rule_that_no_row_violates_changes_nothing() -> None:
    free = {"attributes": {name: SCHEMA["attributes"][name] for name in ("age", "status")}}
    table = people().select(["age", "status"])
    plain, ruled = (
        coterie.protect(table, schema, method="dp-synthetic", epsilon=1, seed=3).table
        for schema in (free, free | {"rules": ["age <= 100"]})
    )
    assert plain.equals(ruled)


def test_larger_than_memory_is_the_same(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "people.parquet", row_group_size=100)
    options: dict[str, Any] = {"method": "dp-synthetic", "epsilon": "0.5", "seed": 4}
    made = coterie.protect(tmp_path / "people.parquet", SCHEMA, memory="6GB", **options)
    made.write(tmp_path / "out.parquet")
    here = coterie.protect(people(), SCHEMA, **options).table
    assert pq.read_table(tmp_path / "out.parquet").equals(here)
    satisfied(here)


def test_value_by_value_rules_are_counted_and_not_enforced() -> None:
    made = coterie.protect(people(), SCHEMA, method="laplace", epsilon=9)
    assert made.guarantee.status == "proved"
    assert made.certificate.rules == ()
    assert any("rules are not enforced" in note for note in made.certificate.notes)
    figures = made.internal.to_dict()["rules"]
    assert figures["total = wages + pension"]["after"] > 100
    assert figures["total = wages + pension"]["before"] == 0
    parts = {a.name: a for a in made.certificate.attributes}
    assert parts["total"].epsilon == "1"  # measured like another


def test_gaps_where_a_column_applies_follow_its_policy() -> None:
    table = people().to_pandas()
    table.loc[table["age"] >= 15, "job"] = table.loc[table["age"] >= 15, "job"].where(table["age"] != 50)
    with pytest.raises(DataError, match="Column 'job' has missing values"):
        coterie.protect(table, SCHEMA, method="dp-synthetic", epsilon=1)
    attributes = copy.deepcopy(SCHEMA["attributes"])
    attributes["job"]["missing"] = "own category"
    made = coterie.protect(
        table, SCHEMA | {"attributes": attributes}, method="dp-synthetic", epsilon=50, seed=1
    )
    frame = made.data
    assert frame.loc[frame["age"] < 15, "job"].isna().all()
    assert 0 < frame.loc[frame["age"] >= 15, "job"].isna().sum() < 60  # some did not answer
    attributes["job"]["missing"] = "impute"
    columns = check(
        pa.Table.from_pandas(table, preserve_index=False), Schema.load(SCHEMA | {"attributes": attributes})
    )
    job = columns.columns["job"]
    assert isinstance(job, CategoryColumn)
    assert ((job.codes == job.gap) == (table["age"] < 15)).all()


RULES = [
    "age < 15 -> status = single",
    "status = widowed -> age >= 30 and end > start",
    "end >= start",
    "end - start <= 10",
    "wages + pension <= 60",
    "age > 65 -> pension >= 5 or wages = 0",
    "total = wages + pension",
    "not (age < 40 and wages > 45)",
    "status != married -> start < 2015",
]


@settings(max_examples=40, deadline=None)
@given(st.sets(st.sampled_from(RULES), min_size=1), st.integers(0, 2**32), st.sampled_from([0, 3, 100]))
def test_whatever_the_rules_and_the_rows(rules: set[str], seed: int, tries: int) -> None:
    """Rows at random, of a model that knows nothing of the rules: all of them satisfy all rules in the end."""
    schema = Schema.load(SCHEMA | {"rules": sorted(rules)})
    columns = check(people(2), schema).columns
    bound = enforcement.RowRules.of(schema, columns)
    assert bound is not None
    draw = np.random.default_rng(seed)

    def value(name: str, count: int) -> Any:
        column = columns[name]
        if isinstance(column, CategoryColumn):
            return draw.integers(0, column.label_count, count).astype(np.int32)
        found = draw.uniform(column.domain.lower, column.domain.upper, count)
        return np.round(found, 0 if column.step == 1 else 1)

    measured = [name for name in columns if name not in schema.edit_rules.derived]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enforcement, "TRIES", tries)
        words = draw.integers(0, 2**63, 60).astype(np.uint64)
        found = bound.enforced(
            {name: value(name, 60) for name in measured}, words, lambda name, w, turns: value(name, len(w))
        )
    rows = rows_like({name: columns[name] for name in found}, found)
    assert not schema.edit_rules.violated(rows).any()


def test_places_and_columns_are_inverse() -> None:
    columns = check(people(), Schema.load(SCHEMA)).columns
    rows = as_rows(columns)
    for name, column in columns.items():
        held = column.values if isinstance(column, NumericColumn) else column.codes
        np.testing.assert_array_equal(as_held(column, rows.values[name]), held)
    assert np.isnan(rows.values["job"]).sum() == people()["job"].null_count


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"target": "total"}, "target 'total' is not a protected attribute"),
    ],
)
def test_a_derived_column_is_no_target(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        coterie.protect(people(), SCHEMA, method="dp-synthetic", epsilon=1, **change)


def test_nothing_goes_out_when_rules_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(CoterieError, match="No row can satisfy"):
        coterie.protect(people(), SCHEMA | {"rules": ["age > 100"]}, method="dp-synthetic", epsilon=1)
    assert not list(tmp_path.iterdir())


def test_a_release_with_rules_can_be_evaluated_and_audited(release: coterie.Release) -> None:
    found = coterie.evaluate(people(), release, SCHEMA).measures
    assert all(np.isfinite(result.value) for result in found.values() if result.value is not None)
    assert coterie.audit(people(), release, SCHEMA, seconds=3).findings


def test_a_method_is_audited_with_rules() -> None:
    """Neighbours are rows of any kind, also such as no release takes."""
    attributes = {name: SCHEMA["attributes"][name] for name in ("age", "job")}
    made = coterie.audit_method(
        "laplace",
        population=people(60).select(["age", "job"]),
        schema={"attributes": attributes, "rules": ["age != 99"]},
        epsilon=1,
        runs=100,
        attacks=["empirical-epsilon"],
    )
    assert made.findings
