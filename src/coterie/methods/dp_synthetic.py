"""dp-synthetic: rows drawn from noisy distributions, correlations and two-way tables (ours; after PrivSyn, AIM and MST)."""

from __future__ import annotations

from coterie.chain.mechanism import CountedCells
from coterie.chain.synthesis.whole_table import WholeTable
from coterie.methods.grouping import NO_GROUPS
from coterie.methods.guarantee import Facts, Guarantee
from coterie.methods.promises import NOTHING_TO_LINK, proved_dp
from coterie.methods.recipe import Method


def _promise(facts: Facts) -> Guarantee:
    return proved_dp(
        facts,
        "rows are synthetic",
        "discrete Laplace or discrete Gaussian noise on counts, exponential mechanism, adaptive composition, "
        "post-processing; docs/guarantees/dp-synthetic",
    )


METHOD = Method(
    name="dp-synthetic",
    title="synthetic rows from noisy distributions, correlations and two-way tables",
    papers="PrivSyn (Zhang et al. 2021), AIM (McKenna et al. 2022), MST (McKenna et al. 2021)",
    grouping=NO_GROUPS,
    numeric=CountedCells("histograms on public cells, finer where much was found"),
    categorical=CountedCells("count of every label"),
    promise=_promise,
    why=(
        "Data are read as counts on public cells (one record moves them by 2), one matrix of clipped scores, and choices "
        "among tables (2). Each reading is paid for before it is drawn; rows are drawn from the noisy numbers alone."
    ),
    attack=NOTHING_TO_LINK,
    rank=5,  # first: the one that guided paths lead to
    fixed_k=1,
    whole_table=WholeTable(),
)
