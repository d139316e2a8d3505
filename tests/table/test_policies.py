"""What happens to each type of column on its way in and out, and to what is missing or wrong."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from coterie import Schema, protect
from coterie.errors import DataError, SchemaError
from coterie.table.checked import check
from coterie.table.columns.column import CategoryColumn, NumericColumn

LABELS = ["red", "green", "blue", "grey"]


def schema(**attributes: dict[str, object]) -> Schema:
    return Schema.load({"attributes": attributes})


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


def test_timestamps_come_back_by_the_clock_of_utc_and_lose_their_fractions() -> None:
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
    assert out.type == pa.timestamp("us")
    assert out.cast(pa.int64()).to_pylist() == [1_000_000, 1_000_000, 11_000_000, 11_000_000]


def test_text_dates_are_read() -> None:
    described = schema(
        born={"type": "date", "role": "protect", "domain": {"lower": "1990-01-01", "upper": "2010-12-31"}}
    )
    out = released(pa.table({"born": ["2000-01-01", "2000-01-01", "2005-05-05", "2005-05-05"]}), described)
    assert out.column("born").to_pylist()[0] == dt.date(2000, 1, 1)
    with pytest.raises(DataError, match="not a date"):
        released(pa.table({"born": ["2000-01-01", "canary-value", "2005-05-05", "2005-05-05"]}), described)


def test_currency_comes_back_as_doubles_rounded_to_the_declared_places() -> None:
    money = pa.array(
        [Decimal("1.10"), Decimal("1.15"), Decimal("3.00"), Decimal("3.01")], pa.decimal128(10, 2)
    )
    out = released(pa.table({"x": money}), schema(x=number(decimals=2))).column("x")
    assert out.type == pa.float64()
    assert out.to_pylist()[:2] == [1.12] * 2


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


def test_the_default_is_to_refuse_gaps() -> None:
    with pytest.raises(DataError, match=r"'c' has missing values\. The first is in row 2"):
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
    again = Schema.load(described.to_yaml())
    assert again == described
    assert "1990-01-01" in described.to_yaml()


def test_taxonomy_files_are_found_beside_the_schema(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "colours.csv").write_text("red;warm;*\norange;warm;*\nblue;cold;*\n")
    (folder / "schema.yaml").write_text(
        "attributes:\n  c: {type: categorical, role: protect, categories: {taxonomy: colours.csv}}\n"
    )
    described = Schema.load(folder / "schema.yaml")
    out = released(pa.table({"c": ["red", "orange", "blue", "blue"]}), described, method="dp-ir")
    assert set(out.column("c").to_pylist()) <= {"red", "orange", "blue"}


def test_frequency_order_discloses_and_says_so() -> None:
    table = pa.table({"c": ["red"] * 5 + ["blue"] * 4})
    described = schema(c={**colour(), "categories": {"labels": LABELS, "order": "frequency"}})
    release = protect(table, described, method="idp-cbls", epsilon=1, k=3)
    assert release.guarantee.status == "refuted"
    assert "order" in release.guarantee.label
    honest = protect(table, schema(c=colour()), method="idp-cbls", epsilon=1, k=3)
    assert honest.guarantee.beside[0].status == "heuristic"


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
    marked = {"missing_marks": ["?", "n/a"], "missing": "own category"}
    checked = check(table, schema(x=number(**marked), c=colour(**marked)))
    numbers, codes = checked.columns["x"], checked.columns["c"]
    assert isinstance(numbers, NumericColumn)
    assert isinstance(codes, CategoryColumn)
    assert np.isnan(numbers.values).tolist() == [False, True, False, False]
    assert [codes.restore(codes.codes)[row].as_py() for row in range(4)] == ["red", None, None, "blue"]
    with pytest.raises(DataError, match="has missing values"):
        check(table, schema(x=number(missing_marks=["?"]), c=colour(**marked)))


def test_a_draft_knows_categories_and_leaves_their_labels_open() -> None:
    from coterie.schema.draft import drafted

    table = pa.table({"c": ["canary", "other"] * 10, "name": [f"person {row}" for row in range(20)]})
    text = drafted(table).text
    assert "canary" not in text
    draft = Schema.load(text)
    assert draft["c"].type == "categorical"
    assert draft["name"].role == "identifier"
    filled = Schema.load(drafted(table, bounds_from_data=1.5).text)
    assert filled["c"].categories is not None
    assert filled["c"].categories.labels == ("canary", "other")
    assert filled["c"].from_data


# What a hostile reader of mixed tables found.


def test_kept_columns_undo_shuffling() -> None:
    described = schema(x=number(), site={"type": "categorical", "role": "keep"})
    table = pa.table({"x": [0.0, 1.0, 9.0, 10.0], "site": list("abcd")})
    release = protect(table, described, method="dp-mdav", epsilon=5, k=2, shuffle=True)
    assert release.guarantee.status == "refuted"
    assert "site" in release.guarantee.label
    grouped = protect(table, described, method="idp-mdav", epsilon=5, k=3)
    assert grouped.guarantee.beside[0].status == "heuristic"
    assert grouped.guarantee.status == "refuted"
    assert "only if: nothing in site needs protection" in grouped.guarantee.beside[1].label


def test_a_bare_date_bounds_a_timestamp_as_a_moment() -> None:
    bounds = {"lower": "2000-01-01", "upper": "2030-12-31"}
    described = schema(seen={"type": "timestamp", "role": "protect", "domain": bounds})
    assert described["seen"].bounds().lower == dt.datetime(2000, 1, 1, tzinfo=dt.UTC).timestamp()
    moments = pa.array([dt.datetime(2001, 1, day) for day in (1, 2, 3, 4)])
    out = released(pa.table({"seen": moments}), described).column("seen").to_pylist()
    assert out[0].year == 2001
    with pytest.raises(SchemaError, match="without a time"):
        schema(
            d={
                "type": "date",
                "role": "protect",
                "domain": {"lower": "1850-01-01T00:00:00", "upper": "1900-01-01"},
            }
        )


def test_marks_work_on_columns_of_numbers() -> None:
    table = pa.table({"x": [1, -9, 3, 4]})
    described = schema(
        x={**number(missing="impute", impute=2), "missing_marks": [-9], "domain": {"lower": -10, "upper": 10}}
    )
    assert check(table, described).columns["x"].values[1] == 2  # type: ignore[union-attr]


def test_a_declared_label_is_released_as_written() -> None:
    labels = {"labels": ["low", "(missing)"]}
    described = schema(c={"type": "categorical", "role": "protect", "categories": labels})
    out = released(pa.table({"c": ["low"] * 3 + ["(missing)"] * 3}), described, k=3).column("c")
    assert out.null_count == 0


def test_the_day_of_a_zoned_timestamp_is_that_on_the_wall() -> None:
    moments = (
        pa.array([dt.datetime(2019, 12, 31, 23, 30)] * 4, pa.timestamp("s"))
        .cast(pa.timestamp("s", tz="UTC"))
        .cast(pa.timestamp("s", tz="Europe/Berlin"))
    )
    bounds = {"lower": "2020-01-01", "upper": "2020-12-31"}
    described = schema(d={"type": "date", "role": "protect", "domain": bounds})
    out = released(pa.table({"d": moments}), described).column("d").to_pylist()
    assert out == [dt.date(2020, 1, 1)] * 4


def test_labels_that_the_stored_type_cannot_hold() -> None:
    described = schema(
        c={"type": "categorical", "role": "protect", "categories": {"labels": [1, 2, "other"]}}
    )
    assert released(pa.table({"c": [1, 1, 2, 2]}), described).column("c").to_pylist() == ["1", "1", "2", "2"]
    viewed = pa.table({"c": pa.array(["1", "1", "2", "2"], pa.string_view())})
    assert released(viewed, described).num_rows == 4


def test_a_wide_domain_in_nanoseconds() -> None:
    bounds = {"lower": "0001-01-01T00:00:00", "upper": "9999-12-31T00:00:00"}
    described = schema(t={"type": "timestamp", "role": "protect", "domain": bounds})
    moments = pa.array([dt.datetime(2000, 1, 1)] * 4, pa.timestamp("ns"))
    assert released(pa.table({"t": moments}), described, method="laplace", k=None).num_rows == 4


def test_truth_values_in_any_spelling() -> None:
    described = schema(
        b={"type": "boolean", "role": "protect", "missing_marks": ["n/a"], "missing": "own category"}
    )
    table = pa.table({"b": ["True", "False", "n/a", "yes", "no", "1"]})
    assert released(table, described).num_rows == 6


def test_labels_in_yaml_are_text_as_they_stand() -> None:
    text = "attributes:\n  c: {type: categorical, role: protect, categories: {labels: [yes, no, 010, 1:30, null]}}\n"
    categories = Schema.load(text)["c"].categories
    assert categories is not None
    assert categories.labels == ("yes", "no", "010", "1:30", "null")


def test_a_label_may_be_called_like_our_root() -> None:
    described = schema(c={"type": "categorical", "role": "protect", "categories": {"labels": ["*", "a"]}})
    assert released(pa.table({"c": ["*", "a"] * 2}), described).num_rows == 4


def test_text_with_a_zone_is_a_timestamp() -> None:
    bounds = {"lower": "2000-01-01", "upper": "2030-12-31"}
    described = schema(t={"type": "timestamp", "role": "protect", "domain": bounds})
    out = released(pa.table({"t": ["2001-11-18T16:12:16Z"] * 4}), described)
    assert out.column("t").to_pylist()[0] == dt.datetime(2001, 11, 18, 16, 12, 16)


def test_values_to_impute_as_yaml_gives_them() -> None:
    text = """attributes:
  d: {type: date, role: protect, missing: impute, impute: 1999-01-01, domain: {lower: 1990-01-01, upper: 2010-01-01}}
  b: {type: boolean, role: protect, missing: impute, impute: true}
  c: {type: categorical, role: protect, missing: impute, impute: 1, categories: {labels: [1, 2]}}
