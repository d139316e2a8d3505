"""What the kernel asks of the last stage where rows are synthetic: for every row, its rank in every attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from coterie.chain.noise.sampler import Sampler, shuffled_order
from coterie.chain.synthesis.marginal import Marginal
from coterie.schema.arrays import Floats, Whole
from coterie.table.columns.column import Column


class Synthesis(Protocol):
    """Reads the columns only through noise that `epsilon` pays for; the marginals are released already."""

    @property
    def stages(self) -> str:
        """How the certificate describes it."""
        ...

    def share(self, attributes: int) -> Fraction:
        """The part of the total ε that the dependence between attributes gets."""
        ...

    def ranks(
        self,
        columns: Mapping[str, Column],
        marginals: Mapping[str, Marginal],
        epsilon: Fraction,
        sampler: Sampler,
    ) -> dict[str, Whole]:
        """For every attribute a permutation of 0 … n-1: the rank of each synthetic row."""
        ...


@dataclass(frozen=True, slots=True)
class Independent:
    """No dependence at all: every attribute in a random order of its own. Costs nothing and shows nothing."""

    stages: str = "every attribute in a random order of its own"

    def share(self, attributes: int) -> Fraction:
        return Fraction(0)

    def ranks(
        self,
        columns: Mapping[str, Column],
        marginals: Mapping[str, Marginal],
        epsilon: Fraction,
        sampler: Sampler,
    ) -> dict[str, Whole]:
        return {name: random_ranks(sampler, len(column.position), name) for name, column in columns.items()}


def random_ranks(sampler: Sampler, records: int, attribute: str) -> Whole:
    return shuffled_order(sampler, records, f"{attribute}: order of the synthetic rows")


def ranks_of(values: Floats) -> Whole:
    """The rank of each value, ties by position."""
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks
