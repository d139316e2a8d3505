"""dp-ir-path: as dp-ir, with categories calibrated to the whole ordered list (ours; GUARANTEES, path length).

Along a public order c_1 … c_C one replacement moves all clusters' scores together by at most P = Σδ(c_i, c_{i+1}); the
proof is in coterie.chain.sensitivity. The list of drawn labels is then ε-DP; put back on rows it is not.
"""

from __future__ import annotations

from coterie.chain.mechanism.categorical import WHOLE_LIST
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids
from coterie.chain.sensitivity import DOMAIN_OVER_K
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.guarantee import Facts, Guarantee
from coterie.methods.promises import TIE_LINKAGE, WHY, dp_list, on_rows
from coterie.methods.recipe import Method


def _promise(facts: Facts) -> Guarantee:
    listed = dp_list(facts, "Sánchez et al. 2016, Lemma 1; labels: docs/guarantees/exponential-path")
    return on_rows(facts, listed, "ours; Sánchez et al. 2016, Lemma 3 claims ε-DP for rows")


METHOD = Method(
    name="dp-ir-path",
    title="dp-ir with categories calibrated to the whole ordered list",
    papers="ours: Sánchez et al. 2016, §3.4, corrected",
    grouping=INDIVIDUAL_RANKING,
    numeric=LaplaceOnCentroids(MEAN, DOMAIN_OVER_K),
    categorical=WHOLE_LIST,
    promise=_promise,
    why=f"The ordered list of centroids is ε-DP, numbers and categories alike. {WHY}",
    attack=TIE_LINKAGE,
    rank=32,
)
