"""What attacks work on: every attribute in the same shape for the original, the release and the control group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.attacks.clock import Clock
from coterie.schema import Schema

Values = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Seen:
    """One released attribute. Numbers are doubles; labels are codes, the same codes in all tables.

    `width` is that of the public domain. `distance` is δ between labels; None for labels means equal or not.
    """

    name: str
    is_number: bool
    original: Values
    released: Values
    control: Values | None
    width: float
    lower: float
    upper: float
    distance: NDArray[np.float64] | None = None
    step: float | None = None
    relative: bool = True  # whether 5 % of a value means something: not for dates and ranks
    protected: bool = True
    bounds_from_data: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseEvidence:
    """The auditor shuffles the release before any attack sees it: `truth[i]` is where person i went, for the score only.

    `truth` is None when rows have no known person (synthetic rows, unknown order). `known` is the share of people whose
    row the attacker knows already. `k` is public: it stands on the certificate; None when it is not known.
    """

    attributes: tuple[Seen, ...]
    truth: Rows | None
    known: float = 0.04
    k: int | None = None
    seed: int = 1
    clock: Clock = field(default_factory=Clock)

    @property
    def people(self) -> int:
        return len(self.attributes[0].original)

    @property
    def rows(self) -> int:
        return len(self.attributes[0].released)

    @property
    def others(self) -> int:
        """People in the control group."""
        control = self.attributes[0].control
        return 0 if control is None else len(control)

    def draws(self, purpose: str) -> np.random.Generator:
        """Randomness of one attack: repeatable, and independent of the other attacks."""
        return np.random.default_rng([self.seed, *purpose.encode()])


def hidden_order(
    attributes: tuple[Seen, ...], truth: Rows, draws: np.random.Generator
) -> tuple[tuple[Seen, ...], Rows]:
    """Rows in an order that tells attackers nothing, and where each person's row went."""
    shuffled = draws.permutation(len(attributes[0].released))
    place = np.empty(len(shuffled), dtype=np.int64)
    place[shuffled] = np.arange(len(shuffled))
    return tuple(replace(a, released=a.released[shuffled]) for a in attributes), place[truth]


@dataclass(frozen=True, slots=True)
class MethodEvidence:
    """A method with its parameters, and a population to try it on. `releases(table)(seed)` runs it once."""

    method: str
    epsilon: str
    k: int | None
    population: pa.Table
    schema: Schema
    releases: Callable[[pa.Table], Callable[[int], pa.Table]]
    shuffled: bool = False
    seed: int = 1
    clock: Clock = field(default_factory=Clock)
    neighbours: tuple[pa.Table, pa.Table] | None = (
        None  # chosen ones for the empirical ε; else they are searched
    )
    runs: int = 1000  # repetitions on each neighbour
    known: float = 0.04
    guarantee: Any = None  # coterie.guarantee.Guarantee of such a release, settled

    def draws(self, purpose: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose.encode()])
