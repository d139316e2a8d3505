"""The two kinds of column that the chain works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.schema.attributes import Attribute, Domain
from coterie.schema.taxonomy.orders import encode
from coterie.schema.taxonomy.semantics import distance_matrix
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


@dataclass(frozen=True)
class Semantics:
    """δ between the labels of a domain (Sánchez et al. 2016, eq. 3) and their total order: computed once, by whoever
    asks first. Nobody who only counts 10,000 labels waits for all pairs of them."""

    taxonomy: Taxonomy
    ordered: Callable[[Semantics], Codes]

    @cached_property
    def distance(self) -> Floats:
        return distance_matrix(self.taxonomy)

    @cached_property
    def order(self) -> Codes:
        return self.ordered(self)


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """Codes of a public domain of labels."""

    attribute: Attribute
    codes: Codes
    semantics: Semantics
    field: pa.Field  # of the release
    restore: Callable[[Codes], pa.Array]

    @property
    def taxonomy(self) -> Taxonomy:
        return self.semantics.taxonomy

    @property
    def label_count(self) -> int:
        return len(self.taxonomy.categories)

    @property
    def distance(self) -> Floats:
        return self.semantics.distance

    @property
    def order(self) -> Codes:
        return self.semantics.order

    @property
    def position(self) -> Floats:
        return encode(self.codes, self.order)

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> CategoryColumn:
        return replace(self, codes=self.codes[keep])


Column: TypeAlias = NumericColumn | CategoryColumn
