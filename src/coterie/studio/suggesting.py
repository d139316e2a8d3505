"""What the data themselves would say: bounds and labels that leak, filled in only when a person asks for them."""

from __future__ import annotations

import math

import pyarrow as pa

from coterie.errors import DataError, SchemaError
from coterie.io.draft import draft_schema
from coterie.schema import SIDES, AttributeType, Schema
from coterie.studio.describing import Row, row_of
from coterie.studio.origins import LABELS

FACTOR = 1.5  # as the papers have it: bounds from 0 to so many times the largest value


def suggest(row: Row, column: pa.ChunkedArray) -> tuple[str, ...]:
    """Fill the row's bounds or labels as `coterie schema draft --bounds-from-data 1.5` does; which ones were filled.

    A single bound that a person wrote stays. Reasons go: they were given for other values.
    """
    if row.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
        raise DataError(
            f"'{row.name}' is a {row.type}: no bounds are taken from the data.",
            "Write bounds that anybody may know, such as 1900-01-01 and 2030-12-31.",
        )
    drafted = Schema.from_yaml(
        draft_schema(pa.table({row.name: column}), bounds_from_data=FACTOR)
    ).attributes[0]
    found = row_of(drafted)
    if row.ranged:
        if drafted.domain is None:
            raise DataError(
                f"The values of '{row.name}' give no bounds: they are not numbers, or too large, or all zero.",
                "Write its public bounds, or choose another type.",
            )
        lower, upper = drafted.domain.lower, drafted.domain.upper
        if row.type == AttributeType.INTEGER:
            found.lower, found.upper = str(math.floor(lower)), str(math.ceil(upper))
        sides = tuple(side for side in SIDES if not (row.half and getattr(row, side)))
        for side in sides:
            setattr(row, side, getattr(found, side))
        row.search = row.share = row.because = ""
        return sides
    if not found.labels:
        raise SchemaError(
            f"'{row.name}' has too many different texts, or too few, to be taken for labels.",
            "Write the labels that are possible, or make it an identifier.",
        )
    row.labels, row.taxonomy, row.because = found.labels, "", ""
    return (LABELS,)
