"""What a method is: one part for each stage of the chain, a promise, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.guarantee import Promise
from coterie.partition.clustering import Clustering
from coterie.partition.summary import Floats, Summary
from coterie.sensitivity.bound import Bound


@dataclass(frozen=True, slots=True)
class Part:
    """A partition with the name that the certificate prints."""

    name: str
    compute: Callable[[NDArray[np.float64], int], Clustering]


@dataclass(frozen=True, slots=True)
class Centroid:
    name: str
    depth: int
    compute: Callable[[Summary], Floats]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Clustering → Centroids → Sensitivity → Noise for one attribute. No bound means no noise."""

    partition: Part
    centroid: Centroid
    bound: Bound | None

    @property
    def depth(self) -> int:
        """How many outermost values of each cluster the parts read."""
        return max(self.centroid.depth, self.bound.depth if self.bound else 0)

    @property
    def stages(self) -> str:
        noise = f"Laplace, scale {self.bound.formula} / ε" if self.bound else "no noise"
        return f"{self.partition.name} · {self.centroid.name} · {noise}"


@dataclass(frozen=True, slots=True)
class Method:
    """A recipe with its promise. `rank` orders the tables that readers see."""

    name: str
    title: str
    papers: str
    numeric: Recipe
    promise: Promise
    why: str  # why the promise has its status
    attack: str  # the best attack known against it
    rank: int
    minimum_k: int = 1
    fixed_k: int | None = None

    def check_k(self, k: int | None, records: int) -> int:
        """The k to use, or a sentence about why it is impossible."""
        if self.fixed_k is not None:
            if k not in (None, self.fixed_k):
                raise ParameterError(
                    f"Method '{self.name}' groups nobody: its k is always {self.fixed_k}.",
                    "Leave k out, or choose a method that groups records (`coterie methods`).",
                )
            k = self.fixed_k
        if k is None:
            raise ParameterError(
                f"Method '{self.name}' needs k, the number of records a group.", "Give k, for example --k 10."
            )
        if isinstance(k, bool) or not isinstance(k, int):
            raise ParameterError("k is not a whole number.", "Give a whole number such as 10.")
        if k < self.minimum_k:
            raise ParameterError(
                f"k = {k} is too small for '{self.name}'.", f"Its smallest k is {self.minimum_k}."
            )
        if k > records:
            raise ParameterError(
                f"k = {k} is larger than the number of records ({records}).", f"Choose k up to {records}."
            )
        return k
