"""A commented first schema for a table: the user fills the bounds, which are public knowledge, not data.

Unless bounds are explicitly taken from the data, the draft holds no value: names, types, and whether a column has gaps,
few labels or one value only. It is a working paper of the steward, not for publication.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from coterie.errors import DataError, ParameterError, counted
from coterie.schema.attributes import AttributeType, Schema
from coterie.schema.codebook import Variable
from coterie.schema.constant_sums import constant_sums
from coterie.schema.dialect import Dialect
from coterie.schema.document import SCHEMA_VERSION, read_schema
from coterie.schema.domain import LARGEST_BOUND
from coterie.schema.frame_kind import to_kind
from coterie.schema.guessing import Guess, guess_as, guess_column, marked

_EXACT = 2**53  # integers beyond it are not exact as doubles

_OPENING = f"""\
# A draft by `coterie schema draft`. Read every line before you use it.
# type: continuous, integer, date, timestamp (with a domain); categorical, ordinal (with categories); boolean.
# role: protect (goes through the method), identifier (always dropped), keep (released untouched, and the
#   certificate names it), weight (for how many people a row stands: protected too, and estimates are weighted).
# What the draft found by looking at the data says "from the data, confirm": a form, a law or a codebook can tell.
# domain: the range that anybody may know (a law, a scale, a form), never what happens to be in the data.
# categories: the labels that anybody may know (a list, or a taxonomy: hierarchy CSV, YAML, SKOS, WordNet).
# value_labels: what codes mean, in words: {{1: male, 2: female}}.
# missing: error, own category (an outcome like another, released as an empty cell)
#   or impute (a public value stands in; `impute:` names it).
#   missing_marks: ["?", "97 to 99"] names texts and numbers that mean 'missing'; an empty cell always does.
# outside (a value beyond the domain): error or clip.
# At the top, where they apply: unit (rows that belong to one person or household) and totals (public totals that
#   the weights of synthetic rows add up to: {{sex: {{man: 5100000, woman: 5300000}}}}).
# Optional: label, unit (text), weight (share of the budget, 1 if absent), decimals (released numbers are rounded).
coterie_schema: {SCHEMA_VERSION}
"""
_GUESSED = """\
# How the text file writes its cells: from the data, confirm. Then write `source: declared`.
"""
_FOUND = "from the data, confirm"
_LEAK = """\
    # WARNING: bounds from the data leak them: whoever knows the factor knows the largest value exactly.
    #   The certificate says so, and nothing is proved. Replace them by public ones and say who publishes those:
    #   public_because: "the form allows 0 to 120"
"""
_LEAKING_LABELS = """\
    # WARNING: these labels come from the data and show which ones occur. Replace them by public ones and
    #   say who publishes those: public_because: "codebook, page 12"
"""
_DICTIONARY = """\
    # These labels come from the dictionary inside the file. Confirm them, and say where anybody can read them:
    #   public_because: "codebook, page 12". Until then nothing is proved.
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
    suggestions : dict
        Columns that look like a survey weight (`weight`) or like the number of a household or another unit (`unit`).
    """

    text: str
    suggestions: Mapping[str, str] = field(default_factory=dict)  # column → weight or unit

    @cached_property
    def schema(self) -> Schema:
        return read_schema(self.text)

    @property
    def to_fill(self) -> list[str]:
        return [attribute.name for attribute in self.schema.protected if not attribute.is_public]

    def __repr__(self) -> str:
        return f"<Draft: {counted(len(self.schema.attributes), 'attribute')}, {len(self.to_fill)} to fill in>"

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per column of the table: what the draft says of it, and whether something is left to fill in."""
        found, left = self.schema.attributes, self.to_fill
        columns = {
            "attribute": [attribute.name for attribute in found],
            "type": [attribute.type.value for attribute in found],
            "role": [attribute.role.value for attribute in found],
            "missing": [attribute.missing.value for attribute in found],
            "to_fill": [attribute.name in left for attribute in found],
            "suggestion": [self.suggestions.get(attribute.name, "") for attribute in found],
        }
        return to_kind(pa.table(columns), kind)


