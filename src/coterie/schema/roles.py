"""What happens to a column."""

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
