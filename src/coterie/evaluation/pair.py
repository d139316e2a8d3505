"""An original table and a release of it, brought side by side: same columns, and rows linked where they can be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import DataError, ParameterError, SchemaError, nearest, shortened
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Attribute, AttributeType, Domain, Missing, Role, Schema, Source
from coterie.schema.domain import LARGEST_BOUND
from coterie.schema.exact import number
from coterie.table.checked import Checked, check, numeric_column, stand_in, step_of
from coterie.table.columns.column import Column, NumericColumn

# Below this many rows a rank correlation near 0 proves nothing about the order of the rows.
_ENOUGH_ROWS = 50
_LARGEST, _NARROWEST = 1e140, 1e-140


@dataclass(frozen=True, slots=True, repr=False)
class Pair:
    """Original and release, column by column.

    `unlinked` says why row i of the release is not row i of the original; None when it is.
    """

    original: dict[str, Column]
    released: dict[str, Column]
    original_kept: dict[str, pa.ChunkedArray]
    released_kept: dict[str, pa.ChunkedArray]
    unlinked: str | None = None
    notes: tuple[str, ...] = ()
    # Of the schema's survey weight: those of the original, if it has usable ones, and those of the release.
    weights: tuple[Floats | None, Floats] | None = None

    def __repr__(self) -> str:
        return (
            f"<Pair: {', '.join(self.original)}; rows {'linked' if self.unlinked is None else 'not linked'}>"
        )

    @property
    def numeric(self) -> list[str]:
        return [name for name, column in self.original.items() if isinstance(column, NumericColumn)]

    def before(self, name: str) -> Floats:
        return _values(self.original[name])

    def after(self, name: str) -> Floats:
        return _values(self.released[name])

    def domain(self, name: str) -> Domain:
        column = self.original[name]
        assert isinstance(column, NumericColumn)
        return column.domain


def bring_together(original: pa.Table, released: pa.Table, schema: Schema, *, shuffled: bool = False) -> Pair:
    """Check that one is a release of the other. `shuffled`: its rows are known to be in another order."""
    notes: list[str] = []
    before = as_they_are(original, schema)
    check_scales(before.columns.values())
    visible = [attribute.name for attribute in schema.attributes if attribute.role is not Role.IDENTIFIER]
    _same_columns(released.column_names, visible, schema)
    if released.column_names != visible:
        notes.append("the release has its columns in another order; they were matched by name")
    if released.num_rows != before.records and not shuffled:
        raise DataError(
            "The original and the release have different numbers of rows.",
            "Give the release of this very table (rows that the schema drops are not counted), or say --shuffled "
            "(`shuffled=True`) where its rows are synthetic.",
            detail=f"The original has {before.records:,} usable rows and the release {released.num_rows:,}.",
        )
    try:
        rest = tuple(schema[name].as_released for name in visible)
        after = as_they_are(released, schema.model_copy(update={"attributes": rest}))
    except (DataError, SchemaError) as error:  # there are two files: say which one
        raise type(error)(f"In the release: {error.problem}", error.advice, detail=error.detail) from None
    if after.records != released.num_rows or not after.records:
        raise DataError("The release misses values.", "Give the release as it was written.")
    unlinked = (
        "the rows of the release are shuffled or synthetic (if shuffled, give their order: --order INTERNAL)"
        if shuffled
        else None
    )
    if unlinked is None:
        unlinked = _moved(before.kept, after.kept)
    weights = _weights(original, before, released, schema)
    if weights is not None and weights[0] is None:
        notes.append("the original has no usable weights, so only the release is weighted")
    pair = Pair(before.columns, after.columns, before.kept, after.kept, unlinked, tuple(notes), weights)
    if unlinked is None and _looks_shuffled(pair):
        notes.append(
            "no attribute of the release follows the original: the rows were shuffled (then say --shuffled), "
            "or the noise drowned everything"
        )
    return replace(pair, notes=tuple(notes))


def _weights(
    original: pa.Table, before: Checked, released: pa.Table, schema: Schema
) -> tuple[Floats | None, Floats] | None:
    """Weights that were made from public totals are in the release; those of the original need not be there."""
    if schema.weight is None:
        return None
    weight = _opened(schema.weight)
    after = numeric_column(released.column(weight.name), weight).values
    found: Floats | None = None
    if weight.name in before.columns:
        found = _values(before.columns[weight.name])
    elif weight.name in original.column_names:
        found = numeric_column(original.column(weight.name), weight).values
    return found if found is not None and bool((found > 0).all()) else None, after


def _values(column: Column) -> Floats:
    assert isinstance(column, NumericColumn)
    return column.values


def as_they_are(table: pa.Table, schema: Schema) -> Checked:
    """The columns as they are, not as a policy would clip or refuse them; then the declared domain again."""
    opened = schema.model_copy(update={"attributes": tuple(map(_opened, schema.attributes)), "rules": ()})
    checked = check(table, opened)
    for name, column in checked.columns.items():
        if isinstance(column, NumericColumn) and schema[name].type.ranged:
            step = 1.0 if schema[name].type is AttributeType.INTEGER else column.step
            checked.columns[name] = replace(
                column, attribute=schema[name], domain=schema[name].bounds(), step=step
            )
    return checked


def _opened(attribute: Attribute) -> Attribute:
    if attribute.not_applicable is not None:  # gaps are where they are
        attribute = attribute.model_copy(update={"missing": Missing.OWN_CATEGORY, "not_applicable": None})
    if not (attribute.is_protected and attribute.type.ranged):
        return attribute
    widest = 2.0**53 if attribute.type is AttributeType.DATE else LARGEST_BOUND
    # Another tool's release of whole numbers may have fractions; they are measured, not refused.
    kind = AttributeType.CONTINUOUS if attribute.type is AttributeType.INTEGER else attribute.type
    update: dict[str, object] = {"domain": Domain(lower=-widest, upper=widest), "type": kind}
    if attribute.missing is Missing.IMPUTE:  # the middle of the declared domain, not of the opened one
        update["impute"] = stand_in(attribute, attribute.bounds(), step_of(attribute))
    return attribute.model_copy(update=update)


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
                f"The release has no column '{name}'.", _advice_on_missing(name, columns, visible)
            )
    for name in columns:
        if name not in visible:
            raise SchemaError(
                f"The release has a column '{name}' that the schema does not describe.",
                "Give the schema that the release was made with.",
            )


def _advice_on_missing(name: str, columns: list[str], visible: list[str]) -> str:
    """A renamed column, a column cut off, or another table altogether."""
    if not set(columns) & set(visible):
        return f"The schema is of another table: the release has {shortened(columns)}, the schema {shortened(visible)}."
    unknown = [column for column in columns if column not in visible]
    if not unknown:
        return (
            f"It has {shortened(columns)} only. Give the whole release, or the schema that it was made with."
        )
    return nearest(name, unknown)


def _moved(before: dict[str, pa.ChunkedArray], after: dict[str, pa.ChunkedArray]) -> str | None:
    """Columns that are released untouched show whether the rows are where they were."""
    for name, column in before.items():
        other = after[name]
        if column.type != other.type:
            try:
                other = other.cast(column.type, safe=False)
            except pa.ArrowException:  # text where there were numbers, say
                return f"'{name}' was released untouched, but it holds something else now"
        same = pc.equal(column, other)
        if pa.types.is_floating(column.type):  # NaN equals nothing, not even itself
            same = pc.or_kleene(same, pc.or_kleene(pc.is_nan(column), pc.is_nan(other)))
        if not pc.all(pc.fill_null(same, True)).as_py():
            return f"'{name}' was released untouched, but its values stand in other rows"
    return None


def _looks_shuffled(pair: Pair) -> bool:
    """Whether no released number follows its original beyond what chance allows (4 standard errors)."""
    compared = False
    for name in pair.numeric:
        before, after = pair.before(name), pair.after(name)
        if len(before) < _ENOUGH_ROWS:
            return False
        one, other = before - before.mean(), after - after.mean()
        size = float(np.sqrt(one @ one) * np.sqrt(other @ other))
        if size == 0:  # a constant correlates with nothing
            continue
        compared = True
        if abs(float(one @ other)) / size > 4 / np.sqrt(len(before)):
            return False
    return compared


def check_scales(columns: Iterable[Column]) -> None:
    """Refuse domains so wide or so narrow that sums of squares overflow or underflow. Nobody measures in such units."""
    for column in columns:
        if not isinstance(column, NumericColumn) or column.domain.source is Source.DP:
            continue
        lower, upper = column.domain.lower, column.domain.upper
        if max(abs(lower), abs(upper)) > _LARGEST or upper - lower < _NARROWEST:
            raise ParameterError(
                f"The domain of '{column.attribute.name}' is too wide or too narrow to measure errors in it.",
                f"Choose another unit: bounds up to {number(_LARGEST, 12)}, and at least {number(_NARROWEST, 12)} apart.",
            )
