"""Original, release and control, read by one schema into the shape that attacks work on.

The original passes the schema's policies, as it did when it was protected. The release is taken as it is: values outside
the domain stay, and an integer attribute may have fractions, because other tools release such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.attacks.evidence import Seen, Values
from coterie.columns import categories, cells, numbers
from coterie.columns.column import CategoryColumn, Column, NumericColumn
from coterie.errors import DataError, SchemaError, nearest
from coterie.schema import Attribute, AttributeType, Role, Schema
from coterie.table import check


@dataclass(frozen=True, slots=True)
class Side:
    """One table: protected attributes as columns, kept ones as they are."""

    columns: Mapping[str, Column]
    kept: Mapping[str, pa.ChunkedArray]
    records: int


def read_people(table: pa.Table, schema: Schema) -> Side:
    """The original or the control: checked as before protection. Identifiers may be left out."""
    wanted = [a for a in schema.attributes if a.role is not Role.IDENTIFIER or a.name in table.column_names]
    narrowed = schema.model_copy(update={"attributes": tuple(wanted)})
    checked = check(table, narrowed)
    return Side(checked.columns, checked.kept, checked.records)


def read_release(table: pa.Table, schema: Schema) -> Side:
    visible = [a for a in schema.attributes if a.role is not Role.IDENTIFIER]
    for attribute in visible:
        if attribute.name not in table.column_names:
            raise SchemaError(
                f"The release has no column '{attribute.name}', which the schema describes.",
                nearest(attribute.name, table.column_names),
            )
    for name in table.column_names:
        if name not in {a.name for a in visible}:
            raise SchemaError(
                f"The release has a column '{name}' that should not be in it.",
                "An identifier is never released; another column belongs into the schema.",
            )
    if table.num_rows < 2:
        raise DataError("The release has fewer than two rows.", "Give the released table.")
    columns = {
        a.name: _as_released(table.column(a.name), a, schema) for a in visible if a.role is Role.PROTECT
    }
    kept = {a.name: table.column(a.name) for a in visible if a.role is Role.KEEP}
    return Side(columns, kept, table.num_rows)


def _as_released(column: pa.ChunkedArray, attribute: Attribute, schema: Schema) -> Column:
    if attribute.type.ranged:
        if attribute.type is AttributeType.INTEGER:
            attribute = attribute.model_copy(update={"type": AttributeType.CONTINUOUS})
        found: Column = numbers.numeric_column(column, attribute)
        absent = np.isnan(found.values)  # type: ignore[union-attr]
    elif attribute.type is AttributeType.ORDINAL:
        found = categories.ordinal_column(column, attribute)
        absent = np.isnan(found.values)
    else:
        found = categories.category_column(column, attribute, schema.folder)
        absent = found.codes < 0
    if absent.any():
        raise DataError(
            f"Column '{attribute.name}' of the release has missing values.",
            "Give the release as it was published; Coterie's releases have no gaps in protected columns.",
        )
    return found


def side_by_side(original: Side, release: Side, control: Side | None, schema: Schema) -> tuple[Seen, ...]:
    seen = []
    for attribute in schema.attributes:
        name = attribute.name
        if attribute.role is Role.PROTECT:
            other = None if control is None else control.columns[name]
            seen.append(_protected(attribute, original.columns[name], release.columns[name], other))
        elif attribute.role is Role.KEEP:
            other = None if control is None else control.kept[name]
            seen.append(_kept(attribute, original.kept[name], release.kept[name], other))
    return tuple(seen)


def _protected(attribute: Attribute, original: Column, released: Column, control: Column | None) -> Seen:
    if isinstance(original, CategoryColumn):
        largest = float(original.distance.max()) or 1.0
        return Seen(
            attribute.name,
            False,
            _values(original),
            _values(released),
            None if control is None else _values(control),
            1.0,
            0.0,
            1.0,
            # δ over its largest value: a label weighs at most as much as a number does.
            distance=original.distance / largest,
            bounds_from_data=attribute.domain_from_data,
        )
    domain = original.domain
    return Seen(
        attribute.name,
        True,
        _values(original),
        _values(released),
        None if control is None else _values(control),
        float(domain.width),
        domain.lower,
        domain.upper,
        step=original.step,
        relative=attribute.type in (AttributeType.CONTINUOUS, AttributeType.INTEGER),
        bounds_from_data=attribute.domain is not None and "upper" in attribute.domain.leaks,
    )


def _values(column: Column) -> Values:
    values = column.values if isinstance(column, NumericColumn) else column.codes
    return np.asarray(values, dtype=np.float64)


def _kept(attribute: Attribute, *columns: pa.ChunkedArray | None) -> Seen:
    """A column released untouched: numbers by their own range, everything else equal or not."""
    present = [column for column in columns if column is not None]
    name, found = attribute.name, _kept_numbers(present, attribute)
    numeric = found is not None
    if found is None:
        texts = [c.cast(pa.large_string()) for c in present]
        encoded = pc.dictionary_encode(
            pa.chunked_array([x for t in texts for x in t.chunks])
        ).combine_chunks()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.float64)
        found = np.split(codes, np.cumsum([len(c) for c in present])[:-1])
    lower, upper = float(found[0].min()), float(found[0].max())
    return Seen(
        name,
        numeric,
        found[0],
        found[1],
        found[2] if len(found) > 2 else None,
        (upper - lower) or 1.0,
        lower,
        upper,
        protected=False,
    )


def _kept_numbers(columns: Sequence[pa.ChunkedArray], attribute: Attribute) -> list[Values] | None:
    """Complete numbers, where the schema calls them such. (An undescribed kept column may hold anything.)"""
    if not attribute.type.has_zero:
        return None
    try:
        found = [cells.numbers(column, attribute) for column in columns]
    except DataError:
        return None
    return None if any(np.isnan(values).any() for values in found) else found
