"""Released statistics as one HTML page that opens offline: the promise, the tables, error bars, the plan, how to verify.

Everything on it comes from the released file, its certificate and the specification; nothing from the data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

import pyarrow as pa

from coterie.methods.guarantee import Guarantee, Status
from coterie.promise.posterior import DP, odds_in_words
from coterie.report.charts import Figure, IntervalRow, intervals, percent
from coterie.report.charts.figure import page, page_style
from coterie.report.charts.inline import interval_mark, meter
from coterie.report.plan_figure import scores_figure
from coterie.report.rendering import rendered
from coterie.schema.exact import as_text, brief, number
from coterie.statistics.planning.choosing import ReleaseRequest, plan
from coterie.statistics.planning.plan import Plan
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.releasing.released_files import Published
from coterie.statistics.releasing.tidy_table import EQUATION, LOWER, UPPER, all_mark, group_columns, rows_of
from coterie.statistics.specification.specification import Notion, Specification

MOST_ROWS = 40  # of what was measured
MOST_BARS = 120  # of a chart
MOST_CELLS = 600  # of a table on the page
_ALL_WORDS = "all"
_KINDS = {
    "count": "number of records",
    "weighted count": "weighted number of records",
    "weighted proportion": "weighted share of records with {}",
    "std": "standard deviation of {}",
    "proportion": "share of records with {}",
    "quantile": "quantile, {}",
    "trimmed_mean": "trimmed mean of {}",
    "count_distinct": "number of different values of {}",
    "slope": "slope of the regression of {}",
    "intercept": "intercept of the regression of {}",
}
_BARS = (
    "count",
    "sum",
    "proportion",
    "weighted count",
    "weighted sum",
    "weighted proportion",
)  # begin at zero
_DELTA = Fraction(1, 10**9)  # of the sentence about ρ, which has no δ of its own
_DOUBLED = (
    "neighbours differ by one record that is there or not; a person's answer changes by two such steps, and the limit "
    "above counts both"
)
Row = dict[str, Any]


def statistics_page(published: Published) -> str:
    """The whole page."""
    request = published.request
    assert request is not None
    view = _View(published, request.paid)
    certificate = published.certificate
    chosen = _compared(request)
    compared = scores_figure(chosen) if chosen is not None and len(chosen.rows) > 1 else None
    left = len(certificate.measurements) - MOST_ROWS
    budget = view.specification.budget
    body = rendered(
        "statistics.html.j2",
        "The page of a release",
        {
            "brief": lambda text: brief(Fraction(text)),
            "number": lambda text: number(float(text)),
            "share": lambda text: float(Fraction(text) / budget.total),
            "percent": percent,
            "meter": meter,
        },
        published=published,
        certificate=certificate,
        issued=f"{datetime.fromisoformat(certificate.issued):%d %B %Y}",
        population=view.specification.population,
        figures=len(view.frame),
        large=bool(view.large),
        odds=_odds(view.specification, Status(certificate.guarantee.status)),
        doubled="" if view.specification.neighbours.size_is_public else _DOUBLED,
        singles=view.singles(),
        blocks=view.blocks(),
        equations=view.listed([row for row in view.rows if row["kind"] == EQUATION]),
        all_words=_ALL_WORDS,
        spent=_spent(view.specification, chosen),
        currency=budget.currency,
        measured=certificate.measurements[:MOST_ROWS],
        more_measured=f"{left:,} more are on the certificate." if left > 0 else "",
        strategies=[] if chosen is None else _strategies(chosen),
        alternatives=compared,
        notes=certificate.notes,
        commands=_commands(published),
    )
    return page(f"Statistics: {certificate.release}", body, page_style())


def _compared(request: ReleaseRequest) -> Plan | None:
    """The plan once more, with every other allocator. None where it rests on a pilot, on the data, or on a hand."""
    if request.specification.pilot or request.as_in_paper:
        return None
    solve, split = request.solve, request.split or None
    return plan(request.specification, request.allocator, None, False, solve=solve, split=split)


def _odds(specification: Specification, status: Status) -> str:
    """How much surer of a fact an attacker can become: two steps under add-remove, where a fact changes by both."""
    if not status.proof:
        return ""
    budget = specification.budget
    twice = 1 if specification.neighbours.size_is_public else 2
    pure = budget.notion is Notion.PURE
    said = Guarantee(
        model=DP,
        value=as_text(budget.total * twice),
        status=status,
        scope="these figures",
        label="",
        assumptions=(),
        citation="",
        delta=None if pure else as_text(budget.delta or _DELTA),
        rho=None if pure else as_text(budget.total * twice**2),
    )
    return odds_in_words(said)


@dataclass(frozen=True)
class _View:
    published: Published
    specification: Specification

    @cached_property
    def rows(self) -> list[Row]:
        """Every figure; of a large table only as many as the page shows."""
        found, names = self.frame, self.frame.column("statistic").to_pylist() if self.large else []
        kept = [found.slice(names.index(name), MOST_CELLS) for name in self.large]
        others = found.filter([name not in self.large for name in names]) if self.large else found
        return rows_of(pa.concat_tables([others, *kept]))

    @cached_property
    def frame(self) -> pa.Table:
        return self.published.to_frame()

    @cached_property
    def large(self) -> dict[str, int]:
        """The number of cells of each table that only the file holds."""
        return {s.name: s.table.cells for s in self.specification.statistics if s.table is not None}

    @cached_property
    def groups(self) -> dict[str, str]:
        return group_columns(self.specification)

    @cached_property
    def everyone(self) -> str:
        return all_mark(self.specification)

    def singles(self) -> list[dict[str, str]]:
        """Statistics of one figure each."""
        return self.listed([rows[0] for rows in self.families() if len(rows) == 1])

    def families(self) -> list[list[Row]]:
        """The figures of each statistic."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            if row["kind"] != EQUATION:
                found.setdefault(row["statistic"], []).append(row)
        return list(found.values())

    def listed(self, rows: Iterable[Row]) -> list[dict[str, str]]:
        return [
            {
                "name": row["name"],
                "value": shown(row),
                "interval": interval(row),
                "words": row["of"] if row["kind"] == EQUATION else self.words(row, self.groups.values()),
            }
            for row in rows
        ]

    def words(self, row: Row, fixed: Iterable[str]) -> str:
        """What a figure is, and which records it is about."""
        said = _KINDS.get(row["kind"], f"{row['kind']} of {{}}").format(row["of"])
        unit = self.unit(row)
        where = [f"{name} = {self.head(row[name], name)}" for name in fixed if row[name] != self.everyone]
        return said + (f" ({unit})" if unit else "") + (f", where {', '.join(where)}" if where else "")

    def unit(self, row: Row) -> str:
        if row["kind"] not in ("sum", "mean", "weighted mean", "trimmed_mean", "std", "median", "quantile"):
            return ""
        columns = self.specification[row["name"]].columns
        return (self.specification.schema[columns[0]].unit or "") if len(columns) == 1 else ""

    def blocks(self) -> list[dict[str, Any]]:
        """One picture or table per statistic with several groups."""
        found = []
        for rows in self.families():
            if len(rows) > 1:
                varying = [name for name in self.groups.values() if len({row[name] for row in rows}) > 1]
                fixed = [name for name in self.groups.values() if name not in varying]
                words = self.words(rows[0], fixed)
                block = {
                    "name": rows[0]["statistic"],
                    "title": _title(words, varying),
                    "figure": None,
                    "more": "",
                }
                if block["name"] in self.large:
                    more = f"All {self.large[str(block['name'])]:,} cells are in the released file."
                    found.append({**block, **self.table(rows, varying), "more": more})
                elif len(varying) == 1 and len(rows) <= MOST_BARS:
                    found.append({**block, "figure": self.chart(rows, varying[0], words)})
                else:
                    found.append({**block, **self.table(rows, varying)})
        return found

    def chart(self, rows: Sequence[Row], group: str, words: str) -> Figure:
        drawn = [
            IntervalRow(
                self.head(row[group], group),
                row["value"],
                row[LOWER],
                row[UPPER],
                said=shown(row),
                note=f"({interval(row)})",
            )
            for row in rows
        ]
        figure = intervals(drawn, axis=words, caption="", first=group, bars=rows[0]["kind"] in _BARS)
        return replace(figure, keys=())  # all pictures of the page are drawn alike

    def head(self, value: str, group: str = "") -> str:
        """A group as people read it: a code in the words that the schema has for it."""
        return _ALL_WORDS if value == self.everyone else self._words_of.get(group, {}).get(value, value)

    @cached_property
    def _words_of(self) -> dict[str, dict[str, str]]:
        """What the codes of each group column mean."""
        schema = self.specification.schema
        return {shown_as: schema[column].meanings for column, shown_as in self.groups.items()}

    def table(self, rows: Sequence[Row], varying: Sequence[str]) -> dict[str, Any]:
        """The column with the fewest groups across, the others down; margins where they were published."""
        first, names = rows[0], list(self.groups.values())
        values = {name: list(dict.fromkeys(row[name] for row in rows)) for name in varying}
        across = min(varying, key=lambda name: len(values[name])) if len(varying) > 1 else None
        down = [name for name in varying if name != across]
        cells = {
            tuple(row[name] for name in names): row
            for row in self.rows
            if (row["kind"], row["of"]) == (first["kind"], first["of"])
        }

        def find(heads: Mapping[str, str]) -> Row | None:
            return cells.get(tuple(heads.get(name, first[name]) for name in names))

        columns = [""] if across is None else _with(values[across], self.everyone)
        lines = [*itertools.product(*(values[name] for name in down))]
        if len(down) == 1:
            lines = [(value,) for value in _with(values[down[0]], self.everyone)]
        fitting = lines[: max(MOST_CELLS // len(columns), 1)]
        grid = []
        for line_ in fitting:
            here = dict(zip(down, line_, strict=True))
            found = [find(here if across is None else {**here, across: value}) for value in columns]
            if any(found):
                grid.append((line_, found))
        used = [place for place in range(len(columns)) if any(found[place] for _, found in grid)]
        left = len(lines) - len(fitting)
        ends = min(0.0, *(float(row[LOWER]) for row in rows)), max(float(row[UPPER]) for row in rows)
        return {
            "stub": down,
            "across": across or "",
            "heads": [self.head(columns[place], across) if across else "value" for place in used],
            "rows": [
                {
                    "heads": [self.head(value, name) for name, value in zip(down, line_, strict=True)],
                    "margin": self.everyone in line_,
                    "cells": [
                        self.cell(found[place], ends, self.everyone in (*line_, columns[place]))
                        for place in used
                    ],
                }
                for line_, found in grid
            ],
            "more": f"{left:,} more lines are in the released file." if left else "",
        }

    def cell(self, row: Row | None, ends: tuple[float, float], margin: bool) -> dict[str, Any] | None:
        if row is None:
            return None
        value, lower, upper = (float(row[key]) for key in ("value", LOWER, UPPER))
        # A margin lies beyond its cells.
        bar = "" if margin else interval_mark(value, lower, upper, *ends)
        return {"value": shown(row), "interval": interval(row), "margin": margin, "bar": bar}


def shown(row: Row) -> str:
    return _number(float(row["value"]), row)


def interval(row: Row) -> str:
    if not row.get("measurements", "measured"):
        return "public"
    return f"{_number(float(row[LOWER]), row)} to {_number(float(row[UPPER]), row)}"


def _number(value: float, row: Row) -> str:
    """Write as many digits as the interval leaves: two of its width."""
    width = float(row[UPPER]) - float(row[LOWER])
    if row["kind"] == "count" or all(float(row[part]).is_integer() for part in ("value", LOWER, UPPER)):
        digits = 0
    else:
        digits = 4 if width == 0 else max(0, 1 - math.floor(math.log10(width)))
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


def _spent(specification: Specification, chosen: Plan | None) -> str:
    """The budget in a sentence."""
    words = f"The whole budget is {specification.budget}."
    if chosen is not None and chosen.design.parallel:
        words += (
            " Groups that share no record are paid for in parallel, so shares may add up to more than 100 %."
        )
    joint = chosen is not None and any(isinstance(m, JointMeasurement) for m in chosen.design.measurements)
    if joint:
        words += " Counts over several columns are measured together under one share, and every table is added up from them."
    return words


def _strategies(chosen: Plan) -> list[dict[str, str]]:
    """Where numbers were measured together: the strategies that were compared."""
    found = []
    for m in chosen.design.measurements:
        if isinstance(m, JointMeasurement):
            others = [
                f"{name}: " + ("as good" if times < 1.005 else f"errors {number(times)} times as large")
                for name, times in sorted(m.tried.items(), key=lambda entry: entry[1])
                if name != m.strategy and math.isfinite(times)
            ]
            measured = m.name.rpartition(" (")[0]
            found.append({"name": measured, "chosen": m.strategy, "others": "; ".join(others) or "none"})
    return found


def _title(words: str, varying: Sequence[str]) -> str:
    what, comma, where = words.partition(", where ")
    return f"{what[:1].upper()}{what[1:]} by {' and '.join(varying)}{comma}{where}"


def _with(values: Sequence[str], everyone: str) -> list[str]:
    """All of them last."""
    return [*(value for value in values if value != everyone), everyone]


def _commands(published: Published) -> str:
    files = [published.path] + ([] if published.raw_path is None else [published.raw_path])
    return "\n".join(f"coterie stats verify {file.name} {file.name}.certificate.json" for file in files)
