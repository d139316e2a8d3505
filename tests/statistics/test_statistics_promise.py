"""What weakens the promise of a release of statistics, what is refused, and what is warned of."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from statistics_people import SCHEMA, document

from coterie.errors import ParameterError, SchemaError
from coterie.methods.guarantee import CHOSEN_BLIND, Status
from coterie.statistics import plan, read_specification, resplit
from coterie.statistics.releasing.certificate import StatisticsCertificate, promise

COUNTS = {"n": {"kind": "count", "by": {"region": ["north", "south", "west"]}, "complete": True}}


def _schema(**attributes: dict[str, Any]) -> dict[str, Any]:
    schema = copy.deepcopy(SCHEMA)
    for name, entries in attributes.items():
        schema["attributes"][name].update(entries)
    return schema


def _promise(**changes: Any) -> Any:
    return promise(read_specification(document(**{"equations": {}, **changes})), False, True)


LABELS = {"type": "categorical", "categories": {"labels": ["north", "south", "west"], "source": "data"}}
BOUNDS = {"domain": {"lower": 0, "upper": 120, "source": "data"}}


@pytest.mark.parametrize(
    ("schema", "statistics"),
    [
        (_schema(region=LABELS), COUNTS),
        (_schema(region=LABELS), {"n": {"kind": "count", "where": {"region": "north"}}}),
        (
            _schema(region=LABELS),
            {"p": {"kind": "proportion", "where": {"smoker": "yes"}, "that": {"region": "north"}}},
        ),
        (_schema(age=BOUNDS), {"h": {"kind": "histogram", "of": "age", "bins": [0, 60, 120]}}),
        (_schema(age=BOUNDS), {"m": {"kind": "mean", "of": "age", "where": {"smoker": "yes"}}}),
    ],
)
def test_what_was_taken_from_the_data_is_not_proved_wherever_it_is_used(
    schema: dict[str, Any], statistics: dict[str, Any]
) -> None:
    found = _promise(schema=schema, statistics=statistics)
    assert found.status is Status.REFUTED
    assert "taken from the data" in found.label
    other = {"n": {"kind": "count", "where": {"smoker": "yes"}}}
    assert _promise(schema=schema, statistics=other).status is Status.PROVED  # not used: no matter


def test_bounds_to_be_searched_for_are_refused() -> None:
    schema = _schema(age={"domain": {"lower": 0, "upper": 120, "source": "dp"}})
    with pytest.raises(SchemaError, match="statistics do not pay for"):
        read_specification(
            document(schema=schema, statistics={"m": {"kind": "mean", "of": "age"}}, equations={})
        )


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_a_delta_of_one_over_the_records_is_refused(neighbours: str) -> None:
    budget = {"epsilon": "1", "delta": "1/2400"}
    with pytest.raises(ParameterError, match="whole record"):
        read_specification(document(neighbours=neighbours, budget=budget))
    read_specification(document(neighbours=neighbours, budget={"epsilon": "1", "delta": "1/2401"}))


def test_dangerous_budgets_are_named() -> None:
    def warnings(budget: dict[str, str], **changes: Any) -> str:
        chosen = plan(read_specification(document(budget=budget, **changes)), report_losses=False)
        assert chosen.to_dict()["warnings"] == list(chosen.warnings)
        return " ".join(chosen.warnings)

    assert "Dangerous" not in warnings({"epsilon": "10"})
    assert "Dangerous budget: ε = 10.1" in warnings({"epsilon": "10.1"})
    assert "Dangerous budget" in warnings({"rho": "3"})
    few = {"neighbours": "add-remove", "records": 90}
    assert "Dangerous delta" in warnings({"epsilon": "1", "delta": "0.01"}, **few)
    assert "Dangerous delta" not in warnings({"epsilon": "1", "delta": "1e-6"}, **few)


@pytest.mark.parametrize("delta", ["0.05", "1e-6"])
def test_a_delta_needs_a_number_of_records_to_be_below(delta: str) -> None:
    budget = {"epsilon": "1", "delta": delta}
    with pytest.raises(ParameterError, match="nothing says that it is below 1/records"):
        read_specification(document(neighbours="add-remove", records=None, budget=budget))


def _refused(**changes: Any) -> str:
    changes = {"neighbours": "add-remove", "statistics": COUNTS, **changes}
    return " ".join(a for a in _promise(**changes).assumptions if "other tables are refused" in a)


def test_what_a_filters_column_refuses_is_an_assumption() -> None:
    """Was: only columns that are added up counted, so a table of counts seemed to refuse nothing."""
    labels = {"type": "categorical", "categories": {"labels": ["north", "south", "west"]}}
    kept = _refused(schema=_schema(region={"role": "keep", **labels}))
    assert "labels are declared ones" in kept
    assert "no value is missing" not in kept  # of a kept column a gap is in no group
    assert "no value is missing" in _refused(schema=_schema(region={"role": "protect", **labels}))


def test_useless_statistics_are_named() -> None:
    statistics = {**COUNTS, "m": {"kind": "mean", "of": "cost", "where": {"smoker": "yes"}, "at_least": 500}}
    changes: dict[str, Any] = {"statistics": statistics, "equations": {}}
    good = plan(read_specification(document(**changes)), report_losses=False)
    assert not any("Useless" in warning for warning in good.warnings)
    for neighbours in ("replace-one", "add-remove"):
        poor = plan(
            read_specification(document(**changes, neighbours=neighbours, budget={"epsilon": "1e-9"})),
            report_losses=False,
        )
        (said,) = (warning for warning in poor.warnings if warning.startswith("Useless"))
        assert all(name in said for name in ("n[north]", "n[south]", "n[west]", "m"))
    measured = next(name for name in good.split if name.startswith("mean"))
    starved = resplit(good, {measured: "1e-6"})
    assert any(w.startswith("Useless at this budget: m.") for w in starved.warnings)


def test_the_certificate_says_what_the_promise_rests_on() -> None:
    found = _promise(statistics=COUNTS)
    assert found.assumptions.count(CHOSEN_BLIND) == 1
    assert any("privacy unit is one record" in text for text in found.assumptions)
    refusals = [
        text for text in found.assumptions if "whether a release was refused depends on the data" in text
    ]
    assert "complete hold every record" in refusals[0]
    schema = _schema(cost={"outside": "clip", "missing": "impute"})
    total = {"t": {"kind": "sum", "of": "cost"}}
    free = _promise(schema=schema, statistics=total, neighbours="add-remove", records=None)
    (refusal,) = [text for text in free.assumptions if "refused" in text]
    assert "keeps the schema (cells can be read as their type)" in refusal  # and nothing else


def test_a_certificate_signed_before_still_has_the_same_bytes() -> None:
    """The signature is over these bytes: no field may appear in them that was not there."""
    old = {
        "coterie_statistics_certificate": 1, "tool": "coterie 0.1", "issued": "2026-01-01T00:00:00+00:00",
        "release": "r", "plan": "p", "specification": "s", "request": "q", "budget": "ε = 1",
        "ledger_epsilon": "1", "bounds": {}, "measurements": [], "expected_from": "x", "sampler": "y",
        "reproducible": False, "notes": [], "digest": {"over": "file bytes", "value": "0" * 64},
    }  # fmt: skip
    assert set(StatisticsCertificate.model_fields) == {*old, "guarantee", "signature"}
