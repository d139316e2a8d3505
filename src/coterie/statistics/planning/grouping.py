"""What is asked of the same cells: counts, and sums of the same terms, whose filters share columns."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.statistics.planning.strategy import Strategy
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.prediction.reconstruction import MOST_WEIGHTS
from coterie.statistics.specification.asked_values import only_labels
from coterie.statistics.specification.cells import Cells
from coterie.statistics.specification.specification import Specification

Key = tuple[Kind, tuple[tuple[str, float], ...], tuple[str, ...]]


def group_asked(
    specification: Specification, asked: Sequence[Measurement]
) -> dict[Key, tuple[list[int], Cells | None]]:
    """Places among what is asked, and the cells; no cells where there would be too many."""
    kinds: dict[tuple[Kind, tuple[tuple[str, float], ...]], list[int]] = {}
    for index, m in enumerate(asked):
        if m.kind in (Kind.COUNT, Kind.SUM):
            kinds.setdefault((m.kind, m.terms), []).append(index)
    used = {column for m in asked for column, _ in m.where.conditions}
    closed = {
        column: labels
        for column in used
        if (labels := only_labels(specification.schema[column], specification.schema))
    }

    def cells_of(members: Sequence[int]) -> Cells | None:
        filters = [asked[i].where for i in members]
        return Cells.of(filters, specification.disjoint, specification.complete, closed)

    found: dict[Key, tuple[list[int], Cells | None]] = {}
    for (kind, terms), places in kinds.items():
        everyone = [i for i in places if asked[i].where.everyone]
        parts = _sharing(places, asked)
        if everyone:  # all records belong to the table that is asked most
            if parts:
                largest = max(parts, key=lambda part: len(part[1]))
                largest[1].extend(everyone)
            else:
                parts = [(set(), everyone)]
        for columns, members in parts:
            cells = cells_of(members)
            if cells is not None and len(cells) * len(members) <= MOST_WEIGHTS:
                found[kind, terms, tuple(sorted(columns))] = sorted(members), cells
                continue
            for table, asked_of_it in _by_table(members, asked):
                found[kind, terms, tuple(sorted(table))] = sorted(asked_of_it), cells_of(asked_of_it)
    return found


def _by_table(places: Sequence[int], asked: Sequence[Measurement]) -> list[tuple[frozenset[str], list[int]]]:
    """One part for each set of columns that no other set holds: tables that are linked where they share columns."""
    alike: dict[frozenset[str], list[int]] = {}
    for i in places:
        alike.setdefault(frozenset(column for column, _ in asked[i].where.conditions), []).append(i)
    parts: dict[frozenset[str], list[int]] = {}
    for columns in sorted(alike, key=lambda one: (-len(one), sorted(one))):
        holding = next((table for table in parts if columns <= table), columns)
        parts.setdefault(holding, []).extend(alike[columns])
    return list(parts.items())


def _sharing(places: Sequence[int], asked: Sequence[Measurement]) -> list[tuple[set[str], list[int]]]:
    """Places whose filters share a column, directly or through others; filters of everyone are left out."""
    alike: dict[frozenset[str], list[int]] = {}
    for i in places:
        alike.setdefault(frozenset(column for column, _ in asked[i].where.conditions), []).append(i)
    alike.pop(frozenset(), None)
    parts: list[tuple[set[str], list[int]]] = []
    for columns, members in alike.items():
        touching = [part for part in parts if part[0] & columns]
        parts = [part for part in parts if not part[0] & columns]
        joined = set(columns).union(*(part[0] for part in touching))
        parts.append((joined, sorted([*members, *(i for part in touching for i in part[1])])))
    return parts


def make_joint(
    key: Key, asked: Sequence[Measurement], cells: Cells, strategy: Strategy, gaussian: bool
) -> JointMeasurement:
    kind, _, columns = key
    what = "counts" if kind is Kind.COUNT else f"sums of {asked[0].summed}"
    over = f" over {' × '.join(columns)}" if columns else ""
    return JointMeasurement(
        f"{what}{over} ({strategy.name})",
        strategy.name,
        cells,
        tuple(asked),
        strategy.rows,
        strategy.grid,
        gaussian,
        strategy.tried,
    )
