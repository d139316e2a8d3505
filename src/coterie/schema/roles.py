"""What happens to a column, to its empty cells, and to values beyond its domain."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What happens to a column: it goes through the method, is always dropped, is released untouched, or is a weight.

    Examples
    --------
    >>> import coterie
    >>> [role.value for role in coterie.Role]
    ['protect', 'identifier', 'keep', 'weight']
    """

    PROTECT = "protect"  # goes through the method
    IDENTIFIER = "identifier"  # always dropped
    KEEP = "keep"  # released untouched, and named on the certificate
    WEIGHT = (
        "weight"  # for how many people a row stands: protected as a number, and estimates are weighted by it
    )


class Missing(StrEnum):
    ERROR = "error"
    # Missing is an outcome like any other: measured, and released.
    OWN_CATEGORY = "own category"
    IMPUTE = "impute"  # a public value of the domain stands in


class Outside(StrEnum):
    ERROR = "error"
    CLIP = "clip"
