"""What Soria-Comas et al., Fig. 3 and Fig. 4 share: four methods over k, ε and α, the readings, and the claims of §4.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pyarrow as pa

from coterie.chain.mechanism.numeric import Centroids, LaplaceOnCentroids
from coterie.chain.noise.sampler import Sampler
from coterie.comparison.shared_work import SortedTable
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.papers.expectations import Expected, closed, expected, formula, ranking_alone
from coterie.papers.experiment import ExperimentOutcome, Judgement, PaperReading, Support, as_printed
from coterie.papers.grids import Key, PaperGrid, line_panels, over_k, paper_grid
from coterie.papers.judging import RunEstimate, everywhere, jackknife, within
from coterie.papers.tables import numeric_schema
from coterie.report.charts import Lines
from coterie.schema.arrays import Floats
from coterie.table.checked import check
from coterie.table.columns.column import NumericColumn

METHODS = ("laplace", "dp-um", "idp-ls", "idp-cbls")
LABELS = {"laplace": "DP (plain noise)", "dp-um": "DP-UM", "idp-ls": "iDP-LS", "idp-cbls": "iDP-CBLS"}
EPSILONS = ("0.01", "0.1", "1")
ALPHAS = (1.5, 3.0)
RUNS = 100

PRINTED = as_printed(
    "Eq. (5) divides each distance by σ², and has 1/m before the root; ε is “split among each of the attributes” (§3.1)"
)
SIGMA = PaperReading(
    "sigma",
    "σ for σ² and 1/m inside the root of Eq. (5)",
    "Del Vasto-Terrientes et al. print the same equation, call it “the average of the distances between attributes” (§5.1), "
    "and their levels come out under this reading only (fragmented-fig3)",
    Support.SUPPORTED,
)
OBSERVED = PaperReading(
    "observed-range",
    "sigma, and outputs bounded to the range of the data instead of the domain",
    "§4 says the opposite: outputs are bounded “to the domain ranges defined above”",
    Support.CONTRADICTED,
)
WHOLE = PaperReading(
    "per-attribute",
    "sigma, and every attribute gets the whole ε",
    "§3.1 says the opposite: the budget “must be split among each of the attributes”",
    Support.CONTRADICTED,
)
READINGS = (PRINTED, SIGMA, OBSERVED, WHOLE)


class WithinTheData(LaplaceOnCentroids):
    """Noisy centroids cut to the smallest and the largest value of the data."""

    def noise(
        self,
        column: NumericColumn,
        centroids: Centroids,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Floats:
        noisy = LaplaceOnCentroids.noise(self, column, centroids, sensitivity, epsilon, sampler)
        return np.clip(noisy, column.values.min(), column.values.max(), out=noisy)


def bounded_to_the_data(name: str) -> Method:
    """A method of that name whose outputs stay inside the range of the data."""
    method = get_method(name)
    numeric = method.numeric
    assert isinstance(numeric, LaplaceOnCentroids)
    return replace(method, numeric=WithinTheData(*(getattr(numeric, f.name) for f in fields(numeric))))


def measure_of(reading: str) -> str:
    return "sse-paper" if reading == "printed" else "sse"


@dataclass(frozen=True)
class SseGrids:
    """The grids by α under one reading, and what the printed formulas give for them."""

    table: pa.Table
    reading: str
    grids: tuple[PaperGrid, PaperGrid]
    expected: tuple[dict[Key, Expected], dict[Key, Expected]]

    @property
    def measure(self) -> str:
        return measure_of(self.reading)


@lru_cache(maxsize=1)  # as printed and with σ, the same runs
def _grids(
    load: Callable[[], pa.Table], ks: tuple[int, ...], runs: int, bounded: bool, whole: bool
) -> tuple[PaperGrid, PaperGrid]:
    """4 methods × k × 3 ε × 2 α × runs; every attribute is sorted once."""
    table = load()
    names = table.column_names
    find = bounded_to_the_data if bounded else get_method
    ready = SortedTable(check(table, numeric_schema(table, names, ALPHAS[0])).columns)
    first, second = (
        paper_grid(
            table, numeric_schema(table, names, alpha), METHODS, EPSILONS, ks, runs, ("sse-paper", "sse"),
            sorted_table=ready, find=find, times=len(names) if whole else 1,
        )
        for alpha in ALPHAS
    )  # fmt: skip
    return first, second


def run_grids(load: Callable[[], pa.Table], ks: tuple[int, ...], reading: str, runs: int) -> SseGrids:
    bounded, whole = reading == OBSERVED.name, reading == WHOLE.name
    grids = _grids(load, ks, runs, bounded, whole)
    table, keys, measure = load(), grids[0].values["sse"], measure_of(reading)
    first, second = (
        expected(
            table, numeric_schema(table, table.column_names, a), keys, measure, whole=whole, observed=bounded
        )
        for a in ALPHAS
    )
    return SseGrids(table, reading, grids, (first, second))


def judgements(found: SseGrids) -> tuple[Judgement, ...]:
    measure, (narrow, wide) = found.measure, found.grids
    exact = [closed(known, narrow, measure) for known in found.expected]

    def line(grid: PaperGrid, method: str, epsilon: str) -> Floats:
        return grid.line(measure, method, epsilon)

    def gain(epsilon: str) -> RunEstimate:
        return jackknife(
            lambda g: np.median(np.log10(line(g, "dp-um", epsilon) / line(g, "idp-cbls", epsilon))),
            narrow,
            exact=exact[:1],
        )

    ks = np.array(narrow.ks)
    small = (ks >= 5) & (ks <= 15)

    def near_best(epsilon: str) -> RunEstimate:
        def ratio(grid: PaperGrid) -> Floats:
            values = line(grid, "idp-cbls", epsilon)
            return np.asarray(values[small].min() / values.min())

        return jackknife(ratio, narrow, exact=exact[:1])

    strict = jackknife(
        lambda g: np.log10(line(g, "idp-cbls", "0.01").min() / line(g, "dp-um", "1")[-1]),
        narrow,
        exact=exact[:1],
    )
    plain = jackknife(
        lambda g: line(g, "laplace", "1")[0] / line(g, "laplace", "0.01")[0], narrow, exact=exact[:1]
    )
    apart = jackknife(
        lambda g: (
            np.median(np.log10(line(g, "dp-um", "1") / line(g, "idp-ls", "1")))
            - np.median(np.log10(line(g, "dp-um", "0.01") / line(g, "idp-ls", "0.01")))
        ),
        narrow,
        exact=exact[:1],
    )
    untouched = jackknife(
        lambda g, h: np.max(
            [np.abs(line(h, "idp-cbls", e) / line(g, "idp-cbls", e) - 1) for e in ("0.1", "1")]
        ),
        narrow,
        wide,
        exact=exact,
    )
    lower = np.array(
        [g.lines(measure, "dp-um", e) - g.lines(measure, "idp-ls", e) for e in EPSILONS for g in found.grids]
    )
    wider = np.array(
        [wide.lines(measure, m, e) - narrow.lines(measure, m, e) for m in METHODS[:3] for e in EPSILONS]
    )
    return (
        *(
            within(
                f"ε = {e}: iDP-CBLS below DP-UM, orders of magnitude (median over k)",
                "several", gain(e), 2, np.inf, "at least 2", "{:.2f}",
            )
            for e in EPSILONS
        ),
        *(
            within(
                f"ε = {e}: error of iDP-CBLS at the best k in 5–15, over that at the best k of all",
                "optimal for k among 5–15 (1)", near_best(e), -np.inf, 1.1, "at most 1.1", "{:.3f}",
            )
            for e in EPSILONS
        ),
        within(
            "best error of iDP-CBLS at ε = 0.01, over DP-UM's at ε = 1 and the largest k, log10",
            "similar (0)", strict, -0.5, 0.5, "between −0.5 and 0.5", "{:+.2f}",
        ),
        within(
            "plain noise: error at ε = 1 over that at ε = 0.01",
            "barely decreases (near 1)", plain, 0.8, np.inf, "at least 0.8", "{:.3f}",
        ),
        everywhere("iDP-LS below DP-UM", "always", lower),
        within(
            "iDP-LS gains more on DP-UM at ε = 1 than at ε = 0.01, orders of magnitude (median over k)",
            "larger for higher ε", apart, 0, np.inf, "above 0", "{:.3f}",
        ),
        everywhere("for the other three methods a wider domain (α = 3) means more error", "always", wider),
        within(
            "iDP-CBLS is not affected by the domain (largest relative change from α = 1.5 to 3, ε ≥ 0.1)",
            "0", untouched, -np.inf, 0.1, "at most 0.1", "{:.2f}",
        ),
        formula(
            found.expected[0], narrow, measure,
            "Δ/|C| (§3.1), Propositions 2 and 3, ε split, outputs bounded to the domain (§4)",
        ),
        ranking_alone(found.table, numeric_schema(found.table, found.table.column_names, ALPHAS[0]), narrow.ks),
    )  # fmt: skip


def outcome(found: SseGrids, title: str, notes: tuple[str, ...] = ()) -> ExperimentOutcome:
    words = "mean SSE as printed" if found.reading == "printed" else "mean SSE, σ and 1/m"
    panels = []
    for epsilon in EPSILONS:
        series = [
            over_k(
                f"{LABELS[method]}, α = {alpha:g}",
                grid.ks,
                grid.line(found.measure, method, epsilon),
                look,
                dash,
                method == "laplace",
            )
            for look, method in enumerate(METHODS)
            for dash, (alpha, grid) in enumerate(zip(ALPHAS, found.grids, strict=True))
        ]
        panels.append(Lines(f"ε = {epsilon}", series, words, True))
    data = pa.concat_tables([g.table(alpha=alpha) for alpha, g in zip(ALPHAS, found.grids, strict=True)])
    figure = line_panels(panels, f"{title}: mean of {found.grids[0].runs} runs")
    return ExperimentOutcome(judgements(found), figure, data, (SPLIT, *notes))


SPLIT = (
    "Changed after a first result was seen. First: one claim for all ε on the gain (failed on Census, held on Wine as "
    "printed), and the best k itself in 5–15 (20, 10, 10 on Census, 5, 200, 150 on Wine, from ten runs). A strict "
    "argmin over ten noisy "
    "runs is decided by chance where the curve is flat, so the claim is now how much the best k in 5–15 loses."
)
