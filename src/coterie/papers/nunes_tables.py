"""Nunes 2024, Tables 5.1 and 5.2: the twelve statistics and their leave-one-out sensitivities."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from coterie.papers.data import load
from coterie.papers.experiment import Experiment, ExperimentOutcome, PaperFinding
from coterie.papers.nunes_scenario import MISPRINT, TABLE_5_1, TABLE_5_2, table

# Printed digits are cut off in some entries and rounded in others: one unit of the last digit is allowed.
_LAST_DIGIT = {"5.1": 0.011, "5.2": 1.01e-4}


def differing(
    printed: Mapping[str, tuple[float, ...]], ours: Mapping[str, tuple[float, ...]], unit: float
) -> list[tuple[str, int]]:
    """Entries that are off by more than the last digit."""
    return [
        (row, group)
        for row, values in printed.items()
        for group, value in enumerate(values)
        if abs(ours[row][group] - value) > unit
    ]


def findings_of(people: pa.Table) -> tuple[PaperFinding, PaperFinding]:
    dollars = differing(TABLE_5_1, table(people, scaled=False), _LAST_DIGIT["5.1"])
    scaled = differing(TABLE_5_2, table(people, scaled=True), _LAST_DIGIT["5.2"])
    exact = table(people, scaled=True)[MISPRINT[0]][MISPRINT[1]]
    return (
        PaperFinding(
            "Table 5.1, 20 entries",
            "printed",
            f"{len(dollars)} differ",
            "all, to the last digit",
            not dollars,
        ),
        PaperFinding(
            "Table 5.2, 20 entries",
            "printed; .0083 for Southeast smokers is a misprint",
            f"{len(scaled)} differs (the data give {exact:.4f})",
            "all but the misprint, to the last digit",
            scaled == [MISPRINT],
        ),
    )


def _compute() -> ExperimentOutcome:
    people = load("insurance")
    rows = [
        {"table": number, "entry": row, "group": group, "printed": float(value), "ours": ours[row][group]}
        for number, printed, ours in (
            ("5.1", TABLE_5_1, table(people, scaled=False)),
            ("5.2", TABLE_5_2, table(people, scaled=True)),
        )
        for row, values in printed.items()
        for group, value in enumerate(values)
    ]
    return ExperimentOutcome(findings_of(people), None, pa.Table.from_pylist(rows))


EXPERIMENT = Experiment(
    name="nunes-tables",
    title="the statistics of the scenario and their sensitivities",
    paper="Nunes 2024, §5.4.3, Tables 5.1 and 5.2",
    data=("insurance",),
    seconds=1,
    compute=_compute,
)
