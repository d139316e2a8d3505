"""Runs in Anonymeter's environment: inference of every attribute from all others, and singling out."""

import json
import sys
import warnings

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, SinglingOutEvaluator

warnings.simplefilter("ignore")
np.random.seed(1)  # noqa: NPY002 - Anonymeter draws from the global state

with open(sys.argv[1]) as asked:
    request = json.load(asked)
original, released, control = (pd.DataFrame(request[name]) for name in ("original", "released", "control"))
answer = {}


def entry(risk):
    return {"value": risk.value, "low": risk.ci[0], "high": risk.ci[1]}


for secret in request["attributes"]:
    evaluator = InferenceEvaluator(
        ori=original,
        syn=released,
        control=control,
        aux_cols=[name for name in request["attributes"] if name != secret],
        secret=secret,
        regression=True,
        n_attacks=request["attacks"],
    )
    evaluator.evaluate(n_jobs=1)
    answer[f"inference of {secret}"] = entry(evaluator.risk())

try:
    evaluator = SinglingOutEvaluator(
        ori=original,
        syn=released,
        control=control,
        n_attacks=request["attacks"],
        n_cols=min(3, len(request["attributes"])),
    )
    evaluator.evaluate(mode="multivariate")
    answer["singling out (tails)"] = entry(evaluator.risk())
except RuntimeError:  # not enough successful guesses for an estimate
    answer["singling out (tails)"] = {"value": 0.0, "low": 0.0, "high": 1.0}

with open(sys.argv[2], "w") as answered:
    json.dump(answer, answered)
