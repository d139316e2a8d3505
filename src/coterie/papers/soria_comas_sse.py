"""What Soria-Comas et al., Fig. 3 and Fig. 4 share: four methods over k, ε and α, and the claims of §4.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from coterie.comparison.shared_work import SortedTable
from coterie.papers.experiment import ExperimentOutcome, PaperFinding, counted
from coterie.papers.grids import PaperGrid, line_panels, over_k, paper_grid
from coterie.papers.tables import numeric_schema
from coterie.report.charts import Lines
from coterie.table.checked import check

METHODS = ("laplace", "dp-um", "idp-ls", "idp-cbls")
LABELS = {"laplace": "DP (plain noise)", "dp-um": "DP-UM", "idp-ls": "iDP-LS", "idp-cbls": "iDP-CBLS"}
EPSILONS = ("0.01", "0.1", "1")
ALPHAS = (1.5, 3.0)
MEASURES = ("sse-paper", "sse")
RUNS = 10


@dataclass(frozen=True)
class SseGrids:
    """The grids by α, and the claims read off from the measure that Soria-Comas et al. prints."""

    grids: dict[float, PaperGrid]
    ks: tuple[int, ...]

    def line(self, method: str, epsilon: str, alpha: float, measure: str = "sse-paper") -> np.ndarray:
        return self.grids[alpha].line(measure, method, epsilon)


def run_grids(table: pa.Table, names: Sequence[str], ks: Sequence[int], runs: int = RUNS) -> SseGrids:
    """4 methods × k × 3 ε × 2 α × runs; every attribute is sorted once."""
    first = numeric_schema(table, names, ALPHAS[0])
    ready = SortedTable(check(table.select(list(names)), first).columns)
    grids = {
        alpha: paper_grid(
            table,
            numeric_schema(table, names, alpha),
            METHODS,
            EPSILONS,
            ks,
            runs,
            MEASURES,
            sorted_table=ready,
        )
        for alpha in ALPHAS
    }
    return SseGrids(grids, tuple(ks))


def findings(found: SseGrids) -> tuple[PaperFinding, ...]:
    ks = np.array(found.ks)
    gains = {e: np.log10(found.line("dp-um", e, 1.5) / found.line("idp-cbls", e, 1.5)) for e in EPSILONS}
    optima = {e: int(ks[np.argmin(found.line("idp-cbls", e, 1.5))]) for e in EPSILONS}
    strict = float(np.log10(found.line("idp-cbls", "0.01", 1.5).min() / found.line("dp-um", "1", 1.5)[-1]))
    plain = float(found.line("laplace", "1", 1.5)[0] / found.line("laplace", "0.01", 1.5)[0])
    lower = np.array(
        [found.line("idp-ls", e, a) <= found.line("dp-um", e, a) for e in EPSILONS for a in ALPHAS]
    )
    wider = np.array(
        [
            found.line(m, e, 3.0) >= found.line(m, e, 1.5)
            for m in ("laplace", "dp-um", "idp-ls")
            for e in EPSILONS
        ]
    )
    untouched = max(
        float(np.max(np.abs(found.line("idp-cbls", e, 3.0) / found.line("idp-cbls", e, 1.5) - 1)))
        for e in ("0.1", "1")
    )
    return (
        PaperFinding(
            "iDP-CBLS below DP-UM, orders of magnitude (median over k) at ε = 0.01, 0.1, 1",
            "several",
            ", ".join(f"{float(np.median(gains[e])):.1f}" for e in EPSILONS),
            "at least 2 at every ε",
            all(float(np.median(gains[e])) >= 2 for e in EPSILONS),
        ),
        PaperFinding(
            "best k of iDP-CBLS at ε = 0.01, 0.1, 1",
            "5 to 15",
            ", ".join(str(optima[e]) for e in EPSILONS),
            "from 5 to 15 at every ε",
            all(5 <= optima[e] <= 15 for e in EPSILONS),
        ),
        PaperFinding(
            "best SSE of iDP-CBLS at ε = 0.01, over DP-UM's at ε = 1 and the largest k, log10",
            "similar (0)",
            f"{strict:+.2f}",
            "between -0.5 and 0.5",
            abs(strict) <= 0.5,
        ),
        PaperFinding(
            "plain noise: SSE at ε = 1 over that at ε = 0.01",
            "barely decreases (near 1)",
            f"{plain:.2f}",
            "at least 0.8",
            plain >= 0.8,
        ),
        counted(
            "iDP-LS not above DP-UM",
            "always",
            lower,
            "at least 95 % of the points (means of 10 random runs)",
            0.95,
        ),
        counted(
            "for the other three methods a wider domain (α = 3) means more error",
            "always",
            wider,
            "at least 95 % of the points",
            0.95,
        ),
        PaperFinding(
            "iDP-CBLS is not affected by the domain (largest relative change from α = 1.5 to 3, ε ≥ 0.1)",
            "0",
            f"{untouched:.2f}",
            "at most 0.1",
            untouched <= 0.1,
        ),
    )


def outcome(found: SseGrids, title: str, notes: tuple[str, ...] = ()) -> ExperimentOutcome:
    measures = {"sse-paper": "mean SSE as printed", "sse": "mean SSE, scale-free"}
    panels = []
    for epsilon in EPSILONS:
        for measure, words in measures.items():
            series = [
                over_k(
                    f"{LABELS[method]}, α = {alpha:g}",
                    found.ks,
                    found.line(method, epsilon, alpha, measure),
                    look,
                    dash,
                    method == "laplace",
                )
                for look, method in enumerate(METHODS)
                for dash, alpha in enumerate(ALPHAS)
            ]
            panels.append(Lines(f"ε = {epsilon}", series, words, True))
    data = pa.concat_tables([grid.table(alpha=alpha) for alpha, grid in found.grids.items()])
    figure = line_panels(panels, f"{title}: mean of {RUNS} runs")
    note = "The printed equation (5) depends on units; the right column shows the same data scale-free."
    return ExperimentOutcome(findings(found), figure, data, (note, *notes))
