"""A refusal: the reason and the figures that go to the aggregator, signed. Never a value of the data."""

from __future__ import annotations

from coterie.federation.errors import Refused


class Refusal(Refused):
    def __init__(self, reason: str, figures: dict[str, str]) -> None:
        shown = ", ".join(f"{name} {value}" for name, value in figures.items())
        super().__init__(
            f"Refused: {reason}{f' ({shown})' if shown else ''}.", "Nothing was computed or charged."
        )
        self.reason = reason
        self.figures = figures


def refusal(reason: str, **figures: str) -> Refusal:
    return Refusal(reason, figures)
