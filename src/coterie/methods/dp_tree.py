"""dp-tree: synthetic rows with noisy marginals and a tree of noisy two-way tables (ours; after MST, McKenna et al. 2021)."""

from __future__ import annotations

from coterie.chain.mechanism.counted import CountedLabels, CountedOrSorted
from coterie.chain.mechanism.listed import SortedCentroids
from coterie.chain.synthesis.tree import MarginalTree
from coterie.methods.grouping import GRADED_RANKING
from coterie.methods.guarantee import Facts, Guarantee
from coterie.methods.recipe import Method
from coterie.methods.synthetic import ATTACK, proved_dp, public_k


def _promise(facts: Facts) -> Guarantee:
    return proved_dp(
        facts,
        "rows are synthetic",
        "Sánchez et al. 2016, Lemma 1; exponential mechanism and Laplace on two-way counts; docs/guarantees/dp-copula",
    )


METHOD = Method(
    name="dp-tree",
    title="synthetic rows from noisy distributions and a tree of noisy two-way tables",
    papers="MST (McKenna, Miklau, Sheldon 2021); Sánchez et al. 2016, Lemma 1",
    grouping=GRADED_RANKING,
    numeric=CountedOrSorted(SortedCentroids(smooth=True)),
    categorical=CountedLabels(),
    promise=_promise,
    why=(
        "Data are read three times: sorted means (sums move by Δ) or counts (2) of each attribute, scores of pairs (2), "
        "and two-way counts (2). Each gets noise and its part of ε; rows are drawn from the noisy numbers alone."
    ),
    attack=ATTACK,
    rank=22,
    synthesis=MarginalTree(),
    public_k=public_k,
)
