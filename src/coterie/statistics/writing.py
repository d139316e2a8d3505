"""A release as bytes: CSV for people and spreadsheets, JSON for programs."""

from __future__ import annotations

import csv
import io
import json

from coterie.statistics.releasing import StatisticsRelease
from coterie.statistics.statistics_certificate import promise


def as_csv(made: StatisticsRelease) -> bytes:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["name", "what", "value", "lower_95", "upper_95", "expected_absolute_error"])
    for value in made.values:
        what = "equation" if value.is_equation else "statistic"
        numbers = [repr(n) for n in (value.value, value.lower, value.upper, value.expected_error)]
        writer.writerow([value.name, what, *numbers])
    return buffer.getvalue().encode()


def as_json(made: StatisticsRelease) -> bytes:
    content = {
        "release": made.plan.specification.release,
        "guarantee": promise(made.plan.specification, made.plan.as_in_paper, made.private).label,
        "plan": made.plan.digest,
        "values": [
            {
                "name": value.name,
                "what": "equation" if value.is_equation else "statistic",
                "value": value.value,
                "lower_95": value.lower,
                "upper_95": value.upper,
                "expected_absolute_error": value.expected_error,
            }
            for value in made.values
        ],
    }
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
