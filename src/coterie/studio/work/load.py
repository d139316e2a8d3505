"""Read the table once, whole, and keep it as an Arrow file that pages can map into memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import DataError
from coterie.schema.attributes import Schema
from coterie.schema.dialect import Dialect
from coterie.schema.draft import draft_schema
from coterie.studio.project import Loaded, Project
from coterie.studio.table_cache import keep, stamp
from coterie.table.demo_population import demo_population, demo_schema
from coterie.table.dialect_guess import guess_dialect
from coterie.table.reading import read_table

Tell = Callable[[float | None, str], None]
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_DATE = r"^\s*\d{4}-\d{2}-\d{2}\s*$"
_COMMA_NUMBER = r"^\s*[+-]?\d+,\d+\s*$"


def work(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`parameters`: source (of a database: with its password), table, query."""
    tell(None, "Reading the table")
    before = stamp(project.source) if project.source else None
    if project.state.origin.kind == "demo":
        table, draft = demo_population(), demo_schema().to_yaml()
    else:
        dialect = _declared_dialect(project) or guess_dialect(parameters["source"])
        table = _read(project, parameters, dialect)
        if not table.num_rows:
            raise DataError("The table has a header but no rows.", "Load one with at least two records.")
        draft = draft_schema(table, dialect=dialect)
    tell(0.6, "Keeping a copy on this machine")
    digest = keep(table, project.table_path)
    tell(0.8, "Looking at the columns")
    loaded = Loaded(rows=table.num_rows, columns=table.num_columns, digest=digest, stamp=before)
    new: list[str] = []
    gone: list[str] = []
    if project.schema_path.exists():
        draft, new, gone = fitted(project.schema(), Schema.load(draft))
    project.change(loaded=loaded, schema=draft)
    columns = [_column(name, table[name]) for name in table.column_names]
    return {"columns": columns, "new": new, "gone": gone, "guessed": _guessed(Schema.load(draft).dialect)}


def _declared_dialect(project: Project) -> Dialect | None:
    """What somebody wrote; a guess is made again with the file."""
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


def _column(name: str, column: pa.ChunkedArray) -> dict[str, Any]:
    return {"name": name, "type": _words(column.type), "missing": column.null_count, "note": _note(column)}


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
