"""dp-ir: individual ranking, one Laplace draw per cluster, scale Δ/(kε_a) (Sánchez et al. 2016, Algorithm 1, Sánchez et
al. (univariate), Algorithm 1)."""

from __future__ import annotations

from dataclasses import replace

from coterie.chain.mechanism.categorical import PER_CLUSTER
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids
from coterie.chain.sensitivity import DOMAIN_OVER_K
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.guarantee import Facts, Guarantee, Status
from coterie.methods.promises import TIE_LINKAGE, WHY, dp_list, on_rows, rows_show_groups
from coterie.methods.recipe import Method
from coterie.schema.exact import as_text


def _promise(facts: Facts) -> Guarantee:
    numbers, claim = (
        dp_list(facts, "Sánchez et al. 2016, Lemma 1; docs/guarantees/dp-sorted"),
        "Sánchez et al. 2016, Lemma 3 and Sánchez et al. (univariate), Lemma 4 claim ε-DP",
    )
    if not facts.labelled or facts.k == 1 or facts.clusters <= 1:
        return on_rows(facts, numbers, claim)
    # Sánchez et al. 2016, Algorithm 2 pays for one cluster; one record moves many.
    return on_rows(facts, None if rows_show_groups(facts) else _per_cluster(facts, numbers), claim)


def _per_cluster(facts: Facts, listed: Guarantee) -> Guarantee:
    total = as_text(facts.clusters * facts.epsilon)
    return replace(
        listed,
        value=total,
        status=Status.BOUNDED,
        label=f"at most {total}-DP (qε for q = {facts.clusters} clusters; Algorithm 2 of Sánchez et al. 2016 pays for one)",
    )


METHOD = Method(
    name="dp-ir",
    title="individual ranking with noise for the global sensitivity",
    papers="Sánchez et al. 2016, Algorithms 1 and 2; Sánchez et al. (univariate), §4",
    grouping=INDIVIDUAL_RANKING,
    numeric=LaplaceOnCentroids(MEAN, DOMAIN_OVER_K),
    categorical=PER_CLUSTER,
    promise=_promise,
    why=WHY,
    attack=TIE_LINKAGE,
    rank=30,
)
