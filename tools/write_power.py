"""Run every experiment on the papers with Coterie broken on purpose, and write down which claims notice.

    python tools/write_power.py [NAME…]

Writes docs/reference/experiments-power.json, from which tools/write_experiments.py makes its table. There are fewer runs and
smaller forests than in the experiments themselves: a fault is large. A claim notices a fault if it held without it and fails
with it. Faults in what an experiment does not use are left out.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np

from broken_methods import WAYS, broken, forget, touches
from coterie.papers import all_experiments, get_experiment, soria_comas_classes
from coterie.papers.experiment import Experiment

POWER = Path(__file__).resolve().parent.parent / "docs" / "reference" / "experiments-power.json"
RUNS = 10
FORESTS = ("soria-comas-fig5", "soria-comas-fig6")
TREES, FOREST_RUNS = 10, 3
FORMULAS = ("what the printed formulas give", "(exact curve)", "score, ")


def holding(experiment: Experiment) -> set[str]:
    """The claims that hold under the reading of the figure."""
    runs = FOREST_RUNS if experiment.name in FORESTS else min(experiment.runs, RUNS)
    with patch.object(soria_comas_classes, "TREES", TREES), np.errstate(all="ignore"):
        outcome = experiment.judge((experiment.headline,), runs)[experiment.headline]
    return {judgement.claim for judgement in outcome.judgements if judgement.holds}


@cache
def sound(experiment: Experiment) -> frozenset[str]:
    """The claims that hold without a fault."""
    forget()
    return frozenset(holding(experiment))


def noticed(experiment: Experiment, way: str) -> list[str]:
    """The claims that notice a fault. Code that cannot even finish is noticed by its error."""
    expected = sound(experiment)
    with broken(way):
        try:
            return sorted(expected - holding(experiment))
        except Exception as error:
            return [f"it stops: {type(error).__name__}"]


def is_formula(claim: str) -> bool:
    return any(words in claim for words in FORMULAS)


if __name__ == "__main__":
    for name in sys.argv[1:] or list(all_experiments()):
        found = {way: noticed(get_experiment(name), way) for way in WAYS if touches(way, name)}
        print(name, {way: len(claims) for way, claims in found.items()}, flush=True)
        known = json.loads(POWER.read_text(encoding="utf-8")) | {name: found}
        text = json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n"
        POWER.write_text(text, encoding="utf-8")
