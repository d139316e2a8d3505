"""Single fields of a specification → values. Each fault says where it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeVar

from coterie.errors import ParameterError, nearest
from coterie.schema import exact
from coterie.schema.exact import parse_epsilon

Choice = TypeVar("Choice", bound=StrEnum)


def members(content: Mapping[Any, Any], known: Iterable[str], where: str) -> None:
    """Refuse entries that mean nothing."""
    known = list(known)
    for entry in content:
        if entry not in known:
            raise ParameterError(f"{where} has an unknown entry '{entry}'.", nearest(str(entry), known))


def one_of(value: object, choices: type[Choice], where: str, unwritten: Sequence[Choice] = ()) -> Choice:
    """The choice of this name; `unwritten` ones stand in no specification."""
    if isinstance(value, choices):
        return value
    known = [choice.value for choice in choices if choice not in unwritten]
    if value is None:
        raise ParameterError(f"{where} is missing.", f"Choose one of: {', '.join(known)}.")
    if str(value) not in known:
        raise ParameterError(f"{where} is not one that Coterie knows.", nearest(str(value), known))
    return choices(str(value))


def number_of(value: object, where: str, at_least: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ParameterError(f"{where} is not a number.", "Write a number.")
    try:
        number = float(value)
    except ValueError:
        raise ParameterError(f"{where} is not a number.", "Write a number.") from None
    if not math.isfinite(number) or number < at_least:
        least = f" of at least {exact.number(at_least, 12)}" if math.isfinite(at_least) else ""
        raise ParameterError(f"{where} is out of range.", f"Write a finite number{least}.")
    return number


def positive_of(value: object, where: str) -> float | None:
    """An optional positive number."""
    if value is None:
        return None
    number = number_of(value, where)
    if number <= 0:
        raise ParameterError(f"{where} must be greater than 0.", "Write a positive number.")
    return number


def positive_integer(value: object, where: str, at_least: int = 1) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise ParameterError(f"{where} must be a whole number of at least {at_least}.", "Correct that entry.")
    return value


def floor_of(content: object) -> Fraction:
    return Fraction(0) if content in (None, 0, "0") else parse_epsilon(content, "floor")  # type: ignore[arg-type]


def fairness_of(content: object) -> float | None:
    return None if content is None else number_of(content, "`fairness`", at_least=1.0)


def pilot_of(content: object) -> Fraction:
    if content in (None, 0, "0"):
        return Fraction(0)
    share = parse_epsilon(content, "pilot")  # type: ignore[arg-type]
    if share > Fraction(1, 2):
        raise ParameterError("The pilot would take more than half of the budget.", "Use about 0.1.")
    return share


def name_of(document: Mapping[str, Any], key: str, default: str) -> str:
    name = document.get(key, default)
    if name is None or not str(name).strip():
        raise ParameterError(f"`{key}` is empty.", "Write a name, or leave out the entry.")
    return str(name)
