"""idp-mdav: MDAV groups, trimmed means, cluster-based noise (what Soria-Comas et al., §5 leaves to future work).

All records of a group get the same row, whatever the noise: k-anonymity is kept at every ε.
"""

from __future__ import annotations

from coterie.chain.mechanism.categorical import PER_CLUSTER
from coterie.chain.mechanism.numeric import TRIMMED_MEAN, LaplaceOnCentroids
from coterie.chain.sensitivity import CLUSTER_BASED
from coterie.methods.grouping import MDAV
from coterie.methods.guarantee import Facts, Guarantee, Status
from coterie.methods.mdav import k_anonymity
from coterie.methods.promises import FROZEN, IDP, LIST, refuted_idp
from coterie.methods.recipe import Method
from coterie.schema.exact import as_text


def _promise(facts: Facts) -> Guarantee:
    listed = Guarantee(
        model=IDP,
        value=f"{as_text(facts.epsilon)} per centroid with the groups fixed; no bound for the whole",
        status=Status.HEURISTIC,
        scope=LIST,
        label="individual-DP only per centroid with the groups fixed, which they are not; not DP",
        assumptions=(FROZEN, "the groups are taken as fixed; one record can change many of MDAV's groups"),
        citation="Soria-Comas et al., Prop. 3 on MDAV groups; Soria-Comas et al., §5 proposes it as future work",
    )
    return refuted_idp(
        facts, listed, "Soria-Comas et al., §5 proposes it as future work", k_anonymity(facts), shared=True
    )


METHOD = Method(
    name="idp-mdav",
    title="multivariate groups of at least k, trimmed means, noise for the spread inside each group",
    papers="Soria-Comas et al. (iDP), §5 (future work) with Prop. 3",
    grouping=MDAV,
    numeric=LaplaceOnCentroids(TRIMMED_MEAN, CLUSTER_BASED),
    categorical=PER_CLUSTER,
    promise=_promise,
    why=(
        "k-anonymity is certain: one draw per group, shared by its k or more members. The noise covers one replaced record "
        "while the groups stay; MDAV's groups can change altogether when one record does, so nothing bounds the whole."
    ),
    attack="Nearest-neighbour linkage finds the group, never the record in it; attribute inference works inside groups.",
    rank=61,
    minimum_k=3,
)
