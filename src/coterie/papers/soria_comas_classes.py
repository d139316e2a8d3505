"""What Soria-Comas et al., Fig. 5 and Fig. 6 share: random forests trained on masked records and tested on original
ones (§4.2)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.errors import MissingExtra
from coterie.papers.experiment import ExperimentOutcome, PaperFinding
from coterie.papers.grids import line_panels, over_k
from coterie.papers.soria_comas_sse import ALPHAS, EPSILONS, LABELS
from coterie.papers.tables import numeric_schema
from coterie.publication.protect import protect
from coterie.report.charts import Lines

METHODS = ("idp-ls", "idp-cbls")
TREES = 50
TRAIN = 0.66  # Soria-Comas et al., §4.2: the first 66 % of the records


@dataclass(frozen=True)
class Task:
    """A table of attributes to mask, and for every record whether it is in the upper class."""

    table: pa.Table
    upper: NDArray[np.bool_]
    lower_name: str
    upper_name: str
    ks: tuple[int, ...]
    runs: int = 10

    @property
    def cut(self) -> int:
        return int(len(self.upper) * TRAIN)


@dataclass(frozen=True)
class ForestScores:
    """F-measures (lower class, upper class): the bound from original data, and by (method, ε, k, α)."""

    bound: NDArray[np.float64]
    masked: dict[tuple[str, str, int, float], NDArray[np.float64]]

    def line(
        self, method: str, epsilon: str, alpha: float, ks: Sequence[int], which: int
    ) -> NDArray[np.float64]:
        return np.array([self.masked[method, epsilon, k, alpha][which] for k in ks])

    def best(self, method: str, epsilon: str) -> float:
        """Mean of both classes at the best k and α."""
        return max(float(f.mean()) for key, f in self.masked.items() if key[:2] == (method, epsilon))


def score(task: Task) -> ForestScores:
    names = task.table.column_names
    original = np.column_stack([task.table.column(name).to_numpy() for name in names]).astype(np.float64)

    def one(key: tuple[str, str, int, float, int]) -> NDArray[np.float64]:
        method, epsilon, k, alpha, run = key
        schema = numeric_schema(task.table, names, alpha)
        released = protect(task.table, schema, method=method, epsilon=epsilon, k=k, seed=run).table
        masked = np.column_stack([released.column(name).to_numpy() for name in names])
        return _f_measures(masked, original, task, run)

    cells = [(m, e, k, a) for m in METHODS for e in EPSILONS for k in task.ks for a in ALPHAS]
    # Trees are grown outside the interpreter lock. scikit-learn warns that its settings do not reach other threads; we
    # change none of them.
    with warnings.catch_warnings(), ThreadPoolExecutor(2) as pool:
        warnings.filterwarnings(
            "ignore", message=r".*sklearn\.utils\.parallel\.delayed.*", category=UserWarning
        )
        bound = np.mean(
            list(pool.map(lambda run: _f_measures(original, original, task, run), range(task.runs))), axis=0
        )
        runs = list(pool.map(one, [(*cell, run) for cell in cells for run in range(task.runs)]))
    means = np.array(runs).reshape(len(cells), task.runs, 2).mean(axis=1)
    return ForestScores(bound, dict(zip(cells, means, strict=True)))


def _f_measures(
    training: NDArray[np.float64], original: NDArray[np.float64], task: Task, seed: int
) -> NDArray[np.float64]:
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError:
        raise MissingExtra.named("evaluate", "Classification") from None
    forest = RandomForestClassifier(n_estimators=TREES, random_state=seed)
    forest.fit(training[: task.cut], task.upper[: task.cut])
    guessed, truth = forest.predict(original[task.cut :]), task.upper[task.cut :]
    found = []
    for name in (False, True):
        hits = np.sum((guessed == name) & (truth == name))
        mentioned = np.sum(guessed == name) + np.sum(truth == name)
        found.append(2 * hits / mentioned if mentioned else 0.0)
    return np.array(found)


def behind(scores: ForestScores, method: str, epsilon: str) -> float:
    """How far the best of a method stays behind the bound, as a share of it."""
    return 1 - scores.best(method, epsilon) / float(scores.bound.mean())


def distance_findings(
    scores: ForestScores, method: str, published: dict[str, float]
) -> tuple[PaperFinding, ...]:
    """One claim per ε: how far the method's best stays behind the bound."""
    return tuple(
        PaperFinding(
            f"{LABELS[method]} at ε = {epsilon}: behind the upper bound (best k, mean of both classes)",
            f"{share:.0%}",
            f"{behind(scores, method, epsilon):.0%}",
            "within 5 percentage points",
            abs(behind(scores, method, epsilon) - share) <= 0.05,
        )
        for epsilon, share in published.items()
    )


def outcome(
    task: Task, scores: ForestScores, findings: tuple[PaperFinding, ...], title: str, notes: tuple[str, ...]
) -> ExperimentOutcome:
    panels = []
    for epsilon in EPSILONS:
        for which, name in enumerate((task.lower_name, task.upper_name)):
            bound = np.full(len(task.ks), scores.bound[which])
            series = [over_k("original data (upper bound)", task.ks, bound, 6, flat=True)]
            for look, method in enumerate(METHODS, start=2):
                for dash, alpha in enumerate(ALPHAS):
                    values = scores.line(method, epsilon, alpha, task.ks, which)
                    series.append(over_k(f"{LABELS[method]}, α = {alpha:g}", task.ks, values, look, dash))
            panels.append(Lines(f"class “{name}”, ε = {epsilon}", series, "F-measure", False))
    data: dict[str, list[Any]] = {
        "method": [m for m, _, _, _ in scores.masked],
        "epsilon": [e for _, e, _, _ in scores.masked],
        "k": [k for _, _, k, _ in scores.masked],
        "alpha": [a for _, _, _, a in scores.masked],
    }
    for which, name in enumerate((task.lower_name, task.upper_name)):
        data[f"F-measure {name}"] = [float(values[which]) for values in scores.masked.values()]
        data[f"upper bound {name}"] = [float(scores.bound[which])] * len(scores.masked)
    figure = line_panels(panels, f"{title}: mean of {task.runs} runs")
    note = f"Forests of {TREES} trees; the class itself is not masked, because the paper does not say that it is."
    return ExperimentOutcome(findings, figure, pa.table(data), (note, *notes))
