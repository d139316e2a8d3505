"""An original table and a release of it, brought side by side: same columns, and rows linked where they can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from coterie.errors import DataError, SchemaError, nearest
from coterie.schema import LARGEST_BOUND, Attribute, AttributeType, Domain, Outside, Role, Schema
from coterie.table import check

Floats = NDArray[np.float64]
# Below this many rows a rank correlation near 0 proves nothing about the order of the rows.
_ENOUGH_ROWS = 50


@dataclass(frozen=True, slots=True)
class Pair:
    """`unlinked` says why row i of the release is not row i of the original; None when it is."""

    numeric: tuple[Attribute, ...]
    original: dict[str, Floats]
    released: dict[str, Floats]
    original_kept: dict[str, pa.ChunkedArray]
    released_kept: dict[str, pa.ChunkedArray]
    unlinked: str | None = None
    notes: tuple[str, ...] = ()


def bring_together(
    original: pa.Table, released: pa.Table, schema: Schema, *, shuffled: bool = False
) -> Pair:
    """Check that one is a release of the other. `shuffled`: its rows are known to be in another order."""
    notes: list[str] = []
    before = check(original, _open(schema))
    visible = [attribute.name for attribute in schema.attributes if attribute.role is not Role.IDENTIFIER]
    _same_columns(released.column_names, visible, schema)
    if released.column_names != visible:
        notes.append("the release has its columns in another order; they were matched by name")
    if released.num_rows != before.records:
        raise DataError(
            f"The original has {before.records:,} usable rows and the release {released.num_rows:,}.",
            "Give the release of this very table. Rows that the schema drops are not counted.",
        )
    after = check(released, _open(_without_identifiers(schema)))
    if after.records != released.num_rows:
        raise DataError("The release misses values.", "Give the release as it was written.")
    unlinked = "the rows of the release are in another order than the original's" if shuffled else None
    if unlinked is None:
        unlinked = _moved(before.kept, after.kept)
    numeric = schema.protected
    if unlinked is None and _looks_shuffled(before.columns, after.columns):
        notes.append(
            "no attribute of the release follows the original: the rows were shuffled (then say --shuffled), "
            "or the noise drowned everything"
        )
    return Pair(numeric, before.columns, after.columns, before.kept, after.kept, unlinked, tuple(notes))


def _open(schema: Schema) -> Schema:
    """The same columns with no limits: a measure compares the values as they are, not as a policy would clip them."""
    boundless = Domain(lower=-LARGEST_BOUND, upper=LARGEST_BOUND)
    attributes = [
        attribute.model_copy(
            update={"domain": boundless, "outside": Outside.CLIP, "type": AttributeType.CONTINUOUS}
        )
        if attribute.role is Role.PROTECT
        else attribute
        for attribute in schema.attributes
    ]
    return Schema(attributes=tuple(attributes))


def _without_identifiers(schema: Schema) -> Schema:
    return Schema(attributes=tuple(a for a in schema.attributes if a.role is not Role.IDENTIFIER))


def _same_columns(columns: list[str], visible: list[str], schema: Schema) -> None:
    for attribute in schema.with_role(Role.IDENTIFIER):
        if attribute.name in columns:
            raise DataError(
                f"The release holds '{attribute.name}', which the schema calls an identifier.",
                "A release never does: check that the second file is the release, not the original.",
            )
    for name in visible:
        if name not in columns:
            raise DataError(
                f"The release has no column '{name}'.",
                nearest(name, [column for column in columns if column not in visible]),
            )
    for name in columns:
        if name not in visible:
            raise SchemaError(
                f"The release has a column '{name}' that the schema does not describe.",
                "Give the schema that the release was made with.",
            )


def _moved(before: dict[str, pa.ChunkedArray], after: dict[str, pa.ChunkedArray]) -> str | None:
    """Columns that are released untouched show whether the rows are where they were."""
    for name, column in before.items():
        other = after[name]
        if column.type != other.type:
            other = other.cast(column.type, safe=False)
        same = pc.equal(column, other)
        if not pc.all(pc.fill_null(same, True)).as_py():
            return f"'{name}' was released untouched, but its values stand in other rows"
    return None


def _looks_shuffled(before: dict[str, Floats], after: dict[str, Floats]) -> bool:
    """Whether no released column follows its original beyond what chance allows (4 standard errors)."""
    for name, column in before.items():
        if len(column) < _ENOUGH_ROWS:
            return False
        one, other = column - column.mean(), after[name] - after[name].mean()
        size = float(np.sqrt((one @ one) * (other @ other)))
        if size == 0 or abs(float(one @ other)) / size > 4 / np.sqrt(len(column)):
            return False
    return True
