"""dp-copula: synthetic rows with noisy marginals and noisy rank correlations (ours; DPCopula, Li et al., EDBT 2014)."""

from __future__ import annotations

from coterie.chain.mechanism.counted import CountedLabels, CountedOrSorted
from coterie.chain.mechanism.listed import SortedCentroids
from coterie.chain.synthesis.copula import GaussianCopula
from coterie.methods.grouping import GRADED_RANKING
from coterie.methods.guarantee import Facts, Guarantee
from coterie.methods.recipe import Method
from coterie.methods.synthetic import ATTACK, proved_dp, public_k


def _promise(facts: Facts) -> Guarantee:
    return proved_dp(
        facts,
        "rows are synthetic",
        "Sánchez et al. 2016, Lemma 1, Laplace on Kendall's τ, composition, post-processing; docs/guarantees/dp-copula",
    )


METHOD = Method(
    name="dp-copula",
    title="synthetic rows from noisy distributions and noisy rank correlations",
    papers="DPCopula (Li, Xiong, Jiang 2014); Sánchez et al. 2016, Lemma 1",
    grouping=GRADED_RANKING,
    numeric=CountedOrSorted(SortedCentroids(smooth=True)),
    categorical=CountedLabels(),
    promise=_promise,
    why=(
        "Data are read three times: sorted means (sums move by Δ) or counts (2) of each attribute, and Kendall's τ of "
        "each pair (4/n). Each gets Laplace noise and its part of ε; rows are drawn from the noisy numbers alone."
    ),
    attack=ATTACK,
    rank=21,
    synthesis=GaussianCopula(),
    public_k=public_k,
)
