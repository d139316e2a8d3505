"""Results of a grid as tables: one row per (cell, run, attribute), and what follows from it."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coterie.comparison.engine import Block
from coterie.comparison.grid import Cell
from coterie.errors import OutputError, counted
from coterie.evaluation import get_measure
from coterie.methods import get_method
from coterie.methods.guarantee import Guarantee
from coterie.promise.terms import Budget, forecast, forecast_warnings
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Schema
from coterie.table.hidden_files import write_whole


@dataclass(frozen=True, repr=False)
class Results:
    """`cells` in order; values[measure] has the axes cell, run, attribute."""

    cells: tuple[Cell, ...]
    attributes: tuple[str, ...]
    values: dict[str, Floats]

    def __repr__(self) -> str:
        return f"<Results: {counted(len(self.cells), 'cell')}, measures {', '.join(self.values)}>"

    @property
    def runs(self) -> int:
        return int(next(iter(self.values.values())).shape[1])

    def of_table(self, measure: str) -> Floats:
        """The measure of the whole table, over the attributes that it knows: axes cell, run."""
        by_attribute, values = get_measure(measure).attribute, self.values[measure]
        if by_attribute is None:  # of whole rows: one number, which stands with every attribute
            return values[:, :, 0]
        known = ~np.isnan(values).all(axis=(0, 1))
        if not known.any():  # no cell of this grid has linked rows, and the measure needs them
            return np.full(values.shape[:2], np.nan)
        return by_attribute.combine(np.moveaxis(values[:, :, known], 2, 0))

    def mean(self, measure: str) -> dict[Cell, float]:
        """Mean over the runs."""
        return dict(zip(self.cells, self.of_table(measure).mean(axis=1).tolist(), strict=True))

    def by_run(self) -> pa.Table:
        """One row per cell and run: the measures of the whole table."""
        keys = _keys(self.cells, self.runs, 1)
        values = {name: pa.array(self.of_table(name).ravel(), from_pandas=True) for name in self.values}
        return pa.table({**keys, **values})

    def by_attribute(self) -> pa.Table:
        """One row per cell, run and attribute, of the measures that look at attributes."""
        return self._stored([name for name in self.values if get_measure(name).attribute is not None])

    def _stored(self, measures: Iterable[str]) -> pa.Table:
        width = len(self.attributes)
        keys = _keys(self.cells, self.runs, width)
        names = pa.array(np.tile(np.array(self.attributes, dtype=object), len(self.cells) * self.runs))
        # An attribute that a measure does not know has no number.
        values = {name: pa.array(self.values[name].ravel(), from_pandas=True) for name in measures}
        return pa.table({**keys, "attribute": names, **values})


def _keys(cells: Sequence[Cell], runs: int, width: int) -> dict[str, pa.Array]:
    each = runs * width
    keys = [cell.key for cell in cells]
    return {
        "method": pa.array([method for method, _, _ in keys for _ in range(each)]),
        "k": pa.array([k for _, k, _ in keys for _ in range(each)], pa.int64()),
        "epsilon": pa.array([epsilon for _, _, epsilon in keys for _ in range(each)]),
        "run": pa.array(np.tile(np.repeat(np.arange(runs), width), len(cells))),
    }


def gather(
    blocks: Iterable[Block], cells: Sequence[Cell], attributes: Sequence[str], measures: Sequence[str]
) -> Results:
    """Blocks in any order → results in the order of `cells`."""
    number = {cell: place for place, cell in enumerate(cells)}
    together = [(np.array([number[cell] for cell in block.cells]), block.values) for block in blocks]
    runs = next(iter(together[0][1].values())).shape[1]
    values = {name: np.empty((len(cells), runs, len(attributes))) for name in measures}
    for places, found in together:
        for name in measures:
            values[name][places] = found[name]
    return Results(tuple(cells), tuple(attributes), values)


def block_to_table(block: Block, attributes: Sequence[str]) -> pa.Table:
    return Results(block.cells, tuple(attributes), block.values)._stored(block.values)


def table_to_blocks(
    table: pa.Table, wanted: Sequence[Cell], runs: int, attributes: Sequence[str], measures: Sequence[str]
) -> Iterable[Block]:
    """The wanted cells that a stored table holds completely; anything else in it is ignored."""
    by_key = {cell.key: cell for cell in wanted}
    keys = list(zip(*(table.column(name).to_pylist() for name in ("method", "k", "epsilon")), strict=True))
    each = runs * len(attributes)
    for first in range(0, len(keys) - each + 1, each):
        cell = by_key.get(keys[first])
        rows = table.slice(first, each)
        if cell is None or keys[first + each - 1] != keys[first]:
            continue
        if rows.column("attribute").to_pylist() != list(attributes) * runs:
            continue
        shape = (1, runs, len(attributes))
        yield Block(
            (cell,),
            {name: pc.cast(rows.column(name), pa.float64()).to_numpy().reshape(shape) for name in measures},
        )


# What each cell of a comparison would promise as a real release: the label to print beside its figures.


def cell_warnings(cell: Cell, schema: Schema, records: int, guarantee: Guarantee) -> tuple[str, ...]:
    """What to think of before releasing with these choices: an ε that is useless or dangerous here."""
    method = get_method(cell.method)
    budget = Budget.of(cell.epsilon, schema, method)
    return forecast_warnings(schema, method, budget, records, cell.k, guarantee)


def promise(cell: Cell, schema: Schema, records: int) -> Guarantee:
    """The guarantee of `protect` with these choices and secure noise. (A comparison itself draws seeded noise.)"""
    return forecast(schema, get_method(cell.method), cell.epsilon, cell.k, records=records)


# Finished cells on disk, so that an interrupted comparison goes on where it stopped.
#
# The folder holds a fingerprint of everything a cell depends on but its own coordinates (table, schema, seed, runs,
# bins, version). Parts are written whole under a hidden name and then renamed: a part is there or it is not.

MANIFEST = "comparison.json"
PARTS = "cells"
VISIBLE = ("report.html", "results.csv", "results.parquet", "attributes.parquet")
# What `keep` writes, and what it left when it was killed: other people's files are left alone.
_OURS = re.compile(r"\.?[0-9a-f]{32}\.(parquet|parquet\.coterie-alone-[0-9a-f]{16}\.tmp|tmp)")


def fingerprint(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    folder: Path
    attributes: tuple[str, ...]
    measures: tuple[str, ...]
    runs: int

    def finished(self, wanted: Sequence[Cell]) -> list[Block]:
        """Blocks of wanted cells that earlier runs finished; a damaged part is computed again."""
        found: dict[Cell, Block] = {}
        for part in sorted((self.folder / PARTS).glob("*.parquet")):
            try:
                table = pq.read_table(part)
                for block in table_to_blocks(table, wanted, self.runs, self.attributes, self.measures):
                    found[block.cells[0]] = block
            except (OSError, pa.ArrowException, KeyError):
                continue
        return list(found.values())

    def keep(self, blocks: Sequence[Block]) -> None:
        """Write finished blocks as one part."""
        if not blocks:
            return
        table = pa.concat_tables([block_to_table(block, self.attributes) for block in blocks])
        name = uuid.uuid4().hex
        try:
            path = self.folder / PARTS / f"{name}.parquet"
            write_whole(path, lambda sink: pq.write_table(table, sink))
        except OSError as error:
            raise OutputError(
                f"A finished part cannot be written ({error.strerror}).", "Check the folder and the disk."
            ) from None


def open_checkpoint(
    folder: Path,
    content: dict[str, Any],
    attributes: tuple[str, ...],
    measures: tuple[str, ...],
    runs: int,
    *,
    force: bool,
) -> Checkpoint:
    """Begin in `folder`, or go on in it if it holds the same comparison."""
    mark = fingerprint(content)
    manifest = folder / MANIFEST
    try:
        known = _read(manifest)
        taken = [name for name in VISIBLE if (folder / name).exists()]
        if known is None and taken and not force:
            raise OutputError(
                f"{folder} holds a {taken[0]} that is not of a comparison.",
                "Choose another folder, or give --force to overwrite it.",
            )
        (folder / PARTS).mkdir(parents=True, exist_ok=True)
        if known != mark:
            if known is not None and not force:
                raise OutputError(
                    f"{folder} holds another comparison (other data, schema, seed, runs or bins).",
                    "Choose another folder, or give --force to start it anew.",
                )
            for part in (folder / PARTS).iterdir():
                if _OURS.fullmatch(part.name):
                    part.unlink()
            write_whole(manifest, (json.dumps({"fingerprint": mark}) + "\n").encode())
    except OSError as error:
        raise OutputError(
            f"The folder {folder} cannot be used ({error.strerror}).", "Choose another one with --output."
        ) from None
    return Checkpoint(folder, attributes, measures, runs)


def _read(manifest: Path) -> str | None:
    if not manifest.exists():
        return None
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))["fingerprint"]
    except (ValueError, KeyError, TypeError):
        return ""
    return str(found)
