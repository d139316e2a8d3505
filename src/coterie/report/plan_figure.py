"""A picture of a plan: the score of every allocator, and the errors under the chosen one."""

from __future__ import annotations

from dataclasses import replace

from coterie.report.charts import Figure, IntervalRow, intervals
from coterie.schema.exact import number
from coterie.statistics.planning.plan import Plan
from coterie.statistics.specification.specification import RelativeTo

MOST_ROWS = 40
UNITS = {
    RelativeTo.SCALE: "tolerance, or expected size",
    RelativeTo.SENSITIVITY: "sensitivity",
    RelativeTo.NOTHING: "1",
}


def scores_figure(plan: Plan) -> Figure:
    """The score of every allocator, with two standard errors."""
    rows = [row for row in plan.rows if not row.not_applicable]
    return intervals(
        [
            IntervalRow(
                row.allocator,
                row.score,
                max(row.score - 2 * row.standard_error, 0.5 * row.score),
                row.score + 2 * row.standard_error,
                look=("star", 3) if row.allocator == plan.allocator else ("circle", 7),
            )
            for row in rows
        ],
        axis="score (smaller is better)",
        caption=f"Score: the weighted mean of error ÷ {UNITS[plan.specification.relative_to]}.",
        log=bool(rows) and max(row.score for row in rows) > 20 * min(row.score for row in rows) > 0,
        first="allocator",
        interval="two standard errors",
        looks=[("chosen allocator", ("star", 3)), ("other allocators", ("circle", 7))],
    )


def plan_figure(plan: Plan) -> Figure:
    """First the scores, then each target's expected error and 95 % point."""
    unit = UNITS[plan.specification.relative_to]
    scores = scores_figure(plan)
    targets = {target.name: target for target in plan.design.metric.targets}
    errors = [error for error in plan.errors if error.name in targets][:MOST_ROWS]
    drawn = [
        IntervalRow(
            error.name,
            error.mean / targets[error.name].unit,
            mark=error.p95 / targets[error.name].unit,
            said=number(error.mean),
        )
        for error in errors
    ]
    expected = intervals(
        drawn,
        axis="relative error (on the right: absolute)",
        caption="",
        mark_words="95 % of releases are within",
        looks=[("expected error", ("circle", 1))],
        log=all(row.value > 0 for row in drawn),
        first="statistic",
    )
    caption = (
        f"{plan.specification.budget}, {plan.specification.neighbours}. Above: the score of every allocator, which is "
        f"the weighted mean of relative errors. Below: expected errors of the statistics under '{plan.allocator}'. "
        f"Relative: divided by {unit}."
    )
    more = f" {len(plan.errors) - MOST_ROWS} more are not drawn." if len(plan.errors) > MOST_ROWS else ""
    return replace(
        scores,
        panels=scores.panels + expected.panels,
        caption=caption + more,
        headings=("", "value", "", ""),
        rows=tuple((*row, "") for row in scores.rows)
        + tuple((name, value, "95 % within", far) for name, value, far in expected.rows),
        keys=scores.keys + expected.keys,
        title=f"Plan: {plan.specification.budget}",
    )
