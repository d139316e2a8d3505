"""The best k of each method at each ε, and what to take from a comparison in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie.comparison.comparison import Comparison
from coterie.comparison.grid import Cell
from coterie.comparison.recommendation import PURPOSES, measure_of
from coterie.comparison.results import cell_warnings, promise
from coterie.errors import ParameterError, counted
from coterie.evaluation import get_measure
from coterie.methods import get_method
from coterie.methods.guarantee import Guarantee, Status, beside_in_words, label_beside_status
from coterie.promise.posterior import DP
from coterie.report.charts import RiskPoint, percent
from coterie.schema.arrays import Floats
from coterie.schema.exact import as_text, number

_NEAR_BEST = 1.1
# What the choices are grouped by. Nobody is led to one of the last two without having accepted it by name.
GROUPS = (
    "Proved: differential privacy of rows",
    "Proved: differential privacy of lists of single columns, not rows",
    "Proved, of something weaker than differential privacy",
    "Only under a condition",
    "No proof: do not publish",
    "Nothing is promised: do not publish",
)
_UNSAFE = (4, 5)
# Measures that choices are ranked by, the first that was taken and applies.
UNITS = {
    "sse": "mean squared error (variances per attribute)",
    "semantic-distance": "mean semantic distance",
    "sse-matched": "squared error of the distributions (variances per attribute)",
    "jensen-shannon": "Jensen–Shannon divergence",
    # Of whole rows, where a purpose was named.
    "one-way": "share of people to move, in tables of one column",
    "two-way": "share of people to move, in tables of two columns",
    "three-way": "share of people to move, in tables of three columns",
    "associations": "share of relations that is lost",
    "models": "share of the skill of models that is lost",
}
_ABOUT = {"associations": "relations", "models": "models", "two-way": "tables", "three-way": "tables"}
MEAN_LEVEL = (1.0, "1: as inaccurate as replacing every value by the mean")
_BY_COLUMN = ("sse", "semantic-distance", "sse-matched", "jensen-shannon")
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
}


def in_words(measure: str, error: float) -> str:
    """Name an error by the limits that the measure itself states, where it does. They are the same wherever it is shown."""
    if get_measure(measure).words:
        return f"{_ABOUT.get(measure, 'distributions')} {get_measure(measure).word(error)}"
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
        said = {
            "sse": "a mean squared error of {} variances per attribute",
            "sse-matched": "distributions off by {} variances per attribute, matched by rank",
            "semantic-distance": "a mean semantic distance of {}",
            "jensen-shannon": "a Jensen–Shannon divergence of {}",
        }
        if self.measure in said:
            return said[self.measure].format(number(self.error))
        return f"{UNITS[self.measure]}: {percent(self.error)}"

    @property
    def choice(self) -> str:
        return f"{self.cell.method} with k = {self.cell.k}" if self.cell.k > 1 else self.cell.method

    @property
    def group(self) -> int:
        """Promises of one group can be compared by their errors; the groups, the firmest first, are GROUPS."""
        status = self.guarantee.status
        if status is Status.PROVED:
            if self.guarantee.model != DP:
                return 2
            return int(get_method(self.cell.method).lists)
        return 3 if status in (Status.BOUNDED, Status.CONDITIONAL) else 5 if status is Status.NONE else 4

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "method": self.cell.method,
            "k": self.cell.k,
            "epsilon": as_text(self.cell.epsilon),
            "error": self.error,
            "measure": self.measure,
            "words": self.words,
            "status": self.guarantee.status.value,
            "label": self.guarantee.label,
            "beside": beside_in_words(self.guarantee.beside),
            "warnings": list(self.warnings),
            "synthetic": self.synthetic,
        }

    @property
    def rests_on_noise(self) -> bool:
        """Baselines without noise (ranking or MDAV alone) are no rivals of methods that promise something by noise."""
        return self.guarantee.status is not Status.NONE and self.guarantee.rests_on_noise

    @property
    def synthetic(self) -> bool:
        return is_synthetic(self.cell.method)


def is_synthetic(method: str) -> bool:
    return get_method(method).synthetic


def yardstick(comparison: Comparison) -> str:
    """What all choices are ranked by: one measure, that means the same for rows of people and for synthetic rows."""
    if comparison.purpose is not None:
        wanted = measure_of(comparison.purpose, comparison.schema).name
        if not np.isnan(comparison.results.values[wanted]).all():
            return wanted
    synthetic = any(map(is_synthetic, comparison.grid.methods))
    able = [name for name in _BY_COLUMN if not (synthetic and get_measure(name).needs_linkage)]
    if synthetic:  # it sees labels as well as numbers
        able.sort(key=lambda name: name != "jensen-shannon")
    found = next((name for name in able if name in comparison.results.values), None)
    if found is None:
        raise ParameterError(
            "No measure was taken that choices can be ranked by.",
            f"Take one of these too: {', '.join(able)}.",
        )
    return found


def ranking_measures(names: list[str]) -> list[str]:
    """The same names, refused before the work where nothing among them could rank the choices."""
    if not set(names) & set(_BY_COLUMN):
        raise ParameterError(
            "Choices cannot be ranked by these measures.", f"Take one of these too: {', '.join(_BY_COLUMN)}."
        )
    return names


def errors_by(comparison: Comparison, measure: str) -> dict[Cell, Floats]:
    """One number per run, averaged over the attributes that the measure knows; NaN where it cannot be taken."""
    values = comparison.results.values[measure]
    known = values[:, :, ~np.isnan(values).all(axis=(0, 1))]
    means = known.mean(axis=2) if known.shape[2] else np.full(values.shape[:2], np.nan)
    return dict(zip(comparison.results.cells, means, strict=True))


def best_cells(comparison: Comparison) -> list[Best]:
    """For each ε and method: grouped by promise, the least error first in each group."""
    found = []
    measure = yardstick(comparison)
    for epsilon in comparison.epsilons:
        for method in comparison.grid.methods:
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
                    cell_warnings(best, comparison.schema, comparison.records, guarantee),
                )
            )
    return sorted(found, key=lambda entry: (entry.cell.epsilon, entry.group, entry.error))


def key_to_errors(best: Sequence[Best]) -> str:
    """What the errors in a table of the best choices are."""
    usual = best[0].measure
    over = "attributes and runs" if usual in SCALES else "runs"
    return f"The error is the {UNITS[usual]}, mean over {over}; {SCALES.get(usual, '0 is best, 1 the worst possible')}."


MOST_NAMES = 6  # of attributes in one sentence


@dataclass(frozen=True, slots=True)
class Verdict:
    headline: str
    points: tuple[str, ...]
    top: Best  # the choice that the headline names, or, where it warns of all, the one with the least error
    attacked: tuple[RiskPoint, ...] = ()  # example releases, where they were attacked
    relations: Mapping[str, str] = field(
        default_factory=dict
    )  # example releases, and what is left of relations

    @property
    def gains(self) -> list[str]:
        """Who changes distributions least is a third of the answer: relations, and what attackers gained, belong to it."""
        said = []
        if self.relations:
            kept = "; ".join(f"{name}: {words}" for name, words in self.relations.items())
            said.append(f"Relations between two columns, in an example release of each: {kept}.")
        found = sorted(self.attacked, key=lambda point: point.risk, reverse=True)
        if found:
            gains = "; ".join(f"{point.name}: {100 * point.risk:.0f} %" for point in found)
            said.append(
                f"How much the best of our attacks learns (0 % is guessing, 100 % is certainty): {gains}."
            )
        return said


def verdict(
    comparison: Comparison, best: list[Best], sample: str | None = None, accept: Collection[str] = ()
) -> Verdict:
    """`sample` names what the grid ran on, where that is not the table to be released; `accept`: promises, by name."""
    largest = comparison.epsilons[-1]
    entries = [entry for entry in best if entry.cell.epsilon == largest]
    safe = [e for e in entries if e.group not in _UNSAFE or e.guarantee.status.value in accept]
    top = _leading(safe or entries, accept)
    several = len(comparison.epsilons) > 1
    scope, at = ("≤", f" at ε = {as_text(largest)}") if several else ("=", "")
    width = len(comparison.results.attributes)
    what = "this table" if sample is None else f"{sample},"
    of = f"{comparison.records:,} records and {counted(width, 'protected attribute')}"
    opening = f"For ε {scope} {as_text(largest)} and {what} of {of}, "
    if safe:
        among, wanted = _AMONG[top.group], None if top.measure in _BY_COLUMN else comparison.purpose
        best_at = "changes the data least" if wanted is None else f"is best for {PURPOSES[wanted][1]}"
        headline = (
            f"{opening}{top.choice}{at} {best_at}{among}: {top.words} ({top.figure}). "
            f"Its promise is {top.guarantee.status.value}: {label_beside_status(top.guarantee)}."
        )
    else:
        names = ", ".join(dict.fromkeys(entry.cell.method for entry in entries))
        headline = (
            f"{opening}publish nothing by {names}: no promise holds. Compare a proved method as well, such as "
            "dp-synthetic, or ask `coterie recommend`."
        )
    points = [
        *_weaker_but_closer(entries, top),
        *_categories(comparison, top),
        *_smallest(comparison, best, accept),
        *_near(comparison, top),
    ]
    if not any(entry.group <= 1 for entry in entries):
        points.insert(0, "No compared method has a proved differential-privacy promise.")
    refuted = [entry.cell.method for entry in entries if entry.guarantee.status is Status.REFUTED]
    if refuted:
        points.append(
            f"Not a guarantee: {', '.join(refuted)}. There is a counterexample to what was claimed: see what each "
            "method promises."
        )
    if sample is not None:
        points.append(
            f"Tuned on {comparison.records:,} records that are not those to be released: the best k moves with how many "
            "there are and how their values lie."
        )
    if comparison.purpose is not None and top.measure in _BY_COLUMN:
        points.append(
            f"The table shows no {PURPOSES[comparison.purpose][1]} to lose: the choices are ranked by distributions."
        )
    for measure, why in comparison.failed.items():
        points.append(f"No figures of the measure '{measure}': {why}.")
    if comparison.skipped:
        points.append("Some choices were impossible and left out; they are listed below, with the reason.")
    return Verdict(headline, tuple(points), top)


_AMONG = (
    " of those with a proved differential-privacy promise for rows",
    " of those with a proved differential-privacy promise, which are lists of single columns and no rows",
    " of those whose promise holds, though it is weaker than differential privacy",
    " of those that promise something, though only under a condition",
    " of those that you accepted",
    " of those that you accepted",
)


def _leading(entries: Sequence[Best], accept: Collection[str] = ()) -> Best:
    """The least error in the firmest group. What was accepted by name competes with the proved."""
    accepted = [entry for entry in entries if entry.guarantee.status.value in accept]
    firmest = min(entry.group for entry in entries)
    rivals = [entry for entry in entries if entry.group == firmest or entry in accepted]
    return min(rivals, key=lambda entry: entry.error)


def _weaker_but_closer(entries: Sequence[Best], top: Best) -> list[str]:
    """Name the choice of every weaker group that changes the data less: it may be close because it hides nobody."""
    said = []
    for group in range(top.group + 1, len(GROUPS)):
        closer = [entry for entry in entries if entry.group == group and entry.error < top.error]
        if closer:
            best = min(closer, key=lambda entry: entry.error)
            said.append(f"{best.choice} changes the data less ({best.figure}), but: {best.guarantee.label}.")
    return said


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


def _smallest(comparison: Comparison, best: list[Best], accept: Collection[str]) -> list[str]:
    smallest = comparison.epsilons[0]
    entries = [entry for entry in best if entry.cell.epsilon == smallest and entry.group not in _UNSAFE]
    if len(comparison.epsilons) < 2 or not entries:
        return []
    top = _leading(entries, accept)
    return [f"At the smallest ε, {as_text(smallest)}, {top.choice} is best: {top.words} ({top.figure})."]


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
