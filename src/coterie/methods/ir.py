"""ir: individual ranking without noise (001 §4.3, the other baseline)."""

from __future__ import annotations

from coterie.guarantee import NOTHING, Facts, Guarantee
from coterie.methods.parts import INDIVIDUAL_RANKING, MEAN
from coterie.methods.recipe import Method, Recipe


def _promise(facts: Facts) -> Guarantee:  # noqa: ARG001
    return NOTHING


METHOD = Method(
    name="ir",
    title="individual ranking, no noise",
    papers="001 §2.1 and §4.3",
    numeric=Recipe(partition=INDIVIDUAL_RANKING, centroid=MEAN, bound=None),
    promise=_promise,
    why="Group means are released as they are. Rows are not k-anonymous either: each attribute is grouped apart.",
    attack="Nearest-neighbour linkage finds almost every record.",
    rank=20,
)
