"""Hold the whole table against its description: counts of what does not fit, never a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.errors import CoterieError
from coterie.schema.attributes import Attribute, Missing, Outside, Role, Schema
from coterie.studio.project import Project
from coterie.table.checked import absent_in, column_of, filled, same_columns
from coterie.table.columns.cells import kept_gaps
from coterie.table.columns.column import NumericColumn

Tell = Callable[[float | None, str], None]


def work(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    tell(None, "Reading the table with this description")
    table, schema = project.typed_table(), project.schema()
    same_columns(table.column_names, schema)
    dropped = np.zeros(table.num_rows, dtype=np.bool_)
    found = []
    for done, attribute in enumerate(schema.attributes):
        tell(done / len(schema.attributes), f"Checking {attribute.name}")
        found.append({"name": attribute.name, **_checked(table[attribute.name], attribute, schema, dropped)})
    return {"attributes": found, "rows": table.num_rows, "dropped": int(dropped.sum())}


def _checked(
    column: pa.ChunkedArray, attribute: Attribute, schema: Schema, dropped: np.ndarray[Any, Any]
) -> dict[str, str]:
    """`state` is fits, note or stops; rows that the description leaves out are marked in `dropped`."""
    if attribute.role is Role.IDENTIFIER:
        return _told("fits", "dropped from the release")
    if attribute.role is Role.KEEP:
        absent = kept_gaps(column, attribute)
        if attribute.missing is Missing.DROP_ROW and absent.any():
            dropped |= absent
            return _told("note", f"{_cells(absent)} missing: these rows are left out")
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
        if attribute.missing is Missing.ERROR:
            return _told(
                "stops", f"{_cells(absent)} missing", "Choose what to do with missing cells, under 'More'."
            )
        if attribute.missing is Missing.DROP_ROW:
            dropped |= absent
            notes.append(f"{_cells(absent)} missing: these rows are left out")
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