# How a file or an address becomes a table, and in which dialect a text file is written. Set by coterie.table.reading,
# which knows files; this room does not.
open_source: list[Callable[[Any, str | None, str | None], tuple[pa.Table, Dialect | None]]] = []


def make_draft(
    data: Any, table: str | None, query: str | None, *, bounds_from_data: float | None, codebook: str | None
) -> Draft:
    found, dialect = open_source[0](data, table, query)
    if found.num_columns and not found.num_rows:
        raise DataError(
            "The table has a header but no rows.", "Draft from a table with at least two records."
        )
    return drafted(found, bounds_from_data=bounds_from_data, dialect=dialect, codebook=codebook)


def drafted(
    table: pa.Table,
    *,
    bounds_from_data: float | None = None,
    dialect: Dialect | None = None,
    codebook: str | None = None,
    as_type: AttributeType | None = None,
    as_weight: bool = False,
) -> Draft:
    """`dialect` is how the table's text file was read (coterie.table.reading); it becomes part of the schema.

    A factor f sets the bounds [0, f·max], as the papers do. `codebook` says where the labels in the file's dictionary are
    published, `as_type` what somebody has said already of all columns, and `as_weight` of the only one.
    """
    if not table.num_columns:
        raise DataError("The table has no columns.", "Give a table with a header and at least one column.")
    factor = None if bounds_from_data is None else _checked(bounds_from_data)
    content = {} if dialect is None else dialect.model_dump(exclude_defaults=True)
    written = yaml.safe_dump({"dialect": content}, sort_keys=False, allow_unicode=True)
    variables = {place.name: Variable.of(place.metadata) for place in table.schema}
    guesses = {
        name: guess_column(name, table[name], variable) if as_type is None else guess_as(as_type, table[name])
        for name, variable in variables.items()
    }
    suggestions = {name: guess.suggestion for name, guess in guesses.items() if guess.suggestion}
    weights = [name for name, suggestion in suggestions.items() if suggestion == "weight"]
    text = _OPENING + (_GUESSED + written if content else "") + _units(suggestions) + "attributes:\n"
    sums = constant_sums(table)
    for name, guess in guesses.items():
        role = "weight" if weights == [name] or as_weight else "protect"
        lines = _attribute(table[name], guess, variables[name], factor, codebook, role)
        sum_note = f"    # {sums[name]}\n" if name in sums else ""
        text += f"  {_key(name)}:\n{sum_note}{lines}"
    return Draft(text, suggestions)


def _units(suggestions: Mapping[str, str]) -> str:
    """A `unit` entry to complete: how many rows a unit has is never taken from the data."""
    names = [name for name, suggestion in suggestions.items() if suggestion == "unit"]
    head = (
        "# If the promise is for a person or household of several rows, not for one row, take away one # here and fill in\n"
        "# the usual number of rows, from public knowledge (a census, a form):\n"
    )
    return head * bool(names) + "".join(
        f"# unit: {_flow({'column': name})[:-1]}, name: household, at_most: }}\n" for name in names
    )


def _checked(factor: float) -> Fraction:
    if not isinstance(factor, int | float) or not math.isfinite(factor) or factor < 1:
        raise ParameterError(
            "The factor for bounds from the data must be a number of at least 1.", "The papers use 1.5."
        )
    return Fraction(factor)


