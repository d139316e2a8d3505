"""Released values and kept columns as rows of the release: order, names and types are those of the schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.schema.attributes import Role, Schema
from coterie.table.columns.column import Column, released_field


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    layout: Any  # Spark's
    order: tuple[str, ...]
    restore: dict[str, Callable[[NDArray[Any]], pa.Array]]
    raked: str | None = None  # the weight that is made from public totals

    @classmethod
    def of(cls, frame: Any, schema: Schema, likes: Sequence[Column]) -> ReleasedRows:
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructField, StructType

        restore = {like.attribute.name: like.restore for like in likes}
        kept = {attribute.name for attribute in schema.with_role(Role.KEEP)}
        made = [] if schema.raked is None else [schema.raked]
        released = {*restore, *(a.name for a in made)}
        order = tuple(a.name for a in schema.attributes if a.name in released or a.name in kept)
        typed = [*(like.field for like in likes), *map(released_field, made)]
        given = from_arrow_schema(pa.schema(typed), prefer_timestamp_ntz=True)
        fields = [given[name] if name in released else frame.schema[name] for name in order]
        layout = StructType([StructField(f.name, f.dataType, f.nullable) for f in fields])
        return cls(layout, order, restore, made[0].name if made else None)

    def batch(
        self, values: Sequence[NDArray[Any]], kept: pa.RecordBatch | None, weights: Floats | None = None
    ) -> pa.RecordBatch:
        """`values` attribute by attribute, in the order of the schema's protected ones."""
        found = {} if kept is None else dict(zip(kept.schema.names, kept.columns, strict=True))
        for (name, restore), value in zip(self.restore.items(), values, strict=True):
            found[name] = restore(value)
        if self.raked is not None:
            found[self.raked] = pa.array(weights)
        arrays = [found[name] for name in self.order]
        return pa.RecordBatch.from_arrays(arrays, names=list(self.order))
