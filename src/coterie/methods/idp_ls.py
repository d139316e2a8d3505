"""idp-ls: individual ranking, noise for the local sensitivity of each cluster's mean (000 Prop. 2)."""

from __future__ import annotations

from coterie.budget import as_text
from coterie.guarantee import Facts, Guarantee, Status
from coterie.mechanism.numeric import LaplaceOnCentroids
from coterie.mechanism.ranked import RankedCategories
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.idp import FROZEN
from coterie.methods.parts import MEAN
from coterie.methods.reattached import TIE_LINKAGE, WHY
from coterie.methods.recipe import Method
from coterie.sensitivity.local import LOCAL


def _promise(facts: Facts) -> Guarantee:
    return Guarantee(
        model="individual differential privacy",
        value=as_text(2 * facts.epsilon),
        status=Status.BOUNDED,
        scope="the list of noisy centroids, not the rows it is put back on",
        label=(
            f"at most {as_text(2 * facts.epsilon)} individual-DP (2ε) for the centroid list; not DP. "
            "The rows show which records share a rank group"
        ),
        assumptions=(FROZEN, "the number of records and the declared bounds do not depend on the data"),
        citation="000 Prop. 2 claims ε-iDP; each scale is at least Δ/(2|C|ε_a) and Σ|C||Δc| ≤ Δ, hence 2ε",
    )


_NUMERIC = LaplaceOnCentroids(MEAN, LOCAL)

METHOD = Method(
    name="idp-ls",
    title="individual ranking with noise for the local sensitivity",
    papers="000 §3.2.1 Prop. 2, 003 §5.1",
    grouping=INDIVIDUAL_RANKING,
    numeric=_NUMERIC,
    categorical=RankedCategories(_NUMERIC),
    promise=_promise,
    why=(
        "Prop. 2 fixes the clusters; in truth one replacement shifts many at once. The shifts add up to at most Δ and every "
        "scale is at least half of Δ/(|C|ε_a), so the list loses at most 2ε. " + WHY
    ),
    attack=TIE_LINKAGE,
    rank=41,
)
