"""The centroids that recipes name."""

from __future__ import annotations

from coterie.chain.mechanism.numeric import Centroid
from coterie.chain.partition.clustering import mean, trimmed_mean

MEAN = Centroid("mean", 0, mean)
TRIMMED_MEAN = Centroid("trimmed mean", 3, trimmed_mean)
