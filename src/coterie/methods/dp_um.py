"""dp-um: as dp-ir, but scale Δ/(|C|ε_a): the larger last cluster gets less noise (000 Algorithm 1)."""

from __future__ import annotations

from dataclasses import replace

from coterie.guarantee import Facts, Guarantee
from coterie.mechanism.numeric import LaplaceOnCentroids
from coterie.mechanism.ranked import RankedCategories
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.parts import MEAN
from coterie.methods.reattached import TIE_LINKAGE, WHY, calibrated, refuted_dp
from coterie.methods.recipe import Method
from coterie.sensitivity.domain_over_size import DOMAIN_OVER_SIZE


def _promise(facts: Facts) -> Guarantee:
    return replace(refuted_dp("000 §3.1 claims ε-DP"), label=calibrated(facts))


_NUMERIC = LaplaceOnCentroids(MEAN, DOMAIN_OVER_SIZE)

METHOD = Method(
    name="dp-um",
    title="univariate microaggregation with noise for the global sensitivity",
    papers="000 §3.1 Algorithm 1",
    grouping=INDIVIDUAL_RANKING,
    numeric=_NUMERIC,
    categorical=RankedCategories(_NUMERIC),
    promise=_promise,
    why=WHY,
    attack=TIE_LINKAGE,
    rank=31,
)
