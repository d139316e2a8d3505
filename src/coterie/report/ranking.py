"""The best k of each method at each ε, by a yardstick that fits what the method releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie.comparison.comparison import Comparison
from coterie.comparison.grid import Cell
from coterie.comparison.results import cell_warnings, promise
from coterie.methods import get_method
from coterie.methods.guarantee import Guarantee, Status
from coterie.report.charts import number
from coterie.schema.arrays import Floats

_NEAR_BEST = 1.1
UNITS = {
    "sse": "mean squared error (variances per attribute)",
    "sse-matched": "squared error of the distributions (variances per attribute)",
    "semantic-distance": "mean semantic distance",
    "jensen-shannon": "Jensen–Shannon divergence",
}
MEAN_LEVEL = (1.0, "1: as inaccurate as replacing every value by the mean")
SCALES = {
    "sse": "1 is as inaccurate as replacing every value by the mean",
    "sse-matched": "1 is as inaccurate as replacing every value by the mean",
    "semantic-distance": "0 is the same label, 1 has nothing in common with it",
    "jensen-shannon": "0 is alike, 1 has nothing in common",
}
# From which value on each sentence holds; the first that fits is said.
WORDS = {
    "sse": (
        (1.0, "as inaccurate as replacing every value by the mean"),
        (0.25, "averages of large groups survive, single values do not"),
        (0.02, "distributions and averages survive"),
        (0.0, "close to the original values"),
    ),
    "sse-matched": (
        (1.0, "the distributions are lost"),
        (0.1, "the distributions are rough"),
        (0.0, "the distributions are close"),
    ),
    "semantic-distance": (
        # Of distances, not of shares: in a deep taxonomy every label may have become a near one.
        (0.3, "categories lie far from the original ones"),
        (0.03, "categories lie near the original ones"),
        (0.0, "nearly every category is kept"),
    ),
    "jensen-shannon": (
        (0.3, "the distributions are lost"),
        (0.05, "rough distributions"),
        (0.0, "close distributions"),
    ),
}


def in_words(measure: str, error: float) -> str:
    return next(said for least, said in WORDS[measure] if error >= least)


@dataclass(frozen=True, slots=True)
class Best:
    """The best k of one method at one ε, and which other k come within a tenth of it."""

    cell: Cell
    error: float  # mean over attributes and runs
    spread: float  # standard deviation over the runs
    near: tuple[int, ...]
    guarantee: Guarantee
    measure: str
    warnings: tuple[str, ...]  # of an ε that is useless or dangerous for this choice
    of_table: float  # the same runs as results.csv and `evaluate` count them: Eq. (5) divides by m once more

    @property
    def divided_by(self) -> int:
        """m, the attributes that the measure knows, where the table's number is the error divided by it; else 1."""
        return round(self.error / self.of_table) if self.of_table > 0 else 1

    @property
    def as_evaluated(self) -> str:
        """How to find the same error in results.csv, or nothing where it is the same number."""
        if self.divided_by == 1:
            return ""
        return (
            f"{self.measure} = {number(self.of_table)} in results.csv and in coterie evaluate, which divide by the number "
            f"of attributes ({self.divided_by}) once more, as Eq. (5) of Soria-Comas et al. does"
        )

    @property
    def words(self) -> str:
        return in_words(self.measure, self.error)

    @property
    def figure(self) -> str:
        return {
            "sse": f"a mean squared error of {number(self.error)} variances per attribute",
            "sse-matched": f"distributions off by {number(self.error)} variances per attribute, matched by rank",
            "semantic-distance": f"a mean semantic distance of {number(self.error)}",
            "jensen-shannon": f"a Jensen–Shannon divergence of {number(self.error)}",
        }[self.measure]

    @property
    def choice(self) -> str:
        return f"{self.cell.method} with k = {self.cell.k}" if self.cell.k > 1 else self.cell.method

    @property
    def rests_on_noise(self) -> bool:
        """Baselines without noise (ranking or MDAV alone) are no rivals of methods that promise something by noise."""
        return self.guarantee.status is not Status.NONE and self.guarantee.rests_on_noise

    @property
    def synthetic(self) -> bool:
        return is_synthetic(self.cell.method)


def is_synthetic(method: str) -> bool:
    return get_method(method).synthetic


def yardstick(comparison: Comparison, method: str) -> str:
    """What a method's choices are ranked by. Synthetic rows have no original to be compared with, only distributions."""
    numeric = "sse" in comparison.results.values
    if is_synthetic(method):
        return "sse-matched" if numeric else "jensen-shannon"
    return "sse" if numeric else "semantic-distance"


def common_yardstick(comparison: Comparison) -> str:
    """One measure that every compared method has: two on one axis could not be compared with each other."""
    methods = comparison.grid.methods
    return yardstick(comparison, next(filter(is_synthetic, methods), methods[0]))


def errors_by(comparison: Comparison, measure: str) -> dict[Cell, Floats]:
    """One number per run, averaged over the attributes that the measure knows; NaN where it cannot be taken."""
    values = comparison.results.values[measure]
    known = values[:, :, ~np.isnan(values).all(axis=(0, 1))]
    means = known.mean(axis=2) if known.shape[2] else np.full(values.shape[:2], np.nan)
    return dict(zip(comparison.results.cells, means, strict=True))


def best_cells(comparison: Comparison) -> list[Best]:
    """For each ε and method, in the order of the grid."""
    found = []
    for epsilon in comparison.epsilons:
        for method in comparison.grid.methods:
            measure = yardstick(comparison, method)
            errors, tables = errors_by(comparison, measure), comparison.results.mean(measure)
            cells = [c for c in comparison.results.cells if (c.method, c.epsilon) == (method, epsilon)]
            if not cells:
                continue
            means = {cell: float(errors[cell].mean()) for cell in cells}
            best = min(cells, key=means.__getitem__)
            near = tuple(cell.k for cell in cells if means[cell] <= _NEAR_BEST * means[best])
            guarantee = promise(best, comparison.schema, comparison.records)
            found.append(
                Best(
                    best,
                    means[best],
                    float(errors[best].std()),
                    near,
                    guarantee,
                    measure,
                    cell_warnings(best, comparison.schema, comparison.records),
                    tables[best],
                )
            )
    return found


def usual_measure(best: Sequence[Best]) -> str:
    """What rows that stand for people are measured by. In a table of errors every other measure carries a star."""
    return next((entry.measure for entry in best if not entry.synthetic), best[0].measure)


def key_to_errors(best: Sequence[Best]) -> list[str]:
    """What the errors in a table of the best choices are: one line for most of them, one for those with a star."""
    usual = usual_measure(best)
    others = sorted({entry.measure for entry in best} - {usual})
    first = f"The error is the {UNITS[usual]}, mean over attributes and runs; {SCALES[usual]}."
    return [first, *(f"* {UNITS[other]}; {SCALES[other]}." for other in others)]
