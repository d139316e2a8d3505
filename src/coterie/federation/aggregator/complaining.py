"""Complaints of the aggregator about its machine: in the log once a minute, not at each of many attempts.

A log that repeats itself twice a second would fill the very disk that it says is full.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

_SECONDS = 60.0
log = logging.getLogger("coterie.aggregator")


@dataclass(frozen=True)
class Complaints:
    """What one aggregator complained about, and when."""

    _last: dict[str, float] = field(default_factory=dict)

    def say(self, text: str) -> None:
        moment = time.monotonic()
        if text not in self._last or moment - self._last[text] >= _SECONDS:
            self._last[text] = moment
            log.error(text)
