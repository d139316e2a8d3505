"""What happens to each type of column on its way in and out, and to what is missing or wrong."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from coterie import Schema, protect
from coterie.columns.column import CategoryColumn, NumericColumn
from coterie.errors import DataError, SchemaError
from coterie.table import check

LABELS = ["red", "green", "blue", "grey"]


def schema(**attributes: dict[str, object]) -> Schema:
    return Schema.from_dict({"attributes": attributes})


def colour(**extra: object) -> dict[str, object]:
    return {"type": "categorical", "role": "protect", "categories": {"labels": LABELS}, **extra}


def number(**extra: object) -> dict[str, object]:
    return {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 10}, **extra}


def released(table: pa.Table, described: Schema, **arguments: object) -> pa.Table:
    return protect(table, described, **{"method": "ir", "epsilon": 1, "k": 2, "seed": 1, **arguments}).table


def test_dates_become_days_and_dates_again() -> None:
    days = [dt.date(2000, 1, 1) + dt.timedelta(days=day) for day in (0, 2, 10, 12)]
    described = schema(
        born={"type": "date", "role": "protect", "domain": {"lower": "1990-01-01", "upper": "2010-12-31"}}
    )
    out = released(pa.table({"born": days}), described)
    assert out.schema.field("born").type == pa.date32()
    assert out.column("born").to_pylist() == [dt.date(2000, 1, 2)] * 2 + [dt.date(2000, 1, 12)] * 2


def test_timestamps_keep_their_zone_and_lose_their_fractions() -> None:
    kind = pa.timestamp("ms", tz="Europe/Madrid")
    moments = pa.array([0, 2_000, 10_000, 12_000], pa.int64()).cast(kind)
    described = schema(
        seen={
            "type": "timestamp",
            "role": "protect",
            "domain": {"lower": "1970-01-01T00:00:00", "upper": "1970-01-02T00:00:00"},
        }
    )
    out = released(pa.table({"seen": moments}), described).column("seen")
    assert out.type == kind
    assert out.cast(pa.int64()).to_pylist() == [1_000, 1_000, 11_000, 11_000]


def test_text_dates_are_read() -> None:
    described = schema(
        born={"type": "date", "role": "protect", "domain": {"lower": "1990-01-01", "upper": "2010-12-31"}}
    )
    out = released(pa.table({"born": ["2000-01-01", "2000-01-01", "2005-05-05", "2005-05-05"]}), described)
    assert out.column("born").to_pylist()[0] == dt.date(2000, 1, 1)
    with pytest.raises(DataError, match="not a date"):
        released(pa.table({"born": ["2000-01-01", "canary-value", "2005-05-05", "2005-05-05"]}), described)


def test_currency_keeps_its_places() -> None:
    money = pa.array(
        [Decimal("1.10"), Decimal("1.15"), Decimal("3.00"), Decimal("3.01")], pa.decimal128(10, 2)
    )
    out = released(pa.table({"x": money}), schema(x=number(decimals=2))).column("x")
    assert pa.types.is_decimal(out.type)
    assert out.type.scale == 2
    assert out.to_pylist()[:2] == [Decimal("1.12")] * 2


def test_decimals_round_floats() -> None:
    out = released(
        pa.table({"x": [1.0, 2.0, 3.0, 4.0]}), schema(x=number(decimals=1)), method="laplace", k=None
    ).column("x")
    assert all(round(value, 1) == value for value in out.to_pylist())


def test_ordinal_labels_go_through_their_ranks() -> None:
    described = schema(
        size={"type": "ordinal", "role": "protect", "categories": {"labels": ["S", "M", "L", "XL"]}}
    )
    out = released(pa.table({"size": ["S", "L", "L", "XL", "S", "L"]}), described, k=3).column("size")
    assert out.to_pylist() == ["M", "L", "L", "L", "M", "M"] or set(out.to_pylist()) <= {"S", "M", "L", "XL"}
    assert out.type == pa.string()


@pytest.mark.parametrize("method", ["ir", "laplace", "dp-ir", "idp-cbls", "mdav", "dp-mdav"])
def test_truth_values_stay_truth_values(method: str) -> None:
    table = pa.table({"b": [True, False, True, True, False, False]})
    k = None if method == "laplace" else 3
    out = released(table, schema(b={"type": "boolean", "role": "protect"}), method=method, k=k).column("b")
    assert out.type == pa.bool_()
    assert out.null_count == 0


def test_numbers_can_be_labels() -> None:
    described = schema(
        code={"type": "categorical", "role": "protect", "categories": {"labels": [1, 2, 3]}},
    )
    out = released(pa.table({"code": [1, 1, 3, 3]}), described).column("code")
    assert out.type == pa.int64()
    assert out.to_pylist() == [1, 1, 3, 3]


def test_missing_as_its_own_category_comes_back_as_missing() -> None:
    table = pa.table({"c": ["red", "red", None, None, "", "blue"]})
    out = released(table, schema(c=colour(missing="own category")), k=2, method="ir").column("c")
    assert out.null_count >= 2
    assert set(out.to_pylist()) <= {"red", "blue", None}


def test_imputed_values_are_public_ones() -> None:
    table = pa.table({"x": [1.0, None, 9.0, 9.0], "c": ["red", None, "blue", "blue"]})
    checked = check(table, schema(x=number(missing="impute"), c=colour(missing="impute", impute="grey")))
    numbers, codes = checked.columns["x"], checked.columns["c"]
    assert isinstance(numbers, NumericColumn)
    assert isinstance(codes, CategoryColumn)
    assert numbers.values[1] == 5.0
    assert codes.taxonomy.categories[codes.codes[1]] == "grey"
    named = check(table, schema(x=number(missing="impute", impute=2), c=colour(missing="impute")))
    assert named.columns["x"].values[1] == 2.0  # type: ignore[union-attr]


def test_dropped_rows_go_from_every_column() -> None:
    table = pa.table({"x": [1.0, None, 3.0, 4.0], "c": ["red", "blue", "blue", None], "note": list("abcd")})
    described = schema(
        x=number(missing="drop row"),
        c=colour(missing="drop row"),
        note={"role": "keep", "type": "categorical"},
    )
    release = protect(table, described, method="ir", epsilon=1, k=2, seed=1)
    assert release.table.column("note").to_pylist() == ["a", "c"]
    assert release.internal.rows_dropped == 2


def test_the_default_is_to_refuse_gaps() -> None:
    with pytest.raises(DataError, match=r"'c' misses 1 value\(s\), the first in row 2"):
        released(pa.table({"c": ["red", None, "blue"]}), schema(c=colour()))


def test_an_unknown_label_gets_the_nearest_ones_and_is_not_repeated() -> None:
    table = pa.table({"c": ["red", "greeen-canary", "blue", "blue"]})
    with pytest.raises(DataError) as caught:
        released(table, schema(c=colour()))
    assert "row 2" in str(caught.value)
    assert "green" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_too_many_labels_are_refused() -> None:
    labels = [f"label {number}" for number in range(12)]
    described = schema(c={**colour(), "categories": {"labels": labels, "most": 10}})
    with pytest.raises(SchemaError, match="12 labels, more than the 10 allowed"):
        released(pa.table({"c": labels[:4]}), described)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"type": "categorical", "role": "protect", "domain": {"lower": 0, "upper": 1}}, "has categories"),
        ({"type": "integer", "role": "protect", "categories": {"labels": ["a"]}}, "no categories"),
        ({"type": "ordinal", "role": "protect", "categories": {"taxonomy": "x.csv"}}, "labels in order"),
        ({"type": "continuous", "role": "protect", "missing": "own category"}, "for categories"),
        ({"type": "integer", "role": "protect", "decimals": 2}, "only a continuous"),
        ({**colour(), "categories": {}}, "either labels"),
        ({**colour(), "categories": {"labels": ["a", "a"]}}, "listed twice"),
        ({**colour(), "categories": {"taxonomy": "t.csv", "order": "listed"}}, "order: listed"),
        ({"role": "protect", "impute": 3}, "missing: impute"),
        (
            {"type": "date", "role": "protect", "domain": {"lower": "soon", "upper": "later"}},
            "a date such as",
        ),
    ],
)
def test_schemas_that_contradict_themselves(entry: dict[str, object], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema(c=entry)


def test_labels_must_be_declared() -> None:
    with pytest.raises(SchemaError, match="not declared"):
        released(pa.table({"c": ["a", "b"]}), schema(c={"type": "categorical", "role": "protect"}))


def test_a_value_to_impute_must_be_in_the_domain() -> None:
    table = pa.table({"x": [1.0, None, 3.0], "c": ["red", None, "blue"]})
    with pytest.raises(SchemaError, match="not in its domain"):
        check(table, schema(x=number(missing="impute", impute=11), c=colour(missing="impute")))
    with pytest.raises(SchemaError, match="not in its domain"):
        check(table, schema(x=number(missing="impute"), c=colour(missing="impute", impute="pink")))


def test_schema_round_trip_with_every_type() -> None:
    described = schema(
        born={"type": "date", "role": "protect", "domain": {"lower": "1990-01-01", "upper": "2010-12-31"}},
        seen={
            "type": "timestamp",
            "role": "protect",
            "domain": {"lower": "1990-01-01T00:00:00", "upper": "2010-12-31T10:00:00"},
        },
        size={"type": "ordinal", "role": "protect", "categories": {"labels": ["S", "M"]}},
        c=colour(missing="own category", weight="1/3"),
        b={"type": "boolean", "role": "protect"},
        x=number(decimals=2),
    )
    again = Schema.from_yaml(described.to_yaml())
    assert again == described
    assert "1990-01-01" in described.to_yaml()


def test_taxonomy_files_are_found_beside_the_schema(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "colours.csv").write_text("red;warm;*\norange;warm;*\nblue;cold;*\n")
    (folder / "schema.yaml").write_text(
        "attributes:\n  c: {type: categorical, role: protect, categories: {taxonomy: colours.csv}}\n"
    )
    described = Schema.from_yaml(folder / "schema.yaml")
    out = released(pa.table({"c": ["red", "orange", "blue", "blue"]}), described, method="dp-ir")
    assert set(out.column("c").to_pylist()) <= {"red", "orange", "blue"}


def test_frequency_order_discloses_and_says_so() -> None:
    table = pa.table({"c": ["red"] * 5 + ["blue"] * 4})
    described = schema(c={**colour(), "categories": {"labels": LABELS, "order": "frequency"}})
    release = protect(table, described, method="idp-cbls", epsilon=1, k=3)
    assert release.guarantee.status == "refuted"
    assert "order" in release.guarantee.label
    honest = protect(table, schema(c=colour()), method="idp-cbls", epsilon=1, k=3)
    assert honest.guarantee.status == "heuristic"


def test_labels_from_the_data_refute_and_stay_off_the_certificate() -> None:
    described = schema(c={**colour(), "categories": {"labels": ["canary-a", "canary-b"], "source": "data"}})
    release = protect(pa.table({"c": ["canary-a", "canary-b"] * 3}), described, method="laplace", epsilon=1)
    assert release.guarantee.status == "refuted"
    assert "canary" not in release.certificate.to_json()


def test_mixed_tables_list_the_mechanism_of_each_attribute() -> None:
    table = pa.table({"x": np.linspace(0, 10, 12), "c": LABELS * 3})
    release = protect(table, schema(x=number(weight=3), c=colour()), method="dp-ir", epsilon="1", k=3)
    first, second = release.certificate.attributes
    assert first.epsilon == "0.75"
    assert second.epsilon == "0.25"
    assert first.mechanism is not None
    assert "Laplace" in first.mechanism
    assert second.mechanism is not None
    assert "exponential" in second.mechanism
    assert second.caution is not None


def test_marks_of_missing_values() -> None:
    table = pa.table({"x": ["1", "?", "3", "4"], "c": ["red", "?", "n/a", "blue"]})
    marked = {"missing_marks": ["?", "n/a"], "missing": "drop row"}
    checked = check(table, schema(x=number(**marked), c=colour(**marked)))
    assert checked.records == 2
    with pytest.raises(DataError, match="misses 1"):
        check(table, schema(x=number(missing_marks=["?"]), c=colour(**marked)))


def test_a_draft_knows_categories_and_leaves_their_labels_open() -> None:
    from coterie.io.draft import draft_schema

    table = pa.table({"c": ["canary", "other"] * 10, "name": [f"person {row}" for row in range(20)]})
    text = draft_schema(table)
    assert "canary" not in text
    drafted = Schema.from_yaml(text)
    assert drafted["c"].type == "categorical"
    assert drafted["name"].role == "identifier"
    filled = Schema.from_yaml(draft_schema(table, bounds_from_data=1.5))
    assert filled["c"].categories is not None
    assert filled["c"].categories.labels == ("canary", "other")
    assert filled["c"].domain_from_data
