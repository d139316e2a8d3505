"""Load and describe: read the whole table once, and compare it with its description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import coterie
from coterie.errors import CoterieError, DataError
from coterie.schema.attributes import Attribute, Missing, Outside, Role, Schema
from coterie.schema.dialect import Dialect
from coterie.schema.draft import drafted
from coterie.studio.project import Loaded, Project
from coterie.studio.table_cache import keep, stamp
from coterie.studio.work import Tell
from coterie.table.checked import absent_in, column_of, filled, same_columns
from coterie.table.columns.column import NumericColumn
from coterie.table.demo_population import demo_population, demo_schema
from coterie.table.profile import profile_column
from coterie.table.reading import guess_dialect, read_table

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_DATE = r"^\s*\d{4}-\d{2}-\d{2}\s*$"
_HINTS = {
    "weight": "Looks like a survey weight, by its name. Confirm the role weight, or choose another.",
    "unit": "Looks like the number of a household or of another unit of several rows. Protect whole units?",
}
_COMMA_NUMBER = r"^\s*[+-]?\d+,\d+\s*$"


def load(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`parameters`: source (of a database: with its password), table, query."""
    tell(None, "Reading the table")
    before = stamp(project.source) if project.source else None
    if project.state.origin.kind == "demo":
        table, draft = demo_population(), demo_schema().to_yaml()
        suggestions: Mapping[str, str] = {}
    else:
        dialect = _declared_dialect(project) or guess_dialect(parameters["source"])
        table = _read(project, parameters, dialect)
        if not table.num_rows:
            raise DataError("The table has a header but no rows.", "Load one with at least two records.")
        first = drafted(table, dialect=dialect)
        draft, suggestions = first.text, first.suggestions
    tell(0.6, "Keeping a copy on this machine")
    digest = keep(table, project.table_path)
    loaded = Loaded(rows=table.num_rows, columns=table.num_columns, digest=digest, stamp=before)
    new: list[str] = []
    gone: list[str] = []
    if project.schema_path.exists():
        draft, new, gone = fitted(project.schema(), Schema.load(draft))
    project.change(loaded=loaded, schema=draft)
    columns = []
    described = {attribute.name: attribute for attribute in Schema.load(draft).attributes}
    for place, name in enumerate(table.column_names):
        tell(0.7 + 0.3 * place / table.num_columns, f"Looking at {name}")
        suggestion = suggestions.get(name, "")
        hint = _HINTS.get(suggestion, "")
        labels = dict(described[name].value_labels or ()) if name in described else {}
        columns.append(_column(name, table[name], labels) | {"hint": hint, "suggestion": suggestion})
    return {"columns": columns, "new": new, "gone": gone, "guessed": _guessed(Schema.load(draft).dialect)}


def _declared_dialect(project: Project) -> Dialect | None:
    """The dialect that a person declared. A guessed one is guessed again, from the file."""
    dialect = project.schema().dialect if project.schema_path.exists() else Dialect()
    return None if dialect == Dialect() or dialect.source == "data" else dialect


def _guessed(dialect: Dialect) -> str:
    content = dialect.model_dump(exclude_defaults=True, exclude={"source"})
    words = ", ".join(f"{name.replace('_', ' ')} {value or 'none'}" for name, value in content.items())
    return words if dialect.source == "data" else ""


def _read(project: Project, parameters: dict[str, Any], dialect: Dialect) -> pa.Table:
    source, origin = parameters["source"], project.state.origin
    try:
        return read_table(source, table=parameters["table"], query=parameters["query"], dialect=dialect)
    except DataError as error:
        if origin.kind != "upload":
            raise
        # The person knows the file by the name that it was uploaded with, not by that of the studio's copy.
        shown = error.problem.replace(source, origin.shown)
        raise DataError(shown, error.advice, detail=error.detail) from None


def fitted(described: Schema, drafted: Schema) -> tuple[str, list[str], list[str]]:
    """The description that there is, for the columns that there are now; which of them are new, and which went."""
    old = {attribute.name: attribute for attribute in described.attributes}
    now = [attribute.name for attribute in drafted.attributes]
    attributes = tuple(old.get(a.name, a) for a in drafted.attributes)
    schema = described.model_copy(update={"attributes": attributes, "dialect": drafted.dialect})
    return (
        schema.to_yaml(),
        [name for name in now if name not in old],
        [name for name in old if name not in now],
    )


def _column(name: str, column: pa.ChunkedArray, labels: Mapping[str, str]) -> dict[str, Any]:
    found = profile_column(column, labels).to_dict()
    return {"name": name, "type": _words(column.type), "note": _note(column), **found}


