"""Nunes 2024, Fig. 5.4: multiplication of two noisy queries, over the split of the budget (16 of the 64 panels)."""

from __future__ import annotations

from coterie.papers.allocation import experiment

EXPERIMENT = experiment("multiplication", "54")
