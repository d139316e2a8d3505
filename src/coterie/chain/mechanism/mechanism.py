"""What release.py asks of a mechanism: the three middle stages of the chain."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.noise.sampler import Sampler
from coterie.chain.partition.clustering import Clustering


class Described(Protocol):
    """What certificates and warnings say about the part of a method that one attribute goes through."""

    @property
    def stages(self) -> str:
        """How the certificate describes it."""
        ...

    @property
    def caution(self) -> str | None:
        """What the certificate must add about this attribute."""
        ...

    def reach(self, records: int, k: int) -> Fraction | None:
        """Its noise times ε, in units of the attribute's domain, from n and k alone; None where that may be 0."""
        ...


class Mechanism(Described, Protocol):
    """Each stage reads only the one before it. Values between stages are frozen."""

    def centroids(self, column: Any, clustering: Clustering) -> Any: ...

    def sensitivity(self, column: Any, centroids: Any, k: int) -> NDArray[np.float64]: ...

    def noise(
        self,
        column: Any,
        centroids: Any,
        sensitivity: NDArray[np.float64],
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Any: ...

    def rows(self, column: Any, released: Any, place: Any) -> tuple[Any, pa.Array]:
        """Every row gets its value: as the numbers or codes of the column, and as they go out.

        `place` is the clustering (a record gets its cluster's value), or the ranks of synthetic rows.
        """
        ...
