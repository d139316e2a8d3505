"""smartnoise-synth: MST and AIM, which choose DP marginals and fit a graphical model ((ε, δ)-DP, add/remove)."""

from __future__ import annotations

from benchmarks.peers.synthesisers import beside

PACKAGES = ("smartnoise-synth>=1.0",)


def run() -> None:
    beside("smartnoise", PACKAGES, ("mst", "aim"))
