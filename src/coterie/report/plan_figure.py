"""A picture of a plan: the score of every allocator, and the errors under the chosen one."""

from __future__ import annotations

from coterie.report.style import COLOURS, INK, as_png, new_figure, plain_text
from coterie.statistics.planning.plan import Plan
from coterie.statistics.specification.specification import RelativeTo

MOST_BARS = 40
UNITS = {
    RelativeTo.SCALE: "tolerance, or expected size",
    RelativeTo.SENSITIVITY: "sensitivity",
    RelativeTo.NOTHING: "1",
}


def draw_plan(plan: Plan) -> bytes:
    """PNG: left the scores (with two standard errors), right each target's expected error and 95 % point."""
    rows = [row for row in plan.rows if not row.not_applicable][::-1]
    targets = {target.name: target for target in plan.design.metric.targets}
    errors = [error for error in plan.errors if error.name in targets][:MOST_BARS][::-1]
    figure, axes = new_figure(11.0, max(3.2, 0.26 * max(len(rows), len(errors)) + 1.2), 1, 2)
    left, right = axes[0]
    chosen = [COLOURS[0] if row.allocator == plan.allocator else "#BBBBBB" for row in rows]
    scores = [row.score for row in rows]
    left.errorbar(
        scores, range(len(rows)), xerr=[2 * row.standard_error for row in rows], fmt="none", color=INK
    )
    left.scatter(scores, range(len(rows)), s=30, c=chosen, edgecolors=INK, linewidths=0.5, zorder=3)
    left.set_yticks(range(len(rows)), [row.allocator for row in rows])
    left.grid(axis="x", linewidth=0.3)
    if rows and max(row.score for row in rows) > 20 * min(row.score for row in rows):
        left.set_xscale("log")
    unit = UNITS[plan.specification.relative_to]
    left.set_xlabel(f"score: weighted mean of error ÷ {unit}\n(smaller is better)", fontsize=8)
    left.set_title(f"{plan.specification.budget}, {plan.specification.neighbours}", fontsize=9)
    places = range(len(errors))
    relative = [error.mean / targets[error.name].unit for error in errors]
    far = [error.p95 / targets[error.name].unit for error in errors]
    right.hlines(places, relative, far, color="#BBBBBB", linewidth=1.5)
    right.plot(relative, places, "o", markersize=4, color=COLOURS[0], label="expected error")
    right.plot(far, places, "|", markersize=8, color=COLOURS[1], label="95 % of releases are within")
    right.set_yticks(list(places), [plain_text(error.name) for error in errors], fontsize=7)
    right.set_xlabel(f"absolute error ÷ {unit}\n(numbers at the dots: not divided)", fontsize=8)
    for place, start, error in zip(places, relative, errors, strict=True):
        right.annotate(
            f"{error.mean:.3g}",
            (start, place),
            (-6, 0),
            textcoords="offset points",
            fontsize=7,
            va="center",
            ha="right",
        )
    if min(relative, default=1.0) > 0:
        right.set_xscale("log")
    right.margins(x=0.15)
    right.set_title(f"errors under '{plan.allocator}'", fontsize=9, pad=20)
    right.legend(fontsize=7, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=2)
    return as_png(figure)
