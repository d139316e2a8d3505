"""dp-ir: individual ranking, one Laplace draw a cluster, scale Δ/(kε_a) (001 Algorithm 1, 004 Algorithm 1)."""

from __future__ import annotations

from dataclasses import replace

from coterie.guarantee import Facts, Guarantee
from coterie.mechanism.numeric import LaplaceOnCentroids
from coterie.mechanism.semantic import PER_CLUSTER
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.parts import MEAN
from coterie.methods.reattached import TIE_LINKAGE, WHY, calibrated, refuted_dp
from coterie.methods.recipe import Method
from coterie.sensitivity.domain_over_k import DOMAIN_OVER_K


def _promise(facts: Facts) -> Guarantee:
    return replace(refuted_dp("001 Lemma 3 and 004 Lemma 4 claim ε-DP"), label=calibrated(facts))


METHOD = Method(
    name="dp-ir",
    title="individual ranking with noise for the global sensitivity",
    papers="001 §3.2 Algorithm 1, §3.4 Algorithm 2, 004 §4",
    grouping=INDIVIDUAL_RANKING,
    numeric=LaplaceOnCentroids(MEAN, DOMAIN_OVER_K),
    categorical=PER_CLUSTER,
    promise=_promise,
    why=WHY,
    attack=TIE_LINKAGE,
    rank=30,
)
