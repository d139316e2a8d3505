"""The two kinds of column that the chain works on, the type each is released as, and how far a released one has moved."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.schema.arrays import Codes, Floats
from coterie.schema.attributes import Attribute, AttributeType, Domain
from coterie.schema.codebook import WHOLE, canonical_number
from coterie.schema.taxonomy.semantics import distance_matrix, encode
from coterie.schema.taxonomy.tree import Taxonomy

MISSING_LABEL = "(missing)"  # among the labels of a column of which missing is an outcome


@dataclass(frozen=True)
class NumericColumn:
    """Numbers inside a public range. Ordinal categories, dates and timestamps come in this shape too."""

    attribute: Attribute
    values: Floats
    domain: Domain
    step: float | None  # released values are whole multiples of it
    field: pa.Field  # of the release
    restore: Callable[[Floats], pa.Array]
    clip: bool = True  # whether released values are cut to the domain
    gaps: bool = False  # whether *missing*, NaN here, is an outcome, as declared

    def complete(self, stand_in: float) -> Floats:
        """The values, with a public one in the place of each that is missing."""
        return np.where(np.isnan(self.values), stand_in, self.values) if self.gaps else self.values

    @property
    def position(self) -> Floats:
        """The numbers by which individual ranking sorts records; missing ones stand at the lower bound."""
        return self.complete(self.domain.lower)

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest value that may be released."""
        return self.domain.limits(self.step)

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> NumericColumn:
        return replace(self, values=self.values[keep])


@dataclass(frozen=True)
class Semantics:
    """δ between the labels of a domain (Sánchez et al. 2016, eq. 3) and their total order: computed once, by whoever
    asks first. Nobody who only counts 10,000 labels waits for all pairs of them."""

    taxonomy: Taxonomy
    ordered: Callable[[Semantics], Codes]
    read: Callable[[pa.ChunkedArray], Codes]  # more cells of the same column

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

    @property
    def gap(self) -> int | None:
        """The code of what is missing, where that is an outcome."""
        return self.taxonomy.categories.index(MISSING_LABEL) if self.attribute.gaps else None

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> CategoryColumn:
        return replace(self, codes=self.codes[keep])


Column: TypeAlias = NumericColumn | CategoryColumn


# One cell as text: how a number, a date or a truth value would stand in a CSV file.

EXACT = 2**53  # integers beyond it are not exact as doubles
_LONGEST = 400  # digits: no double has more before or after its point


def text_of(value: Any) -> str | None:
    """One cell as it would stand in a CSV file; None for a missing one. ValueError where it has no text."""
    if value is None or type(value).__name__ == "NAType":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else value.astype("datetime64[us]").item()
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float | Decimal | dt.datetime) and value != value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value.bit_length() > 4 * _LONGEST:
            raise ValueError("beyond the range of numbers")
        return str(value)
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) <= EXACT
        return str(int(value)) if whole else canonical_number(repr(value))
    if isinstance(value, Decimal):
        small = value.is_finite() and abs(value.adjusted()) < _LONGEST
        return canonical_number(format(value, "f")) if small else str(value)
    if isinstance(value, dt.datetime):
        if value.tzinfo is None and value.time() == dt.time():
            return value.date().isoformat()
        return dt.datetime.isoformat(value, sep=" ")  # pandas' own has nanoseconds
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise ValueError("neither number, text, date nor truth value")


# The door out: which type a released column has, from the schema alone.
#
# How the input stored the column plays no part: one cell with another decimal place, a gap or a fraction would change that,
# and the release would show the cell without noise. Only a column whose gaps are a category of their own may hold nulls.

_TYPES = {
    AttributeType.CONTINUOUS: pa.float64(),
    AttributeType.INTEGER: pa.int64(),
    AttributeType.DATE: pa.date32(),
    AttributeType.TIMESTAMP: pa.timestamp("us"),
    AttributeType.BOOLEAN: pa.bool_(),
}


def released_field(attribute: Attribute, labels: Sequence[str] = ()) -> pa.Field:
    """Name, type and nullability of a protected column; `labels` are all labels of its domain."""
    of_labels = pa.int64() if all(map(WHOLE.fullmatch, labels)) else pa.string()
    return pa.field(attribute.name, _TYPES.get(attribute.type) or of_labels, nullable=attribute.gaps)


