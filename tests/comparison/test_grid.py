"""Which cells a grid has, and what is said about the others."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from mixed_people import mixed_schema, mixed_table

from coterie import compare, evaluate, protect
from coterie.comparison.comparison import run_grid
from coterie.comparison.grid import Cell, Skipped, left_out, make_grid
from coterie.comparison.invented import invented_people, trial_schema
from coterie.errors import DataError, ParameterError
from coterie.methods import get_method
from coterie.report.ranking import best_cells, verdict
from coterie.schema.attributes import Domain, Schema, Source


def test_methods_without_k_appear_once_and_k_beyond_n_is_skipped_with_the_reason() -> None:
    cells, skipped = make_grid(["laplace", "dp-ir", "idp-cbls"], ["1", "0.1"], [2, 5, 500]).plan(100)
    assert [c for c in cells if c.method == "laplace"] == [
        Cell("laplace", 1, Fraction(1, 10)),
        Cell("laplace", 1, Fraction(1)),
    ]
    reasons = {(entry.method, entry.k): entry.reason for entry in skipped}
    assert "larger than the number of records." in reasons["dp-ir", 500]
    assert "too small for 'idp-cbls'" in reasons["idp-cbls", 2]
    assert Cell("dp-ir", 2, Fraction(1)) in cells
    assert [cell.k for cell in cells] == sorted(cell.k for cell in cells)


def test_a_comparison_goes_on_without_the_impossible_cells() -> None:
    found = run_grid(mixed_table(40), mixed_schema(), make_grid(["dp-ir"], ["1"], [5, 41], runs=1))
    assert [cell.k for cell in found.results.cells] == [5]
    assert [entry.k for entry in found.skipped] == [41]


def test_very_many_impossible_cells_are_not_all_listed() -> None:
    _, skipped = make_grid(["dp-ir", "ir"], ["1"], [5, *range(41, 3_000)]).plan(40)
    lines = left_out(skipped)
    assert lines[0].startswith("dp-ir, ir, k = 41: ")
    assert lines[11:] == ["and 2,948 more such choices"]
    assert len(left_out(entry for entry in skipped if entry.k < 53)) == 12


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
        run_grid(mixed_table(), mixed_schema(), make_grid(["ir"], ["1"], [5]), measures=["correlation"])


def test_bad_data_is_refused_before_any_work() -> None:
    with pytest.raises(DataError):
        run_grid(mixed_table(1), mixed_schema(), make_grid(["ir"], ["1"], [5]))


def paid_schema(weight: int = 400) -> Schema:
    """The bounds of the ages are paid for."""
    domain = Domain(lower=0, upper=1000, source=Source.DP)
    return Schema(
        attributes=tuple(
            a.model_copy(update={"domain": domain, "weight": Fraction(weight)}) if a.name == "age" else a
            for a in mixed_schema().attributes
        )
    )


def test_an_epsilon_too_small_for_paid_bounds_is_skipped_and_the_others_go_on() -> None:
    table, schema, grid = (
        mixed_table(400),
        paid_schema(),
        make_grid(["laplace", "dp-ir", "mdav"], ["0.01", "20", "0.5"], [5, 20, 900], runs=2),
    )
    found = run_grid(table, schema, grid)
    assert found.epsilons == [Fraction(20)]
    too_small = [entry for entry in found.skipped if entry.epsilon is not None]
    assert {(entry.method, entry.epsilon) for entry in too_small} == {
        (method, epsilon) for method in grid.methods for epsilon in (Fraction(1, 100), Fraction(1, 2))
    }
    assert all("too small to find bounds for 'age'" in entry.reason for entry in too_small)
    assert {entry.reason.split(": ")[1] for entry in too_small if entry.epsilon == Fraction(1, 100)} == {
        "all values would be cut."
    }
    alone = run_grid(table, schema, make_grid(["laplace", "dp-ir", "mdav"], ["20"], [5, 20], runs=2))
    assert found.results.by_run().equals(alone.results.by_run())


@pytest.mark.parametrize("method", ["laplace", "dp-ir", "idp", "mdav", "idp-mdav", "dp-synthetic"])
def test_a_cell_is_skipped_exactly_where_protect_refuses(method: str) -> None:
    """Methods share ε out differently, so the same ε is enough for one and too little for another."""
    table, schema = mixed_table(400), paid_schema(9)
    epsilons = ["0.2", "0.8", "2", "4", "8", "16", "64"]
    found = run_grid(table, schema, make_grid([method], epsilons, [20], runs=1))
    for epsilon in map(Fraction, epsilons):
        k = None if get_method(method).fixed_k else 20
        if epsilon in found.epsilons:
            protect(table, schema, method=method, epsilon=epsilon, k=k, seed=0)
        else:
            with pytest.raises(ParameterError, match="too small to find bounds"):
                protect(table, schema, method=method, epsilon=epsilon, k=k, seed=0)
    assert found.skipped


def test_where_every_epsilon_is_too_small_there_is_a_sentence() -> None:
    with pytest.raises(
        ParameterError, match=r"No cell.*too small to find bounds for 'age'.*Choose a larger ε"
    ):
        run_grid(mixed_table(400), paid_schema(), make_grid(["dp-ir"], ["0.01", "0.1"], [5]))


def test_what_was_left_out_is_told_once_a_reason() -> None:
    skipped = [
        Skipped("dp-ir", "too large", k=900),
        Skipped("mdav", "too large", k=900),
        Skipped("dp-ir", "too small", epsilon=Fraction(1, 100)),
    ]
    assert left_out(skipped) == ["dp-ir, mdav, k = 900: too large", "dp-ir, ε = 0.01: too small"]
    assert skipped[0].to_json() == {"method": "dp-ir", "k": 900, "epsilon": None, "reason": "too large"}
    assert skipped[2].to_json() == {"method": "dp-ir", "k": None, "epsilon": "0.01", "reason": "too small"}


def test_choices_are_ranked_by_the_purpose_and_a_unit_leaves_its_proved_method() -> None:
    number = {"role": "protect", "type": "integer", "domain": {"lower": 0, "upper": 9}}
    unit = {"column": "home", "at_most": 3}
    schema = Schema.load(
        {"unit": unit, "attributes": {"home": {"role": "identifier"}, "a": number, "b": number}}
    )
    rows = invented_people(trial_schema(schema), 200, 2.0)
    found = compare(
        rows, schema, methods=["laplace", "dp-synthetic"], epsilon=[1, 8], runs=2, purpose="relations"
    )
    assert {entry.method for entry in found.skipped} == {"laplace"}
    assert {cell.method for cell in found.results.cells} == {"dp-synthetic"}
    best = best_cells(found)
    assert {entry.measure for entry in best} == {"associations"}
    said = verdict(found, best)
    assert "is best for relations between two columns" in said.headline
    assert "per home" in said.headline
    with pytest.raises(ParameterError, match="no statement for units"):
        compare(rows, schema, methods=["laplace"], epsilon=[1])


def test_a_purpose_is_measured_as_a_release_of_its_own_would_be(tmp_path: Path) -> None:
    table, schema = mixed_table(), mixed_schema()
    ranked = {"methods": ["dp-ir", "dp-sorted"], "epsilon": [5], "k": [10], "runs": 2, "folder": tmp_path}
    found = compare(table, schema, purpose="distributions", **ranked)
    release = protect(table, schema, method="dp-ir", epsilon=5, k=10, seed=1).table
    expected = evaluate(table, release, schema, measures=["one-way"]).measures["one-way"]
    assert expected.value is not None
    place = [cell.method for cell in found.results.cells].index("dp-ir")
    beyond_luck = expected.value - expected.details["by_sampling"]
    assert found.results.of_table("one-way")[place, 1] == pytest.approx(beyond_luck)
    again = compare(table, schema, purpose="distributions", **ranked)
    assert again.resumed == len(found.results.cells)
    assert again.results.mean("one-way") == found.results.mean("one-way")
    assert "one-way" not in found.results.by_attribute().column_names
    with pytest.raises(ParameterError, match="no purpose 'fun'"):
        compare(table, schema, purpose="fun", **ranked)
