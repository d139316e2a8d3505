"""What Soria-Comas et al., Fig. 5 and Fig. 6 share: random forests trained on masked records and tested on original
ones (§4.2)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.errors import MissingExtra
from coterie.methods import get_method
from coterie.papers.expectations import against, expected, ranking_alone
from coterie.papers.experiment import ExperimentOutcome, Judgement
from coterie.papers.grids import line_panels, over_k
from coterie.papers.judging import jackknife, within
from coterie.papers.soria_comas_sse import ALPHAS, EPSILONS, LABELS, OBSERVED, WHOLE, bounded_to_the_data
from coterie.papers.tables import numeric_schema
from coterie.publication.protect import protect
from coterie.report.charts import Lines
from coterie.schema.arrays import Floats
from coterie.schema.exact import parse_epsilon

METHODS = ("idp-ls", "idp-cbls")
TREES = 50
TRAIN = 0.66  # Soria-Comas et al., §4.2: the first 66 % of the records
Cell = tuple[str, str, int, float]  # method, ε, k, α


@dataclass(frozen=True)
class Task:
    """A table of attributes to mask, and for every record whether it is in the upper class."""

    table: pa.Table
    upper: NDArray[np.bool_]
    lower_name: str
    upper_name: str
    ks: tuple[int, ...]

    @property
    def cut(self) -> int:
        return int(len(self.upper) * TRAIN)

    @property
    def records(self) -> Floats:
        return np.column_stack([column.to_numpy() for column in self.table.columns]).astype(np.float64)

    @property
    def cells(self) -> list[Cell]:
        return [(m, e, k, a) for m in METHODS for e in EPSILONS for k in self.ks for a in ALPHAS]


@dataclass(frozen=True)
class ForestScores:
    """F-measures (axes run, class): the bound from original data, and by cell; and the squared errors of the "
    "training data."""

    bound: Floats
    masked: dict[Cell, Floats]
    errors: dict[Cell, Floats]  # axes run, attribute

    @property
    def runs(self) -> int:
        return len(self.bound)

    def without(self, block: int, blocks: int) -> ForestScores:
        kept = np.arange(self.runs) * blocks // self.runs != block
        return replace(self, bound=self.bound[kept], masked={c: f[kept] for c, f in self.masked.items()})

    def line(self, method: str, epsilon: str, alpha: float, ks: Sequence[int], which: int) -> Floats:
        return np.array([self.masked[method, epsilon, k, alpha][:, which].mean() for k in ks])

    def best(self, method: str, epsilon: str) -> float:
        """Mean of both classes at the best k and α."""
        return max(float(f.mean()) for key, f in self.masked.items() if key[:2] == (method, epsilon))

    def behind(self, method: str, epsilon: str) -> float:
        """How far the best of a method stays behind the bound, as a share of it."""
        return 1 - self.best(method, epsilon) / float(self.bound.mean())


def masked_records(task: Task, cell: Cell, run: int, reading: str) -> Floats:
    """A release of the records, as the reading has it."""
    method, epsilon, k, alpha = cell
    names = task.table.column_names
    total = parse_epsilon(epsilon) * (len(names) if reading == WHOLE.name else 1)
    chosen = bounded_to_the_data(method) if reading == OBSERVED.name else get_method(method)
    schema = numeric_schema(task.table, names, alpha)
    released = protect(task.table, schema, method=chosen, epsilon=total, k=k, seed=run).table
    return np.column_stack([released.column(name).to_numpy() for name in names])


@lru_cache(maxsize=1)
def score(make: Callable[[], Task], reading: str, runs: int) -> ForestScores:
    task = make()
    original, cells = task.records, task.cells

    def one(place: tuple[Cell, int]) -> tuple[Floats, Floats]:
        masked = masked_records(task, *place, reading)
        return f_measures(masked, original, task, place[1]), np.sum((masked - original) ** 2, axis=0)

    # Trees are grown outside the interpreter lock. scikit-learn warns that its settings do not reach other threads; we
    # change none of them.
    with warnings.catch_warnings(), ThreadPoolExecutor(2) as pool:
        warnings.filterwarnings(
            "ignore", message=r".*sklearn\.utils\.parallel\.delayed.*", category=UserWarning
        )
        bound = list(pool.map(lambda run: f_measures(original, original, task, run), range(runs)))
        found = list(pool.map(one, [(cell, run) for cell in cells for run in range(runs)]))
    shape = (len(cells), runs, -1)
    scores, errors = (np.array(part).reshape(shape) for part in zip(*found, strict=True))
    return ForestScores(
        np.array(bound), dict(zip(cells, scores, strict=True)), dict(zip(cells, errors, strict=True))
    )


def f_measures(training: Floats, original: Floats, task: Task, seed: int) -> Floats:
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


def distances(scores: ForestScores, method: str, published: dict[str, float]) -> tuple[Judgement, ...]:
    """One claim per ε: how far the method's best stays behind the bound."""
    return tuple(
        within(
            f"{LABELS[method]} at ε = {epsilon}: behind the upper bound (best k, mean of both classes)",
            f"{share:.0%}",
            jackknife(lambda found, epsilon=epsilon: found.behind(method, epsilon), scores),
            share - 0.05,
            share + 0.05,
            "within 5 percentage points",
            "{:.1%}",
        )
        for epsilon, share in published.items()
    )


def training_data(task: Task, scores: ForestScores, reading: str) -> tuple[Judgement, Judgement]:
    """The squared error of every attribute of the masked records, which no F-measure shows."""
    sums: list[NDArray[Any]] = []
    for alpha in ALPHAS:
        schema = numeric_schema(task.table, task.table.column_names, alpha)
        keys = [cell[:3] for cell in task.cells if cell[3] == alpha]
        known = expected(
            task.table,
            schema,
            keys,
            "sse-sum",
            whole=reading == WHOLE.name,
            observed=reading == OBSERVED.name,
        )
        for key, value in known.items():
            assert value.variance is not None
            assert value.extreme is not None
            runs = scores.errors[(*key, alpha)].mean(axis=0)
            sums.append(np.stack([value.mean, runs, value.variance, value.extreme]))
    mean, measured, variance, extreme = np.stack(sums, axis=1)
    claim = "masked records: every attribute's mean squared error is what the printed formulas give"
    judged = against(
        mean, measured, np.sqrt(variance / scores.runs), 2 * extreme / scores.runs, scores.runs,
        "Propositions 2 and 3, ε split (§3.1), outputs bounded to the domain (§4)", claim,
    )  # fmt: skip
    schema = numeric_schema(task.table, task.table.column_names, ALPHAS[0])
    return judged, ranking_alone(task.table, schema, task.ks)


def outcome(
    task: Task, scores: ForestScores, judgements: tuple[Judgement, ...], title: str, notes: tuple[str, ...]
) -> ExperimentOutcome:
    panels = []
    for epsilon in EPSILONS:
        for which, name in enumerate((task.lower_name, task.upper_name)):
            bound = np.full(len(task.ks), scores.bound[:, which].mean())
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
        data[f"F-measure {name}"] = [float(values[:, which].mean()) for values in scores.masked.values()]
        data[f"upper bound {name}"] = [float(scores.bound[:, which].mean())] * len(scores.masked)
    figure = line_panels(panels, f"{title}: mean of {scores.runs} runs")
    return ExperimentOutcome(judgements, figure, pa.table(data), (FORESTS, *notes))


FORESTS = (
    f"Forests of {TREES} trees (scikit-learn); the class itself is not masked, because the paper does not say "
    "that it is."
)
