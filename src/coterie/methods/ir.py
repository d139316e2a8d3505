"""ir: individual ranking without noise (Sánchez et al. 2016, §4.3, the other baseline)."""

from __future__ import annotations

from coterie.chain.mechanism.categorical import MarginalityCentroid
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.guarantee import NOTHING
from coterie.methods.recipe import Method

METHOD = Method(
    name="ir",
    title="individual ranking, no noise",
    papers="Sánchez et al. 2016, §2.1 and §4.3",
    grouping=INDIVIDUAL_RANKING,
    numeric=LaplaceOnCentroids(MEAN, None),
    categorical=MarginalityCentroid(),
    adds_noise=False,
    promise=lambda facts: NOTHING,
    why="Group means are released as they are. Rows are not k-anonymous either: each attribute is grouped apart.",
    attack="Nearest-neighbour linkage finds almost every record.",
    rank=20,
)
