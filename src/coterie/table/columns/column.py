"""The two kinds of column that the chain works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.schema.attributes import Attribute, Domain
from coterie.schema.taxonomy.semantics import encode
from coterie.schema.taxonomy.tree import Taxonomy

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """Numbers inside a public range. Ordinal categories, dates and timestamps come in this shape too."""

    attribute: Attribute
    values: Floats
    domain: Domain
    step: float | None  # released values are whole multiples of it
    field: pa.Field  # of the release
    restore: Callable[[Floats], pa.Array]
    clip: bool = True  # whether released values are cut to the domain

    @property
    def position(self) -> Floats:
        """By what individual ranking sorts the records."""
        return self.values

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> NumericColumn:
        return replace(self, values=self.values[keep])


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """Codes of a public domain of labels, with δ between them computed once (Sánchez et al. 2016, eq. 3)."""

    attribute: Attribute
    codes: Codes
    taxonomy: Taxonomy
    distance: Floats
    order: Codes
    field: pa.Field  # of the release
    restore: Callable[[Codes], pa.Array]

    @property
    def position(self) -> Floats:
        return encode(self.codes, self.order)

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> CategoryColumn:
        return replace(self, codes=self.codes[keep])


Column: TypeAlias = NumericColumn | CategoryColumn
