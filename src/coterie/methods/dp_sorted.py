"""dp-sorted: the ε-DP list of noisy centroids of each attribute, without row linkage (ours; Sánchez et al. 2016, Lemma
1)."""

from __future__ import annotations

from coterie.chain.mechanism.categorical import SortedLabels
from coterie.chain.mechanism.numeric import SortedCentroids
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.guarantee import Facts, Guarantee
from coterie.methods.promises import NOTHING_TO_LINK, proved_dp, public_k
from coterie.methods.recipe import Method


def _promise(facts: Facts) -> Guarantee:
    return proved_dp(
        facts,
        "lists of noisy group means, each attribute in an order of its own: rows mean nothing",
        "Sánchez et al. 2016, Lemma 1 with composition over attributes; docs/guarantees/dp-sorted",
    )


METHOD = Method(
    name="dp-sorted",
    title="the sorted list of noisy group means of each attribute, no rows",
    papers="ours, after Sánchez et al. 2016, Lemma 1",
    grouping=INDIVIDUAL_RANKING,
    numeric=SortedCentroids(),
    categorical=SortedLabels(),
    promise=_promise,
    why=(
        "One record moves the whole sorted list of group means by at most Δ/k (Sánchez et al. 2016, Lemma 1). The release "
        "is that list with noise, each entry repeated as often as n and k say; which record was in which group is not in it."
    ),
    attack=NOTHING_TO_LINK,
    rank=20,
    lists=True,
    public_k=public_k,
)
