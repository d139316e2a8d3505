"""Into which bins the values of a numeric attribute fall: bins of 1/100 of the domain, or one a value (Sánchez et al.
2016, §4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie.errors import ParameterError
from coterie.schema.arrays import Floats, Whole
from coterie.table.columns.column import NumericColumn

STRIPES = 100  # Sánchez et al. 2016: continuous attributes, bins of 1/100 of the domain
MOST_VALUES = 256  # "auto": up to so many possible values, one bin each; above, stripes
MOST_BINS = 1_000_000


def bin_count(column: NumericColumn, kind: str) -> int:
    """How many bins; one a value only where released values are whole numbers (integers, dates, ranks)."""
    possible = int(column.domain.width) + 1 if column.step == 1 else 0
    if kind == "value" and possible:
        if possible > MOST_BINS:
            raise ParameterError(
                f"Attribute '{column.attribute.name}' has more than {MOST_BINS:,} possible values.",
                "Choose domain or auto.",
            )
        return possible
    return possible if kind == "auto" and 0 < possible <= MOST_VALUES else STRIPES


def bin_numbers(values: Floats, column: NumericColumn, bins: int) -> Whole:
    """Which bin each value is in. Values outside the domain count in the outermost bins."""
    domain = column.domain
    place = values - domain.lower
    if _one_a_value(column, bins):
        place = np.rint(place)
    else:
        place *= bins / (domain.upper - domain.lower)
    # The conversion to whole numbers cuts towards zero, which after clipping is the floor.
    return np.clip(place, 0, bins - 1, out=place).astype(np.int64)


def _one_a_value(column: NumericColumn, bins: int) -> bool:
    return column.step == 1 and bins == int(column.domain.width) + 1


@dataclass(frozen=True, slots=True)
class Edges:
    """Where the bins of several attributes are; arrays have the shape attribute (or 1 for all of them), 1, 1."""

    lower: Floats
    per_unit: Floats
    last: Floats  # the number of the last bin
    whole: list[int]  # attributes with one bin per value

    def places(self, values: Floats) -> Whole:
        """As `bin_numbers`, every attribute under its own domain."""
        place: Floats = values - self.lower
        place *= self.per_unit
        for line in self.whole:
            np.rint(place[line], out=place[line])
        np.clip(place, 0, self.last, out=place)
        return place.astype(np.int64)


def edges_of(sources: Sequence[NumericColumn], bins: Whole) -> Edges:
    lower, upper = np.array([(source.domain.lower, source.domain.upper) for source in sources]).T
    whole = [line for line, source in enumerate(sources) if _one_a_value(source, int(bins[line]))]
    per_unit = bins / (upper - lower)
    per_unit[whole] = 1.0
    last = (bins[:1] if (bins == bins[0]).all() else bins).astype(
        np.float64
    ) - 1.0  # one limit is quicker than many
    return Edges(lower[:, None, None], per_unit[:, None, None], last[:, None, None], whole)
