"""The compiled loop behind the labels that the clusters of a long column draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled


@compiled
def count_labels(
    draws: NDArray[np.float64],
    group: NDArray[np.int64],
    upto: NDArray[np.float64],
    guide: NDArray[np.int32],
    margin: float,
    tallies: NDArray[np.int64],
) -> bool:
    """Count the label of each draw under its group's distribution. Returns whether one was too near a boundary."""
    stretches = guide.shape[1]
    last = upto.shape[1] - 1
    doubtful = False
    for cluster in range(len(draws)):
        draw, distribution = draws[cluster], group[cluster]
        label = guide[distribution, int(draw * stretches)]
        while label < last and upto[distribution, label] <= draw:
            label += 1
        if label < last and upto[distribution, label] - draw <= margin:
            doubtful = True
        if label > 0 and draw - upto[distribution, label - 1] <= margin:
            doubtful = True
        tallies[distribution, label] += 1
    return doubtful
