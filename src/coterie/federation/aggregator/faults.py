"""What the aggregator answers when it does not do as asked: a status, a word for programs, a sentence for people."""

from __future__ import annotations

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
