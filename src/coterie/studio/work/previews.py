"""Look and compare: the chosen release, and several methods, k and ε, on a declared sample with seeded noise."""

from __future__ import annotations

import math
from dataclasses import replace
from io import BytesIO
from itertools import combinations
from typing import Any

import numpy as np

import coterie
from coterie.comparison.comparison import Comparison
from coterie.comparison.grid import left_out
from coterie.evaluation import all_measures
from coterie.evaluation.measure import Measure, MeasureResult
from coterie.evaluation.pair import Pair, bring_together
from coterie.evaluation.tables import cells_of
from coterie.evaluation.two_way import associations
from coterie.methods import get_method
from coterie.publication.staging import stage_bytes
from coterie.report.charts import Figure, risk_utility_map
from coterie.report.examples import example_releases, risk_points
from coterie.report.figures import counted, error_by_k
from coterie.report.ranking import UNITS, Best, best_cells, errors_by, in_words, verdict
from coterie.schema.exact import number
from coterie.studio.preview_findings import CELLS
from coterie.studio.project import Choice, Project
from coterie.studio.sampling import RUNS, SEED, drawn_sample
from coterie.studio.work import Tell
from coterie.table.columns.column import Column

BINS, LABELS = 5, 8  # of a column in a table: parts of a number, and labels of which the rarer ones are one
_DROWNED = "No attribute follows the original any more, row by row: the noise has drowned it."
MOST_RELATED = 16  # attributes of a matrix that can still be read
MOST_LOOKED_AT = 60  # attributes whose relations are computed
MOST_PAIRS = 200  # that the page lists
STRONG = 0.3  # from which on a relation is one that people would look for


