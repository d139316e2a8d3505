"""Raking: totals are met, by rows alone; what cannot be met is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from coterie.chain.synthesis import raking
from coterie.chain.synthesis.raking import CAP, Combinations, Margin, Raked, RakedWeights, rounded
from coterie.schema.attributes import Schema

RAKED = (
    "weights were raked to public totals by a, b, known without this table: the weight column was not read, and raking "
    "costs no ε"
)


@dataclass
class Fit:
    """Raked weights of all rows."""

    margins: list[Margin]
    rows: Combinations
    raked: Raked
    weights: Any

    @property
    def words(self) -> tuple[str, ...]:
        return self.said(self.raked.weights)

    def said(self, released: Any) -> tuple[str, ...]:
        return raking.in_words(self.raked, self.margins, self.rows, released)


def rake(margins: list[Margin], values: dict[str, Any], population: float, rows: int) -> Fit:
    found = Combinations.of(margins, values, rows)
    raked = raking.rake(margins, found, population)
    cells = [cell.tobytes() for cell in np.ascontiguousarray(found.cells.T)]
    each = RakedWeights(tuple(margins), dict(zip(cells, raked.weights.tolist(), strict=True)), ())
    return Fit(margins, found, raked, each.rows(values, rows))


def margin(name: str, *totals: float) -> Margin:
    return Margin(name, tuple(map(str, range(len(totals)))), np.array(totals))


def test_two_margins_are_met_exactly_and_rows_alike_weigh_alike() -> None:
    draw = np.random.default_rng(1)
    values = {"a": draw.integers(0, 2, 500).astype(np.int32), "b": draw.integers(0, 3, 500).astype(float)}
    margins = [margin("a", 300, 700), margin("b", 200, 300, 500)]
    found = rake(margins, values, 1000, 500)
    for one in margins:
        assert np.bincount(values[one.name].astype(int), found.weights) == pytest.approx(one.totals)
    assert found.raked.difference < 1e-8
    cells = values["a"] * 3 + values["b"]
    assert all(np.ptp(found.weights[cells == cell]) == 0 for cell in np.unique(cells))
    assert found.words == (f"{RAKED}; all totals are met",)


def test_it_is_the_fit_of_the_literature() -> None:
    """Deming and Stephan: odds ratios of the rows stay as they are."""
    values = {"a": np.repeat([0, 0, 1, 1], [10, 20, 30, 40]), "b": np.repeat([0, 1, 0, 1], [10, 20, 30, 40])}
    found = rake([margin("a", 50, 50), margin("b", 60, 40)], values, 100, 100)
    table = np.bincount(values["a"] * 2 + values["b"], found.weights)
    assert table[0] * table[3] / (table[1] * table[2]) == pytest.approx(10 * 40 / (20 * 30))


def test_the_number_of_people_alone() -> None:
    found = rake([], {}, 900, 300)
    assert set(found.weights) == {3.0}
    assert "a public total" in found.words[0]


def test_a_label_that_no_row_has_is_named_and_the_others_make_up_for_it() -> None:
    margins = [margin("a", 60, 30, 10), margin("b", 50, 50)]
    values = {"a": np.array([0, 1, 0, 1]), "b": np.array([0, 0, 1, 1])}
    found = rake(margins, values, 100, 4)
    assert found.raked.absent == (("a", "2"),)
    assert found.weights.sum() == pytest.approx(100)
    assert np.bincount([0, 1, 0, 1], found.weights) == pytest.approx([200 / 3, 100 / 3])
    assert any("'2' of a" in said for said in found.words)


def test_gaps_keep_their_place_and_the_rest_is_in_proportion() -> None:
    values = {"a": np.array([0.0, 0.0, 1.0, np.nan]), "b": np.array([0, 1, 1, 0])}
    margins = [margin("a", 50, 50), margin("b", 50, 50)]
    found = rake(margins, values, 100, 4)
    said = found.words
    assert "all totals are met" not in said[0]
    assert "rows without a label in a have weights too" in said[1]
    assert found.weights.sum() == pytest.approx(100)
    assert found.weights[:2].sum() == pytest.approx(found.weights[2])
    assert np.bincount(values["b"], found.weights) == pytest.approx([50, 50])


def test_no_weight_is_far_from_the_mean_and_a_total_missed_for_that_is_told() -> None:
    values = {"a": np.repeat([0, 1], [999, 1])}
    margins = [margin("a", 500, 500)]
    found = rake(margins, values, 1000, 1000)
    assert found.weights.max() <= CAP * 1.05
    assert found.raked.difference > 0.5
    assert any("not all totals are met" in said for said in found.words)


def test_totals_that_no_weights_can_meet_end() -> None:
    """Labels that always go together, with different totals."""
    both = np.repeat([0, 1], 50)
    found = rake([margin("a", 50, 50), margin("b", 80, 20)], {"a": both, "b": both}, 100, 100)
    assert found.weights.sum() == pytest.approx(100)
    assert found.raked.difference > 0.1


def test_totals_that_rounding_misses_are_not_said_to_be_met() -> None:
    values = {"a": np.repeat([0, 1], [500, 520])}
    margins = [margin("a", 700, 780)]
    found = rake(margins, values, 1480, 1020)
    first, second = found.said(rounded(found.raked.weights, found.rows.counts, 0))
    assert "all totals are met" not in first
    assert "rounded to the schema's decimals" in second
    assert "all totals are met" in found.said(rounded(found.raked.weights, found.rows.counts, 5))[0]


def test_rounding_moves_no_total() -> None:
    weights, once = np.array([1234.56789123, 3456.78912345]), np.array([1, 1])
    assert rounded(weights, once, None).sum() == pytest.approx(weights.sum(), rel=1e-6)
    assert rounded(weights, once, 1).tolist() == [1234.6, 3456.8]


def test_pieces_of_the_rows_tell_what_all_of_them_do() -> None:
    """As out of core and on Spark: combinations are counted piece by piece, and weights looked up likewise."""
    draw = np.random.default_rng(2)
    margins = [margin("a", 30, 50, 20), margin("b", 60, 40)]
    values = {"a": draw.choice([0, 1, 2, np.nan], 1000), "b": draw.choice([-1, 0, 1], 1000)}
    pieces = [{name: column[at : at + 300] for name, column in values.items()} for at in range(0, 1000, 300)]
    attributes = {
        **{
            n: {"role": "protect", "type": "categorical", "categories": list(t)}
            for n, t in (("a", "xyz"), ("b", "vw"))
        },
        "w": {"role": "weight", "decimals": 4},
    }
    totals = {"a": {"x": 30, "y": 50, "z": 20}, "b": {"v": 60, "w": 40}}
    schema = Schema.load({"attributes": attributes, "totals": totals})
    whole = RakedWeights.of(schema, margins, [Combinations.of(margins, values, 1000)])
    apart = RakedWeights.of(schema, margins, [Combinations.of(margins, p, len(p["a"])) for p in pieces])
    assert apart == whole
    rows = [apart.rows(piece, len(piece["a"])) for piece in pieces]
    assert np.concatenate(rows).tolist() == whole.rows(values, 1000).tolist()
    assert sum(map(sum, rows)) == pytest.approx(100, abs=0.1)
