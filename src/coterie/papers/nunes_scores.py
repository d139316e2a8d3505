"""Nunes 2024, §5.4.3: the published scores of five allocations, without their simulation error."""

from __future__ import annotations

import pyarrow as pa

from coterie.papers.data import load
from coterie.papers.experiment import Experiment, ExperimentOutcome, PaperFinding
from coterie.papers.nunes_scenario import PUBLISHED_SCORES, T_TESTS, exact_scores, scenario
from coterie.statistics.allocators import find_allocator

TOLERANCE = 0.03


def findings_of(people: pa.Table) -> tuple[tuple[PaperFinding, ...], dict[str, float]]:
    """Five scores within 3 %, and both t-tests without noise."""
    chosen = scenario(people)
    exact = exact_scores(chosen)
    findings = [
        PaperFinding(
            f"score, {name}",
            f"{published:.4f}",
            f"{exact[name]:.4f}",
            "within 3 %",
            abs(exact[name] / published - 1) <= TOLERANCE,
        )
        for name, published in PUBLISHED_SCORES.items()
    ]
    for which, published, ours in zip(
        ("smokers", "non-smokers"), T_TESTS, chosen.metric.truths()[-2:], strict=True
    ):
        near = abs(float(ours) - published) < 1e-5
        findings.append(
            PaperFinding(f"t-test of {which}", f"{published:.6f}", f"{ours:.6f}", "within 0.00001", near)
        )
    exact["gradient"] = chosen.metric.score(find_allocator("gradient").allocate(chosen.problem), exponent=14)
    return tuple(findings), exact


def _compute() -> ExperimentOutcome:
    findings, exact = findings_of(load("insurance"))
    published = [PUBLISHED_SCORES.get(name) for name in exact]
    data = pa.table({"allocation": list(exact), "exact score": list(exact.values()), "published": published})
    notes = (
        "The published best score, .2301, is the luckiest of 1.35 million noisy ones; its exact score is .2365.",
        f"The gradient optimum with the same floor and total scores {exact['gradient']:.4f}.",
    )
    return ExperimentOutcome(findings, None, data, notes)


EXPERIMENT = Experiment(
    name="nunes-scores",
    title="the metric's scores of five allocations",
    paper="Nunes 2024, §5.4.3",
    data=("insurance",),
    seconds=2,
    compute=_compute,
)
