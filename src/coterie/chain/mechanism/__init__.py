"""Clusters → released cluster values, for one kind of column: centroids, sensitivity and noise, as the kernel asks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from coterie.chain.noise.sampler import Sampler
from coterie.chain.partition.clustering import Clustering
from coterie.schema.arrays import Floats


class Described(ABC):
    """What certificates, warnings and engines ask about the part of a method that one attribute goes through."""

    __slots__ = ()

    many_runs: ClassVar[bool] = False
    """Whether `noise` also takes a sampler that answers with one row of draws per run. A grid then draws all runs at once;
    without it, one run after another."""

    @property
    @abstractmethod
    def stages(self) -> str:
        """How the certificate describes it."""

    @property
    def caution(self) -> str | None:
        """What the certificate must add about this attribute."""
        return None

    @property
    def needs_all_clusters(self) -> bool:
        """Whether the sensitivity adds up over clusters, so that a piece of them would give too small a noise."""
        return False

    @property
    def takes_gaps(self) -> bool:
        """Whether numbers may be missing: that is measured and released as an outcome, and the proof covers it."""
        return False

    @property
    def adds_laplace(self) -> bool:
        """Whether `noise` is Laplace(sensitivity / ε) on `centroids.values`, and post-processing after that."""
        return False

    def reach(self, records: int, k: int) -> Fraction | None:
        """Its noise times ε, in units of the attribute's domain, from n and k alone; None where that may be 0."""
        return None

    def multiplier(self, centroids: Any) -> float | None:
        """How many times ε_a the worst neighbour costs, where the noise covers each cluster by itself."""
        return None


class Mechanism(Described):
    """Subclass it to write your own. Each stage reads only the one before it; values between stages are frozen."""

    __slots__ = ()

    @abstractmethod
    def centroids(self, column: Any, clustering: Clustering) -> Any:
        """One summary per cluster, in whatever shape `sensitivity` and `noise` read."""

    @abstractmethod
    def sensitivity(self, column: Any, centroids: Any, k: int) -> Floats:
        """How far one record moves each centroid."""

    @abstractmethod
    def noise(
        self, column: Any, centroids: Any, sensitivity: Floats, epsilon: Fraction, sampler: Sampler
    ) -> Any:
        """What is released: one number or code per cluster; for synthetic rows, the distribution of the attribute."""


# Counts of public cells: how methods that model the whole table describe what they read of one attribute.


@dataclass(frozen=True, slots=True)
class CountedCells(Described):
    """Described only: the counts of all attributes are read through one account (coterie.chain.synthesis.accountant)."""

    read: str

    @property
    def stages(self) -> str:
        return f"{self.read} · discrete Laplace or Gaussian noise · nearest counts"

    def reach(self, records: int, k: int) -> Fraction:
        """Noise on the share of one cell."""
        return Fraction(2, records)
