"""Which cells a grid has, and what is said about the others."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mixed_people import mixed_schema, mixed_table

from coterie.compare.comparison import compare
from coterie.compare.grid import Cell, make_grid
from coterie.errors import DataError, ParameterError


def test_methods_without_k_appear_once_and_k_beyond_n_is_skipped_with_the_reason() -> None:
    cells, skipped = make_grid(["laplace", "dp-ir", "idp-cbls"], ["1", "0.1"], [2, 5, 500]).plan(100)
    assert [c for c in cells if c.method == "laplace"] == [
        Cell("laplace", 1, Fraction(1, 10)),
        Cell("laplace", 1, Fraction(1)),
    ]
    reasons = {(entry.method, entry.k): entry.reason for entry in skipped}
    assert "larger than the number of records (100)" in reasons["dp-ir", 500]
    assert "too small for 'idp-cbls'" in reasons["idp-cbls", 2]
    assert Cell("dp-ir", 2, Fraction(1)) in cells
    assert [cell.k for cell in cells] == sorted(cell.k for cell in cells)


def test_a_comparison_goes_on_without_the_impossible_cells() -> None:
    found = compare(mixed_table(40), mixed_schema(), make_grid(["dp-ir"], ["1"], [5, 41], runs=1))
    assert [cell.k for cell in found.results.cells] == [5]
    assert [entry.k for entry in found.skipped] == [41]


def test_repeated_entries_count_once() -> None:
    grid = make_grid(["ir", "ir"], ["1", "1.0", 1], [5, 5])
    assert (grid.methods, grid.epsilons, grid.ks) == (("ir",), (Fraction(1),), (5,))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["dp-ri"], ["1"], [5]), "Did you mean 'dp-ir'"),
        (([], ["1"], [5]), "No method was named"),
        ((["ir"], [], [5]), "No ε was named"),
        ((["ir"], ["0"], [5]), "greater than 0"),
        ((["ir"], ["nan"], [5]), "not a finite number"),
        ((["ir"], ["1"], []), "No k was named"),
        ((["ir"], ["1"], [0]), "not a whole number from 1 up"),
        ((["ir"], ["1"], [5], 0), "at least one run"),
        ((["ir"], ["1"], [5], 1, -1), "seed"),
    ],
)
def test_what_cannot_be_a_grid(arguments: tuple, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_grid(*arguments)


def test_methods_without_k_need_none() -> None:
    assert make_grid(["laplace", "idp"], ["1"], []).plan(10)[0]


def test_no_possible_cell_is_an_error() -> None:
    with pytest.raises(ParameterError, match="No cell of the grid is possible"):
        make_grid(["dp-ir"], ["1"], [50]).plan(10)


def test_measures_of_whole_rows_are_not_for_grids() -> None:
    with pytest.raises(ParameterError, match="whole rows"):
        compare(mixed_table(), mixed_schema(), make_grid(["ir"], ["1"], [5]), measures=["correlation"])


def test_bad_data_is_refused_before_any_work() -> None:
    with pytest.raises(DataError):
        compare(mixed_table(1), mixed_schema(), make_grid(["ir"], ["1"], [5]))
