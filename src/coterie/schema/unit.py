"""The privacy unit: whom a promise is made to, where a person or household has several rows.

    unit: {column: household, at_most: 4}

Of a larger unit some rows are left out (`above: truncate`), or the table is refused (`above: refuse`). `at_most` is public:
it comes from public knowledge, never from the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from coterie.schema.domain import Frozen


class Above(StrEnum):
    """What happens to a unit with too many rows. The values are those of `coterie.promise.loss.Loss.policy`."""

    TRUNCATE = "truncate"  # of each such unit some rows are kept: the promise holds for every table
    REFUSE = "refuse"  # the table is refused, which depends on the data: the promise is conditional


def _whole(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(
            "this is the largest number of rows that one unit counts with: a whole number from 1 up, such as 4. "
            "Write the usual size; `coterie recommend --unit-size` then chooses the best"
        )
    return value


class PrivacyUnit(Frozen):
    """A column that says which rows belong together, and how many rows of one unit count."""

    column: str
    at_most: Annotated[int, BeforeValidator(_whole)]
    above: Above = Above.TRUNCATE
    name: str = ""  # one word for certificates and ledgers; default: the column's name

    @model_validator(mode="after")
    def _one_word(self) -> Self:
        if self.name and (not self.name.isidentifier() or self.name == "row"):
            raise ValueError("the name of a unit is one word, such as household or person")
        return self

    @property
    def word(self) -> str:
        return self.name or self.column

    @property
    def rows(self) -> str:
        """How many rows one has, in words."""
        return f"at most {self.at_most} row{'s' if self.at_most > 1 else ''}"


def check_unit(unit: PrivacyUnit, roles: Mapping[str, str]) -> None:
    """The column is described, and dropped from every release."""
    if unit.column not in roles:
        raise ValueError(
            f"unit: no attribute is named '{unit.column}'; describe that column with `role: identifier`"
        )
    if roles[unit.column] != "identifier":
        raise ValueError(
            f"unit: '{unit.column}' has `role: {roles[unit.column]}`, but the column of the unit is never released; "
            "write `role: identifier`"
        )
