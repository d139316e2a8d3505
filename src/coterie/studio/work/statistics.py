"""Find the best split, or the smallest budget for the stated tolerances. The data are not opened."""

from __future__ import annotations

from typing import Any

from coterie.schema.exact import as_text
from coterie.statistics import Plan, Specification, plan, read_specification, solve_budget
from coterie.statistics.planning.by_hand import BY_HAND
from coterie.statistics.planning.planner import MOST_TARGETS_FOR_LOSSES
from coterie.studio.desk.desk import EVEN, Desk, specification_text
from coterie.studio.project import Project
from coterie.studio.work import Tell


def statistics(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`parameters`: seen (the desk's version), allocator, solve. The desk takes the split if nobody has changed it."""
    desk = Desk(project)
    before = desk.specification()
    if parameters["solve"]:
        tell(None, "Looking for the smallest budget that keeps the tolerances")
        specification, chosen, rule = _solved(desk, before)
    else:
        specification, rule = before, parameters["allocator"]
        chosen = None
    tell(0.3, "Splitting the budget, and comparing with other ways")
    compare = None if len(before.statistics) + len(before.equations) <= MOST_TARGETS_FOR_LOSSES else (EVEN,)
    compared = plan(specification, EVEN if rule == BY_HAND else rule, compare=compare)
    chosen = chosen or compared
    desk.use(parameters["seen"], specification.document, chosen, rule)
    return {
        "specification": specification.digest,
        "rule": rule,
        "before": str(before.budget),
        "after": str(specification.budget),
        "rows": [
            {
                "allocator": row.allocator,
                "title": row.title,
                "score": None if row.not_applicable else row.score,
                "not_applicable": row.not_applicable,
                "errors": [error.mean for error in row.errors],
            }
            for row in compared.rows
        ],
        "targets": [error.name for error in compared.errors],
        "losses": [[loss.off_by, loss.mean_loss, loss.worst_loss] for loss in compared.guess_losses],
    }


def _solved(desk: Desk, before: Specification) -> tuple[Specification, Plan | None, str]:
    """The specification with the budget that was found, and the split that keeps the tolerances under it."""
    found = solve_budget(before)
    budget = found.specification.budget
    parts = {"epsilon": budget.epsilon, "rho": budget.rho, "delta": budget.delta}
    stated = {name: as_text(value) for name, value in parts.items() if value is not None}
    text = specification_text(desk.project, {**desk.document, "budget": stated})
    specification = read_specification(text, desk.project.schema())
    # Another total can make other measurements the better ones; the split found then has no meaning.
    same = set(found.split) == set(plan(specification, EVEN, report_losses=False).split)
    return (specification, found, BY_HAND) if same else (specification, None, "gradient")