def look(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`parameters`: choice, rows, synthetic."""
    tell(0.02, "Drawing the sample")
    choice = Choice.model_validate(parameters["choice"])
    table, schema, told = drawn_sample(project, parameters["rows"], synthetic=parameters["synthetic"])

    def protected(what: str, done: float, total: float) -> None:
        tell(0.1 + 0.4 * done / total, "Protecting the sample")

    tell(0.1, "Protecting the sample")
    # Not shuffled, whatever was chosen: the order of the rows changes no figure here, and errors need it.
    settings = {**choice.settings, "shuffle": False}
    release = coterie.protect(table, schema, **settings, seed=SEED, progress=protected)
    tell(0.5, "Counting before and after")
    synthetic = get_method(choice.method).synthetic
    pair = bring_together(table, release.table, schema, shuffled=synthetic)
    words = {name: dict(schema[name].value_labels or ()) for name in pair.original}
    attributes = [
        _counted(column, pair.released[name], words[name]) for name, column in pair.original.items()
    ]
    tables, known, done = _cells(project, pair, words), all_measures(), 0

    def measured(name: str) -> None:
        nonlocal done
        done += 1
        tell(0.55 + 0.45 * done / len(known), f"Measured: {known[name].title}")

    # Which column is the class to predict, only a person can say.
    wanted = [name for name in known if name != "classification"]
    evaluation = coterie.evaluate(
        table, release.table, schema, measures=wanted, shuffled=synthetic, seed=SEED, progress=measured
    )
    measures = [_measured(known[name], found) for name, found in evaluation.measures.items()]
    return {
        **told,
        "attributes": attributes,
        "tables": tables,
        "relations": _relations(pair),
        "rules": [[text, figures.before, figures.after] for text, figures in release.internal.rules.items()],
        "measures": measures,
        "words": _in_words(measures, synthetic=synthetic),
        # The rows of a preview keep their order, so only one of the two reasons that the command names is left.
        "notes": [_DROWNED if "--shuffled" in note else note for note in evaluation.notes],
    }


def _cells(project: Project, pair: Pair, words: dict[str, dict[str, str]]) -> list[dict[str, Any]]:
    """The cell of every row before and after, for tables of any columns; the names of the cells are what is returned."""
    found = {name: cells_of(pair.original[name], pair.released[name], BINS, LABELS) for name in pair.original}
    kept: dict[str, Any] = {"before": np.array([one.before for one in found.values()], dtype=np.uint8)}
    kept["after"] = np.array([one.after for one in found.values()], dtype=np.uint8)
    if pair.weights is not None and pair.weights[0] is not None:
        kept |= {"weights_before": pair.weights[0], "weights_after": pair.weights[1]}
    packed = BytesIO()
    np.savez_compressed(packed, **kept)
    stage_bytes(packed.getvalue(), project.folder / CELLS, force=True, private=True).publish()
    return [
        {
            "name": name,
            "cells": [words[name].get(cell, cell) for cell in one.names],
            "weighted": len(kept) > 2,
        }
        for name, one in found.items()
    ]


def _counted(before: Column, after: Column, words: dict[str, str]) -> dict[str, Any]:
    """What the page draws, as it is kept in the project; codes in `words`."""
    found = counted(before, [after])
    kept = {"name": found.name, "before": found.before, "after": found.after[0], "moved": found.moved}
    if found.edges is None:
        return {"kind": "labels", "labels": [words.get(label, label) for label in found.labels or ()], **kept}
    moments = {"mean": found.means, "deviation": found.deviations}
    return {"kind": "bins", "edges": found.edges, "unit": found.unit, "dates": found.dates, **kept, **moments}


def _measured(measure: Measure, found: MeasureResult) -> dict[str, Any]:
    return {
        "name": measure.name,
        "title": measure.title,
        "meaning": measure.meaning,
        "value": _finite(found.value),
        "reason": found.reason,
        "attributes": {name: _finite(value) for name, value in found.attributes.items()},
    }


def _in_words(measures: list[dict[str, Any]], *, synthetic: bool) -> str:
    """What the errors mean, as a comparison puts it: of rows that stand for people, or of distributions."""
    ranked = ("sse-matched", "jensen-shannon") if synthetic else ("sse", "semantic-distance")
    said: list[str] = []
    for measure in measures:
        values = [value for value in measure["attributes"].values() if value is not None]
        if synthetic and said:  # both measures speak of the same distributions
            break
        if measure["name"] in ranked and values:
            error = sum(values) / len(values)
            said.append(f"{in_words(measure['name'], error)} ({UNITS[measure['name']]}: {number(error)})")
    return "; ".join(said)


def _relations(pair: Pair) -> dict[str, Any] | None:
    """Every two attributes before and after, those that changed most first; of a wide table the ones that did."""
    names = list(pair.original)[:MOST_LOOKED_AT]
    if len(names) < 2:
        return None
    before, after = associations(pair, names)
    change = after - before
    worst = np.sort(np.argsort(-np.abs(change).max(axis=1), kind="stable")[:MOST_RELATED])
    pairs = sorted(combinations(range(len(names)), 2), key=lambda two: -abs(change[two]))
    strong = [two for two in pairs if before[two] >= STRONG]
    return {
        "names": [names[place] for place in worst],
        "before": before[np.ix_(worst, worst)].tolist(),
        "after": after[np.ix_(worst, worst)].tolist(),
        "pairs": [
            [names[a], names[b], float(before[a, b]), float(after[a, b])] for a, b in pairs[:MOST_PAIRS]
        ],
        "strong": [float(abs(change[two])) for two in strong],
        "left_out": len(pair.original) - len(worst),
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


SECONDS = 4.0  # of attacks on each release
_MAP = (
    "Down and left is better. The height is how far the best attack is above its baseline, with its interval. A star is a "
    "proof; a low point without one was only not attacked successfully here. Rows that stand for people are measured by "
    "their squared error, synthetic ones by the error of their distributions."
)


def compare(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`parameters`: methods, epsilons, ks, rows, synthetic."""
    tell(0.01, "Drawing the sample")
    table, schema, told = drawn_sample(project, parameters["rows"], synthetic=parameters["synthetic"])

    def advanced(done: int, total: int) -> None:
        tell(0.02 + 0.43 * done / total, f"Comparing: {done} of {total} choices")

    comparison = coterie.compare(
        table,
        schema,
        methods=parameters["methods"],
        epsilon=parameters["epsilons"],
        k=parameters["ks"],
        runs=RUNS,
        seed=SEED,
        progress=advanced,
    )
    best = best_cells(comparison)
    said = verdict(comparison, best)
    tell(0.45, "Making an example of each method")
    examples = example_releases(comparison, best, table)

    def attacked(done: int) -> None:
        tell(0.5 + 0.5 * done / len(examples), f"Attacking: {done} of {len(examples)} releases")

    attacked(0)
    points = risk_points(comparison, best, examples, table, SECONDS * len(examples), attacked)
    return {
        **told,
        "headline": said.headline,
        "points": [*replace(said, attacked=tuple(points)).gains, *said.points],
        "best": [entry.to_dict() for entry in best],
        "skipped": left_out(comparison.skipped),
        "attacked": [{"name": point.name, "risk": point.risk} for point in points],
        "map": risk_utility_map(points, loss="error (smaller is better)", caption=_MAP).__html__(),
        "errors": [figure.__html__() for figure in _errors(comparison, best)],
    }


def _errors(comparison: Comparison, best: list[Best]) -> list[Figure]:
    """Error against k: of rows, and of distributions where synthetic rows are compared too."""
    drawn = []
    for measure in dict.fromkeys([*(entry.measure for entry in best), "semantic-distance"]):
        if measure not in comparison.results.values:
            continue
        cells = errors_by(comparison, measure)
        having = {cell.method for cell, runs in cells.items() if np.isfinite(runs).all()}
        methods = [name for name in comparison.grid.methods if name in having]
        if methods:
            words = f"{UNITS[measure][0].upper()}{UNITS[measure][1:]} against k."
            drawn.append(error_by_k(comparison, measure, methods, title="", caption=words))
    return drawn
