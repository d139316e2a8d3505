"""run_grid(): every cell of a grid over one table, from finished ones on disk and the rest computed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie._version import __version__
from coterie.comparison.by_release import run_releases, with_purpose, with_unit
from coterie.comparison.engine import Block, Trials, run_cells
from coterie.comparison.grid import Cell, Grid, Skipped
from coterie.comparison.paid_bounds import affordable, run_paid_cells
from coterie.comparison.results import Checkpoint, Results, gather, open_checkpoint
from coterie.comparison.shared_work import SortedTable
from coterie.errors import ParameterError, counted
from coterie.evaluation import all_measures, get_measure, jensen_shannon
from coterie.evaluation.classification import check_classes
from coterie.evaluation.jensen_shannon import bin_count
from coterie.evaluation.measure import Measure, Settings
from coterie.evaluation.pair import check_scales
from coterie.methods import get_method
from coterie.schema.attributes import Schema
from coterie.schema.frame_kind import to_kind
from coterie.table.checked import Checked, check
from coterie.table.columns.column import Column, NumericColumn
from coterie.table.digest import table_digest
from coterie.table.frames import to_arrow

# done, total: how many cells are finished, of how many
Progress = Callable[[int, int], None]


@dataclass(frozen=True, repr=False)
class Comparison:
    """The figures of every cell of a grid, and the choices that were impossible.

    Attributes
    ----------
    results : Results
        One number per cell, run, attribute and measure.
    skipped : tuple
        The choices that were left out, and why.
    resumed : int
        Cells that were found finished.
    failed : dict
        Measures that gave nothing, and why.
    """

    grid: Grid
    schema: Schema
    records: int
    results: Results
    skipped: tuple[Skipped, ...]
    resumed: int  # cells that were found finished
    table: pa.Table | None = None  # what the grid ran on, for the report's examples
    name: str = "a table"
    sample: str | None = None  # what that table is, where it is not the data
    purpose: str | None = None  # what the choices are ranked for, a key of PURPOSES; None: by distributions
    settings: Settings = field(default_factory=Settings)
    failed: Mapping[str, str] = field(default_factory=dict)  # measures that gave nothing, and why

    def __repr__(self) -> str:
        cells = f"{counted(len(self.results.cells), 'cell')} × {counted(self.grid.runs, 'run')}"
        of = counted(self.records, "record")
        return f"<Comparison: {cells} on {of}; methods {', '.join(self.grid.methods)}>"

    def to_frame(self, kind: str = "arrow", *, by_attribute: bool = False) -> Any:
        """One row per cell and run, with the measures of the whole table; or one per attribute as well.

        Parameters
        ----------
        kind : {"arrow", "pandas", "polars"}, default "arrow"
            Which library's frame to make.
        by_attribute : bool, default False
            One row per cell, run and attribute.
        """
        return to_kind(self.results.by_attribute() if by_attribute else self.results.by_run(), kind)

    @property
    def epsilons(self) -> list[Fraction]:
        """Every ε of the grid that could be run, the smallest first."""
        return sorted({cell.epsilon for cell in self.results.cells})


def grid_measures(
    columns: Iterable[Column], names: Sequence[str] | None = None, *, synthetic: bool = False
) -> list[Measure]:
    """The measures that a grid can give for these columns: those that look at one attribute at a time.

    Unless it is named, a costly one comes only with synthetic methods, which are ranked by it.
    """
    kinds = {isinstance(column, NumericColumn) for column in columns}
    chosen = []
    for measure in map(get_measure, dict.fromkeys(names or all_measures())):
        by = measure.attribute
        if not names and measure.costly and not synthetic:
            continue
        if by is None:
            if names:
                raise ParameterError(
                    f"'{measure.name}' looks at whole rows, so a grid does not give it.",
                    "Take it from a release with `coterie evaluate`.",
                )
        elif any(by.knows(numbers=kind) for kind in kinds):
            chosen.append(measure)
    return chosen


def run_grid(
    data: Any,
    schema: Schema,
    grid: Grid,
    *,
    measures: Sequence[str] | None = None,
    settings: Settings | None = None,
    purpose: Measure | None = None,
    folder: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Run the grid; the choices are ranked by `purpose`, a measure of whole rows, where one is given.

    With `folder`, finished cells are kept there and an interrupted run goes on from them.
    """
    table, _ = to_arrow(data, schema)
    settings = settings or Settings()
    checked = check(table, schema)
    check_classes(checked, settings)
    check_scales(checked.columns.values())
    planned, skipped = grid.plan(checked.records, len(schema.protected))
    if schema.unit is not None:
        planned, refused = with_unit(schema, planned)
        skipped += refused
    cells, too_dear = affordable(checked, schema, planned)
    synthetic = any(get_method(name).synthetic for name in grid.methods)
    chosen = grid_measures(checked.columns.values(), measures, synthetic=synthetic)
    _check_bins(checked, chosen, settings)
    attributes = tuple(attribute.name for attribute in schema.protected)
    names = tuple(measure.name for measure in (*chosen, *filter(None, [purpose])))
    checkpoint: Checkpoint | None = None
    blocks: list[Block] = []
    if folder is not None:
        content = {
            "coterie": __version__,
            "table": table_digest(table),
            "schema": schema.to_yaml(),
            "categories": {name: _meaning(column) for name, column in checked.columns.items()},
            "seed": grid.seed,
            "runs": grid.runs,
            # Not the measures: a part that lacks one is computed again. Not the class column: no cell looks at it.
            "bins": settings.bins,
        }
        checkpoint = open_checkpoint(folder, content, attributes, names, grid.runs, force=force)
        blocks = checkpoint.finished(cells)
    done: set[Cell] = {cell for block in blocks for cell in block.cells}
    remaining = [cell for cell in cells if cell not in done] if done else cells
    resumed = finished = len(done)
    if progress:
        progress(resumed, len(cells))
    pending: list[Block] = []
    trials = Trials(grid.runs, grid.seed, chosen, settings)

    def keep() -> None:
        """A part that lacks a measure is computed again, once that measure is mended."""
        kept = [block.without(trials.failed) for block in pending]
        if checkpoint:
            checkpoint.keep([block for block in kept if block.values])

    try:
        # Methods see values clipped to their domain, measures see them as they were, as `evaluate` does.
        original = {name: checked.as_they_were(name) for name in checked.columns}
        for block in _work(checked, table, original, schema, remaining, trials, purpose):
            if pending and pending[-1].cells[0].k != block.cells[0].k:
                blocks += pending
                keep()
                pending = []
            pending.append(block)
            finished += len(block.cells)
            if progress:
                progress(finished, len(cells))
    finally:  # an interruption keeps what is finished
        blocks += pending
        keep()
    names = tuple(name for name in names if name not in trials.failed)
    if not names:
        raise ParameterError(
            "No measure gave a result: " + "; ".join(f"{n}: {why}" for n, why in trials.failed.items()) + ".",
            "Mend it, or choose others.",
        )
    results = gather(blocks, cells, attributes, names)
    return Comparison(
        grid, schema, checked.records, results, (*skipped, *too_dear), resumed, failed=trials.failed
    )


