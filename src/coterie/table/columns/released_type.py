"""The door out: which type a released column has, from the schema alone.

How the input stored the column plays no part: one cell with another decimal place, a gap or a fraction would change that,
and the release would show the cell without noise. Only a column whose gaps are a category of their own may hold nulls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from coterie.schema.attributes import Attribute, AttributeType, Missing

_TYPES = {
    AttributeType.CONTINUOUS: pa.float64(),
    AttributeType.INTEGER: pa.int64(),
    AttributeType.DATE: pa.date32(),
    AttributeType.TIMESTAMP: pa.timestamp("us"),
    AttributeType.BOOLEAN: pa.bool_(),
}
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # as int64 writes it: 007 and -0 stay text


def released_field(attribute: Attribute, labels: Sequence[str] = ()) -> pa.Field:
    """Name, type and nullability of a protected column; `labels` are all labels of its domain."""
    nullable = attribute.missing is Missing.OWN_CATEGORY
    return pa.field(attribute.name, _TYPES.get(attribute.type) or _of_labels(labels), nullable=nullable)


def _of_labels(labels: Sequence[str]) -> pa.DataType:
    return pa.int64() if all(map(_WHOLE.fullmatch, labels)) else pa.string()
