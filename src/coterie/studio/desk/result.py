"""A released file read back: values with their intervals, and whether file and certificate belong together."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

from coterie.errors import CoterieError
from coterie.statistics.statistics_certificate import StatisticsCertificate
from coterie.studio.charts.figure import Figure
from coterie.studio.charts.intervals import Bar, interval_bars
from coterie.studio.desk.desk import ReleasedStatistics

_MOST_BARS = 40


@dataclass(frozen=True, slots=True)
class Value:
    name: str
    what: str
    value: float
    lower: float
    upper: float
    error: float


@dataclass(frozen=True, slots=True)
class Result:
    values: tuple[Value, ...]
    certificate: StatisticsCertificate | None
    verified: bool
    problem: str


def read_result(entry: ReleasedStatistics) -> Result:
    try:
        content = Path(entry.data).read_bytes()
        certificate = StatisticsCertificate.from_json(Path(entry.certificate).read_bytes())
        values = tuple(_values(content, Path(entry.data).suffix))
    except OSError as error:
        return Result((), None, False, f"A file of this release cannot be read ({error.strerror}).")
    except (CoterieError, ValueError, KeyError):
        return Result((), None, False, "The released file or its certificate was changed and cannot be read.")
    if hashlib.sha256(content).hexdigest() != certificate.digest.value:
        return Result(values, certificate, False, "The file was changed after it was certified.")
    return Result(values, certificate, True, "")


def figures_of(result: Result) -> list[Figure]:
    """One figure for each statistic with several groups: only these share a unit, and so an axis."""
    families: dict[str, list[Value]] = {}
    for value in result.values:
        base, bracket, _ = value.name.partition("[")
        if bracket:
            families.setdefault(base, []).append(value)
    return [
        interval_bars(
            [Bar(_label(value.name), value.value, value.lower, value.upper) for value in values],
            axis=base,
            caption=f"{base}, as released, with the 95 % interval of each group.",
            first="Group",
        )
        for base, values in families.items()
        if 2 <= len(values) <= _MOST_BARS
    ]


def _label(name: str) -> str:
    return name.partition("[")[2].removesuffix("]")


def _values(content: bytes, suffix: str) -> list[Value]:
    text = content.decode("utf-8")
    rows = json.loads(text)["values"] if suffix == ".json" else list(csv.DictReader(io.StringIO(text)))
    return [
        Value(
            row["name"],
            row["what"],
            *(float(row[key]) for key in ("value", "lower_95", "upper_95", "expected_absolute_error")),
        )
        for row in rows
    ]