def _check_bins(checked: Checked, measures: Sequence[Measure], settings: Settings) -> None:
    """Refused before a folder is begun, or with `force` emptied."""
    if any(measure.name == jensen_shannon.MEASURE.name for measure in measures):
        for column in checked.columns.values():
            if isinstance(column, NumericColumn):
                bin_count(column, settings.bins)


def _meaning(column: Column) -> str | None:
    """A digest of what a taxonomy says of the labels: that decides every cell, and its file name does not."""
    if isinstance(column, NumericColumn):
        return None
    content = (
        "\n".join(column.taxonomy.categories).encode() + column.distance.tobytes() + column.order.tobytes()
    )
    return hashlib.sha256(content).hexdigest()


def _work(
    checked: Checked,
    table: pa.Table,
    original: Mapping[str, Column],
    schema: Schema,
    cells: Sequence[Cell],
    trials: Trials,
    purpose: Measure | None,
) -> Iterator[Block]:
    modelled = [cell for cell in cells if get_method(cell.method).whole_table is not None]
    if grouped := [cell for cell in cells if cell not in modelled]:
        if schema.searched:
            blocks = run_paid_cells(checked, original, schema, grouped, trials)
        else:
            blocks = run_cells(SortedTable(checked.columns, original), grouped, trials)
        for block in blocks:
            yield block if purpose is None else with_purpose(table, schema, block, trials, purpose)
    yield from run_releases(table, schema, modelled, trials, purpose)
