"""A commented first schema for a table: the user fills the bounds, which are public knowledge, not data.

Unless bounds are explicitly taken from the data, the draft holds names and types only, and no value.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from coterie.errors import DataError, ParameterError
from coterie.io.names import check_names
from coterie.moments import LARGEST_BOUND
from coterie.schema import AttributeType
from coterie.schema_file import SCHEMA_VERSION

_EXACT = 2**53  # integers beyond it are not exact as doubles

_OPENING = f"""\
# A draft by `coterie schema draft`. Read every line before you use it.
# type: continuous or integer.
# role: protect (goes through the method), identifier (always dropped), keep (released untouched, and the
#   certificate names it).
# domain: the range that anybody may know (a law, a scale, a form), never what happens to be in the data.
# missing: error or drop row. outside (a value beyond the domain): error or clip.
# Optional: unit (text) and weight (share of the budget, 1 if absent).
coterie_schema: {SCHEMA_VERSION}
attributes:
"""
_LEAK = """\
    # WARNING: bounds from the data leak them: whoever knows the factor knows the largest value exactly.
    #   The certificate says so. Replace them by public ones and write `source: declared`.
"""


def draft_schema(table: pa.Table, *, bounds_from_data: float | None = None) -> str:
    """YAML text that `Schema.from_yaml` reads; a factor f sets the bounds [0, f·max], as the papers do."""
    check_names(table.column_names)
    if not table.num_columns:
        raise DataError("The table has no columns.", "Give a table with a header and at least one column.")
    factor = None if bounds_from_data is None else _checked(bounds_from_data)
    return _OPENING + "".join(
        f"  {_key(name)}:\n{_attribute(column, factor)}"
        for name, column in zip(table.column_names, table.columns, strict=True)
    )


def _checked(factor: float) -> Fraction:
    if not isinstance(factor, int | float) or not math.isfinite(factor) or factor < 1:
        raise ParameterError(
            "The factor for bounds from the data must be a number of at least 1.", "The papers use 1.5."
        )
    return Fraction(factor)


def _attribute(column: pa.ChunkedArray, factor: Fraction | None) -> str:
    kind = _type(column.type)
    if kind is None:
        return (
            "    # No number: text, dates and truth values are dropped unless you change this"
            " (`keep` releases them untouched).\n"
            "    role: identifier\n"
        )
    lines = f"    type: {kind}\n    role: protect\n"
    if column.null_count:
        lines += "    # It has empty cells: `missing: drop row` leaves such rows out.\n"
    return lines + "    missing: error\n    outside: error\n" + _domain(column, kind, factor)


def _type(kind: pa.DataType) -> AttributeType | None:
    if pa.types.is_dictionary(kind):
        return _type(kind.value_type)
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        return AttributeType.INTEGER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return AttributeType.CONTINUOUS
    # A column without any cell has no type yet: a number may well come.
    return AttributeType.CONTINUOUS if pa.types.is_null(kind) else None


def _domain(column: pa.ChunkedArray, kind: AttributeType, factor: Fraction | None) -> str:
    extent = _extent(column)
    if extent is None:
        return _open("This column holds no finite number; drop it, or fill its bounds.")
    smallest, largest = extent
    note = "Every row holds the same number; consider dropping it." if smallest == largest else ""
    if factor is None:
        return _open(note)
    lower = factor * smallest if smallest < 0 else Fraction(0)
    upper = max(factor * largest, Fraction(0))
    if kind is AttributeType.INTEGER:
        lower, upper = Fraction(math.floor(lower)), Fraction(math.ceil(upper))
    limit = _EXACT if kind is AttributeType.INTEGER else LARGEST_BOUND
    if lower == upper or max(-lower, upper) > limit:
        return _open(f"{note} Bounds from the data would be empty or too large here.".lstrip())
    negative = "    # It has negative values, so the lower bound is the factor times the smallest one.\n"
    return (
        (f"    # {note}\n" if note else "")
        + _LEAK
        + (negative if smallest < 0 else "")
        + "    domain:\n"
        + f"      lower: {_outward(lower, down=True)}\n"
        + f"      upper: {_outward(upper, down=False)}\n"
        + "      source: data\n"
    )


def _open(note: str) -> str:
    return (
        (f"    # {note}\n" if note else "")
        + "    domain:\n"
        + "      lower:  # fill in: the smallest value that is possible at all, from public knowledge\n"
        + "      upper:  # fill in: the largest\n"
        + "      source: declared\n"
    )


def _extent(column: pa.ChunkedArray) -> tuple[Fraction, Fraction] | None:
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_floating(column.type):
        column = column.filter(pc.is_finite(column), null_selection_behavior="drop")
    if column.null_count == len(column):
        return None
    both: dict[str, Any] = pc.min_max(column).as_py()
    return Fraction(both["min"]), Fraction(both["max"])


def _outward(bound: Fraction, *, down: bool) -> str:
    """The double next to the bound that still lies on or beyond it, as shortest text."""
    number = float(bound)
    if (number > bound) if down else (number < bound):
        number = math.nextafter(number, -math.inf if down else math.inf)
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)


def _key(name: str) -> str:
    """The name as a YAML key, quoted exactly where YAML would read something else (`yes`, `1`, `a: b`)."""
    style = None if name.isprintable() else '"'
    text: str = yaml.safe_dump(name, default_style=style, allow_unicode=True, width=math.inf)
    return text.removesuffix("\n").removesuffix("\n...")
