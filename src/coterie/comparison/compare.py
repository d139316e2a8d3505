"""compare(): every choice of method, k and ε over one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.comparison.comparison import Comparison, Progress, run_grid
from coterie.comparison.grid import make_grid
from coterie.comparison.invented import invented_people, sample_schema, synthetic_sample, trial_schema
from coterie.comparison.recommendation import PURPOSES, measure_of
from coterie.errors import OutputError, ParameterError, nearest
from coterie.evaluation.measure import Settings
from coterie.schema.attributes import Role, Schema
from coterie.schema.document import as_schema
from coterie.schema.exact import Number
from coterie.table.address import Address
from coterie.table.reading import as_table

SYNTHETIC = "synthetic"


def compare(
    data: Any,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    methods: str | Sequence[str],
    epsilon: Number | Iterable[Number],
    k: int | Iterable[int] = (),
    runs: int = 10,
    seed: int = 0,
    purpose: str | None = None,
    measures: str | Sequence[str] | None = None,
    bins: str = "auto",
    target: str | None = None,
    threshold: float | None = None,
    tune_on: Any = None,
    table: str | None = None,
    query: str | None = None,
    folder: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Run every choice of method, k and ε over one table, and measure what each of them loses.

    Choosing k by looking at the data is itself a disclosure; `tune_on` avoids it.

    Parameters
    ----------
    data : frame, str or Path
        A pandas or polars DataFrame or a pyarrow Table; a file; or the address of a database.
    schema : Schema, str, Path or dict
        Types, roles and public bounds.
    methods : str or sequence of str
        Names of methods (`list_methods()`).
    epsilon : number or iterable of numbers
        Total budgets.
    k : int or iterable of int, optional
        Records per group. Default: by a public rule; methods that state none have about √n.
    runs : int, default 10
        Runs per cell; the figures are their mean.
    seed : int, default 0
        Run r draws its noise as `protect(…, seed=seed + r)` does.
    purpose : {"distributions", "relations", "models", "rows"}, optional
        What readers will do with the release, as for `recommend`: the choices are ranked by that. Every run is then drawn as
        a whole release. Default: by the error of single columns.
    measures : str or sequence of str, optional
        Only these. Default: all that a grid can give.
    bins : {"auto", "domain", "value"}, default "auto"
        The bins of histograms: 1/100 of the domain, or one per value.
    target, threshold : optional
        A class column for the report's classifiers, and where to split it into two classes.
    tune_on : frame, str or Path, optional
        A public table of the same columns, or the word "synthetic": the grid runs on it instead of `data`, so that
        choosing from the results discloses nothing.
    table, query : str, optional
        The table (or sheet) to read, or a query, where `data` is a database (or a workbook).
    folder : str or Path, optional
        Keep finished cells here. An interrupted run goes on from them.
    force : bool, default False
        Start anew in a folder that holds another comparison.
    progress : callable, optional
        Called as progress(done, total), in cells.

    Returns
    -------
    Comparison
        `to_frame` has one row per cell and run; `write_report` writes the page.

    Raises
    ------
    ParameterError
        For an unknown method or measure, or a grid in which nothing is possible.
    SchemaError, DataError
        As `protect`.

    Examples
    --------
    >>> import coterie
    >>> found = coterie.compare(
    ...     coterie.demo_population(people=300),
    ...     coterie.demo_schema(),
    ...     methods=["laplace", "dp-ir"],
    ...     epsilon=[0.1, 1],
    ...     k=[5, 10],
    ...     runs=2,
    ... )
    >>> found
    <Comparison: 6 cells × 2 runs on 300 records; methods laplace, dp-ir>
    >>> found.to_frame().num_rows
    12
    """
    names = [methods] if isinstance(methods, str) else list(methods)
    chosen = [measures] if isinstance(measures, str) else measures
    budgets = [epsilon] if isinstance(epsilon, str | int | float | Decimal | Fraction) else list(epsilon)
    grid = make_grid(names, budgets, [k] if isinstance(k, int) else list(k), runs, seed)
    place = None if folder is None else Path(folder)
    if place is not None and place.exists() and not place.is_dir():
        raise OutputError(f"{place} is a file.", "Choose another folder.")
    if purpose is not None and purpose not in PURPOSES:
        raise ParameterError(f"There is no purpose '{purpose}'.", nearest(purpose, PURPOSES))
    schema = as_schema(schema)
    rows, sample, name = as_table(data, schema, table=table, query=query), None, _called(data, table)
    if isinstance(tune_on, str) and tune_on == SYNTHETIC:
        rows = _synthetic(schema, rows, seed, target)
        sample = "a synthetic table drawn from the public bounds"
        schema = sample_schema(schema) if schema.unit is None else trial_schema(schema)
    elif tune_on is not None:
        rows, sample = as_table(tune_on, schema), _called(tune_on)
    settings = Settings(bins=bins, target=target, threshold=threshold, seed=seed)
    found = run_grid(
        rows,
        schema,
        grid,
        measures=chosen,
        settings=settings,
        purpose=None if purpose is None else measure_of(purpose, schema),
        folder=place,
        force=force,
        progress=progress,
    )
    return replace(found, table=rows, name=sample or name, sample=sample, purpose=purpose, settings=settings)


def _synthetic(schema: Schema, rows: pa.Table, seed: int, target: str | None) -> pa.Table:
    if target in {attribute.name for attribute in schema.with_role(Role.KEEP)}:
        raise ParameterError(
            f"A synthetic table has no '{target}': it is drawn from the bounds of protected attributes alone.",
            "Leave out the target, or tune on a public table.",
        )
    if schema.unit is not None:
        return invented_people(trial_schema(schema), rows.num_rows, schema.unit.at_most, seed)
    return synthetic_sample(schema, rows.num_rows, seed)


def _called(source: Any, table: str | None = None) -> str:
    """What a page may call a table: of a database's address no user, no password and no options."""
    if not isinstance(source, str | Path):
        return "a frame"
    place = Address.parse(str(source)).shown if Address.knows(str(source)) else source
    return Path(place).name + (f", {table}" if table else "")
