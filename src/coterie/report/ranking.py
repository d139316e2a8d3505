"""The best k of each method at each ε, and what to take from a comparison in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie.comparison.comparison import Comparison
from coterie.comparison.grid import Cell
from coterie.comparison.results import cell_warnings, promise
from coterie.errors import ParameterError
from coterie.evaluation import get_measure
from coterie.methods import get_method
from coterie.methods.guarantee import Guarantee, Status
from coterie.report.charts import RiskPoint, number
from coterie.schema.arrays import Floats
from coterie.schema.exact import as_text

_NEAR_BEST = 1.1
# Measures that choices are ranked by, the first that was taken and applies.
UNITS = {
    "sse": "mean squared error (variances per attribute)",
    "semantic-distance": "mean semantic distance",
    "sse-matched": "squared error of the distributions (variances per attribute)",
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
        (1.5, "{times} times the error of replacing every value by the mean"),
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
    return next(said for least, said in WORDS[measure] if error >= least).format(times=number(error))


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
    able = [name for name in UNITS if not (is_synthetic(method) and get_measure(name).needs_linkage)]
    found = next((name for name in able if name in comparison.results.values), None)
    if found is None:
        raise ParameterError(
            "No measure was taken that choices can be ranked by.",
            f"Take one of these too: {', '.join(able)}.",
        )
    return found


def ranking_measures(names: list[str]) -> list[str]:
    """The same names, refused before the work where nothing among them could rank the choices."""
    if not set(names) & set(UNITS):
        raise ParameterError(
            "Choices cannot be ranked by these measures.", f"Take one of these too: {', '.join(UNITS)}."
        )
    return names


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
            errors = errors_by(comparison, measure)
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


MOST_NAMES = 6  # of attributes in one sentence


@dataclass(frozen=True, slots=True)
class Verdict:
    headline: str
    points: tuple[str, ...]
    top: Best  # the choice that the headline names
    attacked: tuple[RiskPoint, ...] = ()  # example releases, where they were attacked

    @property
    def gains(self) -> list[str]:
        """Who changes the data least is half of the answer; what attackers gained from each belongs beside it."""
        found = sorted(self.attacked, key=lambda point: point.risk, reverse=True)
        gains = "; ".join(f"{point.name}: {100 * point.risk:.0f} %" for point in found)
        said = f"How much the best of our attacks learns (0 % is guessing, 100 % is certainty): {gains}."
        return [said] if found else []


def verdict(comparison: Comparison, best: list[Best], sample: str | None = None) -> Verdict:
    """`sample` names what the grid ran on, where that is not the table to be released."""
    largest = comparison.epsilons[-1]
    at_largest = [entry for entry in best if entry.cell.epsilon == largest]
    rows = [entry for entry in at_largest if not entry.synthetic]
    noisy = [entry for entry in rows if entry.rests_on_noise]
    top = _leading(noisy or rows or at_largest)
    # Ranking or MDAV alone may change less still: they are reported below, and are no rivals.
    better = [entry for entry in rows if entry.error < top.error]
    among = " of those that add noise" if better else ""
    if any(entry in noisy for entry in better):
        among += " and whose promise is not refuted"
    several = len(comparison.epsilons) > 1
    scope, at = ("≤", f" at ε = {as_text(largest)}") if several else ("=", "")
    width = len(comparison.results.attributes)
    what = "this table" if sample is None else f"{sample},"
    headline = (
        f"For ε {scope} {as_text(largest)} and {what} of {comparison.records:,} records and {width} protected "
        f"{'attribute' if width == 1 else 'attributes'}, {top.choice}{at} changes the data least{among}: {top.words} "
        f"({top.figure}). "
        f"Its promise is {top.guarantee.status.value}: {_label(top)}."
    )
    points = [
        *_categories(comparison, top),
        *_refuted_but_closer(noisy, top),
        *_firm(rows, top),
        *_synthetic(comparison, [entry for entry in at_largest if entry.synthetic], top),
        *_smallest(comparison, best),
        *_near(comparison, top),
        *_without_noise(rows, top),
    ]
    refuted = [entry.cell.method for entry in at_largest if entry.guarantee.status is Status.REFUTED]
    if refuted:
        points.append(
            f"Not a guarantee: {', '.join(refuted)}. There is a counterexample to what was claimed: see what each "
            "method promises."
        )
        if top.guarantee.status is Status.REFUTED:
            points.insert(0, "No compared method that keeps rows has a promise that holds for them.")
    if sample is not None:
        points.append(
            f"Tuned on {comparison.records:,} records that are not those to be released: the best k moves with how many "
            "there are and how their values lie."
        )
    for measure, why in comparison.failed.items():
        points.append(f"No figures of the measure '{measure}': {why}.")
    if comparison.skipped:
        points.append("Some choices were impossible and left out; they are listed below, with the reason.")
    return Verdict(headline, tuple(points), top)


def _leading(entries: list[Best]) -> Best:
    """The least error. A refuted choice leads only where there is no other: it may be close because it hides nobody."""
    holding = [entry for entry in entries if entry.guarantee.status is not Status.REFUTED]
    return min(holding or entries, key=lambda entry: entry.error)


def _refuted_but_closer(noisy: list[Best], top: Best) -> list[str]:
    closer = [e for e in noisy if e.error < top.error and e.guarantee.status is Status.REFUTED]
    if not closer or top.guarantee.status is Status.REFUTED:
        return []
    best = min(closer, key=lambda entry: entry.error)
    return [f"{best.choice} changes the data less ({best.figure}), but {best.guarantee.label}."]


def _label(entry: Best) -> str:
    """The label, without the status that some labels begin with."""
    return entry.guarantee.label.removeprefix(f"{entry.guarantee.status.value}; ")


def _firm(rows: list[Best], top: Best) -> list[str]:
    """The best choices whose promise is a theorem, if the top one's is not; those without noise come further below."""
    noisy = [entry for entry in rows if entry.rests_on_noise]
    if _proves_dp(top):
        weaker = [entry for entry in noisy if not _proves_dp(entry)]
        closer = any(entry.error < top.error for entry in weaker)
        least = "No compared choice that adds noise under a weaker promise changes the data less."
        return [least] if weaker and not closer else []
    said: list[str] = []
    proved = [entry for entry in noisy if entry.guarantee.status is Status.PROVED]
    if proved and top not in proved:
        said.append(_among("proved", min(proved, key=lambda entry: entry.error)))
    if not any(map(_proves_dp, proved)):
        said.append(
            "No compared method has a proved differential-privacy promise for rows that stand for people."
        )
    elif top in proved or not _proves_dp(min(proved, key=lambda entry: entry.error)):
        private = min(filter(_proves_dp, proved), key=lambda entry: entry.error)
        said.append(_among("proved differential privacy", private))
    weaker = [entry for entry in noisy if entry.guarantee.status in (Status.BOUNDED, Status.CONDITIONAL)]
    if weaker and top not in weaker:
        best = min(weaker, key=lambda entry: entry.error)
        if not proved or best.error < min(entry.error for entry in proved):
            said.append(_among(best.guarantee.status.value, best))
    return said


