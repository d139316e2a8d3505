"""The embedded population: always the same, realistic in the ways that hurt methods, and nobody real."""

from __future__ import annotations

import numpy as np
from scipy import stats

from coterie import demo_population, demo_schema
from coterie.table.checked import check
from coterie.table.digest import table_digest


def test_it_is_always_the_same_and_fits_its_schema() -> None:
    table = demo_population()
    assert table_digest(table) == table_digest(demo_population())
    assert table_digest(table) != table_digest(demo_population(seed=1))
    checked = check(table, demo_schema())
    assert checked.records == 5000
    assert len(checked.columns) == 8
    assert sum(checked.values_clipped.values()) == 0


def test_it_has_skew_ties_and_correlation() -> None:
    table = demo_population()
    columns = {name: table[name].to_numpy() for name in table.column_names[1:]}
    assert stats.skew(columns["income"]) > 1.5
    assert stats.skew(columns["savings"]) > 3
    assert np.mean(columns["hours"] == 40) > 0.2  # heaped answers
    assert np.mean(columns["savings"] == 0) > 0.2  # many zeros
    assert len(set(columns["age"])) < 90  # ties
    assert stats.spearmanr(columns["income"], columns["tax"]).statistic > 0.8
    assert stats.spearmanr(columns["schooling"], columns["income"]).statistic > 0.2


def test_smaller_and_larger_ones_fit_too() -> None:
    for people in (2, 50, 20_000):
        assert check(demo_population(people, seed=3), demo_schema()).records == people
