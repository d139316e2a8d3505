"""A refusal: the reason and the figures that go to the aggregator, signed. Nothing in it depends on the data.

What was wrong with the table is the `__cause__`: it is told on this machine only.
"""

from __future__ import annotations

from coterie.errors import CoterieError
from coterie.federation.errors import Refused

# One sentence for every table, whatever is wrong with it: a second one would be an answer about the data.
UNFIT = "the owner's table could not be protected under this study's description"


class Refusal(Refused):
    def __init__(self, reason: str, figures: dict[str, str]) -> None:
        shown = ", ".join(f"{name} {value}" for name, value in figures.items())
        super().__init__(
            f"Refused: {reason}{f' ({shown})' if shown else ''}.", "Nothing was computed or charged."
        )
        self.reason = reason
        self.figures = figures

    @property
    def told_here(self) -> str | None:
        """For the people at this owner: may name a path, a column, a row."""
        return str(self.__cause__) if isinstance(self.__cause__, CoterieError) else None


def refusal(reason: str, **figures: str) -> Refusal:
    return Refusal(reason, figures)
