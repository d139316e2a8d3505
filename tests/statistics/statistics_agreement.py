"""Random specifications over random tables, thousands of releases of each, and how far predictions are off.

Nothing here was looked at when the predictions were written: kinds, filters, groups, budgets, neighbours, routes,
shapes and equations are drawn. `expected` is what the table has, as the criterion asks: predictions are about
tables that are as expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.statistics import Plan, plan, read_specification
from coterie.statistics.planning.composition import as_floats
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.releasing import releasing
from coterie.statistics.releasing.measuring import Noise, compute
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import evaluate
from coterie.statistics.specification.filters import OneOf

Draw = np.random.Generator
DOMAINS = {"cost": (0.0, 100.0), "score": (-40.0, 60.0), "age": (0.0, 120.0)}


@dataclass(frozen=True)
class Shaped:
    """A column: how it is drawn, and what a specification says about its shape."""

    draw: Any
    shape: dict[str, Any]


def gamma(mean: float, std: float) -> Shaped:
    k, theta = (mean / std) ** 2, std**2 / mean
    declared = {"distribution": "gamma", "mean": mean, "std": std}
    return Shaped(lambda draw, n: draw.gamma(k, theta, n), declared)


def normal(mean: float, std: float) -> Shaped:
    declared = {"distribution": "normal", "mean": mean, "std": std}
    return Shaped(lambda draw, n: draw.normal(mean, std, n), declared)


def uniform(low: float, high: float) -> Shaped:
    return Shaped(
        lambda draw, n: draw.uniform(low, high, n), {"quantiles": {0: low, 0.5: (low + high) / 2, 1: high}}
    )


def few_values(values: list[float], shares: list[float]) -> Shaped:
    declared = {"values": dict(zip(values, shares, strict=True))}
    return Shaped(lambda draw, n: draw.choice(values, n, p=shares), declared)


COLUMNS: dict[str, list[Shaped]] = {
    "cost": [gamma(16, 11), normal(40, 15), uniform(20, 70), few_values([0, 1, 5, 30], [0.4, 0.3, 0.2, 0.1])],
    "score": [normal(10, 12), gamma(9, 9), uniform(-30, 20)],
    "age": [normal(45, 14), gamma(40, 20)],
}


def people(draw: Draw, records: int, chosen: dict[str, Shaped]) -> pa.Table:
    columns: dict[str, Any] = {
        "region": draw.choice(["north", "south", "west"], records, p=[0.5, 0.3, 0.2]),
        "smoker": draw.choice(["yes", "no"], records, p=[0.3, 0.7]),
    }
    for name, shaped in chosen.items():
        low, high = DOMAINS[name]
        values = np.clip(shaped.draw(draw, records), low, high)
        columns[name] = np.rint(values).astype(np.int64) if name == "age" else values
    return pa.table(columns)


def schema() -> dict[str, Any]:
    attributes: dict[str, Any] = {"region": {"role": "keep"}, "smoker": {"role": "keep"}}
    for name, (low, high) in DOMAINS.items():
        kind = {"type": "integer"} if name == "age" else {}
        attributes[name] = {"role": "protect", **kind, "domain": {"lower": low, "upper": high}}
    return {"coterie_schema": 1, "attributes": attributes}


FILTERS: list[tuple[str, dict[str, Any], Any]] = [
    ("", {}, lambda t: np.ones(len(t), dtype=bool)),
    ("yes", {"smoker": "yes"}, lambda t: (t.smoker == "yes").to_numpy()),
    ("old", {"age": {"from": 50}}, lambda t: (t.age >= 50).to_numpy()),
    ("nw", {"region": ["north", "west"], "smoker": "no"},
     lambda t: (t.region.isin(["north", "west"]) & (t.smoker == "no")).to_numpy()),
]  # fmt: skip


def random_specification(seed: int) -> tuple[dict[str, Any], pa.Table]:
    """A specification and a table that is as it expects."""
    draw = np.random.Generator(np.random.PCG64(seed))
    records = int(draw.choice([200, 900, 4000]))
    chosen = {name: options[draw.integers(len(options))] for name, options in COLUMNS.items()}
    table = people(draw, records, chosen)
    frame = table.to_pandas()
    statistics: dict[str, Any] = {}
    for index in draw.permutation(len(FILTERS))[: draw.integers(1, 4)]:
        label, where, member = FILTERS[index]
        inside = frame[member(frame)]
        if len(inside) < 20:
            continue
        column = str(draw.choice(list(DOMAINS)))
        # A filter on the column itself would cut its shape: quantiles are asked of other columns there.
        plain = column if label != "old" or column != "age" else "cost"
        kinds = ["count", "sum", "mean", "variance", "std", "proportion", "median", "quantile"]
        for kind in draw.choice(kinds, int(draw.integers(2, 6)), replace=False):
            _add(statistics, draw, str(kind), label, where, inside, plain, chosen)
    if draw.random() < 0.4:
        _add_groups(statistics, draw, frame)
    equations = _equations(draw, statistics)
    notion = [{"epsilon": str(draw.choice(["0.3", "1", "4"]))}, {"rho": str(draw.choice(["0.02", "0.2"]))},
              {"epsilon": "1", "delta": "1e-6"}][draw.integers(3)]  # fmt: skip
    add_remove = bool(draw.random() < 0.4)
    document = {
        "coterie_statistics": 1,
        "release": f"random {seed}",
        "population": "people",
        "schema": schema(),
        "neighbours": "add-remove" if add_remove else "replace-one",
        "budget": notion,
        "statistics": statistics,
        "equations": equations,
        **({} if add_remove and "delta" not in notion else {"records": records}),
    }
    return document, table


def _add(
    statistics: dict[str, Any],
    draw: Draw,
    kind: str,
    label: str,
    where: dict[str, Any],
    inside: Any,
    column: str,
    chosen: dict[str, Shaped],
) -> None:
    values = inside[column].astype(float)
    about = {"size": len(inside), "mean": float(values.mean()), "std": float(values.std(ddof=1))}
    entry: dict[str, Any] = {"kind": kind, "about": about, **({"where": where} if where else {})}
    if kind == "count":
        entry["expected"] = len(inside)
    elif kind == "proportion":
        entry |= {"that": {"region": "south"}, "expected": float((inside.region == "south").mean())}
        if "region" in where:
            return
    elif kind in ("median", "quantile"):
        entry |= {"of": column, "shape": chosen[column].shape}
        if kind == "quantile":
            entry["quantile"] = float(draw.choice([0.25, 0.75, 0.9]))
    else:
        entry["of"] = column
        entry["expected"] = float({"sum": values.sum(), "mean": about["mean"], "variance": about["std"] ** 2,
                                   "std": about["std"]}[kind])  # fmt: skip
        entry["route"] = str(draw.choice(["auto", "auto", "direct", "sums"]))
        if entry["route"] != "sums" and draw.random() < 0.5:
            entry["at_least"] = max(len(inside) // 2, 2)
    statistics[f"{kind}_{label or 'all'}_{column}"] = entry


def _add_groups(statistics: dict[str, Any], draw: Draw, frame: Any) -> None:
    sizes = {name: int((frame.region == name).sum()) for name in ("north", "south", "west")}
    if draw.random() < 0.5:
        statistics["h"] = {"kind": "histogram", "of": "region", "values": list(sizes), "complete": True,
                           "expected": sizes}  # fmt: skip
    else:
        means = {name: float(frame.cost[frame.region == name].mean()) for name in sizes}
        statistics["by"] = {"kind": "mean", "of": "cost", "by": {"region": list(sizes)}, "expected": means,
                            "about": {name: {"size": size} for name, size in sizes.items()}}  # fmt: skip


def _equations(draw: Draw, statistics: dict[str, Any]) -> dict[str, str]:
    single = [name for name in statistics if name not in ("h", "by")]
    if len(single) < 2:
        return {}
    equations = {}
    for number in range(int(draw.integers(0, 4))):
        a, b = (str(name) for name in draw.choice(single, 2, replace=False))
        equations[f"e{number}"] = str(draw.choice([f"{a} - 2 * {b}", f"{a} / (abs({b}) + 10)", f"{a} * {b}",
                                                   f"sqrt(abs({a})) + {b}", f"max({a}, {b})"]))  # fmt: skip
    return equations


@dataclass(frozen=True)
class Compared:
    """One target: what was predicted, and what thousands of releases had."""

    specification: str
    name: str
    basis: str
    predicted: float
    standard_error: float
    measured: float
    own_error: float
    within_p95: float

    def off(self, factor: float = 1.0) -> float:
        """By how many joint standard errors the prediction (times a factor) misses."""
        joint = float(np.hypot(factor * self.standard_error, self.own_error))
        return abs(factor * self.predicted - self.measured) / max(joint, 1e-9 * self.predicted, 1e-300)


def planned(document: dict[str, Any]) -> Plan:
    return plan(read_specification(document), report_losses=False)


def with_exact_values(chosen: Plan, tables: list[pa.Table]) -> Iterator[tuple[pa.Table, dict[str, Any]]]:
    """Each table and what is computed of it."""
    for table in tables:
        yield table, compute(chosen.design, open_records(table))


def compare(
    chosen: Plan, table: pa.Table, exact: dict[str, Any], releases: int, noise: Noise
) -> list[Compared]:
    """A plan that has not seen the table; the table released many times through the functions that publish."""
    truth = true_values(chosen, exact, table)
    noisy = releasing.add_noise(chosen.design, exact, chosen.budgets, noise, releases=releases)
    released = evaluate(chosen.design, chosen.design.reconstruction(as_floats(chosen.budgets)).fitted(noisy))
    results = []
    for error in chosen.errors:
        values = next(part[error.name] for part in released if error.name in part)
        sizes = np.abs(values - truth[error.name])
        own = float(sizes.std(ddof=1) / np.sqrt(releases))
        results.append(
            Compared(chosen.specification.release, error.name, error.basis.value, error.mean, error.standard_error,
                     float(sizes.mean()), own, float((sizes <= error.p95 * (1 + 1e-9) + 1e-12).mean()))
        )  # fmt: skip
    return results


def true_values(chosen: Plan, exact: dict[str, Any], table: pa.Table) -> dict[str, float]:
    """The table's own statistics and equations; quantiles as everybody computes them."""
    frame, row = table.to_pandas(), []
    for m in chosen.design.measurements:
        if isinstance(m, JointMeasurement):
            row += [float(k * m.unit) for k in exact[m.name]]
            continue
        if not isinstance(exact[m.name], np.ndarray):
            row.append(m.value(exact[m.name]))
            continue
        inside = np.ones(len(frame), dtype=bool)
        for column, condition in m.where.conditions:
            cells = frame[column]
            if isinstance(condition, OneOf):
                inside &= cells.isin(condition.values).to_numpy()
            else:
                inside &= ((cells >= condition.start) & (cells < condition.below)).to_numpy()
        row.append(float(np.quantile(frame[m.terms[0][0]][inside].astype(float), m.quantile)))
    exactly = chosen.design.reconstruction(as_floats(chosen.budgets)).linear(np.array([row]))
    statistics, equations = evaluate(chosen.design, exactly)
    return {name: float(value[0]) for part in (statistics, equations) for name, value in part.items()}
