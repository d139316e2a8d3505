"""idp-cbls-joint: as idp-cbls, with one common scale that covers all clusters at once (ours; Soria-Comas et al., Prop.
3 summed)."""

from __future__ import annotations

from coterie.chain.mechanism.categorical import RankedCategories
from coterie.chain.mechanism.numeric import TRIMMED_MEAN, LaplaceOnCentroids
from coterie.chain.sensitivity import CLUSTER_BASED_JOINT
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.guarantee import Facts, Guarantee, Status
from coterie.methods.promises import (
    FROZEN,
    IDP,
    LIST,
    ONE_RECORD,
    PUBLIC,
    SAMPLER,
    TIE_LINKAGE,
    WHY,
    WITHOUT_FROZEN,
    refuted_idp,
)
from coterie.methods.recipe import Method
from coterie.schema.exact import as_text


def _promise(facts: Facts) -> Guarantee:
    listed = Guarantee(
        model=IDP,
        value=as_text(facts.epsilon),
        status=Status.PROVED,
        scope=LIST,
        label=f"{as_text(facts.epsilon)}-iDP with the noise scale frozen; not DP",
        assumptions=(FROZEN, PUBLIC, SAMPLER, ONE_RECORD),
        citation="ours, docs/guarantees/idp-cbls-joint; Soria-Comas et al., Prop. 3 summed over all clusters",
    )
    return refuted_idp(facts, listed, "ours; Soria-Comas et al., Prop. 3 claims ε-iDP for rows")


_NUMERIC = LaplaceOnCentroids(TRIMMED_MEAN, CLUSTER_BASED_JOINT)

METHOD = Method(
    name="idp-cbls-joint",
    title="idp-cbls with one scale that covers all clusters at once",
    papers="ours: Soria-Comas et al. (iDP), Prop. 3, corrected",
    grouping=INDIVIDUAL_RANKING,
    numeric=_NUMERIC,
    categorical=RankedCategories(_NUMERIC),
    promise=_promise,
    why=(
        "A rising value changes every trimmed sum by at most expression (2), a falling one by at most expression (3); the "
        f"scale covers their sums over all clusters, so the list of centroids is ε-iDP. {WITHOUT_FROZEN} {WHY}"
    ),
    attack=TIE_LINKAGE,
    rank=43,
    minimum_k=3,
)