"""
    table = pa.table({"d": [None, dt.date(2000, 1, 1)], "b": [None, False], "c": [None, "2"]})
    checked = check(table, Schema.load(text))
    assert checked.columns["d"].position[0] == (dt.date(1999, 1, 1) - dt.date(1970, 1, 1)).days
    for name, label in (("b", "true"), ("c", "1")):
        column = checked.columns[name]
        assert isinstance(column, CategoryColumn)
        assert column.taxonomy.categories[column.codes[0]] == label


def test_the_certificate_pins_the_labels_and_the_policy() -> None:
    described = schema(c=colour(missing="impute", impute="grey", missing_marks=["?"]))
    certified = protect(
        pa.table({"c": ["red", "?", "blue"]}), described, method="laplace", epsilon=1
    ).certificate
    attribute = certified.attributes[0]
    assert attribute.categories is not None
    assert attribute.categories.sha256 is not None
    assert attribute.imputed == "grey"
    assert attribute.missing_marks == ("?",)


def test_optimal_groups_promise_their_size() -> None:
    table = pa.table({"x": np.linspace(0, 10, 12)})
    release = protect(table, schema(x=number()), method="ir", k=3, grouping="optimal")
    assert "at least 3 records" in release.guarantee.label


def test_zeros_in_front_survive_a_csv_file(tmp_path: object) -> None:
    from pathlib import Path

    from coterie.table.reading import read_table

    path = Path(str(tmp_path)) / "zip.csv"
    path.write_text("zip\n01234\n04109\n01234\n04109\n")
    described = schema(
        zip={"type": "categorical", "role": "protect", "categories": {"labels": ["01234", "04109"]}}
    )
    out = released(read_table(path, schema=described), described)
    assert set(out.column("zip").to_pylist()) <= {"01234", "04109"}
