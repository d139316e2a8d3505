"""Shares and predicted errors, as the page and its script show them. Every number is the library's."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.budget import as_text
from coterie.statistics import Plan
from coterie.statistics.accounting import currency
from coterie.statistics.moving import grid_of
from coterie.statistics.predicted_error import Basis, PredictedError
from coterie.studio.desk.desk import Desk, even_plan


def shown(desk: Desk) -> dict[str, Any]:
    """Ready for JSON: who gets how much, and how far each number will probably be off."""
    chosen = desk.plan()
    even, design = even_plan(chosen.specification), chosen.design
    total, feasible = float(design.total), design.feasible
    used = feasible.used(np.array([float(budget) for budget in chosen.budgets]))
    return {
        "version": desk.state.version,
        "plan": chosen.digest,
        "unit": currency(chosen.specification.budget),
        "total": as_text(design.total),
        "total_number": total,
        "total_shown": number(total),
        "used_shown": number(used),
        "parallel": design.parallel,
        "step": as_text(grid_of(design)),
        "score": chosen.score,
        "score_words": _score(chosen.score, even.score),
        "rule": desk.state.rule,
        "shares": _shares(desk, chosen, total),
        "errors": [
            _error(error, start, target, uses)
            for error, start, target, uses in zip(
                chosen.errors, even.errors, design.metric.targets, design.metric.uses, strict=True
            )
        ],
    }


def _score(now: float, even: float) -> str:
    times = f"{now / even:.2f}" if even else "1.00"
    against = "as good as an equal split" if times == "1.00" else f"{times} times that of an equal split"
    return f"Score {number(now)}: {against}. Smaller is better."


def _shares(desk: Desk, chosen: Plan, total: float) -> list[dict[str, Any]]:
    scales, floors = chosen.scales, chosen.design.feasible.floors
    users: dict[str, list[str]] = {name: [] for name in chosen.split}
    for target, uses in zip(chosen.design.metric.targets, chosen.design.metric.uses, strict=True):
        for name in uses:
            users[name].append(target.name)
    return [
        {
            "name": name,
            "budget": as_text(budget),
            "value": float(budget),
            "shown": number(float(budget)),
            "percent": f"{100 * float(budget) / total:.1f}",
            "least": float(floor),
            "scale": number(scales[name]),
            "used_by": users[name],
            "locked": name in desk.state.locked,
        }
        for (name, budget), floor in zip(chosen.split.items(), floors, strict=True)
    ]


def _error(error: PredictedError, even: PredictedError, target: Any, uses: tuple[str, ...]) -> dict[str, Any]:
    times = error.mean / even.mean if even.mean > 0 else 1.0
    meets = None if target.tolerance is None else getattr(error, target.summary.value) <= target.tolerance
    return {
        "name": error.name,
        "equation": target.is_equation,
        "mean": number(error.mean),
        "median": number(error.median),
        "p95": number(error.p95),
        "exact": [error.mean, error.median, error.p95],
        "assumed": error.basis is Basis.ASSUMED,
        "times": f"{times:.2f}",
        "bar": round(min(times, 2.0) * 100, 2),  # 100: as with an equal split; 200: twice as far off, or more
        "tolerance": "" if target.tolerance is None else number(target.tolerance),
        "meets": meets,
        "measured_from": list(uses),
    }


def number(value: float) -> str:
    """Four digits that matter, and no powers of ten where a person would write the number out."""
    return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:,.0f}"
