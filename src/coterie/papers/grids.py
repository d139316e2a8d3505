"""Grids as the papers have them, the same table under several domains, sorted once; and their figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa

from coterie.comparison.engine import Trials, run_cells
from coterie.comparison.grid import Cell
from coterie.comparison.shared_work import SortedTable
from coterie.evaluation import get_measure
from coterie.evaluation.measure import Measure, Settings
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.report.charts import FieldGrid, Figure, Lines, Series, heatmap, lines
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Schema
from coterie.schema.exact import as_text, parse_epsilon
from coterie.table.checked import check

Key = tuple[str, str, int]  # method, ε, k


@dataclass(frozen=True)
class PaperGrid:
    """values[measure][method, ε, k] of every run; methods without k stand under their own k."""

    ks: tuple[int, ...]
    epsilons: tuple[str, ...]
    values: Mapping[str, Mapping[Key, Floats]]
    by_attribute: Mapping[str, Mapping[Key, Floats]]  # mean over the runs
    spread: Mapping[str, Mapping[Key, Floats]]  # standard deviation over the runs

    @classmethod
    def of_numbers(cls, like: PaperGrid, measure: Measure, by_attribute: Mapping[Key, Floats]) -> PaperGrid:
        """Numbers per attribute instead of runs: closed forms, in a grid that is read in the same way."""
        assert measure.attribute is not None
        whole = {key: np.atleast_1d(measure.attribute.combine(line)) for key, line in by_attribute.items()}
        return cls(like.ks, like.epsilons, {measure.name: whole}, {}, {})

    @cached_property
    def mean(self) -> Mapping[str, Mapping[Key, float]]:
        return {
            measure: {key: float(runs.mean()) for key, runs in by_key.items()}
            for measure, by_key in self.values.items()
        }

    @property
    def runs(self) -> int:
        return len(next(iter(next(iter(self.values.values())).values())))

    def without(self, block: int, blocks: int) -> PaperGrid:
        """The same grid, one block of its runs left out."""
        kept = np.arange(self.runs) * blocks // self.runs != block
        values = {m: {key: runs[kept] for key, runs in by_key.items()} for m, by_key in self.values.items()}
        return replace(self, values=values)

    def line(self, measure: str, method: str, epsilon: str) -> Floats:
        """The measure over k; flat for a method that has none."""
        return np.array([self.mean[measure][self._key(method, epsilon, k)] for k in self.ks])

    def lines(self, measure: str, method: str, epsilon: str) -> Floats:
        """The measure over k for every run: axes k, run."""
        return np.array([self.values[measure][self._key(method, epsilon, k)] for k in self.ks])

    def _key(self, method: str, epsilon: str, k: int) -> Key:
        known = next(iter(self.values.values()))
        return (method, epsilon, k) if (method, epsilon, k) in known else (method, epsilon, 1)

    def table(self, **constant: float | str) -> pa.Table:
        keys = list(next(iter(self.values.values())))
        columns = {
            **{name: [value] * len(keys) for name, value in constant.items()},
            "method": [method for method, _, _ in keys],
            "epsilon": [epsilon for _, epsilon, _ in keys],
            "k": [k for _, _, k in keys],
            **{name: [values[key] for key in keys] for name, values in self.mean.items()},
        }
        return pa.table(columns)


def paper_grid(
    table: pa.Table,
    schema: Schema,
    methods: Sequence[str],
    epsilons: Iterable[str],
    ks: Iterable[int],
    runs: int,
    measures: Sequence[str | Measure],
    *,
    settings: Settings | None = None,
    sorted_table: SortedTable | None = None,
    find: Callable[[str], Method] = get_method,
    times: int | Fraction = 1,
) -> PaperGrid:
    """Run the grid. `sorted_table` of an earlier grid over the same values spares the sorting.

    Every ε counts `times` itself: with the number of attributes, each of them gets the whole ε.
    """
    columns = check(table.select([a.name for a in schema.attributes]), schema).columns
    ready = SortedTable(columns) if sorted_table is None else sorted_table.under(columns)
    sizes, texts = tuple(ks), tuple(epsilons)
    cells: dict[Cell, None] = {}
    budgets: list[Fraction] = [parse_epsilon(text) * times for text in texts]
    wanted = [(name, k) for k in sizes for name in methods]
    for name, k in wanted:
        method = find(name)
        for budget in budgets:
            cells[Cell(name, method.check_k(method.fixed_k or k, ready.records), budget)] = None
    chosen = [get_measure(name) if isinstance(name, str) else name for name in measures]
    found: dict[str, dict[Key, Floats]] = {measure.name: {} for measure in chosen}
    single: dict[str, dict[Key, Floats]] = {measure.name: {} for measure in chosen}
    spread: dict[str, dict[Key, Floats]] = {measure.name: {} for measure in chosen}
    ordered = sorted(cells, key=lambda cell: cell.k)
    for block in run_cells(ready, ordered, Trials(runs, 0, chosen, settings or Settings()), find):
        for measure in chosen:
            assert measure.attribute is not None
            values = block.values[measure.name]
            known = ~np.isnan(values[0, 0])
            whole = measure.attribute.combine(np.moveaxis(values[:, :, known], 2, 0))
            for place, cell in enumerate(block.cells):
                key = (cell.method, as_text(cell.epsilon / times), cell.k)
                found[measure.name][key] = whole[place]
                single[measure.name][key] = values[place].mean(axis=0)
                spread[measure.name][key] = values[place].std(axis=0)
    return PaperGrid(sizes, tuple(as_text(parse_epsilon(t)) for t in texts), found, single, spread)


# Figures as the papers draw them: lines over k, a panel per setting; and heatmaps over ε × k.

GROUP_SIZE = "k (records per group)"


def over_k(
    label: str, ks: Sequence[int], values: Floats, look: int, dash: int = 0, flat: bool = False
) -> Series:
    """Methods by colour (`look`), ε by dash; a baseline that does not depend on k (`flat`) has no markers."""
    points = [(float(k), float(value)) for k, value in zip(ks, values, strict=True)]
    return Series(label, points, look, dash, marked=not flat)


def panels_of(
    title: str,
    grid: PaperGrid,
    measures: Mapping[str, tuple[str, bool]],
    noisy: Mapping[str, str],
    noiseless: Mapping[str, str],
) -> list[Lines]:
    """A panel per measure (its words, and whether on a log scale): per ε a line of each noisy method, then the others.

    `noisy` and `noiseless` map labels to methods.
    """
    panels = []
    for measure, (words, log) in measures.items():
        series = [
            over_k(
                f"{label}, ε = {epsilon}",
                grid.ks,
                grid.line(measure, method, epsilon),
                look,
                dash,
                method == "laplace",
            )
            for dash, epsilon in enumerate(grid.epsilons)
            for look, (label, method) in enumerate(noisy.items())
        ]
        for look, (label, method) in enumerate(noiseless.items(), start=2):
            series.append(over_k(label, grid.ks, grid.line(measure, method, "1"), look))
        panels.append(Lines(title, series, words, log))
    return panels


def line_panels(panels: Sequence[Lines], title: str) -> Figure:
    return lines(panels, x=GROUP_SIZE, caption="", log_x=False, title=title)


def heatmaps(
    panels: Sequence[tuple[str, Sequence[int], Floats]],
    epsilons: Sequence[str],
    label: str,
    title: str,
    *,
    log: bool,
) -> Figure:
    """Panels of (name, ks, values): rows k, columns ε; the values are written into the fields."""
    grids = [FieldGrid(name, [str(k) for k in ks], epsilons, values.tolist()) for name, ks, values in panels]
    return heatmap(grids, row=GROUP_SIZE, column="ε", value=label, caption="", log=log, title=title)