def _proves_dp(entry: Best) -> bool:
    return entry.guarantee.status is Status.PROVED and entry.guarantee.model == "differential privacy"


def _categories(comparison: Comparison, top: Best) -> list[str]:
    """A squared error says nothing about labels: they are told apart."""
    results = comparison.results
    if top.measure != "sse" or "semantic-distance" not in results.values:
        return []
    known = ~np.isnan(results.values["semantic-distance"][results.cells.index(top.cell)]).any(axis=0)
    names = [name for name, here in zip(results.attributes, known, strict=True) if here]
    distance = results.mean("semantic-distance")[top.cell]
    where = ", ".join(names) if len(names) <= MOST_NAMES else f"the {len(names)} attributes with categories"
    return [
        f"That figure is of numbers. In {where} a released category lies {number(distance)} from the original "
        f"one on average (0: the same, 1: nothing in common): {in_words('semantic-distance', distance)}."
    ]


def _among(kind: str, best: Best) -> str:
    return (
        f"Among methods whose promise is {kind}, {best.choice} is best: {best.words} ({best.figure}). "
        f"It promises: {best.guarantee.label}."
    )


def _synthetic(comparison: Comparison, entries: list[Best], top: Best) -> list[str]:
    """Synthetic rows are compared with the others by what both have: distributions."""
    if not entries:
        return []
    best = min(entries, key=lambda entry: entry.error)
    said = f"If no row has to stand for a person, {best.choice}: {best.words} ({best.figure}). "
    if not top.synthetic:
        other = float(errors_by(comparison, best.measure)[top.cell].mean())
        said += f"By the same measure {top.choice} is at {number(other)}. "
    return [said + f"It promises: {best.guarantee.label}."]


def _smallest(comparison: Comparison, best: list[Best]) -> list[str]:
    smallest = comparison.epsilons[0]
    entries = [e for e in best if e.cell.epsilon == smallest and e.rests_on_noise and not e.synthetic]
    if len(comparison.epsilons) < 2 or not entries:
        return []
    top = _leading(entries)
    useless = [e for e in entries if e.error >= 1 and e.measure == "sse"]
    said = f"At the smallest ε, {as_text(smallest)}, {top.choice} is best: {top.words} ({top.figure})."
    if useless and len(useless) < len(entries):
        names = ", ".join(entry.cell.method for entry in useless)
        said += f" {names} {'is' if len(useless) == 1 else 'are'} {useless[0].words} there."
    return [said]


def _near(comparison: Comparison, top: Best) -> list[str]:
    if len(top.near) < 2:
        return []
    between = tuple(k for k in comparison.grid.ks if top.near[0] <= k <= top.near[-1])
    if top.near == between:
        return [
            f"{top.cell.method} does not depend much on k: every k tried from {top.near[0]} to {top.near[-1]} is within a "
            "tenth of its best."
        ]
    return [f"For {top.cell.method}, k = {', '.join(map(str, top.near))} are within a tenth of its best."]


def _without_noise(rows: list[Best], top: Best) -> list[str]:
    without = [entry for entry in rows if not entry.rests_on_noise]
    if not without or top in without:
        return []
    best = min(without, key=lambda entry: entry.error)
    return [
        f"For comparison, {best.choice} adds no noise: {best.figure}. It promises: {best.guarantee.label}."
    ]
