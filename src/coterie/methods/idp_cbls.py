"""idp-cbls: individual ranking, trimmed means, noise for the cluster-based local sensitivity (Soria-Comas et al.,
Prop. 3)."""

from __future__ import annotations

from fractions import Fraction

from coterie.chain.mechanism.categorical import RankedCategories
from coterie.chain.mechanism.numeric import TRIMMED_MEAN, LaplaceOnCentroids
from coterie.chain.sensitivity import CLUSTER_BASED
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.guarantee import Facts, Guarantee, Status
from coterie.methods.promises import FROZEN, IDP, LIST, TIE_LINKAGE, WITHOUT_FROZEN, refuted_idp
from coterie.methods.recipe import Method
from coterie.schema.exact import as_text


def _promise(facts: Facts) -> Guarantee:
    q = facts.clusters
    listed = Guarantee(
        model=IDP,
        value=f"{as_text(facts.epsilon)} per cluster; for the list between "
        f"{as_text(facts.epsilon * Fraction(q, 2))} and {as_text(facts.epsilon * q)}",
        status=Status.HEURISTIC,
        scope=LIST,
        label=f"understates the individual-DP loss by up to q (here q = {q}); not DP",
        assumptions=(
            FROZEN,
            "the clustering is taken as fixed, which it is not",
            "no cluster has noise of scale 0 (clusters of equal values do)",
        ),
        citation="Soria-Comas et al., Prop. 3 claims ε-iDP",
    )
    return refuted_idp(facts, listed, "Soria-Comas et al., Prop. 3 claims ε-iDP")


_NUMERIC = LaplaceOnCentroids(TRIMMED_MEAN, CLUSTER_BASED)

METHOD = Method(
    name="idp-cbls",
    title="individual ranking, trimmed means, noise for the spread inside each cluster",
    papers="Soria-Comas et al. (iDP), Prop. 3; Del Vasto-Terrientes et al. (fragmented data), §5.1",
    grouping=INDIVIDUAL_RANKING,
    numeric=_NUMERIC,
    categorical=RankedCategories(_NUMERIC),
    promise=_promise,
    why=(
        "Prop. 3 is exact for one centroid with the clustering fixed. Moving the smallest value above the largest shifts "
        "every cluster at once by expression (2), so the list of q centroids loses between q/2 and q times ε. "
        f"Clusters of equal values get no noise at all. {WITHOUT_FROZEN}"
    ),
    attack=f"Nearest-neighbour linkage: the noise is small. {TIE_LINKAGE}",
    rank=42,
    minimum_k=3,
    understated=lambda q: (Fraction(q, 2), Fraction(q)),
)
