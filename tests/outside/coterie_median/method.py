"""dp-median: individual ranking, the noisy median of each group."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.extend import (
    INDIVIDUAL_RANKING,
    TIE_LINKAGE,
    WHOLE_LIST,
    WHY,
    Clustering,
    Facts,
    Floats,
    Guarantee,
    Mechanism,
    Method,
    NumericColumn,
    Sampler,
    dp_list,
    float_up,
    in_domain,
    laplace_scales,
    on_rows,
)


class NoisyMedian(Mechanism):
    """The lower median of each group plus Laplace(Δ/ε).

    Groups hold consecutive sorted values, so each median is one entry of the sorted column. Replacing a record shifts
    entries by at most one place; the gaps between neighbours do not overlap and add up to at most the width of the domain.
    """

    stages = "median · Laplace, scale Δ / ε"

    def reach(self, records: int, k: int) -> Fraction:
        return Fraction(1)

    def centroids(self, column: NumericColumn, clustering: Clustering) -> Floats:
        order = np.lexsort((column.values, clustering.labels))
        first = np.cumsum(clustering.sizes) - clustering.sizes
        return column.values[order[first + (clustering.sizes - 1) // 2]]

    def sensitivity(self, column: NumericColumn, centroids: Floats, k: int) -> Floats:
        return np.full(len(centroids), float_up(column.domain.width))

    def noise(
        self,
        column: NumericColumn,
        centroids: Floats,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Floats:
        scales = laplace_scales(sensitivity, epsilon)
        return in_domain(sampler.laplace(centroids, scales, column.attribute.name), column)


def _promise(facts: Facts) -> Guarantee:
    return on_rows(facts, dp_list(facts, "docs of coterie-median"), "not published")


METHOD = Method(
    name="dp-median",
    title="individual ranking with noisy medians",
    papers="an example",
    grouping=INDIVIDUAL_RANKING,
    numeric=NoisyMedian(),
    categorical=WHOLE_LIST,
    promise=_promise,
    why=f"The list of noisy medians is ε-DP. {WHY}",
    attack=TIE_LINKAGE,
    rank=90,
)
