"""Truncation maps each unit alone: neighbours of any size become neighbours of at most `at_most` rows."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import coterie
from coterie.errors import DataError
from coterie.schema.arrays import Words
from coterie.schema.attributes import Schema
from coterie.table.units import KEY_WORDS, bounded_units

KEY = np.arange(1, KEY_WORDS + 1, dtype=np.uint64)


def described(at_most: int, above: str = "truncate") -> Schema:
    return coterie.Schema.load(
        {
            "unit": {"column": "home", "at_most": at_most, "above": above},
            "attributes": {
                "home": {"role": "identifier", "missing_marks": ["-"]},
                "value": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 9}},
            },
        }
    )


def table(rows: list[tuple[str, int]]) -> pa.Table:
    return pa.table({"home": pa.array([h for h, _ in rows], pa.string()), "value": [v for _, v in rows]})


def rows_of(kept: pa.Table) -> list[tuple[str, int]]:
    return list(zip(kept.column("home").to_pylist(), kept.column("value").to_pylist(), strict=True))


Truncation = Callable[[pa.Table, int, Words], pa.Table]


def by_unit(rows: pa.Table, at_most: int, key: Words) -> pa.Table:
    return bounded_units(rows, described(at_most), key)


def by_row_number(rows: pa.Table, at_most: int, key: Words) -> pa.Table:
    """What must not be done: which rows of a home are kept depends on how many rows stand above them."""
    chance = np.random.default_rng(int(key[0])).permuted(np.arange(64))[: rows.num_rows]
    homes = np.array(rows.column("home").to_pylist())
    keep = [
        number
        for number in range(rows.num_rows)
        if np.sum((homes == homes[number]) & (chance < chance[number])) < at_most
    ]
    return rows.take(pa.array(keep, pa.int64()))


def apart(truncation: Truncation, at_most: int, key: Words) -> tuple[bool, int]:
    """Over all tables with one changing home among two fixed ones: do the others stay, and how many rows are its own?"""
    others = [("a", 1), ("b", 5), ("a", 2), ("b", 6), ("a", 3)]
    own_rows = [
        [("x", value) for value in values] for size in range(5) for values in ([0] * size, [9] * size)
    ]
    kept_others, most = set(), 0
    for own in own_rows:
        for places in itertools.combinations(range(len(others) + len(own)), len(own)):
            mixed, left, mine = [], iter(others), iter(own)
            mixed = [next(mine) if at in places else next(left) for at in range(len(others) + len(own))]
            kept = rows_of(truncation(table(mixed), at_most, key))
            kept_others.add(tuple(row for row in kept if row[0] != "x"))
            most = max(most, sum(row[0] == "x" for row in kept))
    return len(kept_others) == 1, most


@pytest.mark.parametrize("at_most", [1, 2])
def test_neighbours_of_any_size_become_neighbours_of_few_rows(at_most: int) -> None:
    assert apart(by_unit, at_most, KEY + np.uint64(at_most)) == (True, at_most)


def test_a_choice_by_row_number_fails_that_test() -> None:
    assert apart(by_row_number, 2, KEY)[0] is False


def test_small_units_are_left_alone_and_large_ones_cut() -> None:
    rows = [(home, value) for home in "abc" for value in range({"a": 1, "b": 3, "c": 9}[home])]
    kept = rows_of(bounded_units(table(rows), described(3), KEY))
    assert Counter(home for home, _ in kept) == {"a": 1, "b": 3, "c": 3}
    assert kept == [row for row in rows if row in kept]  # in their order


def test_the_choice_is_even_over_keys_and_repeats_with_one() -> None:
    rows = table([("a", value) for value in range(5)])
    counts = np.zeros(5)
    for number in range(500):
        key = np.random.Philox(key=number).random_raw(KEY_WORDS)
        kept = bounded_units(rows, described(2), key)
        assert kept.equals(bounded_units(rows, described(2), key))
        counts[kept.column("value").to_numpy()] += 1
    # Each row is kept with probability .4: 200 times, and 11 is one standard deviation.
    assert np.abs(counts - 200).max() < 5 * 11


def test_the_same_label_written_otherwise_is_one_unit() -> None:
    rows = [("1", 0), ("1.0", 1), (" 1", 2), ("2", 3)]
    assert (
        Counter(home.strip() for home, _ in rows_of(bounded_units(table(rows), described(1), KEY)))["2"] == 1
    )
    assert len(rows_of(bounded_units(table(rows), described(1), KEY))) == 2


@pytest.mark.parametrize("gap", [None, "", " ", "-"])
def test_a_unit_column_with_gaps_is_refused(gap: str | None) -> None:
    with pytest.raises(DataError) as refused:
        bounded_units(table([("a", 1), (gap, 2)]), described(2), KEY)  # type: ignore[list-item]
    assert "has gaps" in refused.value.problem
    numbers = pa.table({"home": pa.array([1.0, float("nan")]), "value": [1, 2]})
    with pytest.raises(DataError, match="has gaps"):
        bounded_units(numbers, described(2), KEY)


def test_refusing_names_no_unit_and_no_count() -> None:
    rows = [("secret", value) for value in range(7)]
    with pytest.raises(DataError) as refused:
        bounded_units(table(rows), described(6, "refuse"), KEY)
    said = str(refused.value)
    assert "secret" not in said
    assert not any(character.isdigit() for character in said)
    assert bounded_units(table(rows), described(7, "refuse"), KEY).num_rows == 7


def test_an_empty_table_has_no_units() -> None:
    assert bounded_units(table([]), described(2), KEY).num_rows == 0


def test_a_million_rows_in_about_a_second() -> None:
    draws = np.random.default_rng(1)
    rows = pa.table({"home": draws.integers(0, 300_000, 1_000_000), "value": np.zeros(1_000_000, np.int64)})
    start = time.process_time()
    kept = bounded_units(rows, described(2), KEY)
    assert time.process_time() - start < 10  # 1.5 s here; wide, so that a loaded machine passes
    assert np.bincount(kept.column("home").to_numpy()).max() == 2
