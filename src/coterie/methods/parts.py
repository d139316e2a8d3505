"""The parts that recipes name."""

from __future__ import annotations

import numpy as np

from coterie.engines import local
from coterie.methods.recipe import Centroid, Part
from coterie.partition.centroid import mean, trimmed_mean
from coterie.partition.clustering import Clustering
from coterie.partition.summary import Floats


def _alone(values: Floats, k: int) -> Clustering:  # noqa: ARG001
    return Clustering(np.arange(len(values), dtype=np.int32), np.ones(len(values), dtype=np.int64))


EACH_ALONE = Part("each record alone", _alone)
INDIVIDUAL_RANKING = Part("individual ranking", local.rank)
MEAN = Centroid("mean", 0, mean)
TRIMMED_MEAN = Centroid("trimmed mean", 3, trimmed_mean)
