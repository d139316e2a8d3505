"""The noisy measurements as they were drawn: nothing fitted, nothing cut at zero, nothing rounded.

A published count is never negative, so the mean of many small ones is too large. These numbers have noise of mean zero:
analysts can average them over releases, or fit a table of their own. It is the same draw, so it costs no more budget.

    measurements: [{name, noise, scale, standard_deviation, budget, columns, cells, rows: [{measured, weights, value}]}]

A row is Σ weight · (total of the cell) + noise; `cells[i]` has a value for each of `columns`. A mean, a spread or a quantile
is that of its one cell.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.schema.exact import as_text
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.prediction.noise_model import Family
from coterie.statistics.releasing.releasing import StatisticsRelease
from coterie.statistics.releasing.tidy_table import condition_text, whole_if_whole
from coterie.statistics.specification.cells import Axis
from coterie.statistics.specification.equations import names_in
from coterie.statistics.specification.filters import Between, Condition, OneOf, filter_text

OTHER = "(other)"
_MOST_TERMS = 4  # that a row is described by; `weights` has all of them


def raw_bytes(made: StatisticsRelease, about: Mapping[str, Any]) -> bytes:
    """A JSON file: `about` (release, promise, plan), then every measurement with its rows."""
    plan, design = made.plan, made.plan.design
    found = []
    for place, (m, source) in enumerate(zip(design.measurements, design.metric.sources, strict=True)):
        drawn = made.noisy[design.starts[place] : design.starts[place + 1]]
        entry: dict[str, Any] = {
            "name": m.name,
            "noise": source.family.value,
            "scale": whole_if_whole(made.scales[m.name]),
            "standard_deviation": _spread(source.family, made.scales[m.name]),
            "budget": f"{plan.specification.budget.currency} = {as_text(plan.budgets[place])}",
        }
        if isinstance(m, JointMeasurement):
            entry |= _over_cells(m, drawn.tolist())
        elif m.kind is Kind.KEYS:
            entry |= _shown_keys(made, m)
        else:
            conditions = m.where.conditions
            entry["columns"] = [column for column, _ in conditions]
            entry["cells"] = [[condition_text(condition) for _, condition in conditions]]
            value = whole_if_whole(float(drawn[0]))
            entry["rows"] = [{"measured": m.name, "weights": [[0, 1]], "value": value}]
        found.append(entry)
    content = {"coterie_raw_measurements": 1, **about, "measurements": found}
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()


def _shown_keys(made: StatisticsRelease, m: Measurement) -> dict[str, Any]:
    """The keys that are shown, with their counts as drawn; of the others nothing."""
    conditions = m.where.conditions
    forms = made.plan.design.statistics
    asked = next(name for name, form in forms.items() if names_in(form) == (m.name,))
    shown = [value for value in made.values if value.statistic == asked]
    fixed = [condition_text(condition) for _, condition in conditions]
    return {
        "columns": [m.terms[0][0], *(column for column, _ in conditions)],
        "cells": [[value.key, *fixed] for value in shown],
        "rows": [
            {"measured": value.name, "weights": [[place, 1]], "value": whole_if_whole(value.value)}
            for place, value in enumerate(shown)
        ],
    }


def _spread(family: Family, scale: float) -> float | None:
    """The noise's standard deviation, to weigh one measurement against another; a choice among ranks has none."""
    if family is Family.RANK:
        return None
    if family.gaussian:
        return scale
    return (
        1 / (math.sqrt(2) * math.sinh(min(1 / (2 * scale), 700))) if family.discrete else math.sqrt(2) * scale
    )


def _over_cells(joint: JointMeasurement, drawn: Sequence[float]) -> dict[str, Any]:
    axes, places = joint.cells.axes, joint.cells.places()
    labels = [atom_labels(axis) for axis in axes]
    named = [filter_text(axis.column) for axis in axes]
    sizes = [len(np.unique(places[:, axis])) for axis in range(len(axes))]
    total = "count" if joint.kind is Kind.COUNT else f"sum of {joint.of_one.summed}"

    def words(held: NDArray[np.int64], weight: float) -> str:
        """0.25 × count | sex = f: a box of cells with one weight."""
        parts = []
        for axis, size in enumerate(sizes):
            atoms = np.unique(places[held, axis]) if len(held) > 1 else places[held, axis]
            if len(atoms) < size:
                parts.append(f"{named[axis]} = {' or '.join(labels[axis][atom] for atom in atoms)}")
        times = "" if weight == 1 else f"{weight:.4g} × "
        return f"{times}{total} | {', '.join(parts) or 'all records'}"

    rows = []
    for number, value in enumerate(drawn):
        held, weights = _row(joint, number)
        if len(set(weights)) == 1 and _is_box(places, held):
            said = [words(held, weights[0])]
        else:
            said = [words(held[i : i + 1], weights[i]) for i in range(min(len(held), _MOST_TERMS))]
            said += [f"{len(held) - len(said)} more"] if len(held) > len(said) else []
        listed = [[cell, whole_if_whole(weight)] for cell, weight in zip(held.tolist(), weights, strict=True)]
        rows.append({"measured": " + ".join(said), "weights": listed, "value": whole_if_whole(value)})
    cells = [[labels[axis][atom] for axis, atom in enumerate(cell)] for cell in places.tolist()]
    return {"columns": [axis.column for axis in axes], "cells": cells, "rows": rows}


def _row(joint: JointMeasurement, number: int) -> tuple[NDArray[np.int64], list[float]]:
    """The cells of a row, and their weights."""
    if joint.rows is None:
        return np.array([number]), [1.0]
    held = np.flatnonzero(joint.rows[number])
    return held, (joint.rows[number, held] / joint.grid).tolist()


def _is_box(places: NDArray[np.int64], held: NDArray[np.int64]) -> bool:
    """Whether these are all cells of some atoms of each axis."""
    if len(held) == 1:
        return True
    inside = np.ones(len(places), dtype=np.bool_)
    for axis in range(places.shape[1]):
        inside &= np.isin(places[:, axis], places[held, axis])
    return int(inside.sum()) == len(held)


def atom_labels(axis: Axis) -> list[str]:
    """The pieces of a column that no condition cuts: the values and ranges that each is made of."""
    values = dict.fromkeys(v for c in axis.conditions if isinstance(c, OneOf) for v in c.values)
    ends = {e for c in axis.conditions if isinstance(c, Between) for e in (c.start, c.below)}
    pieces: list[tuple[Condition, str | float]] = [(OneOf((value,)), value) for value in values]
    pieces += [(Between(a, b), a if a > -np.inf else b - 1) for a, b in itertools.pairwise(sorted(ends))]
    found: dict[tuple[bool, ...], list[str]] = {}
    for piece, value in pieces:
        cell = (value, None) if isinstance(value, str) else (None, value)
        accepted = tuple(c.accepts(*cell) for c in axis.conditions)
        found.setdefault(accepted, []).append(condition_text(piece))
    labels = []
    for atom in axis.atoms:
        both = [condition_text(c) for c, holds in zip(axis.conditions, atom, strict=True) if holds]
        labels.append(" or ".join(found.get(atom, [])) or " and ".join(both) if both else OTHER)
    return labels
