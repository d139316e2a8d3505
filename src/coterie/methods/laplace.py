"""laplace: plain noise on every value, scale Δ/ε_a (Sánchez et al. 2016, §3.3 and §4.3, the baseline of all papers)."""

from __future__ import annotations

from dataclasses import replace

from coterie.chain.mechanism.categorical import PER_RECORD
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids, randomised_response
from coterie.chain.sensitivity import DOMAIN_OVER_K
from coterie.methods.grouping import EACH_ALONE
from coterie.methods.guarantee import Facts, Guarantee
from coterie.methods.promises import ROWS, dp_list
from coterie.methods.recipe import Method


def _promise(facts: Facts) -> Guarantee:
    citation = "Laplace mechanism with sequential composition over attributes (Sánchez et al. 2016, §3.3)"
    return replace(dp_list(facts, citation), scope=ROWS)


METHOD = Method(
    name="laplace",
    title="plain Laplace noise on every value",
    papers="Sánchez et al. 2016, §3.3; Sánchez et al. (univariate), §5; Soria-Comas et al. (iDP), §4.1",
    grouping=EACH_ALONE,
    numeric=LaplaceOnCentroids(MEAN, DOMAIN_OVER_K, gaps=randomised_response),
    categorical=PER_RECORD,
    promise=_promise,
    why="One record changes one value of each attribute by at most Δ; the attributes' shares of ε add up.",
    attack="None known beyond what ε allows. With bounds taken from the data, the largest released value shows the maximum.",
    rank=10,
    fixed_k=1,
)
