"""Every bad input gets a message that says what to do; nothing is charged and nothing is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from statistics_people import RECORDS, SCHEMA, document, population

from coterie.errors import BudgetExceeded, CoterieError, DataError, OutputError, ParameterError, SchemaError
from coterie.publication.ledger import Ledger
from coterie.statistics import plan, read_specification, release


def with_statistic(**entry: Any) -> dict[str, Any]:
    return document(statistics={"x": entry}, equations={})


def with_equation(equation: Any, **statistics: Any) -> dict[str, Any]:
    base = document()["statistics"]
    return document(statistics={**base, **statistics}, equations={"e": equation})


def with_labels(labels: list[str], **entry: Any) -> dict[str, Any]:
    column = {"role": "keep", "type": "categorical", "categories": {"labels": labels}}
    schema = {**SCHEMA, "attributes": {**SCHEMA["attributes"], "region": column}}
    return {**with_statistic(**entry), "schema": schema}


REGIONS = ["north", "south", "west"]
BAD: dict[str, tuple[dict[str, Any], type[CoterieError], str]] = {
    "numbers that do not apply to everybody": (
        {
            **with_statistic(kind="mean", of="cost"),
            "schema": {
                **SCHEMA,
                "attributes": {
                    **SCHEMA["attributes"],
                    "cost": {**SCHEMA["attributes"]["cost"], "not_applicable": "age < 15"},
                },
            },
        },
        SchemaError,
        "says where it does not apply.*own category",
    ),
    "unknown statistic": (
        with_equation("avg[yes] / avgg[no]"),
        ParameterError,
        r"unknown statistic.*Did you mean 'avg\[no\]'",
    ),
    "circular equations": (
        document(equations={"a": "avg[yes] / b", "b": "a - avg[no]"}),
        ParameterError,
        "circle: a uses b uses a.*over statistics alone",
    ),
    "a release without a name": (document(release=" "), ParameterError, "`release` is empty.*leave out"),
    "a population without a name": (document(population=None), ParameterError, "`population` is empty"),
    "a budget that is noise alone": (  # was: a division by zero
        document(budget={"epsilon": "1e-30"}),
        ParameterError,
        "so small that every figure would be noise alone.*epsilon: 1}",
    ),
    "a rho that is noise alone": (document(budget={"rho": "1e-30"}), ParameterError, "so small that"),
    "a count that is expected below zero": (
        with_statistic(kind="count", where={"smoker": "yes"}, expected=-5)
        | {"neighbours": "add-remove", "records": None},
        ParameterError,
        "cannot lie: below 0",
    ),
    "misspelt equation": (
        document(equations={"times": "avg[yes] / avg[no]", "more": "100 * timse"}),
        ParameterError,
        "'more' uses the unknown statistic 'timse'.*Did you mean 'times'",
    ),
    "misspelt group under expected": (
        with_statistic(kind="count", by={"region": ["north", "south"]}, expected={"nroth": 3}),
        ParameterError,
        "expected names the unknown group 'nroth'.*Did you mean 'north'",
    ),
    "misspelt group under about": (
        with_statistic(kind="mean", of="cost", by={"region": ["north"]}, about={"nort": {"size": 3}}),
        ParameterError,
        "about names the unknown group 'nort'.*Did you mean 'north'",
    ),
    "misspelt group under shape": (
        with_statistic(
            kind="median",
            of="cost",
            by={"region": ["north"]},
            shape={"nort": {"distribution": "normal", "mean": 3, "std": 1}},
        ),
        ParameterError,
        "shape names the unknown group 'nort'.*Did you mean 'north'",
    ),
    "expected by groups that do not exist": (
        with_statistic(kind="mean", of="cost", expected={"north": 3}),
        ParameterError,
        "expected speaks of groups, but there are none",
    ),
    "a range outside the domain": (
        with_statistic(kind="count", where={"age": {"from": 200}}),
        SchemaError,
        "range of 'age' that lies outside its declared domain",
    ),
    "a value outside the domain": (
        with_statistic(kind="count", where={"age": 200}),
        SchemaError,
        "'age' = 200.*which lies outside its declared domain",
    ),
    "trim of a mean": (
        with_statistic(kind="mean", of="cost", trim=0.1),
        ParameterError,
        "is no trimmed_mean",
    ),
    "trim of all": (
        with_statistic(kind="trimmed_mean", of="cost", trim=0.5),
        ParameterError,
        "part left out at each end, from 0.001 to 0.49",
    ),
    "a code that no whole number is": (
        with_statistic(kind="count", by={"age": [18, 18.5]}),
        SchemaError,
        "'age' = 18.5, but it has whole numbers only: nobody matches",
    ),
    "a range without a whole number": (
        with_statistic(kind="count", where={"age": {"from": 18.2, "below": 19}}),
        SchemaError,
        "range of 'age' that holds no whole number",
    ),
    "totals without groups": (
        with_statistic(kind="count", totals=True),
        ParameterError,
        "has `totals`, but no groups",
    ),
    "totals of an unknown column": (
        with_statistic(kind="count", by={"region": ["north"]}, totals=[["reigon"]]),
        ParameterError,
        "names 'reigon', which is not under `by`.*Did you mean 'region'",
    ),
    "totals over nothing": (
        with_statistic(kind="count", by={"region": ["north"]}, totals=[["region"]]),
        ParameterError,
        "are the groups themselves",
    ),
    "totals that are no lists": (
        with_statistic(kind="count", by={"region": ["north"]}, totals="region"),
        ParameterError,
        "neither true nor a list of lists",
    ),
    "a group called all": (
        with_statistic(kind="count", by={"region": ["north", "all"]}, totals=True),
        ParameterError,
        "has a group 'all'",
    ),
    "declared labels that nobody declared": (
        with_statistic(kind="count", by={"region": "declared"}),
        SchemaError,
        "declares no labels for 'region'",
    ),
    "root of a negative value": (
        with_equation("sqrt(avg[yes] - avg[no])"),
        ParameterError,
        r"can be negative.*max\(",
    ),
    "logarithm of a negative value": (
        with_equation("log(avg[yes] - avg[no])"),
        ParameterError,
        "can be negative",
    ),
    "broken power": (with_equation("(avg[yes] - avg[no]) ** 0.5"), ParameterError, "can be negative"),
    "division by an expected zero": (
        with_equation("avg[yes] / d", d={"kind": "sum", "of": "cost", "expected": 0}),
        ParameterError,
        "expected to be zero.*guard",
    ),
    "floors above the budget": (
        document(floor="0.5", budget={"epsilon": "0.8"}),
        ParameterError,
        "Lower `floor`",
    ),
    "misspelt label": (
        with_labels(REGIONS, kind="count", where={"region": "nort"}),
        SchemaError,
        "'nort', which is not among the labels.*Did you mean 'north'",
    ),
    "misspelt group": (
        with_labels(REGIONS, kind="mean", of="cost", by={"region": ["north", "South"]}),
        SchemaError,
        "Did you mean 'south'",
    ),
    "a range of labels": (
        with_labels(REGIONS, kind="count", where={"region": {"from": 1, "below": 3}}),
        SchemaError,
        r"range of 'region', and none of its declared labels lies there.*\[north, south, west\]",
    ),
    "codes beyond the declared ones": (
        with_labels(["1", "2"], kind="count", where={"region": {"from": 3}}),
        SchemaError,
        "none of its declared labels lies there",
    ),
    "misspelt part": (
        with_labels(REGIONS, kind="proportion", that={"region": ["west", "east"]}),
        SchemaError,
        "'east', which is not among",
    ),
    "number that is no label": (
        with_labels(["1", "2"], kind="count", where={"region": 3}),
        SchemaError,
        "'3', which is not among",
    ),
    "empty filter": (
        with_statistic(kind="count", where={"age": {"from": 65}}, by={"age": [30]}),
        ParameterError,
        "empty filter",
    ),
    "empty range": (
        with_statistic(kind="count", where={"age": {"from": 5, "below": 5}}),
        ParameterError,
        "holds nothing",
    ),
    "no values": (
        with_statistic(kind="count", where={"region": []}),
        ParameterError,
        "list of values is empty",
    ),
    "bare yes": (with_statistic(kind="count", where={"smoker": True}), ParameterError, "quotes"),
    "missing bounds": (
        document(schema={"attributes": {**SCHEMA["attributes"], "cost": {"role": "protect"}}}),
        SchemaError,
        "public bounds of 'cost'",
    ),
    "unknown column": (with_statistic(kind="mean", of="costs"), SchemaError, "Did you mean 'cost'"),
    "unknown filter column": (with_statistic(kind="count", where={"regoin": "north"}), SchemaError, "region"),
    "a mean of nothing": (with_statistic(kind="mean"), ParameterError, "needs 1"),
    "a count of something": (with_statistic(kind="count", of="cost"), ParameterError, "Drop `of`"),
    "unknown kind": (with_statistic(kind="average", of="cost"), ParameterError, "kind"),
    "no kind": (with_statistic(of="cost"), ParameterError, "kind is missing"),
    "unknown entry": (with_statistic(kind="count", wher={}), ParameterError, "Did you mean 'where'"),
    "a proportion of nothing": (with_statistic(kind="proportion"), ParameterError, "which records count"),
    "quantile out of range": (
        with_statistic(kind="quantile", of="cost", quantile=1.5),
        ParameterError,
        "between 0 and 1",
    ),
    "falling bins": (with_statistic(kind="histogram", of="age", bins=[3, 1]), ParameterError, "must rise"),
    "by without values": (with_statistic(kind="count", by="region"), ParameterError, "public list"),
    "expected range inverted": (
        with_statistic(kind="count", where={"smoker": "yes"}, expected=[5, 1]),
        ParameterError,
        "inverted",
    ),
    "more than all": (
        with_statistic(kind="mean", of="cost", where={"smoker": "yes"}, at_least=10**6),
        ParameterError,
        "at_least",
    ),
    "no budget": (document(budget=None), ParameterError, "no budget"),
    "two budgets": (document(budget={"epsilon": 1, "rho": 1}), ParameterError, "mixes units"),
    "negative budget": (document(budget={"epsilon": "-1"}), ParameterError, "greater than 0"),
    "large delta": (document(budget={"epsilon": 1, "delta": 0.5}), ParameterError, "delta"),
    "large pilot": (document(pilot="0.9"), ParameterError, "half"),
    "no neighbours": (document(neighbours=None), ParameterError, "replace-one, add-remove"),
    "unknown top entry": (document(budgett=1), ParameterError, "Did you mean 'budget'"),
    "no schema": (document(schema=None), SchemaError, "names no schema"),
    "no statistics": (document(statistics={}), ParameterError, "At least|at least one"),
    "name clash": (
        document(equations={"n": "n[yes]"}, statistics={"n": {"kind": "count", "where": {"smoker": "yes"}}}),
        ParameterError,
        "unknown|both",
    ),
    "name of an equation taken": (
        document(statistics={"n": {"kind": "count", "where": {"smoker": "yes"}}}, equations={"n": "n + 1"}),
        ParameterError,
        "both a statistic and an equation",
    ),
    "name that is no name": (
        document(statistics={"a b": {"kind": "count"}}),
        ParameterError,
        "letters, digits",
    ),
    "count of all": (
        {k: v for k, v in with_statistic(kind="count").items() if k != "records"},
        ParameterError,
        "State `records:`",
    ),
    "mean of all": (
        {k: v for k, v in with_statistic(kind="mean", of="cost").items() if k != "records"},
        ParameterError,
        "State `records:`",
    ),
    "expected outside its domain": (
        with_statistic(kind="mean", of="cost", expected=120),
        ParameterError,
        "expected where it cannot lie: outside 0 to 100",
    ),
    "everything public": (with_statistic(kind="count"), ParameterError, "already public"),
    "nothing expected": (
        with_equation("s / avg[no]", s={"kind": "sum", "of": "age"}),
        ParameterError,
        "not linear, and nothing is said about 's'.*pilot",
    ),
    "disjoint unknown": (document(disjoint=[["n[yes]", "m"]]), ParameterError, "unknown statistic 'm'"),
    "disjoint alone": (document(disjoint=[["n[yes]"]]), ParameterError, "at least two"),
    "ready-made unknown": (
        with_equation({"ready": "ttest", "of": []}),
        ParameterError,
        "Did you mean 't_test'",
    ),
    "neither formula nor ready": (with_equation({"weight": 1}), ParameterError, "either"),
    "negative weight": (with_equation({"formula": "avg[yes]", "weight": -1}), ParameterError, "at least 0"),
    "constant equation": (with_equation("1 + 1"), ParameterError, "uses no statistic"),
}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    Ledger.add_population(path, "people", "100")
    return path


def nothing_happened(folder: Path, ledger: Path) -> None:
    assert Ledger.inspect(ledger).balance("people").remaining == 100
    left = {path.name for path in folder.iterdir()} - {"ledger.sqlite", "data.csv"}
    assert not {name for name in left if "coterie" in name or "out" in name}, left


@pytest.mark.parametrize("name", BAD)
def test_a_bad_specification(name: str, tmp_path: Path, ledger: Path) -> None:
    content, kind, message = BAD[name]
    with pytest.raises(kind) as caught:
        release(read_specification(content), population(60), tmp_path / "out.csv", ledger=ledger)
    assert re.search(message, str(caught.value)), str(caught.value)
    assert caught.value.advice
    nothing_happened(tmp_path, ledger)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("statistics: [", "not valid YAML"),
        ("statistics: {a: {kind: count}}\nstatistics: {}\n", "appears twice"),
        ("just text\n", "not a statistics specification"),
        ("coterie_statistics: 9\nstatistics: {a: {kind: count}}\n", "version"),
    ],
)
def test_text_that_is_no_specification(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read_specification(text + "\n")


def test_a_missing_file_is_named_as_missing(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be read"):
        read_specification(tmp_path / "none.yaml")


# --- data that do not keep what the specification declares ----------------------------------------------


def changed(column: str, values: Any) -> pa.Table:
    table = population()
    return table.set_column(table.schema.get_field_index(column), column, pa.array(values))


def bad_data() -> dict[str, tuple[Any, dict[str, Any], str]]:
    cost = population()["cost"].to_pylist()
    overlap = document(
        statistics={
            "a": {"kind": "count", "where": {"region": "north"}, "expected": 1000},
            "b": {"kind": "count", "where": {"smoker": "yes"}, "expected": 600},
        },
        equations={},
        disjoint=[["a", "b"]],
    )
    incomplete = document(
        statistics={"h": {"kind": "count", "by": {"region": ["north", "south"]}, "complete": True}},
        equations={},
    )
    return {
        "groups declared disjoint share records": (population(), overlap, "share records.*budget"),
        "groups declared complete miss records": (population(), incomplete, "miss some records"),
        "another number of records": (population(100), document(), "another number of records"),
        "outside the domain": (
            changed("cost", [1e6, *cost[1:]]),
            document(),
            "outside its declared domain.*clip",
        ),
        "missing values": (changed("cost", [None, *cost[1:]]), document(), "missing values"),
        "no number": (changed("cost", ["much", *map(str, cost[1:])]), document(), "not a number"),
        "column gone": (population().drop_columns("smoker"), document(), "no column 'smoker'"),
        "no such file": ("nowhere.csv", document(), "no file"),
        "not a table": (3, document(), "is not a table"),
    }


@pytest.mark.parametrize("name", list(bad_data()))
def test_bad_data(name: str, tmp_path: Path, ledger: Path) -> None:
    data, content, message = bad_data()[name]
    with pytest.raises((DataError, ParameterError), match=f"(?s){message}") as caught:
        release(read_specification(content), data, tmp_path / "out.csv", ledger=ledger)
    assert "1000000" not in str(caught.value)
    assert "much" not in str(caught.value)
    nothing_happened(tmp_path, ledger)


def test_clipping_and_imputing_are_choices(tmp_path: Path) -> None:
    cost = population()["cost"].to_pylist()
    table = changed("cost", [None, 1e6, *cost[2:]])
    attribute = {**SCHEMA["attributes"]["cost"], "missing": "impute", "outside": "clip"}
    schema = {"attributes": {**SCHEMA["attributes"], "cost": attribute}}
    chosen = read_specification(document(schema=schema, records=RECORDS))
    assert release(chosen, table, tmp_path / "out.csv", seed=1).path.exists()


def test_outputs_that_cannot_be(tmp_path: Path, ledger: Path) -> None:
    chosen = read_specification(document())
    for output, message in (("out.txt", r"\.parquet or \.arrow"), ("none/out.csv", "no folder")):
        with pytest.raises(OutputError, match=message):
            release(chosen, population(), tmp_path / output, ledger=ledger)
    with pytest.raises(ParameterError, match="seeded"):
        release(chosen, population(), tmp_path / "out.csv", ledger=ledger, seed=1)
    nothing_happened(tmp_path, ledger)


def test_a_budget_that_is_spent_is_refused_before_the_noise(tmp_path: Path) -> None:
    path = tmp_path / "small.sqlite"
    Ledger.add_population(path, "people", "1")
    with pytest.raises(BudgetExceeded):
        release(read_specification(document()), population(), tmp_path / "out.csv", ledger=path)
    assert not (tmp_path / "out.csv").exists()


def test_a_division_by_zero_is_warned_of_and_held_off() -> None:
    chosen = plan(read_specification(document()), report_losses=False)
    warning = next(w for w in chosen.warnings if "'times'" in w)
    assert "whose domain includes 0" in warning
    assert "0.16 are taken as 0.16" in warning


def test_the_data_check_knows_a_real_overlap() -> None:
    """The counterpart of the refusal above: the groups really do overlap."""
    table = population()
    both = pc.and_(pc.equal(table["region"], "north"), pc.equal(table["smoker"], "yes"))
    assert pc.sum(both).as_py() > 0


def test_declared_labels_are_accepted_and_undeclared_ones_are_warned_about() -> None:
    declared = plan(read_specification(with_labels(REGIONS, kind="count", where={"region": "north"})))
    assert not any("misspelt" in warning for warning in declared.warnings)
    plan(read_specification(with_labels(["1", "2"], kind="count", where={"region": 2})))
    bare = plan(read_specification(with_statistic(kind="count", where={"region": "north"})))
    assert any("no labels for region" in warning for warning in bare.warnings)
