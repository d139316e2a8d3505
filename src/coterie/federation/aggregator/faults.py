"""What the aggregator answers when it does not do as asked: a status, a word for programs, a sentence for people."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Any

from coterie.federation.errors import Conflict, FederationError


class Fault(Exception):
    def __init__(self, status: int, error: str, problem: str, advice: str = "", **extra: Any) -> None:
        super().__init__(problem)
        self.status = status
        self.content: dict[str, Any] = {"error": error, "problem": problem, "advice": advice, **extra}


def unauthorised() -> Fault:
    """No detail: whoever guesses must not learn which part was wrong."""
    return Fault(401, "unauthorised", "The request is not accepted.")


def not_found() -> Fault:
    return Fault(404, "not found", "There is no such study for you.")


def fault_of(error: FederationError) -> Fault:
    if isinstance(error, Conflict):
        return Fault(409, "conflict", error.problem, error.advice)
    return Fault(422, "unacceptable", error.problem, error.advice)


# Complaints of the aggregator about its machine: in the log once a minute, not at each of many attempts.
#
# A log that repeats itself twice a second would fill the very disk that it says is full.

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
