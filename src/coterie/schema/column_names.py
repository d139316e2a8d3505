"""Names of columns: each one text, none empty, none twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from coterie.errors import DataError, shortened


def check_names(names: Iterable[object]) -> None:
    listed = list(names)
    for position, name in enumerate(listed, start=1):
        if not isinstance(name, str):
            raise DataError(
                f"Column {position} is named by a {type(name).__name__}, not by text.",
                "Rename the columns to text, as the schema does.",
            )
        if not name:
            raise DataError(
                f"Column {position} has no name.",
                "Name every column in the first line of the file or sheet, with no title above it (row numbers too).",
            )
    twice = [name for name, count in Counter(listed).items() if count > 1]
    if twice:
        shown = shortened([f"'{name}'" for name in twice], 5)
        raise DataError(f"More than one column is named {shown}.", "Give each column its own name.")
