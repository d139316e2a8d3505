"""The noisy measurements as they were drawn: nothing fitted, nothing cut at zero, nothing rounded.

A published count is never negative, so the mean of many small ones is too large. These numbers have noise of mean zero:
analysts can average them over releases, or fit a table of their own. It is the same draw, so it costs no more budget.

    measurements: [{name, noise, scale, standard_deviation, budget, columns, cells, rows: [{measured, weights, value}]}]

Of a large table, `along` has the values of each column and `values` the cells, those of the last column fastest.

A row is Σ weight · (total of the cell) + noise; `cells[i]` has a value for each of `columns`. A mean, a spread or a quantile
is that of its one cell.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.schema import exact
from coterie.schema.exact import as_text
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.prediction.noise_model import Family, standard_deviation
from coterie.statistics.releasing.releasing import StatisticsRelease
from coterie.statistics.releasing.tidy_table import condition_text, whole_if_whole
from coterie.statistics.specification.cells import Axis, Points
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
            # To weigh one measurement against another; a choice among ranks has none.
            "standard_deviation": None
            if source.family is Family.RANK
            else standard_deviation(source.family, made.scales[m.name]),
            "budget": f"{plan.specification.budget.currency} = {as_text(plan.budgets[place])}",
        }
        if isinstance(m, JointMeasurement):
            entry |= _over_cells(m, drawn.tolist())
        elif m.kind is Kind.KEYS:
            entry |= _shown_keys(made, m)
        elif m.table is not None:
            (drawn_cells,) = (t.noisy for t in made.tables.values() if t.measured == m.name)
            entry["columns"] = list(m.table.columns)
            entry["along"] = [
                [*(value.text for value in axis.values), *([OTHER] if axis.rest else [])]
                for axis in m.table.axes
            ]
            entry["values"] = [whole_if_whole(value) for value in drawn_cells.tolist()]
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


def _over_cells(joint: JointMeasurement, drawn: Sequence[float]) -> dict[str, Any]:
    axes, places = joint.cells.axes, joint.cells.places()
    labels = [atom_labels(axis) for axis in axes]
    named = [filter_text(axis.column) for axis in axes]
    sizes = [len(np.unique(places[:, axis])) for axis in range(len(axes))]
    total = "count" if joint.kind is Kind.COUNT else f"sum of {joint.of_one.summed}"

    def words(weight: float, atoms: Sequence[Sequence[int]]) -> str:
        """0.25 × count | sex = f: the cells that lie in some atoms of each axis, with one weight."""
        parts = [
            f"{named[axis]} = {' or '.join(labels[axis][atom] for atom in listed)}"
            for axis, listed in enumerate(atoms)
            if len(listed) < sizes[axis]
        ]
        times = "" if weight == 1 else f"{exact.number(weight)} × "
        return f"{times}{total} | {', '.join(parts) or 'all records'}"

    rows, atoms_of = [], places.tolist()
    for number, value in enumerate(drawn):
        held, weights = _row(joint, number)
        box = _box(places, held) if len(held) > 1 and len(set(weights)) == 1 else None
        if box is not None:
            said = [words(weights[0], box)]
        else:
            first = zip(held[:_MOST_TERMS], weights, strict=False)
            said = [words(weight, [(atom,) for atom in atoms_of[cell]]) for cell, weight in first]
            said += [f"{len(held) - len(said)} more"] if len(held) > len(said) else []
        listed = [[cell, whole_if_whole(weight)] for cell, weight in zip(held, weights, strict=True)]
        rows.append({"measured": " + ".join(said), "weights": listed, "value": whole_if_whole(value)})
    cells = [[labels[axis][atom] for axis, atom in enumerate(cell)] for cell in atoms_of]
    return {"columns": [axis.column for axis in axes], "cells": cells, "rows": rows}


def _row(joint: JointMeasurement, number: int) -> tuple[list[int], list[float]]:
    """The cells of a row, and their weights."""
    if joint.rows is None:
        return [number], [1.0]
    held = np.flatnonzero(joint.rows[number])
    return held.tolist(), (joint.rows[number, held] / joint.grid).tolist()


def _box(places: NDArray[np.int64], held: list[int]) -> list[list[int]] | None:
    """The atoms of each axis whose cells these are, if these are all of them."""
    atoms = [np.unique(places[held, axis]) for axis in range(places.shape[1])]
    inside = np.ones(len(places), dtype=np.bool_)
    for axis, listed in enumerate(atoms):
        inside &= np.isin(places[:, axis], listed)
    return [listed.tolist() for listed in atoms] if int(inside.sum()) == len(held) else None


def atom_labels(axis: Axis) -> list[str]:
    """The pieces of a column that no condition cuts: the values and ranges that each is made of."""
    values = list(dict.fromkeys(v for c in axis.conditions if isinstance(c, OneOf) for v in c.values))
    ends = sorted({e for c in axis.conditions if isinstance(c, Between) for e in (c.start, c.below)})
    ranges = [Between(a, b) for a, b in itertools.pairwise(ends)]
    numbers = [math.nan if isinstance(v, str) else v for v in values]
    points = Points(
        [*values, *([None] * len(ranges))], np.array(numbers + [_inside(r, values) for r in ranges])
    )
    pieces: list[Condition] = [*(OneOf((value,)) for value in values), *ranges]
    found: dict[tuple[bool, ...], list[str]] = {}
    for accepted, piece in zip(points.patterns(axis.conditions), pieces, strict=True):
        found.setdefault(accepted, []).append(condition_text(piece))
    labels = []
    for atom in axis.atoms:
        both = map(condition_text, itertools.compress(axis.conditions, atom))
        labels.append((" or ".join(found.get(atom, ())) or " and ".join(both)) if any(atom) else OTHER)
    return labels


def _inside(piece: Between, values: Collection[str | float]) -> float:
    """A number of the range that no condition names."""
    low, high = max(piece.start, -1e300), min(piece.below, 1e300)
    point = low / 2 + high / 2
    while point in values:
        point = low / 2 + point / 2
    return point
