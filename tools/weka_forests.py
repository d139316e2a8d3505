"""Weka's random forest as a second reader of Soria-Comas et al., Fig. 5 and 6.

    pip install --target SITE jpype1
    pip download --no-deps --no-binary :all: python-weka-wrapper3    # its archive holds weka.jar and what that needs
    PYTHONPATH=SITE python tools/weka_forests.py FOLDER_OF_JARS soria-comas-fig5 soria-comas-fig6

Weka is no dependency of Coterie: it runs in an environment of its own, with Java. The masked records and the claims are
those of the experiments; only the forests are others (Weka's defaults: 100 trees). It writes
docs/reference/experiments-weka.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jpype  # type: ignore[import-not-found]
import numpy as np

from coterie.papers import get_experiment, soria_comas_classes

FOUND = Path(__file__).resolve().parent.parent / "docs" / "reference" / "experiments-weka.json"
RUNS = {"soria-comas-fig5": 3, "soria-comas-fig6": 2}
# The methods and ε that claims name: no other forest is grown.
NAMED = {"soria-comas-fig6": {"METHODS": ("idp-cbls",), "EPSILONS": ("0.1", "1")}}


def arff(values: np.ndarray, upper: np.ndarray) -> str:
    head = [
        "@relation r",
        *(f"@attribute a{i} numeric" for i in range(values.shape[1])),
        "@attribute c {0,1}",
        "@data",
    ]
    rows = [
        ",".join([*map(repr, map(float, row)), str(int(up))]) for row, up in zip(values, upper, strict=True)
    ]
    return "\n".join([*head, *rows, ""])


def instances(values: np.ndarray, upper: np.ndarray) -> Any:
    found = jpype.JClass("weka.core.Instances")(jpype.JClass("java.io.StringReader")(arff(values, upper)))
    found.setClassIndex(found.numAttributes() - 1)
    return found


def f_measures(training: np.ndarray, original: np.ndarray, task: Any, seed: int) -> np.ndarray:
    forest = jpype.JClass("weka.classifiers.trees.RandomForest")()
    forest.setSeed(seed + 1)
    train = instances(training[: task.cut], task.upper[: task.cut])
    forest.buildClassifier(train)
    judge = jpype.JClass("weka.classifiers.Evaluation")(train)
    judge.evaluateModel(forest, instances(original[task.cut :], task.upper[task.cut :]))
    return np.nan_to_num(np.array([float(judge.fMeasure(0)), float(judge.fMeasure(1))]))


if __name__ == "__main__":
    jars = [str(path) for path in Path(sys.argv[1]).glob("*.jar")]
    jpype.startJVM("--add-opens=java.base/java.lang=ALL-UNNAMED", classpath=jars)
    known = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}
    for name in sys.argv[2:]:
        with patch.multiple(soria_comas_classes, f_measures=f_measures, **NAMED.get(name, {})):
            outcome = get_experiment(name).judge(("printed",), RUNS[name])["printed"]
        known[name] = {
            "weka": str(jpype.JClass("weka.core.Version").VERSION),
            "runs": RUNS[name],
            "claims": {
                judged.claim: [judged.measured, judged.holds]
                for judged in outcome.judgements
                if "what the printed formulas give" not in judged.claim
            },
        }
        print(name, known[name], flush=True)
        FOUND.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