# How far a released column is from the original: squared error, variance and semantic distance.
#
# Measures of utility and the internal figures of a release read these, so they agree to the last digit.

_ROUNDING = 1e-12  # share of a value by which the mean of many such values may miss it


def present(values: Floats) -> Floats:
    """The values that are not missing."""
    absent = np.isnan(values)
    return values[~absent] if absent.any() else values


def squared_error(original: Floats, released: Floats) -> float:
    """Mean over the records, in variances of the original (Soria-Comas et al., Eq. (4)–(5), with σ for σ²)."""
    there, errors = present(original), squared_errors(original, released)
    return float(in_variances(np.mean(errors), spread(original), rounding(there) if len(there) else 0.0))


def squared_errors(original: Floats, released: Floats) -> Floats:
    return missed((released - original) ** 2, original, released, spread(original))


def spread(values: Floats) -> float:
    """The variance of what is not missing."""
    there = present(values)
    return float(variance(there)) if len(there) > 1 else 0.0


def missed(errors: Floats, original: Floats, released: Floats, unit: float) -> Floats:
    """Missing in one of the two counts as an error of `unit`; in both, as none."""
    lost = np.isnan(errors)
    if not lost.any():
        return errors
    return np.where(lost, np.where(np.isnan(original) & np.isnan(released), 0.0, unit), errors)


def variance_change(original: Floats, released: Floats) -> float:
    """|σ² − σ'²| / σ² (Sánchez et al. 2016, §4.2)."""
    there = present(released)
    after = np.where(alike(there), 0.0, variance(there)) if len(there) > 1 else np.zeros(())
    return float(relative_change(np.asarray(spread(original)), after))


def semantic_distance(column: CategoryColumn, released: Codes) -> float:
    """Mean of δ over the records (Sánchez et al. 2016, Eq. (3))."""
    return float(np.mean(column.distance[column.codes, released]))


def in_label_order(column: CategoryColumn, codes: Codes) -> Codes:
    return codes[np.argsort(encode(codes, column.order))]


def variance(values: Floats) -> Floats:
    """Along the last axis (Soria-Comas et al., Eq. (5), Del Vasto-Terrientes et al., Eq. (5)). The rounded mean of
    equal decimals would leave 1e-34 of it."""
    return np.where(same(values), 0.0, np.var(values, axis=-1, ddof=1))


def same(values: Floats) -> NDArray[np.bool_]:
    """Whether all values along the last axis are equal."""
    return np.asarray(values.min(axis=-1) == values.max(axis=-1))


def alike(values: Floats) -> NDArray[np.bool_]:
    """Whether all *released* values along the last axis are equal but for rounding: group means of a constant 0.1 are."""
    low, high = values.min(axis=-1), values.max(axis=-1)
    return np.asarray(high - low <= _ROUNDING * np.maximum(np.abs(low), np.abs(high)))


def rounding(values: Floats) -> Floats:
    """Up to which squared error a constant column counts as unchanged; the column's values lie along the last axis."""
    return np.asarray((_ROUNDING * values[..., 0]) ** 2, dtype=np.float64)


def in_variances(
    error: Floats | np.floating, variance: Floats | float, rounding: Floats | float = 0.0
) -> Floats:
    """A constant attribute has no variance to measure by: any error beyond `rounding` counts as 1."""
    constant = np.asarray(variance) <= 0
    if not constant.any():
        return np.asarray(error / variance, np.float64)
    return np.asarray(
        np.where(constant, error > rounding, error / np.where(constant, 1.0, variance)), np.float64
    )


def relative_change(before: Floats, after: Floats) -> Floats:
    """A constant attribute that is constant no more counts as a change of 1."""
    constant = before <= 0
    if not constant.any():
        return np.asarray(np.abs(before - after) / before, dtype=np.float64)
    changed = np.abs(before - after) / np.where(constant, 1.0, before)
    return np.asarray(np.where(constant, after > 0, changed), dtype=np.float64)
