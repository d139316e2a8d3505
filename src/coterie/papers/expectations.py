"""The closed forms for every cell of a grid, attribute by attribute, and whether the means of its runs are those."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from coterie.evaluation import get_measure
from coterie.methods import get_method
from coterie.papers import closed_form
from coterie.papers.closed_form import RankedGroups
from coterie.papers.experiment import Judgement
from coterie.papers.grids import Key, PaperGrid, paper_grid
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Schema
from coterie.schema.exact import parse_epsilon
from coterie.table.checked import check
from coterie.table.columns.column import Column, NumericColumn

# Its groups are taken from the method; centres, scales and noise are worked out here.
MULTIVARIATE = "dp-mdav"
FORMULA = "every attribute's mean error is what the printed formulas give"
FAR = 6.0  # standard errors between a mean and its closed form: below 1 in 1,000 for thousands of cells together
WITHOUT_VARIANCE = ("relative-error", "variance-change")
GROWN = 3.0  # a variance that is expected to grow so much falls in no run


@dataclass(frozen=True)
class Expected:
    """Per attribute: the mean of a measure, its variance over runs (None: not known), and what an extreme draw adds."""

    mean: Floats
    variance: Floats | None = None
    extreme: Floats | None = None


def expected(
    table: pa.Table,
    schema: Schema,
    keys: Iterable[Key],
    measure: str,
    *,
    whole: bool = False,
    observed: bool = False,
    shares: Mapping[str, float] | None = None,
) -> dict[Key, Expected]:
    """Expected figures per cell. `whole`: no split of ε. `observed`: bounded to the data's range.

    Categories have no closed form here.
    """
    columns = check(table.select([a.name for a in schema.attributes]), schema).columns
    found: dict[Key, Expected] = {}
    for method, epsilon, k in keys:
        total = float(parse_epsilon(epsilon))
        line = []
        for name, column in columns.items():
            share = shares[name] if shares else 1.0 if whole or method == MULTIVARIATE else 1 / len(columns)
            if isinstance(column, NumericColumn):
                line.append(_of_one(column, columns, method, k, total * share, measure, observed))
            else:
                line.append((np.nan, np.nan, np.nan))
        mean, variance, extreme = np.array(line).T
        known = measure not in WITHOUT_VARIANCE
        found[method, epsilon, k] = Expected(mean, variance if known else None, extreme if known else None)
    return found


def _of_one(
    column: NumericColumn,
    columns: Mapping[str, Column],
    method: str,
    k: int,
    share: float,
    measure: str,
    observed: bool,
) -> tuple[float, float, float]:
    values, domain = column.values, column.domain
    low, high = float(domain.lower), float(domain.upper)
    if method in closed_form.METHODS:
        groups = closed_form.grouped(values, method, k, low, high, share)
    else:
        groups = _multivariate(values, list(columns.values()), method, k, (high - low) / share)
    bounds = column.limits
    if observed:
        bounds = (max(bounds[0], float(values.min())), min(bounds[1], float(values.max())))
    if measure == "relative-error":
        unit = np.maximum((high - low) / 100, np.abs(groups.values))
        return closed_form.absolute_error(groups, unit, *bounds, column.step) / len(values), np.nan, np.nan
    spread = float(np.var(values, ddof=1))
    if measure == "variance-change":  # of a variance that grows: then |σ² − σ'²| is the difference
        change = closed_form.variance(groups, *bounds, column.step) / spread - 1
        return change if change > GROWN else np.nan, np.nan, np.nan
    error = closed_form.squared_error(groups, *bounds, column.step)
    unit_of = {"sse-sum": 1.0, "sse": len(values) * spread, "sse-paper": len(values) * spread**2}[measure]
    return error.mean / unit_of, error.variance / unit_of**2, error.extreme / unit_of


def closed(found: Mapping[Key, Expected], like: PaperGrid, measure: str) -> PaperGrid:
    """The closed forms of whole tables, as a grid."""
    by_attribute = {key: value.mean for key, value in found.items()}
    return PaperGrid.of_numbers(like, get_measure(measure), by_attribute)


def formula(found: Mapping[Key, Expected], grid: PaperGrid, measure: str, rests_on: str) -> Judgement:
    """Every attribute in every cell: the mean of the runs against the closed form, which draws no random number."""
    mean = np.array([grid.by_attribute[measure][key] for key in found])
    spread = np.array([grid.spread[measure][key] for key in found]) / math.sqrt(grid.runs - 1)
    values = list(found.values())
    if values[0].variance is not None:
        spread = np.sqrt(np.array([value.variance for value in values]) / grid.runs)
    slack = np.array(
        [np.zeros_like(v.mean) if v.extreme is None else 2 * v.extreme / grid.runs for v in values]
    )
    return against(np.array([value.mean for value in values]), mean, spread, slack, grid.runs, rests_on)


def ranking_alone(table: pa.Table, schema: Schema, ks: Sequence[int]) -> Judgement:
    """The groups themselves, without noise: ⌊n/k⌋ of them, the last with the remainder, each replaced by its mean."""
    grid = paper_grid(table, schema, ("ir",), ("1",), ks, 2, ("sse-sum",))
    known = expected(table, schema, grid.values["sse-sum"], "sse-sum")
    judged = formula(
        known, grid, "sse-sum", "⌊n/k⌋ groups of k consecutive values, the last with the remainder"
    )
    claim = "groups without noise: every attribute's error is what the printed formulas give"
    measured = f"{len(known) * len(schema.attributes)} errors, " + (
        "all equal" if judged.holds else "not all equal"
    )
    return replace(judged, claim=claim, measured=measured, tolerance="equal", error="exact")


def against(
    expected: Floats,
    mean: Floats,
    error: Floats,
    slack: Floats,
    runs: int,
    rests_on: str,
    claim: str = FORMULA,
) -> Judgement:
    """`slack`: two extreme draws, because a rare one is no matter of standard errors; and rounding."""
    known = ~np.isnan(expected)
    expected, mean, error, slack = expected[known], mean[known], error[known], slack[known]
    rounding = 1e-7 * np.abs(expected)  # of sums over tens of thousands of records
    off = np.maximum(np.abs(mean - expected) - slack - rounding, 0)
    error = np.where(error > rounding, error, 0.0)
    away = np.divide(off, error, out=np.where(off > 0, 99.0, 0.0), where=error > 0)
    worst = int(np.argmax(away))
    ratio = f" ({mean[worst] / expected[worst]:.3g} times)" if expected[worst] else ""
    farthest = f"{min(float(away[worst]), 99):.1f} standard errors away{ratio}"
    measured = f"{away.size:,} means of {runs} runs, the farthest {farthest}"
    tolerance = f"each within {FAR:.0f} standard errors, two extreme draws aside"
    return Judgement(claim, rests_on, measured, tolerance, bool(away[worst] <= FAR), "below 1 in 1,000")


def _multivariate(values: Floats, columns: list[Column], method: str, k: int, width: float) -> RankedGroups:
    """(n/k)·Δ/(kε) on every centroid (Sánchez et al. 2016, §2.4), or no noise."""
    clustering = get_method(MULTIVARIATE).grouping.prepare(columns, k)(columns[0])
    arranged = values[np.argsort(clustering.labels, kind="stable")]
    sizes = np.asarray(clustering.sizes)
    centre = np.add.reduceat(arranged, np.cumsum(sizes) - sizes) / sizes
    scale = len(values) / k * width / k if method == MULTIVARIATE else 0.0
    return RankedGroups(arranged, sizes, centre, np.full(len(sizes), scale))
