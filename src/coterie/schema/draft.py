"""A commented first schema for a table: the user fills the bounds, which are public knowledge, not data.

Unless bounds are explicitly taken from the data, the draft holds no value: names, types, and whether a column has gaps,
few labels or one value only. It is a working paper of the steward, not for publication.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from coterie.errors import DataError, ParameterError, counted
from coterie.schema.attributes import AttributeType, Schema, check_names
from coterie.schema.dialect import Dialect
from coterie.schema.document import SCHEMA_VERSION, read_schema
from coterie.schema.domain import LARGEST_BOUND
from coterie.schema.frame_kind import to_kind

_MOST_LABELS = 100
_EXACT = 2**53  # integers beyond it are not exact as doubles

_OPENING = f"""\
# A draft by `coterie schema draft`. Read every line before you use it.
# type: continuous, integer, date, timestamp (with a domain); categorical, ordinal (with categories); boolean.
# role: protect (goes through the method), identifier (always dropped), keep (released untouched, and the
#   certificate names it).
# What the draft found by looking at the data says so: confirm it from a form, a law or a codebook.
# domain: the range that anybody may know (a law, a scale, a form), never what happens to be in the data.
# categories: the labels that anybody may know (a list, or a taxonomy: hierarchy CSV, YAML, SKOS, WordNet).
# missing: error, own category (an outcome of its own; numbers, dates and ordinal: dp-synthetic only),
#   impute (a public value stands in; `impute:` names it) or drop row (makes a proof conditional).
#   missing_marks: ["?"] names texts that mean 'missing'; an empty cell always does.
# outside (a value beyond the domain): error or clip.
# Optional: unit (text), weight (share of the budget, 1 if absent), decimals (released numbers are rounded).
coterie_schema: {SCHEMA_VERSION}
"""
_GUESSED = """\
# How the text file writes its cells, guessed from its rows. Check it, and write `source: declared`.
"""
_FOUND = "found in the data: confirm"
_LEAK = """\
    # WARNING: bounds from the data leak them: whoever knows the factor knows the largest value exactly.
    #   The certificate says so, and nothing is proved. Replace them by public ones and say who publishes those:
    #   public_because: "the form allows 0 to 120"
"""


@dataclass(frozen=True, repr=False)
class Draft:
    """A first schema of a table.

    Attributes
    ----------
    text : str
        Commented YAML, to be saved and completed.
    schema : Schema
        What it says so far.
    to_fill : list of str
        The protected attributes whose public bounds or labels are still open.
    """

    text: str

    @cached_property
    def schema(self) -> Schema:
        return read_schema(self.text)

    @property
    def to_fill(self) -> list[str]:
        return [attribute.name for attribute in self.schema.protected if not attribute.is_public]

    def __repr__(self) -> str:
        return f"<Draft: {counted(len(self.schema.attributes), 'attribute')}, {len(self.to_fill)} to fill in>"

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per column of the table: what the draft says of it, and whether something is left to fill in.

        Parameters
        ----------
        kind : {"arrow", "pandas", "polars"}, default "arrow"
            Which library's frame to make.
        """
        found, left = self.schema.attributes, self.to_fill
        columns = {
            "attribute": [attribute.name for attribute in found],
            "type": [attribute.type.value for attribute in found],
            "role": [attribute.role.value for attribute in found],
            "missing": [attribute.missing.value for attribute in found],
            "to_fill": [attribute.name in left for attribute in found],
        }
        return to_kind(pa.table(columns), kind)


# How a file or an address becomes a table, and in which dialect a text file is written. Set by coterie.table.reading,
# which knows files; this room does not.
open_source: list[Callable[[Any, str | None, str | None], tuple[pa.Table, Dialect | None]]] = []


def make_draft(data: Any, *, bounds_from_data: float | None, table: str | None, query: str | None) -> Draft:
    if isinstance(data, pa.Table):
        return Draft(draft_schema(data, bounds_from_data=bounds_from_data))
    found, dialect = open_source[0](data, table, query)
    return Draft(draft_schema(found, bounds_from_data=bounds_from_data, dialect=dialect))


def draft_schema(
    table: pa.Table, *, bounds_from_data: float | None = None, dialect: Dialect | None = None
) -> str:
    """YAML text that `Schema.load` reads; a factor f sets the bounds [0, f·max], as the papers do.

    `dialect` is how the table's text file was read (coterie.table.reading); it becomes part of the schema.
    """
    check_names(table.column_names)
    if not table.num_columns:
        raise DataError("The table has no columns.", "Give a table with a header and at least one column.")
    factor = None if bounds_from_data is None else _checked(bounds_from_data)
    content = {} if dialect is None else dialect.model_dump(exclude_defaults=True)
    guessed = yaml.safe_dump({"dialect": content}, sort_keys=False, allow_unicode=True)
    return (
        _OPENING
        + (_GUESSED + guessed if content else "")
        + "attributes:\n"
        + "".join(
            f"  {_key(name)}:\n{_attribute(column, factor)}"
            for name, column in zip(table.column_names, table.columns, strict=True)
        )
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
        return _text(column, factor)
    lines = f"    type: {kind}  # {_FOUND}\n    role: protect\n"
    if column.null_count:
        lines += "    # It has empty cells: `missing: own category` counts them as an outcome (numbers: dp-synthetic).\n"
    lines += "    missing: error\n"
    if kind is AttributeType.BOOLEAN:
        return lines
    if kind in (AttributeType.DATE, AttributeType.TIMESTAMP):
        example = "1900-01-01" if kind is AttributeType.DATE else "1900-01-01T00:00:00"
        return lines + "    outside: error\n" + _open(f"Write bounds like {example}.")
    return lines + "    outside: error\n" + _domain(column, kind, factor)


def _text(column: pa.ChunkedArray, factor: Fraction | None) -> str:
    """Text with few labels is probably a category; anything else is probably a name."""
    labels = _labels(column)
    if labels is None:
        return (
            "    # Text that differs from row to row: dropped unless you change this"
            " (`keep` releases it untouched).\n"
            "    role: identifier\n"
        )
    lines = f"    type: categorical  # {_FOUND}\n    role: protect\n    missing: error\n"
    if factor is None:
        return (
            lines + "    # Fill in: the labels that are possible at all, or a taxonomy:"
            " {labels: [first, second]} or {taxonomy: FILE}\n    categories:\n"
        )
    listed = yaml.safe_dump(labels, default_flow_style=True, allow_unicode=True, width=10**9).strip()
    return (
        lines
        + "    # WARNING: these labels come from the data and show which ones occur. Replace them by public"
        ' ones and\n    #   say who publishes those: public_because: "codebook, page 12"\n'
        f"    categories:\n      labels: {listed}\n      source: data\n"
    )


def _labels(column: pa.ChunkedArray) -> list[str] | None:
    """The distinct labels, or None where there are too many to be categories (or it is no text)."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()):
        return None
    found = pc.unique(pc.cast(column, pa.large_string()))
    labels = sorted({label.strip() for label in found.to_pylist() if label is not None and label.strip()})
    few = 2 <= len(labels) <= _MOST_LABELS and len(labels) <= max(2, len(column) // 5)
    return labels if few else None


def _type(kind: pa.DataType) -> AttributeType | None:
    if pa.types.is_dictionary(kind):
        return _type(kind.value_type)
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        return AttributeType.INTEGER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return AttributeType.CONTINUOUS
    if pa.types.is_boolean(kind):
        return AttributeType.BOOLEAN
    if pa.types.is_date(kind):
        return AttributeType.DATE
    if pa.types.is_timestamp(kind):
        return AttributeType.TIMESTAMP
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
