"""Complaints of the aggregator about its machine: in the log once a minute, not at each of many attempts.

A log that repeats itself twice a second would fill the very disk that it says is full.
"""

from __future__ import annotations

import logging
import time

_SECONDS = 60.0
_last: dict[str, float] = {}
log = logging.getLogger("coterie.aggregator")


def complain(text: str) -> None:
    moment = time.monotonic()
    if text not in _last or moment - _last[text] >= _SECONDS:
        _last[text] = moment
        log.error(text)
