"""An interrupted comparison goes on from its finished cells, and never from those of another one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from mixed_people import mixed_schema, mixed_table

from coterie.comparison import comparison
from coterie.comparison.comparison import run_grid
from coterie.comparison.grid import make_grid
from coterie.errors import OutputError, ParameterError
from coterie.evaluation.measure import Settings
from coterie.schema.attributes import Schema

GRID = make_grid(["laplace", "dp-ir", "idp-cbls"], ["0.5", "2"], [3, 6, 12], runs=2, seed=3)


class Interrupted(Exception):
    pass


def _interrupt_after(cells: int):
    def progress(done: int, total: int) -> None:
        if done >= cells:
            raise Interrupted

    return progress


@pytest.mark.parametrize("stop", [1, 5, 9])
def test_resuming_gives_the_same_results_as_one_run(tmp_path: Path, stop: int) -> None:
    table, schema = mixed_table(), mixed_schema()
    whole = run_grid(table, schema, GRID)
    with pytest.raises(Interrupted):
        run_grid(table, schema, GRID, folder=tmp_path, progress=_interrupt_after(stop))
    again = run_grid(table, schema, GRID, folder=tmp_path)
    assert 0 < again.resumed < len(whole.results.cells)
    assert again.results.by_run() == whole.results.by_run()
    assert again.results.by_attribute() == whole.results.by_attribute()


def test_finished_cells_are_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, schema = mixed_table(), mixed_schema()
    first = run_grid(table, schema, GRID, folder=tmp_path)

    def refuse(*arguments: object) -> None:
        raise AssertionError("a finished cell was computed again")

    monkeypatch.setattr(comparison, "run_cells", refuse)
    again = run_grid(table, schema, GRID, folder=tmp_path)
    assert again.resumed == len(first.results.cells)
    assert again.results.by_run() == first.results.by_run()


def test_a_wider_grid_computes_only_what_is_new(tmp_path: Path) -> None:
    table, schema = mixed_table(), mixed_schema()
    first = run_grid(table, schema, GRID, folder=tmp_path)
    wider = make_grid(["laplace", "dp-ir", "idp-cbls"], ["0.5", "1", "2"], [3, 6, 12, 24], runs=2, seed=3)
    assert run_grid(table, schema, wider, folder=tmp_path).resumed == len(first.results.cells)


def test_impossible_bins_are_refused_before_anything_is_written_or_deleted(tmp_path: Path) -> None:
    table = {"x": [0.0, 1e7, 5.0]}
    schema = Schema.load(
        "attributes: {x: {type: integer, role: protect, domain: {lower: 0, upper: 10000000}}}\n"
    )
    grid = make_grid(["laplace"], ["1"], [], runs=1)
    run_grid(table, schema, grid, folder=tmp_path)
    with pytest.raises(ParameterError, match="more than 1,000,000 possible values"):
        run_grid(table, schema, grid, folder=tmp_path, force=True, settings=Settings(bins="value"))
    assert run_grid(table, schema, grid, folder=tmp_path).resumed == 1


@pytest.mark.parametrize("change", ["table", "schema", "seed", "runs"])
def test_another_comparison_in_the_folder_is_refused(tmp_path: Path, change: str) -> None:
    table, schema = mixed_table(), mixed_schema()
    run_grid(table, schema, GRID, folder=tmp_path)
    grid = GRID
    if change == "table":
        table = mixed_table(seed=9)
    elif change == "schema":
        attributes = [a.model_copy(update={"weight": 3}) if a.name == "age" else a for a in schema.attributes]
        schema = type(schema)(attributes=tuple(attributes))
    else:
        values = {"seed": 3, "runs": 2, change: 5}
        grid = make_grid(["dp-ir"], ["2"], [3], **values)
    with pytest.raises(OutputError, match="another comparison"):
        run_grid(table, schema, grid, folder=tmp_path)
    assert run_grid(table, schema, grid, folder=tmp_path, force=True).resumed == 0


def test_a_damaged_part_is_computed_again(tmp_path: Path) -> None:
    table, schema = mixed_table(), mixed_schema()
    whole = run_grid(table, schema, GRID, folder=tmp_path)
    part = sorted((tmp_path / "cells").glob("*.parquet"))[0]
    part.write_bytes(part.read_bytes()[:100])
    again = run_grid(table, schema, GRID, folder=tmp_path)
    assert again.resumed < len(whole.results.cells)
    assert again.results.by_run() == whole.results.by_run()


def test_no_value_of_the_data_is_kept(tmp_path: Path) -> None:
    table = mixed_table()
    run_grid(table, mixed_schema(), GRID, folder=tmp_path)
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for name in ("job", "colour", "group"):
        for label in set(table.column(name).to_pylist()) - {"a", "b"}:
            assert label.encode() not in stored


def test_another_taxonomy_under_the_same_name_is_another_comparison(tmp_path: Path) -> None:
    """Cells of the old tree must not be taken for cells of the new one."""
    table = pa.table({"pet": ["cat", "hen", "carp", "dog"] * 10})
    described = "attributes: {pet: {type: categorical, role: protect, categories: {taxonomy: pets.csv}}}"
    (tmp_path / "schema.yaml").write_text(described, encoding="utf-8")
    schema = Schema.load(tmp_path / "schema.yaml")
    grid, out = make_grid(["dp-ir"], ["1"], [5], runs=2), tmp_path / "out"
    (tmp_path / "pets.csv").write_text("cat;a;*\nhen;a;*\ncarp;b;*\ndog;b;*\n", encoding="utf-8")
    run_grid(table, schema, grid, folder=out)
    (tmp_path / "pets.csv").write_text("cat;a;*\nhen;b;*\ncarp;b;*\ndog;a;*\n", encoding="utf-8")
    with pytest.raises(OutputError, match="another comparison"):
        run_grid(table, schema, grid, folder=out)


def test_files_of_somebody_else_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "mine.csv").write_text("x", encoding="utf-8")
    (tmp_path / "results.csv").write_text("y", encoding="utf-8")
    with pytest.raises(OutputError, match=r"holds a results\.csv that is not of a comparison"):
        run_grid(mixed_table(), mixed_schema(), GRID, folder=tmp_path)
    assert not (tmp_path / "comparison.json").exists()
    run_grid(mixed_table(), mixed_schema(), GRID, folder=tmp_path, force=True)
    assert (tmp_path / "cells" / "mine.csv").read_text(encoding="utf-8") == "x"


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot be used"):
        run_grid(mixed_table(), mixed_schema(), GRID, folder=tmp_path / "taken")


def test_a_class_column_or_a_synthetic_method_is_not_another_comparison(tmp_path: Path) -> None:
    """The class column concerns the page only; a synthetic method brings a measure that finished cells lack."""
    table, schema = mixed_table(), mixed_schema()
    first = run_grid(table, schema, GRID, folder=tmp_path)
    target = next(a.name for a in schema.protected if not a.type.ranged)
    named = run_grid(table, schema, GRID, folder=tmp_path, settings=Settings(target=target))
    assert named.resumed == len(first.results.cells)
    wider = make_grid(["laplace", "dp-ir", "dp-sorted"], ["0.5", "2"], [3, 6], runs=2, seed=3)
    again = run_grid(table, schema, wider, folder=tmp_path)
    assert again.resumed == 0
    assert again.results.by_run() == run_grid(table, schema, wider).results.by_run()
    assert run_grid(table, schema, wider, folder=tmp_path).resumed == len(again.results.cells)
    with pytest.raises(OutputError, match="another comparison"):
        run_grid(table, schema, GRID, folder=tmp_path, settings=Settings(bins="domain"))
