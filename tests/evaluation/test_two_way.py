"""two-way: total variation of the tables of two attributes, worst pairs first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import coterie
from coterie.evaluation import get_measure
from coterie.evaluation.measure import MeasureResult, Settings
from coterie.evaluation.pair import bring_together
from coterie.evaluation.tables import cells_of
from coterie.evaluation.two_way import MOST_PAIRS, associations
from coterie.schema.document import schema_from

LABELS = {"type": "categorical", "role": "protect", "categories": {"labels": ["a", "b"]}}
NUMBER = {
    "type": "integer",
    "role": "protect",
    "domain": {"lower": 0, "upper": 7},
    "missing": "own category",
}


def measured(before: dict[str, Any], after: dict[str, Any], **attributes: Any) -> MeasureResult:
    schema = schema_from({"attributes": attributes})
    pair = bring_together(pa.table(before), pa.table(after), schema, shuffled=True)
    return get_measure("two-way").compute(pair, Settings())


def by_hand(before: Sequence[tuple[Any, Any]], after: Sequence[tuple[Any, Any]]) -> float:
    cells = {*before, *after}
    return sum(abs(before.count(cell) / len(before) - after.count(cell) / len(after)) for cell in cells) / 2


def test_it_is_the_share_of_records_that_would_have_to_move() -> None:
    before, after = [*"aabb"], [*"abab"]
    found = measured({"u": before, "v": before}, {"u": before, "v": after}, u=LABELS, v=LABELS)
    assert (
        found.value
        == by_hand(list(zip(before, before, strict=True)), list(zip(before, after, strict=False)))
        == 0.5
    )
    (worst,) = found.details["worst_pairs"]
    assert (worst["pair"], worst["distance"]) == (["u", "v"], 0.5)


def test_missing_is_a_cell_of_its_own_and_rows_may_be_more_or_fewer() -> None:
    before = {"x": [0, 1, 2, 3, 4, 5, 6, 7, None, None], "u": [*"aaaaabbbbb"]}
    after = {"x": [0, 1, 2, 3, None], "u": [*"aaabb"]}
    found = measured(before, after, x=NUMBER, u=LABELS)
    exact = by_hand(
        list(zip(before["x"], before["u"], strict=True)), list(zip(after["x"], after["u"], strict=False))
    )
    # Eighths of 0…7 are one value each, so the table on bins is the table on values.
    assert found.value == pytest.approx(exact)


def test_the_pair_told_worst_comes_first() -> None:
    draw = np.random.default_rng(1)
    before = {name: draw.choice(["a", "b"], 400) for name in "uvw"}
    after = {**before, "w": np.where(before["u"] == "a", "a", "b")}
    found = measured(before, after, u=LABELS, v=LABELS, w=LABELS)
    worst = found.details["worst_pairs"]
    assert worst[0]["pair"] == ["u", "w"]
    assert (worst[-1]["pair"], worst[-1]["distance"]) == (["u", "v"], 0.0)
    assert found.attributes["w"] > found.attributes["v"]


def test_many_labels_and_many_columns() -> None:
    labels = [f"l{number}" for number in range(1010)]
    wide = {"type": "categorical", "role": "protect", "categories": {"labels": labels, "most": 1010}}
    found = measured({"u": labels, "v": labels}, {"u": labels, "v": labels[::-1]}, u=wide, v=wide)
    assert found.value == pytest.approx(
        1.0
    )  # of more than a million cells, only those that occur are counted
    many = {f"c{place}": [*"ab"] for place in range(120)}
    found = measured(many, many, **dict.fromkeys(many, LABELS))
    assert found.value == 0.0
    assert found.details["tables"] == MOST_PAIRS


def test_one_attribute_has_no_pairs() -> None:
    found = measured({"u": [*"ab"]}, {"u": [*"ab"]}, u=LABELS)
    assert found.value is None
    assert found.reason == "a two-way table needs two protected attributes"


def test_another_number_of_rows_is_refused_where_rows_stand_for_people() -> None:
    schema = {"attributes": {"u": LABELS, "v": LABELS}}
    rows, fewer = pa.table({"u": [*"abab"], "v": [*"abba"]}), pa.table({"u": [*"ab"], "v": [*"ab"]})
    with pytest.raises(coterie.errors.DataError, match=r"different numbers of rows.*--shuffled"):
        coterie.evaluate(rows, fewer, schema)
    assert coterie.evaluate(rows, fewer, schema, shuffled=True).measures["two-way"].value == 0.5


def test_an_association_is_one_for_copies_and_none_for_chance() -> None:
    draw = np.random.Generator(np.random.PCG64(3))
    u, v = draw.choice(["a", "b"], (2, 4000))
    copied = {"u": u.tolist(), "v": u.tolist(), "x": draw.integers(0, 8, 4000).tolist()}
    apart = {"u": u.tolist(), "v": v.tolist(), "x": (np.where(u == "a", 1, 6)).tolist()}
    schema = schema_from({"attributes": {"u": LABELS, "v": LABELS, "x": NUMBER}})
    pair = bring_together(pa.table(copied), pa.table(apart), schema, shuffled=True)
    before, after = associations(pair, ["u", "v", "x"])
    assert before[0, 1] == pytest.approx(1, abs=0.01)
    assert after[0, 1] < 0.05, "corrected for what chance alone gives"
    assert before[0, 2] < 0.05
    assert after[0, 2] == pytest.approx(1, abs=0.01)
    assert (before == before.T).all()


def test_a_column_of_one_value_tells_nothing() -> None:
    schema = schema_from({"attributes": {"u": LABELS, "v": LABELS}})
    table = pa.table({"u": ["a"] * 5, "v": [*"ababa"]})
    before, _ = associations(bring_together(table, table, schema, shuffled=True), ["u", "v"])
    assert before[0, 1] == 0


def test_cells_of_dates_are_named_by_dates() -> None:
    days = pa.array(np.arange(400, dtype=np.int32) + 18_000).cast(pa.date32())
    domain = {"lower": "2015-01-01", "upper": "2025-12-31"}
    schema = schema_from({"attributes": {"day": {"type": "date", "role": "protect", "domain": domain}}})
    pair = bring_together(pa.table({"day": days}), pa.table({"day": days}), schema, shuffled=True)
    column = pair.original["day"]
    assert cells_of(column, column, 4).names == (
        *("(missing)", "up to 2019-07-22", "above 2019-07-22 to 2019-10-30"),
        *("above 2019-10-30 to 2020-02-07", "above 2020-02-07"),
    )
