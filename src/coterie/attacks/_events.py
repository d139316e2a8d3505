"""Events that tell two neighbours apart: chosen on one half of the runs, tested on the other.

A run is seen as numbers rounded to a public grid (so that no event can rest on a last bit), in row order and sorted, and as
the pattern of ties. From the first half a likelihood-ratio score is made for each view, as if every number had Laplace
noise with the median and spread seen there. It need not be right: a poor score only makes the bound smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.attacks.intervals import epsilon_lower_bound

Matrix = NDArray[np.float64]  # runs × numbers


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
    holds: Callable[[Runs], NDArray[np.bool_]]

    def bound(self, first: Runs, second: Runs) -> float:
        likelier, other = (second, first) if self.reverse else (first, second)
        hits, misses = int(self.holds(likelier).sum()), int(self.holds(other).sum())
        return epsilon_lower_bound(hits, likelier.count, misses, other.count)


def best_event(first: Runs, second: Runs) -> Event:
    """The event with the largest bound on these runs, which must not be the ones it is tested on."""
    return max(_events(first, second), key=lambda event: event.bound(first, second))


def _events(first: Runs, second: Runs) -> Iterator[Event]:
    for name in first.patterns:
        for codes in (first.patterns[name], second.patterns[name]):
            found, counts = np.unique(codes, return_counts=True)
            common = found[np.argmax(counts)]
            for reverse in (False, True):
                yield Event(f"{name}: one pattern", reverse, _is(name, common))
    for name in first.views:
        score = _score(first.views[name], second.views[name])
        seen = np.concatenate([score(first.views[name]), score(second.views[name])])
        for threshold in np.unique(np.quantile(seen, np.linspace(0.005, 0.995, 67))):
            yield Event(f"{name}: likelihood ratio above a threshold", False, _above(name, score, threshold))
            yield Event(f"{name}: likelihood ratio below a threshold", True, _below(name, score, threshold))


def _is(name: str, code: np.uint64) -> Callable[[Runs], NDArray[np.bool_]]:
    return lambda runs: np.asarray(runs.patterns[name] == code)


Score = Callable[[Matrix], NDArray[np.float64]]


def _above(name: str, score: Score, threshold: float) -> Callable[[Runs], NDArray[np.bool_]]:
    return lambda runs: np.asarray(score(runs.views[name]) > threshold)


def _below(name: str, score: Score, threshold: float) -> Callable[[Runs], NDArray[np.bool_]]:
    return lambda runs: np.asarray(score(runs.views[name]) < threshold)


def _score(first: Matrix, second: Matrix) -> Score:
    """log of the ratio of two products of Laplace densities, over the numbers that differ visibly."""
    # Rows that share a draw show the same column: it counts once.
    _, distinct = np.unique(np.concatenate([first, second]), axis=1, return_index=True)
    first, second = first[:, distinct], second[:, distinct]
    middle, other = np.median(first, axis=0), np.median(second, axis=0)
    floor = 1e-6 + 0.25 * np.minimum(_least_step(first), _least_step(second))
    spread = np.maximum(np.mean(np.abs(first - middle), axis=0), floor)
    spread2 = np.maximum(np.mean(np.abs(second - other), axis=0), floor)
    noise = 3 / np.sqrt(len(first))
    moved = np.abs(middle - other) > noise * np.maximum(spread, spread2)
    scaled = np.abs(np.log(spread2 / spread)) > np.sqrt(2) * noise
    use = np.flatnonzero(moved | scaled)
    columns, shift = distinct[use], float(np.sum(np.log(spread2[use] / spread[use])))

    def score(runs: Matrix) -> NDArray[np.float64]:
        seen = runs[:, columns]
        away = np.abs(seen - other[use]) / spread2[use] - np.abs(seen - middle[use]) / spread[use]
        return np.asarray(away.sum(axis=1) + shift)

    return score


def _least_step(view: Matrix) -> float:
    """The grid: the smallest gap between numbers seen."""
    gaps = np.diff(np.unique(view))
    return float(gaps.min()) if len(gaps) else 1.0
