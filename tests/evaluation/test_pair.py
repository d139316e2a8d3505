"""Original and release that do not belong together: what is said, and which measures are still given."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from coterie import protect
from coterie.errors import DataError, ParameterError, SchemaError
from coterie.evaluation import all_measures
from coterie.evaluation.evaluation import evaluate
from coterie.evaluation.measure import Settings
from coterie.schema.attributes import Schema

SCHEMA = Schema.load(
    """
    attributes:
      name: {role: identifier}
      x: {role: protect, domain: {lower: 0, upper: 10}, outside: clip}
      y: {type: integer, role: protect, domain: {lower: 0, upper: 50}}
      kind: {role: keep, type: categorical}
    """
)
WITHOUT_KEPT = Schema(attributes=tuple(a for a in SCHEMA.attributes if a.name != "kind"))


def table(records: int = 80) -> pa.Table:
    draw = np.random.default_rng(7)
    x = draw.uniform(0, 10, records)
    return pa.table(
        {
            "name": [f"N{i}" for i in range(records)],
            "x": x,
            "y": draw.integers(0, 50, records),
            "kind": np.where(x > 5, "high", "low"),
        }
    )


def release(**options: object) -> pa.Table:
    return protect(table(), SCHEMA, method="dp-ir", epsilon=20, k=5, seed=1, **options).table  # type: ignore[arg-type]


def test_all_measures_of_a_linked_release() -> None:
    found = evaluate(table(), release(), SCHEMA, target="kind")
    missing = {name for name, result in found.measures.items() if result.value is None}
    # There is no category to protect, no third attribute, and nothing in the two goes together.
    assert missing <= {"semantic-distance", "three-way", "models", "associations", "mutual-information"}
    assert {"semantic-distance", "three-way"} <= missing
    assert set(found.measures) == set(all_measures())


def test_fewer_rows() -> None:
    with pytest.raises(DataError, match="80 usable rows and the release 79"):
        evaluate(table(), release().slice(1), SCHEMA)


def test_a_missing_column_suggests_the_nearest() -> None:
    renamed = release().rename_columns(["X", "y", "kind"])
    with pytest.raises(DataError, match=r"no column 'x'.*Did you mean 'X'"):
        evaluate(table(), renamed, SCHEMA)


def test_a_column_cut_off_lists_what_there_is() -> None:
    with pytest.raises(DataError, match=r"no column 'x'.*It has y, kind only\. Give the whole release"):
        evaluate(table(), release().drop_columns(["x"]), SCHEMA)


def test_the_release_of_another_table() -> None:
    with pytest.raises(
        DataError, match=r"schema is of another table: the release has a, b, c, the schema x, y, kind"
    ):
        evaluate(table(), release().rename_columns(["a", "b", "c"]), SCHEMA)


def test_an_extra_column() -> None:
    wider = release().append_column("extra", pa.array(range(80)))
    with pytest.raises(SchemaError, match="'extra' that the schema does not describe"):
        evaluate(table(), wider, SCHEMA)


def test_the_original_given_as_the_release() -> None:
    with pytest.raises(DataError, match="calls an identifier"):
        evaluate(table(), table(), SCHEMA)


def test_columns_in_another_order_are_matched_by_name() -> None:
    plain = evaluate(table(), release(), SCHEMA, measures=["sse"])
    moved = evaluate(table(), release().select(["kind", "y", "x"]), SCHEMA, measures=["sse"])
    assert moved.measures["sse"] == plain.measures["sse"]
    assert any("another order" in note for note in moved.notes)


def test_text_in_a_numeric_column_names_the_column_and_no_value() -> None:
    broken = release().set_column(0, "x", pa.array(["SECRET"] * 80))
    with pytest.raises(DataError, match="In the release: Column 'x'") as error:
        evaluate(table(), broken, SCHEMA)
    assert "SECRET" not in str(error.value)


@pytest.mark.parametrize("said", [True, False])
def test_shuffled_rows_leave_the_measures_that_need_no_linkage(said: bool) -> None:
    """Either the user says so, or a column that was released untouched shows it."""
    shuffled = release(shuffle=True)
    found = evaluate(table(), shuffled, SCHEMA, shuffled=said, target="kind")
    for name, result in found.measures.items():
        if all_measures()[name].needs_linkage:
            assert result.value is None
            assert result.reason is not None
            assert "linked rows" in result.reason
        else:
            assert result.value is not None or "linked" not in str(result.reason), name


def test_unlinked_measures_do_not_depend_on_the_order_of_rows() -> None:
    straight = evaluate(
        table(), release(), SCHEMA, measures=["jensen-shannon", "correlation", "range-queries"]
    )
    shuffled = evaluate(
        table(), release(shuffle=True), SCHEMA, measures=["jensen-shannon", "correlation", "range-queries"]
    )
    for name, result in straight.measures.items():
        assert shuffled.measures[name].value == pytest.approx(result.value, abs=1e-12)


def test_rows_that_look_shuffled_are_noted() -> None:
    original = table().drop_columns(["kind"])
    shuffled = protect(original, WITHOUT_KEPT, method="dp-ir", epsilon=20, k=5, seed=1, shuffle=True).table
    found = evaluate(original, shuffled, WITHOUT_KEPT, measures=["sse"])
    assert any("shuffled" in note for note in found.notes)
    straight = protect(original, WITHOUT_KEPT, method="dp-ir", epsilon=20, k=5, seed=1).table
    assert not evaluate(original, straight, WITHOUT_KEPT, measures=["sse"]).notes


def test_values_are_compared_as_they_are_not_as_clipped() -> None:
    wild = table().set_column(1, "x", pa.array(np.append(table().column("x").to_numpy()[1:], 1000.0)))
    released = protect(wild, SCHEMA, method="ir", epsilon=1, k=5, seed=1).table
    assert evaluate(wild, released, SCHEMA, measures=["sse"]).measures["sse"].value > 0.2  # type: ignore[operator]


@pytest.mark.parametrize(
    ("kind", "bounds", "whole"),
    [
        ("continuous", "lower: 40, upper: 71", pa.float64()),
        ("integer", "lower: 40, upper: 71", pa.int64()),
        ("date", "lower: 2000-01-01, upper: 2020-12-31", pa.date32()),
    ],
)
def test_missing_values_are_imputed_as_the_release_imputed_them(
    kind: str, bounds: str, whole: pa.DataType
) -> None:
    """The middle of the declared domain stands in, so a release without noise in groups of equals has no error."""
    schema = Schema.load(
        f"attributes: {{x: {{type: {kind}, role: protect, domain: {{{bounds}}}, missing: impute}}}}\n"
    )
    early = {"continuous": 41.0, "integer": 41, "date": date(2001, 1, 1)}[kind]
    values = pa.table({"x": pa.array([None] * 10 + [early] * 10, whole)})
    released = protect(values, schema, method="ir", epsilon=1, k=10, seed=1).table
    assert evaluate(values, released, schema, measures=["sse"]).measures["sse"].value == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": "sort"}, "class column 'sort' is not in the release"),
        ({"target": "kind", "threshold": 3.0}, "no numbers to split"),
        ({"target": "x"}, "more than 50 classes"),
        ({"target": "kind", "classifier": "RandomForest"}, "Did you mean 'RandomForestClassifier'"),
        ({"target": "kind", "classifier": "VotingClassifier"}, "another classifier inside"),
        ({"target": "kind", "train_share": 1.0}, "leaves no record"),
    ],
)
def test_classification_says_what_is_wrong(settings: dict, message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        evaluate(table(), release(), SCHEMA, measures=["classification"], **settings)


def test_classification_without_a_class_column_is_skipped_with_the_reason() -> None:
    found = evaluate(table(), release(), SCHEMA, measures=["classification"])
    assert found.measures["classification"].reason == "no class column was named (--target)"


def test_unknown_measure_and_bins() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'jensen-shannon'"):
        evaluate(table(), release(), SCHEMA, measures=["jensen-shanon"])
    with pytest.raises(ParameterError, match="auto, domain or value"):
        evaluate(table(), release(), SCHEMA, bins="five")
    with pytest.raises(ParameterError, match="no query"):
        evaluate(table(), release(), SCHEMA, queries=0)


def test_a_kept_column_with_nan_stands_where_it_stood() -> None:
    schema = Schema.load(
        "attributes:\n {x: {role: protect, domain: {lower: 0, upper: 10}}, rest: {role: keep}}"
    )
    rest = np.where(np.arange(80) % 7 == 0, np.nan, np.arange(80) / 3)
    data = table().select(["x"]).append_column("rest", pa.array(rest))
    out = protect(data, schema, method="dp-ir", epsilon=20, k=5, seed=1).table
    assert evaluate(data, out, schema, measures=["sse"]).measures["sse"].value is not None
    turned = out.set_column(1, "rest", pa.chunked_array([out.column("rest").combine_chunks()[::-1]]))
    assert "other rows" in (evaluate(data, turned, schema, measures=["sse"]).measures["sse"].reason or "")
    text = out.set_column(1, "rest", pa.array(["a"] * 80))
    assert "something else" in (evaluate(data, text, schema, measures=["sse"]).measures["sse"].reason or "")


def test_a_constant_column_does_not_hide_that_rows_moved() -> None:
    schema = Schema.load(
        "attributes:\n {x: {role: protect, domain: {lower: 0, upper: 10}}, c: {role: protect, domain: {lower: 0, upper: 9}}}"
    )
    data = table().select(["x"]).append_column("c", pa.array([4.5] * 80))
    out = protect(data, schema, method="idp-cbls", epsilon=20, k=5, seed=1).table
    assert evaluate(data, out, schema, measures=["sse"]).notes == ()
    moved = out.take(np.random.default_rng(3).permutation(80))
    assert any("--shuffled" in note for note in evaluate(data, moved, schema, measures=["sse"]).notes)


def test_a_classifier_that_refuses_the_records_costs_its_own_measure_only() -> None:
    below = Schema.load(
        "attributes:\n {x: {role: protect, domain: {lower: -10, upper: 10}}, kind: {role: keep, type: categorical}}"
    )
    data = table().select(["x", "kind"])
    data = data.set_column(0, "x", pa.array(data.column("x").to_numpy() - 5))
    settings = {"target": "kind", "classifier": "MultinomialNB"}  # takes counts: nothing below 0
    found = evaluate(data, data, below, measures=["sse", "classification"], **settings).measures
    assert found["sse"].value == 0
    assert "MultinomialNB cannot work with these records" in (found["classification"].reason or "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed"),
        ({"target": "x", "threshold": float("nan")}, "not a finite number"),
        ({"threshold": 3.0}, "no class column"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Settings(**options)
