"""What kind of values an attribute holds."""

from __future__ import annotations

from enum import StrEnum


class AttributeType(StrEnum):
    CONTINUOUS = "continuous"
    INTEGER = "integer"
    DATE = "date"  # a number of days in a declared range
    TIMESTAMP = "timestamp"  # a number of seconds in a declared range
    ORDINAL = "ordinal"  # categories with an order: their ranks are numbers
    CATEGORICAL = "categorical"
    BOOLEAN = "boolean"

    @property
    def has_zero(self) -> bool:
        """Whether 0 means nothing of it: a date or a rank counts from a place that somebody chose."""
        return self in (AttributeType.CONTINUOUS, AttributeType.INTEGER)

    @property
    def labelled(self) -> bool:
        """Whether its values are labels without a number of their own."""
        return self in (AttributeType.CATEGORICAL, AttributeType.BOOLEAN)

    @property
    def ranged(self) -> bool:
        """Whether the public domain is a range with two bounds."""
        return self in (
            AttributeType.CONTINUOUS,
            AttributeType.INTEGER,
            AttributeType.DATE,
            AttributeType.TIMESTAMP,
        )
