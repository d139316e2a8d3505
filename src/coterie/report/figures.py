"""Attributes, correlations and errors before and after: counted, and drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.comparison.comparison import Comparison
from coterie.evaluation.correlation_error import correlations
from coterie.report.charts import (
    FieldGrid,
    Figure,
    Lines,
    Series,
    correlation_matrix,
    heatmap,
    histogram,
    label_bars,
    lines,
    side_by_side,
)
from coterie.report.ranking import MEAN_LEVEL, UNITS, errors_by
from coterie.schema.arrays import Floats
from coterie.schema.attributes import AttributeType
from coterie.schema.exact import as_text
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn, present

BINS = 30
MOST_LABELS = 12
_DAY = 86_400  # seconds


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of every record. Numbers and dates have `edges`, other attributes `labels`."""

    name: str
    before: list[int]
    after: list[list[int]]
    labels: list[str] | None = None
    edges: list[float] | None = None
    unit: str = ""
    dates: bool = False  # edges are days since 1970
    means: tuple[float, ...] = ()  # of the numbers, before and after
    deviations: tuple[float, ...] = ()
    missing: str = ""  # of the numbers, how many

    @property
    def moved(self) -> float:
        """The share of records that would have to change their label, or their bin of about ten, in the first release."""
        width = 1 if self.edges is None else -(-len(self.before) // 10)
        before, after = (
            np.add.reduceat(np.asarray(counts, dtype=np.float64), np.arange(0, len(counts), width))
            for counts in (self.before, self.after[0])
        )
        return float(np.abs(before / (before.sum() or 1) - after / (after.sum() or 1)).sum() / 2)


def counted(before: Column, after: Sequence[Column]) -> Counted:
    """`after`: the same attribute in one or several releases."""
    attribute = before.attribute
    if isinstance(before, CategoryColumn):
        codes = [one.codes for one in after if isinstance(one, CategoryColumn)]
        return _labels(attribute.name, before.taxonomy.categories, before.codes, codes, by_count=True)
    assert isinstance(before, NumericColumn)
    tables = [before.values, *(one.values for one in after if isinstance(one, NumericColumn))]
    labels = attribute.categories.labels if attribute.categories else None
    if attribute.type is AttributeType.ORDINAL and labels:
        first, *others = (_ranks(values, labels) for values in tables)
        if any(np.isnan(values).any() for values in tables):
            labels = (*labels, "missing")
        return _labels(attribute.name, labels, first, others, by_count=False)
    gaps = [int(np.isnan(values).sum()) for values in tables]
    tables = [present(values) if len(present(values)) else np.zeros(1) for values in tables]
    if attribute.type is AttributeType.TIMESTAMP:
        tables = [values / _DAY for values in tables]
    edges = shared_edges(tables, whole=attribute.type is AttributeType.INTEGER)
    first_counts, *other_counts = (_binned(values, edges) for values in tables)
    return Counted(
        attribute.name,
        first_counts,
        other_counts,
        edges=edges,
        unit=attribute.unit or "",
        dates=attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP),
        means=tuple(float(values.mean()) for values in tables),
        deviations=tuple(float(values.std()) for values in tables),
        missing=f"{gaps[0]:,} missing, then {' and '.join(f'{gap:,}' for gap in gaps[1:])}"
        if any(gaps)
        else "",
    )


def shared_edges(tables: Sequence[Floats], *, whole: bool) -> list[float]:
    """Equal bins over all but the outermost half percent of each; whole numbers get bins of their own if they are few."""
    ends = [np.quantile(values, share) for values in tables for share in (0.005, 0.995)]
    low, high = float(min(ends)), float(max(ends))
    if whole and high - low <= BINS:
        return [edge - 0.5 for edge in range(math.floor(low), math.ceil(high) + 2)]
    rough = (high - low) / BINS or abs(low) / BINS or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    step = max(1.0, step) if whole else step
    first = math.floor(low / step + 1e-9)
    count = max(1, math.ceil(high / step - 1e-9) - first)
    return [(first + place) * step for place in range(count + 1)]


def _binned(values: Floats, edges: list[float]) -> list[int]:
    """Values beyond the edges count in the outer bins, so that nobody is left out."""
    return [int(count) for count in np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]]


def _ranks(values: Floats, labels: tuple[str, ...]) -> NDArray[np.int32]:
    """Missing comes after the last label."""
    ranks = np.clip(np.rint(values), 0, len(labels) - 1)
    return np.where(np.isnan(values), len(labels), ranks).astype(np.int32)


