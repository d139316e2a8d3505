"""Bounds as numbers: plain ones, dates as days since 1970-01-01, timestamps as seconds since then (UTC)."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta

# Sums over a billion records of this size stay finite in double precision.
LARGEST_BOUND = 1e290
_DAY_ONE = date(1970, 1, 1)


def as_number(value: object) -> float:
    """A bound written as a number, a date or a timestamp (ISO text or Python value)."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return float((value - _DAY_ONE).days)
    if isinstance(value, bool) or value is None:
        raise ValueError("a bound must be a number or a date")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return as_number(_moment(str(value)))
    if not math.isfinite(number) or abs(number) > LARGEST_BOUND:
        raise ValueError(f"a bound must be finite and below {LARGEST_BOUND:g}")
    return number + 0.0  # -0.0 becomes 0.0


def _moment(text: str) -> date | datetime:
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("a bound must be a number, or a date such as 2026-01-31") from None


def typed_bound(value: object, *, timestamp: bool) -> object:
    """A bound of a date or a timestamp attribute as the right kind of moment: 2000-01-01 can mean either."""
    moment = _moment(value) if isinstance(value, str) and not _is_number(value) else value
    if timestamp and isinstance(moment, date) and not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if not timestamp and isinstance(moment, datetime):
        raise ValueError("the bound of a date is a date such as 2026-01-31, without a time")
    return moment


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_date(days: float) -> str:
    return (_DAY_ONE + timedelta(days=int(days))).isoformat()


def as_timestamp(seconds: float) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).isoformat()
