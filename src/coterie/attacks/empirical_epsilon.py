"""The privacy loss that can be seen: run the method many times on two neighbours and look for what tells them apart.

One half of the runs chooses the event, the other half bounds its odds by Clopper and Pearson, so the bound holds with 95 %
confidence whatever the event. It is a lower bound: a method that passes is not proved, one that fails is refuted.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.attacks._events import Matrix, Runs, best_event
from coterie.attacks._neighbours import Pair, candidate_neighbours
from coterie.attacks.attack import Attack, Outcome, Subject
from coterie.attacks.evidence import MethodEvidence
from coterie.attacks.finding import Finding, Level, NotRun
from coterie.attacks.intervals import Estimate
from coterie.columns.column import CategoryColumn
from coterie.odds import DP
from coterie.schema import Role, Schema
from coterie.table import check

NAME = "empirical-epsilon"
_PILOT = 60  # runs on each candidate to choose the neighbours
_FEWEST_RUNS = 100
_GRID = 1000  # cells that a domain is rounded to


def _run(evidence: MethodEvidence) -> Outcome:
    story, pair = "chosen by the user", evidence.neighbours
    if pair is None:
        story, pair = _searched(evidence)
    done = 0
    first: list[pa.Table] = []
    second: list[pa.Table] = []
    while done < evidence.runs and not (evidence.clock.up and done >= _FEWEST_RUNS):
        if evidence.clock.up and done < _FEWEST_RUNS // 2:
            evidence.clock.check()
        # Each run has noise of its own: seeds of the two tables never meet.
        first.append(evidence.release(pair[0], 2 * done + 10_000))
        second.append(evidence.release(pair[1], 2 * done + 10_001))
        done += 1
    if done < _FEWEST_RUNS:
        return NotRun(NAME, f"fewer than {_FEWEST_RUNS} runs on each neighbour say nothing")
    seen = [observe(tables, evidence.schema, shuffled=evidence.shuffled) for tables in (first, second)]
    choose, test = slice(0, done // 2), slice(done // 2, done)
    event = best_event(seen[0].part(choose), seen[1].part(choose))
    low = max(event.bound(seen[0].part(test), seen[1].part(test)), 0.0)
    stated = _stated(evidence)
    most = math.log((0.025 ** (2 / done)) / (1 - 0.025 ** (2 / done)))
    broken = low > stated
    verdict = (
        f"above the ε = {stated:g} it is calibrated for"
        if broken
        else f"which does not contradict ε = {stated:g}"
    )
    return Finding(
        NAME,
        ATTACK.statistic,
        Estimate(low, low, math.inf, done),
        Estimate.exact(stated),
        ATTACK.baseline,
        Level.SEVERE if broken else Level.NOTHING,
        f"Two neighbouring tables are told apart with a privacy loss of at least {low:.2f} (95 % confidence), {verdict}. "
        f"So many runs could show at most {most:.1f}.",
        {
            "neighbours": story,
            "event": event.story,
            "runs on each": done,
            "largest bound these runs can show": most,
        },
    )


def _searched(evidence: MethodEvidence) -> tuple[str, Pair]:
    """The neighbours that a few runs tell apart best."""
    best: tuple[float, str, Pair] | None = None
    for story, pair in candidate_neighbours(evidence):
        tables = [
            [evidence.release(table, 2 * run + side) for run in range(_PILOT)]
            for side, table in enumerate(pair)
        ]
        first, second = (observe(runs, evidence.schema, shuffled=evidence.shuffled) for runs in tables)
        choose, test = slice(0, _PILOT // 2), slice(_PILOT // 2, _PILOT)
        event = best_event(first.part(choose), second.part(choose))
        bound = event.bound(first.part(test), second.part(test))
        if best is None or bound > best[0]:
            best = bound, story, pair
        evidence.clock.check()
    assert best is not None  # there are always candidates
    return best[1], best[2]


def _stated(evidence: MethodEvidence) -> float:
    """The ε that is promised (or, where the promise is refuted, claimed)."""
    promise = evidence.guarantee
    if promise is not None and promise.model == DP and promise.status == "proved":
        return float(promise.value)
    return float(evidence.epsilon)


def observe(tables: Iterable[pa.Table], schema: Schema, *, shuffled: bool) -> Runs:
    """All runs as numbers on a public grid, and as patterns of ties. Shuffled rows are never seen in order."""
    ordered: list[Matrix] = []
    sorted_: list[Matrix] = []
    ties: list[np.uint64] = []
    sizes: list[np.uint64] = []
    visible = tuple(a for a in schema.attributes if a.role is Role.PROTECT)
    narrowed = schema.model_copy(update={"attributes": visible})
    names = [attribute.name for attribute in visible]
    for table in tables:
        cells = _cells(table.select(names), narrowed)
        rounded = np.rint(cells * _GRID) / _GRID
        groups = np.column_stack([np.unique(column, return_inverse=True)[1] for column in cells.T])
        sorted_.append(np.sort(rounded, axis=0).ravel())
        sizes.append(_code(_row_sizes(groups)))
        if not shuffled:
            ordered.append(rounded.ravel())
            ties.append(_code(np.column_stack([_by_appearance(column) for column in groups.T])))
    views = {"sorted values": np.array(sorted_)}
    patterns = {"how many rows are alike": np.array(sizes, dtype=np.uint64)}
    if not shuffled:
        views["values in row order"] = np.array(ordered)
        patterns["which rows share values"] = np.array(ties, dtype=np.uint64)
    return Runs(views, patterns)


def _cells(table: pa.Table, schema: Schema) -> Matrix:
    """Rows × attributes, every domain scaled to 0 … 1."""
    columns = []
    for column in check(table, schema).columns.values():
        if isinstance(column, CategoryColumn):
            columns.append(column.position / max(len(column.order) - 1, 1))
        else:
            columns.append((column.values - column.domain.lower) / float(column.domain.width))
    return np.column_stack(columns)


def _by_appearance(groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """Groups numbered by their first row: a pattern that does not depend on the values."""
    _, first, which = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(first[which])


def _row_sizes(groups: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.sort(np.unique(groups, axis=0, return_counts=True)[1])


def _code(pattern: NDArray[np.intp]) -> np.uint64:
    digest = hashlib.blake2b(np.ascontiguousarray(pattern).tobytes(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


ATTACK = Attack(
    name=NAME,
    title="Empirical ε",
    subject=Subject.METHOD,
    story="Someone knows everybody's record but one, and decides from the release which of two records that person has.",
    inputs=("all other records", "the method and its parameters", "the release"),
    statistic="lower bound on the privacy loss ε",
    baseline="the ε that is stated",
    cost="runs × 2 × one release of a small table (about 3 ms)",
    run=_run,
    rank=30,
)