def _attribute(
    column: pa.ChunkedArray,
    guess: Guess,
    variable: Variable,
    factor: Fraction | None,
    codebook: str | None,
    role: str,
) -> str:
    label = f"    label: {_flow(variable.label)}\n" if variable.label else ""
    at_the_bounds = guess.type is not None and guess.type.has_zero  # what is noted of numbers
    told = (*(() if at_the_bounds else guess.notes), *_suggested(guess, role))
    notes = "".join(f"    # {note}\n" for note in told)
    if guess.type is None:
        return f"{label}{notes}    role: identifier  # {_FOUND}\n"
    ranged = guess.type.ranged
    said = f"    role: {role}{f'  # {_FOUND}' if role == 'weight' else ''}\n"
    lines = f"{label}{notes}    type: {guess.type}  # {_FOUND}\n{said}"
    if guess.marks:
        lines += f"    missing_marks: {_flow(list(guess.marks))}  # {_FOUND}\n"
    if column.null_count or guess.marks:
        lines += "    # It has gaps: `missing: own category` counts them as an outcome.\n"
    lines += "    missing: error\n"
    if guess.words:
        lines += f"    value_labels: {_flow(guess.words)}\n"
    if variable.format:
        lines += f"    format: {_flow(variable.format)}\n"
    if guess.type is AttributeType.BOOLEAN:
        return lines
    if not ranged:
        return lines + _categories(guess, factor, codebook)
    lines += "    outside: error\n"
    if guess.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
        example = "1900-01-01" if guess.type is AttributeType.DATE else "1900-01-01T00:00:00"
        return lines + _open(f"Write bounds like {example}.")
    return lines + _domain(_numbers(column, guess), guess, factor, role)


def _suggested(guess: Guess, role: str) -> list[str]:
    if guess.suggestion == "weight" and role == "weight":
        return ["Looks like a survey weight, by its name. If it is none, write `role: protect`."]
    if guess.suggestion == "weight":
        return [
            f"Looks like a survey weight, by its name, and is not the only one: {_FOUND}, and write `role: weight`",
            "  for the one that estimates are weighted by.",
        ]
    if guess.suggestion == "unit":
        return [
            f"Looks like the number of a household or another unit of several rows: {_FOUND}. See `unit` at the top."
        ]
    return []


def _categories(guess: Guess, factor: Fraction | None, codebook: str | None) -> str:
    """Take labels from the dictionary of the file; leave them open; or list those that occur, if that was asked for."""
    occurring = guess.found if factor is not None else ()
    if guess.labels and not occurring:
        told = f"      public_because: {_flow(codebook)}\n" if codebook else ""
        listed = f"    categories:\n      labels: {_flow(list(guess.labels))}\n      source: data\n"
        return ("" if told else _DICTIONARY) + listed + told
    if not occurring:
        return (
            "    # Fill in: the labels that are possible at all, or a taxonomy:"
            " {labels: [first, second]} or {taxonomy: FILE}\n    categories:\n"
        )
    labels = list(dict.fromkeys((*guess.labels, *occurring)))
    return f"{_LEAKING_LABELS}    categories:\n      labels: {_flow(labels)}\n      source: data\n"


def _flow(content: Any) -> str:
    """Write YAML on one line."""
    text: str = yaml.safe_dump(
        content, default_flow_style=True, allow_unicode=True, width=10**9, sort_keys=False
    )
    return text.strip().removesuffix("...").strip()


def _numbers(column: pa.ChunkedArray, guess: Guess) -> pa.ChunkedArray:
    """Leave out what means 'missing', and read as numbers what a mark has made text."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        marks = pa.array([*guess.marks, ""], pa.large_string())
        trimmed = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        try:
            column = trimmed.filter(pc.invert(pc.is_in(trimmed, marks))).cast(pa.float64())
        except pa.ArrowInvalid:  # somebody said that they are numbers
            return pa.chunked_array([], pa.float64())
    present = column.drop_null()
    values = np.asarray(present.cast(pa.float64(), safe=False).to_numpy())
    return present.filter(pa.array(~marked(values, guess.marks)))


def _domain(column: pa.ChunkedArray, guess: Guess, factor: Fraction | None, role: str) -> str:
    extent, note, kind = _extent(column), " ".join(guess.notes), guess.type
    if extent is None:
        return _open(note or "This column holds no finite number; drop it, or fill its bounds.")
    smallest, largest = extent
    if factor is None:
        return _open(note)
    lower = factor * smallest if smallest < 0 else Fraction(0)
    upper = max(factor * largest, Fraction(0))
    if role == "weight":  # above 0, as it must be
        lower = smallest / factor
    if kind is AttributeType.INTEGER:
        lower, upper = Fraction(math.floor(lower)), Fraction(math.ceil(upper))
    limit = _EXACT if kind is AttributeType.INTEGER else LARGEST_BOUND
    if lower == upper or max(-lower, upper) > limit or (role == "weight" and lower <= 0):
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
