"""Events that tell two neighbours apart: made and chosen on one half of the runs, tested on the other.

A run is seen as numbers rounded to a public grid (so that no event can rest on a last bit) and as patterns of ties. From the
first half a likelihood-ratio score is made for each view, as if its numbers were independent. It need not be right: a poor
score only makes the bound smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.attacks.intervals import area_under_curve, epsilon_lower_bound

Matrix = NDArray[np.float64]  # runs × numbers
Flags = NDArray[np.bool_]
Score = Callable[[Matrix], NDArray[np.float64]]
_BINS = 8
_USE_ALL = 32  # a view of so few numbers is used whole; of a larger one only the numbers that differ visibly
_ODD = 1e-3  # how rarely an idle number may look different


@dataclass(frozen=True, slots=True)
class Runs:
    """What was seen in repeated runs on one table."""

    views: dict[str, Matrix]  # rounded numbers
    patterns: dict[str, NDArray[np.uint64]]  # one code a run

    def part(self, half: slice) -> Runs:
        return Runs(
            {name: view[half] for name, view in self.views.items()},
            {name: codes[half] for name, codes in self.patterns.items()},
        )

    @property
    def count(self) -> int:
        return len(next(iter(self.patterns.values())))


@dataclass(frozen=True, slots=True)
class Event:
    story: str
    reverse: bool  # likelier on the second table
    holds: Callable[[Runs], Flags]

    def bound(self, first: Runs, second: Runs) -> float:
        return epsilon_lower_bound(*self.counts(first, second))

    def counts(self, first: Runs, second: Runs) -> tuple[int, int, int, int]:
        return _counts(self.holds(first), self.holds(second), reverse=self.reverse)


def best_event(first: Runs, second: Runs) -> Event:
    """The event with the largest bound on these runs, which must not be the ones it is tested on.

    Scores are made on the even runs and compared on the odd ones, or a score of many numbers would flatter itself.
    """
    made, chosen = slice(0, None, 2), slice(1, None, 2)
    fit, rest = (first.part(made), second.part(made)), (first.part(chosen), second.part(chosen))
    return max(_events(*fit, *rest), key=lambda found: found[0])[1]


def separation(first: Runs, second: Runs) -> float:
    """How well the best view tells the tables apart, 0.5 to 1: to compare neighbours after only a few runs."""
    half, rest = slice(0, None, 2), slice(1, None, 2)
    best = 0.5
    for name, view in first.views.items():
        score = likelihood_ratio(view[half], second.views[name][half])
        area = area_under_curve(score(view[rest]), score(second.views[name][rest])).value
        best = max(best, area, 1 - area)
    for name, codes in first.patterns.items():
        common = codes[0]
        best = max(
            best, 0.5 + abs(float(np.mean(codes == common) - np.mean(second.patterns[name] == common))) / 2
        )
    return best


def _counts(first: Flags, second: Flags, *, reverse: bool) -> tuple[int, int, int, int]:
    """Hits and runs on the table that is said to be likelier, then on the other."""
    likelier, other = (second, first) if reverse else (first, second)
    return int(likelier.sum()), len(likelier), int(other.sum()), len(other)


def _events(fit: Runs, fit2: Runs, first: Runs, second: Runs) -> Iterator[tuple[float, Event]]:
    """Events made on `fit`, each with its bound on the other runs."""
    for name in fit.patterns:
        for codes in (fit.patterns[name], fit2.patterns[name]):
            found, counts = np.unique(codes, return_counts=True)
            for reverse in (False, True):
                event = Event(f"{name}: one pattern", reverse, _is(name, found[np.argmax(counts)]))
                yield event.bound(first, second), event
    for name in fit.views:
        score = likelihood_ratio(fit.views[name], fit2.views[name])
        left, right = score(first.views[name]), score(second.views[name])
        for threshold in np.unique(np.quantile(np.concatenate([left, right]), np.linspace(0.02, 0.98, 49))):
            above = Event(
                f"{name}: likelihood ratio above a threshold", False, _above(name, score, threshold)
            )
            yield epsilon_lower_bound(*_counts(left > threshold, right > threshold, reverse=False)), above
            below = Event(f"{name}: likelihood ratio below a threshold", True, _below(name, score, threshold))
            yield epsilon_lower_bound(*_counts(left < threshold, right < threshold, reverse=True)), below


def _is(name: str, code: np.uint64) -> Callable[[Runs], Flags]:
    return lambda runs: np.asarray(runs.patterns[name] == code)


def _above(name: str, score: Score, threshold: float) -> Callable[[Runs], Flags]:
    return lambda runs: np.asarray(score(runs.views[name]) > threshold)


def _below(name: str, score: Score, threshold: float) -> Callable[[Runs], Flags]:
    return lambda runs: np.asarray(score(runs.views[name]) < threshold)


def likelihood_ratio(first: Matrix, second: Matrix) -> Score:
    """Σ log(p/p′) over numbers cut into a few bins: noise of any shape, cut ends and labels alike."""
    # Rows that share a draw show the same column: it counts once.
    _, distinct = np.unique(np.concatenate([first, second]), axis=1, return_index=True)
    chosen: list[tuple[int, NDArray[np.float64], NDArray[np.float64]]] = []
    for column in distinct.tolist():
        pooled = np.concatenate([first[:, column], second[:, column]])
        edges = np.unique(np.quantile(pooled, np.linspace(0, 1, _BINS + 1)))
        # A point that many runs hit is a bin of its own: both sides of every edge.
        edges = np.unique(np.concatenate([edges, np.nextafter(edges, np.inf)]))
        left, right = _histogram(first[:, column], edges), _histogram(second[:, column], edges)
        if len(distinct) <= _USE_ALL or _visible(left, right):
            weights = np.log((left + 0.5) / left.sum()) - np.log((right + 0.5) / right.sum())
            chosen.append((column, edges, weights))

    def score(runs: Matrix) -> NDArray[np.float64]:
        total = np.zeros(len(runs))
        for column, edges, weights in chosen:
            total += weights[np.searchsorted(edges, runs[:, column], side="right")]
        return total

    return score


def _histogram(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    places = np.searchsorted(edges, values, side="right")
    return np.bincount(places, minlength=len(edges) + 1).astype(np.float64)


def _visible(left: NDArray[np.float64], right: NDArray[np.float64]) -> bool:
    """The G-test: could the two histograms be of one distribution?"""
    from scipy.special import chdtri  # a tenth of a second to load: only those who need it pay

    total = left + right
    used = total > 0
    if used.sum() < 2:
        return False
    g = 0.0
    for side in (left[used], right[used]):
        expected = total[used] * side.sum() / total.sum()
        seen = side > 0
        g += 2 * float(np.sum(side[seen] * np.log(side[seen] / expected[seen])))
    return g > float(chdtri(used.sum() - 1, _ODD))