def _labels(
    name: str, labels: Sequence[str], before: Any, after: Sequence[Any], *, by_count: bool
) -> Counted:
    """The commonest labels of the original; the others together."""
    tables = [np.bincount(codes, minlength=len(labels)) for codes in (before, *after)]
    order = np.argsort(-tables[0], kind="stable") if by_count else np.arange(len(labels))
    shown, rest = order[:MOST_LABELS], order[MOST_LABELS:]
    names = [str(labels[code]) for code in shown]
    counts = [[int(count) for count in whole[shown]] for whole in tables]
    if len(rest):
        names.append(f"{len(rest)} other labels")
        for found, whole in zip(counts, tables, strict=True):
            found.append(int(whole[rest].sum()))
    return Counted(name, counts[0], counts[1:], labels=names)


Columns = Mapping[str, Column]


def distributions(original: Columns, releases: Mapping[str, Columns], *, title: str, caption: str) -> Figure:
    """One panel per attribute: the original filled, each release outlined."""
    drawn = [
        attribute_figure(counted(column, [columns[name] for columns in releases.values()]), tuple(releases))
        for name, column in original.items()
    ]
    return side_by_side(drawn, title=title, caption=caption)


def attribute_figure(found: Counted, releases: Sequence[str]) -> Figure:
    after = dict(zip(releases, found.after, strict=True))
    if found.edges is None:
        return label_bars(found.name, found.labels or [], found.before, after)
    name = f"{found.name}: {found.missing}" if found.missing else found.name
    return histogram(name, found.edges, found.before, after, unit=found.unit, dates=found.dates)


def correlation_matrices(
    original: Columns, releases: Mapping[str, Columns], *, title: str, caption: str
) -> Figure | None:
    """The correlations of the original and of each release, on one colour scale."""
    names = [name for name, column in original.items() if isinstance(column, NumericColumn)]
    if len(names) < 2:
        return None
    drawn = []
    for words, columns in {"original": original, **releases}.items():
        numbers = [column.values for column in columns.values() if isinstance(column, NumericColumn)]
        drawn.append(correlation_matrix(words, names, correlations(numbers).tolist()))
    rows = tuple(
        (figure.panels[0].label.removesuffix(": correlation matrix"), *row)
        for figure in drawn
        for row in figure.rows
    )
    panels = tuple(panel for figure in drawn for panel in figure.panels)
    return Figure(panels, caption, ("table", *drawn[0].headings), rows, drawn[0].keys, title)


GROUP_SIZE = "k (records per group)"


def error_by_k(
    comparison: Comparison, measure: str, methods: list[str], *, title: str, caption: str
) -> Figure:
    """One panel per ε; methods without k are horizontal lines; bands run from the luckiest to the unluckiest run."""
    errors = errors_by(comparison, measure)
    ks = sorted({cell.k for cell in comparison.results.cells if cell.method in methods and cell.k > 1})
    panels = []
    for epsilon in comparison.epsilons:
        series = []
        for method in methods:
            cells = [c for c in comparison.results.cells if (c.method, c.epsilon) == (method, epsilon)]
            runs = [errors[cell] for cell in cells]
            if not cells:
                continue
            points = [(float(cell.k), float(run.mean())) for cell, run in zip(cells, runs, strict=True)]
            band = [(float(run.min()), float(run.max())) for run in runs] if len(cells) > 1 else []
            series.append(Series(method, points, comparison.grid.methods.index(method), band=band))
        panels.append(Lines(f"ε = {as_text(epsilon)}", series))
    return lines(
        panels,
        x=GROUP_SIZE,
        y=UNITS[measure],
        caption=caption,
        log_x=len(ks) > 1 and ks[-1] / ks[0] >= 10,
        level=MEAN_LEVEL if measure.startswith("sse") else None,
        ticks=ks,
        title=title,
    )


def error_heatmaps(
    comparison: Comparison, measure: str, methods: list[str], *, title: str, caption: str
) -> Figure | None:
    """One panel per method with k: rows ε, columns k, the error written into each field."""
    errors = {cell: float(runs.mean()) for cell, runs in errors_by(comparison, measure).items()}
    grouped = [m for m in methods if any(c.method == m and c.k > 1 for c in comparison.results.cells)]
    ks = [k for k in comparison.grid.ks if any(cell.k == k for cell in comparison.results.cells)]
    if not grouped or not ks:
        return None
    epsilons = comparison.epsilons
    grids = []
    for method in grouped:
        values = np.full((len(epsilons), len(ks)), math.nan)
        for cell in comparison.results.cells:
            if cell.method == method and cell.k in ks:
                values[epsilons.index(cell.epsilon), ks.index(cell.k)] = errors[cell]
        grids.append(FieldGrid(method, [as_text(e) for e in epsilons], [str(k) for k in ks], values.tolist()))
    return heatmap(grids, row="ε", column=GROUP_SIZE, value=UNITS[measure], caption=caption, title=title)
