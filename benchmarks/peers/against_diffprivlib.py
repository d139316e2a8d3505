"""diffprivlib: a DP histogram of each attribute (ε/m), rows drawn from them independently. It has no joint synthesiser."""

from __future__ import annotations

from benchmarks.peers.synthesisers import beside

PACKAGES = ("diffprivlib>=0.6", "scikit-learn<1.6")  # it reaches into the trees of older versions


def run() -> None:
    beside("diffprivlib", PACKAGES, ("histograms",))
