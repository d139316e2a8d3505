"""A comparison in words: what to take from it before looking at a single figure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.budget import as_text
from coterie.compare.comparison import Comparison
from coterie.compare.grid import Cell
from coterie.compare.promises import promise
from coterie.guarantee import Guarantee, Status

Floats = NDArray[np.float64]
_NEAR_BEST = 1.1


@dataclass(frozen=True, slots=True)
class Best:
    """The best k of one method at one ε, by the scale-free error, and which other k come within a tenth of it."""

    cell: Cell
    error: float  # of the primary measure, mean over attributes and runs
    spread: float  # standard deviation over the runs
    near: tuple[int, ...]
    guarantee: Guarantee
    measure: str  # the primary measure

    @property
    def words(self) -> str:
        return in_words(self.error) if self.measure == "sse" else distance_in_words(self.error)

    @property
    def figure(self) -> str:
        if self.measure == "sse":
            return f"a mean squared error of {readable(self.error)} variances an attribute"
        return f"a mean semantic distance of {readable(self.error)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    headline: str
    points: tuple[str, ...]


def primary_measure(comparison: Comparison) -> str:
    """By what choices are ranked: the squared error of numbers, or the semantic distance where there are none."""
    return "sse" if "sse" in comparison.results.values else "semantic-distance"


def error_unit(comparison: Comparison) -> str:
    return (
        "mean squared error (variances)" if primary_measure(comparison) == "sse" else "mean semantic distance"
    )


def error_of_runs(comparison: Comparison) -> dict[Cell, Floats]:
    """One number a run: the primary measure averaged over the attributes that it knows."""
    values = comparison.results.values[primary_measure(comparison)]
    return dict(zip(comparison.results.cells, np.nanmean(values, axis=2), strict=True))


def best_cells(comparison: Comparison) -> list[Best]:
    """For each ε and method, in the order of the grid."""
    errors = error_of_runs(comparison)
    found = []
    for epsilon in comparison.grid.epsilons:
        for method in comparison.grid.methods:
            cells = [c for c in comparison.results.cells if (c.method, c.epsilon) == (method, epsilon)]
            if not cells:
                continue
            best = min(cells, key=lambda cell: float(errors[cell].mean()))
            limit = _NEAR_BEST * float(errors[best].mean())
            near = tuple(cell.k for cell in cells if float(errors[cell].mean()) <= limit)
            found.append(
                Best(
                    best,
                    float(errors[best].mean()),
                    float(errors[best].std()),
                    near,
                    promise(best, comparison.schema, comparison.records),
                    primary_measure(comparison),
                )
            )
    return found


def readable(number: float) -> str:
    """Three digits, and no exponent where people would not write one."""
    if number == 0 or not 1e-4 <= abs(number) < 1e6:
        return f"{number:.2g}"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def in_words(error: float) -> str:
    if error >= 1:
        return "no better than publishing means"
    if error >= 0.25:
        return "averages of large groups survive, single values do not"
    if error >= 0.02:
        return "distributions and averages survive"
    return "close to the original values"


def distance_in_words(distance: float) -> str:
    if distance >= 0.3:
        return "most categories are others than before"
    return "most categories are kept" if distance >= 0.03 else "nearly every category is kept"


def verdict(comparison: Comparison, best: list[Best]) -> Verdict:
    largest = comparison.grid.epsilons[-1]
    at_largest = [entry for entry in best if entry.cell.epsilon == largest]
    noisy = [entry for entry in at_largest if _rests_on_noise(entry)]
    top = min(noisy or at_largest, key=lambda entry: entry.error)
    scope = "≤" if len(comparison.grid.epsilons) > 1 else "="
    width = len(comparison.results.attributes)
    headline = (
        f"For ε {scope} {as_text(largest)} and this table of {comparison.records:,} records and {width} protected "
        f"{'attribute' if width == 1 else 'attributes'}, {_choice(top)} changes the data least: {top.figure} "
        f"({top.words}). Its promise is {top.guarantee.status.value}: {top.guarantee.label}."
    )
    points = [*_firm(at_largest, top), *_smallest(comparison, best)]
    if len(top.near) > 1:
        points.append(
            f"{top.cell.method} does not depend much on k: every k tried from {top.near[0]} to {top.near[-1]} "
            "is within a tenth of its best."
            if top.near == tuple(k for k in comparison.grid.ks if top.near[0] <= k <= top.near[-1])
            else f"For {top.cell.method}, k = {', '.join(map(str, top.near))} are within a tenth of its best."
        )
    without = [e for e in at_largest if not _rests_on_noise(e)]
    if without and without != at_largest:
        best = min(without, key=lambda entry: entry.error)
        points.append(
            f"For comparison, {_choice(best)} adds no noise: {best.figure}. It promises: "
            f"{best.guarantee.label}."
        )
    refuted = [entry.cell.method for entry in at_largest if entry.guarantee.status is Status.REFUTED]
    if refuted:
        points.append(
            f"Not a guarantee: {', '.join(refuted)}. The papers claim one, and there is a counterexample; the table "
            "below says which."
        )
    if comparison.skipped:
        points.append(
            f"{len(comparison.skipped)} choices were impossible and left out; they are listed below."
        )
    return Verdict(headline, tuple(points))


def _rests_on_noise(entry: Best) -> bool:
    """Baselines without noise (ranking or MDAV alone) are no rivals of methods that promise something by noise."""
    return entry.guarantee.status is not Status.NONE and entry.guarantee.rests_on_noise


def _choice(entry: Best) -> str:
    return f"{entry.cell.method} with k = {entry.cell.k}" if entry.cell.k > 1 else entry.cell.method


def _firm(at_largest: list[Best], top: Best) -> list[str]:
    """The best choices whose promise is a theorem, if the top one's is not."""
    if top.guarantee.status is Status.PROVED:
        return (
            ["No compared choice with a weaker promise changes the data less."] if len(at_largest) > 1 else []
        )
    said = []
    proved = [e for e in at_largest if e.guarantee.status is Status.PROVED and _rests_on_noise(e)]
    if proved:
        said.append(_among("proved", min(proved, key=lambda entry: entry.error)))
    else:
        said.append("No compared method has a proved differential-privacy promise for the rows it releases.")
    weaker = [entry for entry in at_largest if entry.guarantee.status in (Status.BOUNDED, Status.CONDITIONAL)]
    if weaker and top not in weaker:
        best = min(weaker, key=lambda entry: entry.error)
        if not proved or best.error < min(entry.error for entry in proved):
            said.append(_among(best.guarantee.status.value, best))
    return said


def _among(kind: str, best: Best) -> str:
    return (
        f"Among methods whose promise is {kind}, {_choice(best)} is best: {best.figure} "
        f"({best.words}). It promises: {best.guarantee.label}."
    )


def _smallest(comparison: Comparison, best: list[Best]) -> list[str]:
    smallest = comparison.grid.epsilons[0]
    if len(comparison.grid.epsilons) < 2:
        return []
    entries = [e for e in best if e.cell.epsilon == smallest and _rests_on_noise(e)]
    if not entries:
        return []
    top = min(entries, key=lambda entry: entry.error)
    useless = [e.cell.method for e in entries if e.error >= 1 and e.measure == "sse"]
    said = f"At the smallest ε, {as_text(smallest)}, {_choice(top)} is best: {top.figure} ({top.words})."
    if useless and len(useless) < len(entries):
        said += f" {', '.join(useless)} {'is' if len(useless) == 1 else 'are'} {in_words(1.0)} there."
    return [said]