def _words(kind: pa.DataType) -> str:
    """What the reader found, in the words of the page."""
    if pa.types.is_dictionary(kind):
        return _words(kind.value_type)
    for is_one, words in (
        (pa.types.is_integer, "whole numbers"),
        (pa.types.is_floating, "numbers"),
        (pa.types.is_decimal, "numbers"),
        (pa.types.is_boolean, "yes or no"),
        (pa.types.is_date, "dates"),
        (pa.types.is_timestamp, "moments"),
        (pa.types.is_null, "empty"),
    ):
        if is_one(kind):
            return words
    return "text" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else str(kind)


def _note(column: pa.ChunkedArray) -> str:
    """A sentence where a column of text was probably meant to be one of numbers."""
    filled = len(column) - column.null_count
    if not pa.types.is_string(column.type) or not filled:
        return ""
    numbers = pc.sum(pc.match_substring_regex(column, _NUMBER)).as_py() or 0
    if filled > numbers >= filled / 2:
        few = f"{filled - numbers:,} cell{'s are' if filled - numbers > 1 else ' is'}"
        return f"Most cells are numbers, {few} not, so it was read as text. Does a mark such as NA mean 'missing'?"
    dates = pc.sum(pc.match_substring_regex(column, _DATE)).as_py() or 0
    if dates >= filled / 2:
        few = f", {filled - dates:,} not" if filled > dates else ""
        return (
            f"Most cells are dates{few}, but it was read as text."
            if few
            else "Its cells are dates, read as text."
        )
    commas = pc.sum(pc.match_substring_regex(column, _COMMA_NUMBER)).as_py() or 0
    if commas >= filled / 2:
        return "Its numbers have a decimal comma, so it was read as text. Write all numbers one way."
    return ""


def describe(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    tell(None, "Reading the table with this description")
    table, schema = project.typed_table(), project.schema()
    same_columns(table.column_names, schema)
    found = []
    for done, attribute in enumerate(schema.attributes):
        tell(done / len(schema.attributes), f"Checking {attribute.name}")
        if attribute is schema.raked:
            found.append({"name": attribute.name, **_told("fits", "not read: made from public totals")})
            continue
        found.append({"name": attribute.name, **_checked(table[attribute.name], attribute, schema)})
    return {"attributes": found, "rows": table.num_rows}


def _checked(column: pa.ChunkedArray, attribute: Attribute, schema: Schema) -> dict[str, str]:
    """`state` is fits, note or stops."""
    if attribute.role is Role.IDENTIFIER:
        return _told("fits", "dropped from the release")
    if attribute.role is Role.KEEP:
        return _told("fits", "released untouched; the promise does not cover it")
    try:
        attribute.require_public()
    except CoterieError:
        return _told("stops", "what is public about it is still open", "Write its bounds or labels below.")
    try:
        checked = column_of(column, attribute, schema)
    except CoterieError as error:
        return _told("stops", error.located, _on_the_page(error.advice))
    absent, notes = absent_in(checked), []
    if absent.any():
        if attribute.not_applicable is not None:
            notes.append(
                f"{_cells(absent)} missing: that is right where it does not apply, and refused elsewhere"
            )
        elif attribute.missing is Missing.ERROR:
            return _told(
                "stops", f"{_cells(absent)} missing", "Choose what to do with missing cells, under 'More'."
            )
        elif attribute.missing is Missing.IMPUTE:
            try:
                checked = filled(checked, absent)
            except CoterieError as error:
                return _told("stops", error.problem, error.advice)
            notes.append(f"{_cells(absent)} missing: a public value stands in")
    if isinstance(checked, NumericColumn):
        low, high = checked.domain.lower, checked.domain.upper
        outside = (checked.values < low) | (checked.values > high)
        if outside.any() and attribute.outside is Outside.ERROR:
            return _told(
                "stops",
                f"{_cells(outside)} outside its bounds",
                "Widen the bounds if public knowledge allows, or cut values to the bounds, under 'More'.",
            )
        if outside.any():
            notes.append(f"{_cells(outside)} outside its bounds: cut to them")
    return _told("note" if notes else "fits", "; ".join(notes) or "every value fits")


def _on_the_page(advice: str) -> str:
    """The advice speaks of entries of the schema file; a person here sees the titles of fields."""
    field = "under 'More', in 'Texts that mean missing'"
    return advice.replace(
        "name what marks a missing value (`missing_marks`)", f"write the marks of missing values {field}"
    )


def _cells(mask: np.ndarray[Any, Any]) -> str:
    count = int(mask.sum())
    return f"{count:,} value{'s are' if count > 1 else ' is'}"


def _told(state: str, words: str, advice: str = "") -> dict[str, str]:
    return {"state": state, "words": words, "advice": advice}


def risk(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """How easily people in the table as it is are found by a few keys. `parameters`: keys."""
    tell(None, "Counting who shares the keys with whom")
    found = coterie.risk(project.typed_table(), project.schema(), keys=parameters["keys"])
    now = found.now
    return {
        "verdict": found.verdict,
        "records": now.records,
        "uniques": now.uniques,
        "below_3": now.below[3],
        "expected": now.expected,
        "highest": now.population_highest,
        "without": now.without,
    }
