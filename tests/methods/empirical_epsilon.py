"""How much ε a release really costs, at least: neighbours, events and an interval with a fixed error rate.

An event is "statistic ≥ threshold" or "≤". It is chosen on one half of the runs and tested on the other, so the interval of
Clopper and Pearson holds. If it says more than the promise, the promise is broken (or one run in 1/ALPHA is unlucky; runs
are seeded, so that is decided once).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import betaincinv

from coterie import Attribute, Domain, Role, Schema
from coterie.schema.attributes import AttributeType, Categories

ALPHA = 1e-4
GRID = 2.0**-20  # public: outputs are rounded to it, so that no event is about floating-point grids
LABELS = ("a", "b", "c", "d")
Table = dict[str, list[float] | list[str]]


@dataclass(frozen=True)
class Neighbours:
    """Two tables that differ in one record, and a k that suits them."""

    name: str
    first: Table
    second: Table
    k: int
    kind: AttributeType = AttributeType.CONTINUOUS
    upper: float = 1

    @property
    def schema(self) -> Schema:
        attributes = []
        for name, values in self.first.items():
            if isinstance(values[0], str):
                described = {"type": AttributeType.CATEGORICAL, "categories": Categories(labels=LABELS)}
            else:
                described = {"type": self.kind, "domain": Domain(lower=0, upper=self.upper)}
            attributes.append(Attribute(name=name, role=Role.PROTECT, **described))
        return Schema(attributes=tuple(attributes))


_RISING = [0.0, 0.1, 0.9, 1.0]
BATTERY = (
    Neighbours("ties", {"x": _RISING}, {"x": [0.0, 0.95, 0.9, 1.0]}, 2),
    Neighbours("one end to the other", {"x": [0.0] * 4}, {"x": [1.0, 0.0, 0.0, 0.0]}, 4),
    Neighbours("one end to the other, two groups", {"x": [0.0] * 4}, {"x": [1.0, 0.0, 0.0, 0.0]}, 2),
    Neighbours(
        "both attributes",
        {"x": [0.0] * 4, "y": [0.0] * 4},
        {"x": [1.0, 0.0, 0.0, 0.0], "y": [1.0, 0.0, 0.0, 0.0]},
        4,
    ),
    Neighbours("ties of rows", {"x": _RISING, "y": _RISING}, {"x": _RISING, "y": [0.0, 0.95, 0.9, 1.0]}, 2),
    Neighbours(
        "rank correlation", {"x": _RISING, "y": _RISING}, {"x": _RISING, "y": [1.0, 0.1, 0.9, 1.0]}, 2
    ),
    Neighbours(
        "counted values",
        {"x": [0.0] * 16},
        {"x": [3.0] + [0.0] * 15},
        8,
        kind=AttributeType.INTEGER,
        upper=3,
    ),
    Neighbours(
        "a common factor",
        dict.fromkeys("vwxy", _RISING),
        {name: [1.0 if name < "x" else 0.0, *_RISING[1:]] for name in "vwxy"},
        2,
    ),
    Neighbours("labels", {"x": ["a"] * 4}, {"x": ["d", "a", "a", "a"]}, 4),
    Neighbours("labels in balance", {"x": ["a", "a", "d", "d"]}, {"x": ["a", "d", "d", "d"]}, 4),
    Neighbours(
        "mixed", {"x": [0.0] * 4, "y": ["a"] * 4}, {"x": [1.0, 0, 0, 0], "y": ["d", "a", "a", "a"]}, 2
    ),
)


def numbers(table: pa.Table) -> NDArray[np.float64]:
    columns = []
    for column in table.columns:
        if pa.types.is_large_string(column.type) or pa.types.is_string(column.type):
            columns.append([float(LABELS.index(label)) for label in column.to_pylist()])
        else:
            columns.append(np.round(column.to_numpy().astype(float) / GRID) * GRID)
    return np.array(columns, dtype=np.float64)


def statistics(table: pa.Table) -> list[float]:
    """What an attacker may look at: values of the changed record and of all, ties, order, and dependence."""
    values = numbers(table)
    found = [float(np.all(values[:, 0] == values[:, 1]) and np.all(values[:, 2] == values[:, 3]))]
    found.append(float(len(set(map(tuple, values.T.tolist())))))
    for column in values:
        found += [column[0], column.max(), column.min(), column.mean(), float(np.sum(column == column.max()))]
    found += [float(np.mean(values)), float(values[:, 0].sum())]
    for a, b in combinations(range(len(values)), 2):
        signs = [np.sign(np.subtract.outer(values[c], values[c])) for c in (a, b)]
        found.append(float(np.sum(signs[0] * signs[1])))
    return found


def lower_bound(
    releases: Callable[[Table], Callable[[int], pa.Table]],
    neighbours: Neighbours,
    runs: int,
    delta: float = 0.0,
) -> float:
    """ε is at least this beside δ, with an error rate of ALPHA; both directions are tried."""
    samples = []
    for table in (neighbours.first, neighbours.second):
        release = releases(table)
        samples.append(np.array([statistics(release(seed)) for seed in range(runs)]))
    half = runs // 3
    choose, test = [part[:half] for part in samples], [part[half:] for part in samples]
    best, chosen = -np.inf, None
    for event in _events(np.concatenate(choose)):
        for one, other in ((0, 1), (1, 0)):
            hits = [int(_happens(choose[side], event).sum()) for side in (one, other)]
            bound = _interval(hits[0], hits[1], half, delta)
            if bound > best:
                best, chosen = bound, (event, one, other)
    assert chosen is not None
    event, one, other = chosen
    hits = [int(_happens(test[side], event).sum()) for side in (one, other)]
    return _interval(hits[0], hits[1], runs - half, delta)


def _events(seen: NDArray[np.float64]) -> Iterator[tuple[int, float, int]]:
    for number in range(seen.shape[1]):
        for threshold in np.unique(np.quantile(seen[:, number], np.linspace(0, 1, 9))):
            yield number, float(threshold), 1
            yield number, float(threshold), -1


def _happens(part: NDArray[np.float64], event: tuple[int, float, int]) -> NDArray[np.bool_]:
    number, threshold, sign = event
    return np.asarray(sign * part[:, number] >= sign * threshold)


def _interval(hits: int, others: int, runs: int, delta: float) -> float:
    """ln((lower end of p − δ) / upper end of p'), each end with error ALPHA/2."""
    low = float(betaincinv(hits, runs - hits + 1, ALPHA / 2)) if hits else 0.0
    high = float(betaincinv(others + 1, runs - others, 1 - ALPHA / 2)) if others < runs else 1.0
    return log((low - delta) / high) if low > delta else -np.inf
