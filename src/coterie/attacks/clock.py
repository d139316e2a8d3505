"""The time an audit may take. Attacks ask it between blocks of work."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


class OutOfTime(Exception):
    """Caught by the auditor, which then names what was not run."""


@dataclass(frozen=True, slots=True)
class Clock:
    """`seconds` from now on; None is no limit. `now` can be replaced in tests."""

    seconds: float | None = None
    now: Callable[[], float] = time.monotonic
    _end: float = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        end = float("inf") if self.seconds is None else self.now() + self.seconds
        object.__setattr__(self, "_end", end)

    @property
    def up(self) -> bool:
        return self.now() >= self._end

    def check(self) -> None:
        if self.up:
            raise OutOfTime
