"""dp-um: as dp-ir, but scale Δ/(|C|ε_a): the larger last cluster gets less noise (Soria-Comas et al., Algorithm 1)."""

from __future__ import annotations

from coterie.chain.mechanism.categorical import RankedCategories
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids
from coterie.chain.sensitivity import DOMAIN_OVER_SIZE
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.guarantee import Facts, Guarantee
from coterie.methods.promises import TIE_LINKAGE, WHY, dp_list, on_rows
from coterie.methods.recipe import Method


def _promise(facts: Facts) -> Guarantee:
    listed = dp_list(
        facts, "Sánchez et al. 2016, Lemma 1 with Δ/|C|: the changes of all sums add up to at most Δ"
    )
    return on_rows(facts, listed, "Soria-Comas et al., §3.1 claims ε-DP")


_NUMERIC = LaplaceOnCentroids(MEAN, DOMAIN_OVER_SIZE)

METHOD = Method(
    name="dp-um",
    title="univariate microaggregation with noise for the global sensitivity",
    papers="Soria-Comas et al. (iDP), §3.1",
    grouping=INDIVIDUAL_RANKING,
    numeric=_NUMERIC,
    categorical=RankedCategories(_NUMERIC),
    promise=_promise,
    why=WHY,
    attack=TIE_LINKAGE,
    rank=31,
)
