"""Sánchez et al. 2016, Table 1, columns IR: mean variance change on Census over 10 runs, domains [0, 1.5·max], ε/8 an
attribute.

Tolerance: both the paper's cell and ours are means of 10 random runs, so their difference has standard error
s·√(2/10), with s the spread between runs (estimated here from 40). Five of them, plus half a unit of the printed digit,
for 7 × 12 cells of a skewed quantity; set after seeing the largest, 4.1 (POTHVAL, k = 100, ε = 10). At ε = 10 and
large k the tolerance is as wide as the value itself, so those cells show little.

Two departures, both asserted:
* ε = 0.1: the printed numbers fit ours + 1, as if σ'²/σ² had been printed instead of |σ² − σ'²|/σ². At k = 2 the
  spread is small enough to tell the two apart on all seven attributes; at k = 100 it is not.
* A3 = EMCONTRB does not match its printed row at any ε; its numbers do not fall with k as all others do.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from coterie import Attribute, Domain, Role, Schema, protect

NAMES = ["AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "POTHVAL"]
KS = (2, 25, 50, 100)
# Sánchez et al. 2016, Table 1: for each attribute the four rows k, each with ε = 0.1, 1, 10.
PRINTED = {
    "AFNLWGT": [(25.89, 22.84, 9.42), (21.74, 8.08, 0.16), (20.75, 2.33, 0.02), (15.27, 0.38, 0.02)],
    "AGI": [(9.14, 7.40, 3.45), (8.33, 2.30, 0.12), (7.41, 1.13, 0.04), (5.69, 0.11, 0.05)],
    "EMCONTRB": [(24.97, 11.79, 0.47), (24.83, 12.85, 0.44), (24.17, 9.64, 0.37), (23.63, 9.60, 0.1)],
    "FEDTAX": [(10.46, 8.69, 3.72), (9.43, 2.39, 0.08), (8.29, 1.16, 0.00), (5.78, 0.48, 0.03)],
    "PTOTVAL": [(16.71, 14.50, 6.59), (14.35, 5.33, 0.16), (13.13, 2.41, 0.01), (9.86, 0.18, 0.05)],
    "STATETAX": [(22.07, 19.30, 8.20), (19.50, 6.36, 0.19), (15.61, 3.63, 0.03), (10.20, 0.45, 0.04)],
    "TAXINC": [(8.61, 6.91, 3.12), (7.63, 2.97, 0.03), (6.57, 0.95, 0.02), (4.95, 0.30, 0.01)],
    "POTHVAL": [(70.22, 64.01, 24.06), (63.42, 14.90, 0.05), (49.28, 3.66, 0.12), (41.36, 0.78, 0.21)],
}
EPSILONS = ("0.1", "1", "10")
RUNS = 40


class Cells:
    def __init__(self, census: pa.Table) -> None:
        self.census = census

    @cache  # noqa: B019 - one object for the whole module
    def runs(self, k: int, epsilon: str, factor: Fraction = Fraction(1)) -> dict[str, np.ndarray]:
        """Variance changes of forty runs, by attribute; `factor` spoils ε, to see that the test would notice."""
        columns = {name: self.census.column(name).to_numpy().astype(float) for name in NAMES}
        schema = Schema(
            attributes=tuple(
                Attribute(
                    name=name,
                    role=Role.PROTECT,
                    domain=Domain(lower=0, upper=1.5 * values.max(), source="data"),
                )
                for name, values in columns.items()
            )
        )
        changes: dict[str, list[float]] = {name: [] for name in NAMES}
        for seed in range(RUNS):
            total = Fraction(epsilon) * factor
            release = protect(pa.table(columns), schema, method="dp-ir", epsilon=total, k=k, seed=seed)
            for name, figures in release.internal.attributes.items():
                assert figures.variance_change is not None
                changes[name].append(figures.variance_change)
        return {name: np.array(values) for name, values in changes.items()}

    def agrees(self, printed: float, runs: np.ndarray) -> bool:
        return abs(runs[:10].mean() - printed) <= 5 * runs.std(ddof=1) * np.sqrt(2 / 10) + 0.005


@pytest.fixture(scope="module")
def cells(census: pa.Table) -> Cells:
    assert census.column_names[:8] == NAMES
    return Cells(census)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "EMCONTRB"])
def test_seven_attributes_agree(cells: Cells, name: str) -> None:
    for row, k in zip(PRINTED[name], KS, strict=True):
        for printed, epsilon in zip(row, EPSILONS, strict=True):
            runs = cells.runs(k, epsilon)[name]
            assert cells.agrees(printed, runs + 1 if epsilon == "0.1" else runs), (k, epsilon)


@pytest.mark.parametrize(("name", "about"), [("AFNLWGT", 22.8), ("AGI", 7.4), ("POTHVAL", 64)])
def test_the_named_cells(cells: Cells, name: str, about: float) -> None:
    """k = 2, ε = 1: the spread is small there, so two per cent must do."""
    assert cells.runs(2, "1")[name].mean() == pytest.approx(about, rel=0.02)


def test_epsilon_a_tenth_is_printed_one_too_high(cells: Cells) -> None:
    for name in PRINTED:
        if name != "EMCONTRB":
            runs = cells.runs(2, "0.1")[name]
            assert not cells.agrees(PRINTED[name][0][0], runs)
            assert cells.agrees(PRINTED[name][0][0], runs + 1)


def test_emcontrb_is_another_row(cells: Cells) -> None:
    for row, k in zip(PRINTED["EMCONTRB"], KS, strict=True):
        for printed, epsilon in zip(row, EPSILONS, strict=True):
            if (k >= 25 and epsilon != "10") or (k == 2 and epsilon != "1"):
                runs = cells.runs(k, epsilon)["EMCONTRB"]
                assert not cells.agrees(printed, runs), (k, epsilon)
                assert not cells.agrees(printed, runs + 1), (k, epsilon)


@pytest.mark.parametrize("factor", [Fraction(10, 7), Fraction(10, 13)])
def test_a_scale_thirty_per_cent_off_would_be_noticed(cells: Cells, factor: Fraction) -> None:
    for name in ("AFNLWGT", "AGI", "POTHVAL"):
        assert not cells.agrees(PRINTED[name][0][2], cells.runs(2, "10", factor)[name])
