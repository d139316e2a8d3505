"""dp-ir: individual ranking, one Laplace draw a cluster, scale Δ/(kε_a) (001 Algorithm 1, 004 Algorithm 1)."""

from __future__ import annotations

from dataclasses import replace

from coterie.guarantee import Facts, Guarantee
from coterie.methods.parts import INDIVIDUAL_RANKING, MEAN
from coterie.methods.reattached import TIE_LINKAGE, WHY, calibrated, refuted_dp
from coterie.methods.recipe import Method, Recipe
from coterie.sensitivity.domain_over_k import DOMAIN_OVER_K


def _promise(facts: Facts) -> Guarantee:
    return replace(refuted_dp("001 Lemma 3 and 004 Lemma 4 claim ε-DP"), label=calibrated(facts))


METHOD = Method(
    name="dp-ir",
    title="individual ranking with noise for the global sensitivity",
    papers="001 §3.2 Algorithm 1, 004 §4",
    numeric=Recipe(partition=INDIVIDUAL_RANKING, centroid=MEAN, bound=DOMAIN_OVER_K),
    promise=_promise,
    why=WHY,
    attack=TIE_LINKAGE,
    rank=30,
)
