"""idp-ls: individual ranking, noise for the local sensitivity of each cluster's mean (Soria-Comas et al., Prop. 2)."""

from __future__ import annotations

from dataclasses import replace

from coterie.chain.mechanism.categorical import RankedCategories
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids
from coterie.chain.sensitivity import LOCAL
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.guarantee import Facts, Guarantee, Status
from coterie.methods.promises import FROZEN, IDP, LIST, PUBLIC, TIE_LINKAGE, WHY, on_rows
from coterie.methods.recipe import Method
from coterie.schema.exact import as_text


def _promise(facts: Facts) -> Guarantee:
    twice = as_text(2 * facts.epsilon)
    listed = Guarantee(
        model=IDP,
        value=twice,
        status=Status.BOUNDED,
        scope=LIST,
        label=f"at most {twice}-iDP (2ε) with the noise scale frozen; not DP",
        assumptions=(FROZEN, PUBLIC),
        citation="Soria-Comas et al., Prop. 2 claims ε-iDP; each scale is at least Δ/(2|C|ε_a) and Σ|C||Δc| ≤ Δ, hence 2ε",
    )
    rows = on_rows(facts, listed, "Soria-Comas et al., Prop. 2 claims ε-iDP")
    # Where the rows are the list, the scale that follows the data is a condition like idp's.
    return replace(rows, status=Status.CONDITIONAL) if rows.status is Status.BOUNDED else rows


_NUMERIC = LaplaceOnCentroids(MEAN, LOCAL)

METHOD = Method(
    name="idp-ls",
    title="individual ranking with noise for the local sensitivity",
    papers="Soria-Comas et al. (iDP), Prop. 2; Del Vasto-Terrientes et al. (fragmented data), §5.1",
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
