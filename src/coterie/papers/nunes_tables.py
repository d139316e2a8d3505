"""Nunes 2024, Tables 5.1 and 5.2: the twelve statistics and their leave-one-out sensitivities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from coterie.papers.data import load
from coterie.papers.experiment import Experiment, ExperimentOutcome, Judgement, as_printed
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


def findings_of(people: pa.Table) -> tuple[Judgement, ...]:
    dollars = differing(TABLE_5_1, table(people, scaled=False), _LAST_DIGIT["5.1"])
    scaled = differing(TABLE_5_2, table(people, scaled=True), _LAST_DIGIT["5.2"])
    row, group = MISPRINT
    exact = table(people, scaled=True)[row][group]
    width = np.ptp(people["charges"].to_numpy())
    proof = (
        f"misprint: .0083 for Southeast smokers repeats Northwest's; Table 5.1 gives {TABLE_5_1[row][group]:.2f} "
        f"dollars, and "
        f"that over the range of charges ({width:,.2f}) is {TABLE_5_1[row][group] / width:.4f}, as the data give "
        f"({exact:.4f})"
    )
    known = scaled == [MISPRINT] and abs(TABLE_5_1[row][group] / width - exact) < _LAST_DIGIT["5.2"]
    return (
        Judgement("Table 5.1, 20 entries", "printed", f"{len(dollars)} differ", "all, to the last digit", not dollars),
        Judgement(
            "Table 5.2, 20 entries", "printed", f"{len(scaled)} differs", "all, to the last digit", not scaled,
            slip=proof if known else "",
        ),
    )  # fmt: skip


def _compute(reading: str, runs: int) -> ExperimentOutcome:
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
    readings=(as_printed("sensitivities leave one record out (§5.4.2)"),),
)
