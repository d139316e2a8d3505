"""Clusters → centroids: the mean, and the mean after the pre-processing of 000 §3.2.2."""

from __future__ import annotations

from coterie.partition.summary import Floats, Summary


def mean(summary: Summary) -> Floats:
    """000 §3.1: the arithmetic mean of the cluster."""
    return summary.total / summary.size


def trimmed_mean(summary: Summary) -> Floats:
    """000 §3.2.2: the mean once the smallest value is replaced by the second smallest, the largest by the second largest."""
    replaced = summary.low[:, 1] - summary.low[:, 0] + summary.high[:, 1] - summary.high[:, 0]
    return (summary.total + replaced) / summary.size
