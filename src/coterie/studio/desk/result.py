"""Shares, predicted errors and released figures as the statistics page shows them, and the same as commands and Python."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie.errors import CoterieError
from coterie.report.charts import Figure, IntervalRow, intervals
from coterie.schema.exact import as_text, number
from coterie.statistics import Plan, Specification
from coterie.statistics.allocators import DEFAULT
from coterie.statistics.planning.by_hand import grid_of
from coterie.statistics.planning.design import Design
from coterie.statistics.prediction.rank_law import Basis
from coterie.statistics.prediction.target_error import PredictedError, TargetError
from coterie.statistics.releasing.certificate import StatisticsCertificate
from coterie.statistics.releasing.tidy_table import read, rows_of
from coterie.studio.desk.desk import Desk, ReleasedStatistics
from coterie.studio.desk.release import StatisticsOrder, rule_of
from coterie.studio.ledgers import account_of
from coterie.studio.same_in_code import Ways, arguments, call, options, ways


def planning(desk: Desk) -> Ways:
    given = _split(desk)
    specification = str(desk.specification_path)
    return ways(
        shlex.join(["coterie", "stats", "plan", specification, *options(given)]),
        f"chosen = coterie.statistics.plan({', '.join([repr(specification), *arguments(given)])})",
        "for error in chosen.errors:",
        "    print(error.name, error.mean, error.median, error.p95)",
    )


def releasing(desk: Desk, order: StatisticsOrder) -> Ways:
    specification, data = str(desk.specification_path), str(desk.data_path())
    given = {**_split(desk), "ledger": order.ledger}
    command = ["coterie", "stats", "release", specification]
    commands = [
        [*command, *options({"data": data, "output": order.target, **given})],
        ["coterie", "stats", "verify", order.target, f"{order.target}.certificate.json"],
    ]
    if order.ledger and order.lifetime:
        new = {"population": order.population, "lifetime": order.lifetime, "delta": order.delta}
        new |= account_of(desk.project.schema())
        commands.insert(0, ["coterie", "ledger", "init", order.ledger, *options(new)])
    inputs = map(repr, (specification, data, order.target))
    return ways(
        "\n".join(map(shlex.join, commands)),
        call("published = coterie.statistics.release", *inputs, *arguments(given)),
        "print(published.path, published.certificate.guarantee.label)",
    )


def _split(desk: Desk) -> dict[str, str]:
    """How the budget is split, where that is not the usual way."""
    rule = rule_of(desk)
    if rule is None:
        return {"split": str(desk.split_path)}
    return {} if rule == DEFAULT else {"allocator": rule}


# Shares and predicted errors, as the page and its script show them. Every number is the library's.


def shown(desk: Desk) -> dict[str, Any]:
    """Ready for JSON: who gets how much, and how far each number will probably be off."""
    chosen = desk.plan()
    even, design = desk.even_plan(), chosen.design
    total, feasible = float(design.total), design.feasible
    used = feasible.used(np.array([float(budget) for budget in chosen.budgets]))
    names = names_in_words(chosen.specification)
    errors = [
        _error(error, start, made, _measured_for(design, made)) | {"shown": names.get(error.name, error.name)}
        for error, start, made in zip(chosen.errors, even.errors, design.metric.errors, strict=True)
    ]
    families = list(dict.fromkeys(error["statistic"] for error in errors))
    # Worst first: tolerances that are missed, then by statistic, as different ones have different units.
    worst = sorted(
        errors, key=lambda e: (e["meets"] is not False, families.index(e["statistic"]), -e["exact"][2])
    )
    for place, error in enumerate(worst):
        error["place"] = place
    return {
        "version": desk.state.version,
        "plan": chosen.digest,
        "unit": chosen.specification.budget.currency,
        "total": as_text(design.total),
        "total_number": total,
        "total_shown": number(total, 4),
        "used_shown": number(used, 4),
        "parallel": design.parallel,
        "step": as_text(grid_of(design)),
        "score": chosen.score,
        "score_words": _score(chosen.score, even.score),
        "rule": desk.state.rule,
        "shares": _shares(desk, chosen, total),
        "errors": errors,
    }


def names_in_words(specification: Specification) -> dict[str, str]:
    """`n[1]` as `n[male]`: the groups of each number in the words that the schema has for their codes."""
    schema = specification.schema
    said = {attribute.name: attribute.meanings for attribute in schema.attributes}
    return {
        one.name: f"{one.name.partition('[')[0]}"
        f"[{', '.join(said.get(column, {}).get(text, text) for column, text in one.group)}]"
        for one in specification.statistics
        if one.group
    }


def _score(now: float, even: float) -> str:
    times = f"{now / even:.2f}" if even else "1.00"
    against = "as good as an equal split" if times == "1.00" else f"{times} times that of an equal split"
    return f"Score {number(now)}: {against}. Smaller is better."


def _measured_for(design: Design, error: TargetError) -> tuple[str, ...]:
    """What is measured for a figure: by itself, or together with others."""
    measured = (int(design.metric.source_of[place]) for place in error.inputs)
    return tuple(dict.fromkeys(design.measurements[place].name for place in measured))


def _shares(desk: Desk, chosen: Plan, total: float) -> list[dict[str, Any]]:
    scales, floors = chosen.scales, chosen.design.feasible.floors
    users: dict[str, list[str]] = {name: [] for name in chosen.split}
    for error in chosen.design.metric.errors:
        for name in _measured_for(chosen.design, error):
            users[name].append(error.target.name)
    return [
        {
            "name": name,
            "budget": as_text(budget),
            "value": float(budget),
            "shown": number(float(budget), 4),
            "percent": f"{100 * float(budget) / total:.1f}",
            "least": float(floor),
            "scale": number(scales[name]),
            "used_by": users[name],
            "locked": name in desk.state.locked,
        }
        for (name, budget), floor in zip(chosen.split.items(), floors, strict=True)
    ]


def _error(
    error: PredictedError, even: PredictedError, made: TargetError, uses: tuple[str, ...]
) -> dict[str, Any]:
    target = made.target
    times = error.mean / even.mean if even.mean > 0 else 1.0
    meets = None if target.tolerance is None else getattr(error, target.summary.value) <= target.tolerance
    return {
        "name": error.name,
        "statistic": error.name.partition("[")[0],
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
        # Half of the number itself, as it is guessed: nobody can use that. A difference may be nothing.
        "rough": not target.is_equation and error.p95 >= abs(made.truth) / 2,
        "measured_from": list(uses),
    }


# A released file read back: values with their intervals, and whether file and certificate belong together.

_MOST_BARS = 40
_MOST_VALUES = 1000


Value = dict[str, Any]  # a row of the file


@dataclass(frozen=True, slots=True)
class Result:
    values: tuple[Value, ...]
    certificate: StatisticsCertificate | None
    verified: bool
    problem: str
    more: int = 0  # values that are in the file only


def read_result(entry: ReleasedStatistics) -> Result:
    try:
        content = Path(entry.data).read_bytes()
        certificate = StatisticsCertificate.from_json(Path(entry.certificate).read_bytes())
        found = read(content, Path(entry.data).suffix)
        values, more = tuple(rows_of(found.slice(0, _MOST_VALUES))), max(len(found) - _MOST_VALUES, 0)
    except OSError as error:
        return Result((), None, False, f"A file of this release cannot be read ({error.strerror}).")
    except (CoterieError, ValueError, KeyError):
        return Result((), None, False, "The released file or its certificate was changed and cannot be read.")
    if hashlib.sha256(content).hexdigest() != certificate.digest.value:
        return Result(values, certificate, False, "The file was changed after it was certified.", more)
    return Result(values, certificate, True, "", more)


def figures_of(result: Result, names: Mapping[str, str]) -> list[Figure]:
    """One figure for each statistic with several groups: only these share a unit, and so an axis."""
    families: dict[str, list[Value]] = {}
    for value in result.values:
        base, bracket, _ = value["name"].partition("[")
        if bracket:
            families.setdefault(base, []).append(value)
    return [
        intervals(
            [IntervalRow(_label(names.get(value["name"], value["name"])), *_ends(value)) for value in values],
            axis=base,
            caption=f"{base}, as released, with the 95 % interval of each group.",
            first="Group",
        )
        for base, values in families.items()
        if 2 <= len(values) <= _MOST_BARS
    ]


def _label(name: str) -> str:
    return name.partition("[")[2].removesuffix("]")


def _ends(value: Value) -> tuple[float, float, float]:
    return float(value["value"]), float(value["lower_95"]), float(value["upper_95"])
