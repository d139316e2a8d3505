"""Coterie broken on purpose: what the experiments on the papers must notice.

    with broken("noise x2"):
        get_experiment("soria-comas-fig3").judge()

Each way changes the code that publishes, in memory, for the length of the block. `python tools/write_power.py` runs every
experiment under every one of them; `make test-slow` does it again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from coterie.chain.mechanism import numeric
from coterie.chain.noise import seeded
from coterie.chain.partition.univariate import equal_cut
from coterie.comparison import engine, shared_work
from coterie.evaluation import get_measure
from coterie.methods import grouping
from coterie.papers import nunes_two_queries, soria_comas_classes
from coterie.promise import terms
from coterie.schema.attributes import Domain
from coterie.statistics.prediction import noise_model

Change = Callable[[ExitStack], None]


def _scaled(factor: float) -> Change:
    """Every draw from the Laplace distribution, and every prediction of its error, times a factor."""

    def change(stack: ExitStack) -> None:
        unit, scale, drawn = seeded.unit_laplace, noise_model.ScaleLaw.scale, nunes_two_queries.noise
        for module in (seeded, shared_work):
            stack.enter_context(patch.object(module, "unit_laplace", lambda words: unit(words) * factor))
        stack.enter_context(
            patch.object(noise_model.ScaleLaw, "scale", lambda self, budget: scale(self, budget) * factor)
        )
        stack.enter_context(patch.object(nunes_two_queries, "noise", lambda *given: drawn(*given) * factor))

    return change


def _not_split(stack: ExitStack) -> None:
    """Every attribute, and every query, gets the whole ε."""

    def split(epsilon: Fraction, weights: dict[str, Fraction]) -> dict[str, Fraction]:
        return dict.fromkeys(weights, epsilon)

    for module in (engine, terms):
        stack.enter_context(patch.object(module, "split", split))
    noise = nunes_two_queries.noise
    stack.enter_context(
        patch.object(
            nunes_two_queries,
            "noise",
            lambda generator, count, sensitivity, budgets: noise(
                generator, count, sensitivity, np.ones_like(budgets)
            ),
        )
    )


def _wrong_trimming(stack: ExitStack) -> None:
    """Outputs are not cut to the domain but to twice it; the trimmed means of iDP-CBLS forget the largest value."""

    def in_domain(noisy: Any, column: Any) -> Any:
        low, high = column.limits
        np.clip(noisy, low, 2 * high - low, out=noisy)
        if column.step is not None:
            np.rint(noisy / column.step, out=noisy)
            noisy *= column.step
        return noisy

    def trimmed(summary: Any) -> Any:
        return (summary.total + summary.low[:, 1] - summary.low[:, 0]) / summary.size

    stack.enter_context(patch.object(numeric, "in_domain", in_domain))
    stack.enter_context(patch.object(numeric.LaplaceOnCentroids, "centroids", _with_centroid(trimmed)))


def _with_centroid(trimmed: Callable[[Any], Any]) -> Callable[..., Any]:
    original = numeric.LaplaceOnCentroids.centroids

    def centroids(self: Any, column: Any, clustering: Any) -> Any:
        found = original(self, column, clustering)
        if self.centroid is not numeric.TRIMMED_MEAN:
            return found
        return numeric.Centroids(found.summary, trimmed(found.summary), found.missing)

    return centroids


def _wrong_remainder(stack: ExitStack) -> None:
    """The records that are left over make a group of their own, instead of joining the last one."""

    def sizes(records: int, k: int) -> Any:
        whole, rest = divmod(records, k)
        found = np.full(whole + (rest > 0), k, dtype=np.int64)
        if rest:
            found[-1] = rest
        return found

    _set(stack, grouping.INDIVIDUAL_RANKING, "cut", sizes)
    _set(stack, grouping.INSENSITIVE_MDAV, "cut", sizes)


def _set(stack: ExitStack, part: Any, name: str, value: object) -> None:
    """Change a field of a part that is frozen."""
    stack.callback(object.__setattr__, part, name, getattr(part, name))
    object.__setattr__(part, name, value)


def _one_more(stack: ExitStack) -> None:
    """Groups of k + 1."""

    def sizes(records: int, k: int) -> Any:
        return equal_cut(records, k + 1)

    _set(stack, grouping.INDIVIDUAL_RANKING, "cut", sizes)
    _set(stack, grouping.INSENSITIVE_MDAV, "cut", sizes)


def _wrong_order(stack: ExitStack) -> None:
    """Records are ranked by the value of the record before them, as if another column had been sorted."""
    _set(stack, grouping.INDIVIDUAL_RANKING, "key", lambda columns: np.roll(columns[0].position, 1))


def _sensitivity(stack: ExitStack, changed: Callable[..., Any]) -> None:
    original = numeric.LaplaceOnCentroids.sensitivity

    def sensitivity(self: Any, column: Any, centroids: Any, k: int) -> Any:
        return changed(lambda column: original(self, column, centroids, k), column, centroids)

    stack.enter_context(patch.object(numeric.LaplaceOnCentroids, "sensitivity", sensitivity))


def _of_sums(stack: ExitStack) -> None:
    """Noise for sums, not means: Δ instead of Δ/k."""
    _sensitivity(stack, lambda original, column, centroids: original(column) * centroids.summary.size)


def _narrow(stack: ExitStack) -> None:
    """Δ is the width of the data, not of the domain."""

    def changed(original: Any, column: Any, centroids: Any) -> Any:
        low, high = float(column.values.min()), float(column.values.max())
        return original(replace(column, domain=Domain(lower=low, upper=high)))

    _sensitivity(stack, changed)


def _other_sse(stack: ExitStack) -> None:
    """Eq. (5) with σ² where σ is asked for, and with σ where σ² is."""
    one, other = get_measure("sse"), get_measure("sse-paper")
    first, second = one.attribute, other.attribute
    _set(stack, one, "attribute", second)
    _set(stack, other, "attribute", first)


def _swapped(stack: ExitStack) -> None:
    """Forests are trained on original records and tested on masked ones."""
    right = soria_comas_classes.f_measures

    def f_measures(training: Any, original: Any, task: Any, seed: int) -> Any:
        return right(original, training, task, seed)

    stack.enter_context(patch.object(soria_comas_classes, "f_measures", f_measures))


WAYS: dict[str, Change] = {
    "noise x0.5": _scaled(0.5),
    "noise x2": _scaled(2.0),
    "no noise": _scaled(0.0),
    "ε not split": _not_split,
    "wrong trimming": _wrong_trimming,
    "wrong remainder": _wrong_remainder,
    "k + 1": _one_more,
    "wrong order": _wrong_order,
    "noise of sums": _of_sums,
    "Δ of the data": _narrow,
    "σ² for σ": _other_sse,
    "test for training": _swapped,
}
_SSE = ("soria-comas-fig3", "soria-comas-fig4", "fragmented-fig2", "fragmented-fig3", "fragmented-fig4")
_FORESTS = ("soria-comas-fig5", "soria-comas-fig6")
_NOISE = ("noise x0.5", "noise x2", "no noise")


def touches(way: str, name: str) -> bool:
    """Whether an experiment uses what is broken."""
    if name in ("nunes-tables", "nunes-fig58"):  # tables without noise; a metric without a draw
        return way in _NOISE[:3] and name == "nunes-fig58"
    if name.startswith("nunes"):  # neither groups nor domains; the scores name the ε of every query
        return way in (_NOISE if name == "nunes-scores" else (*_NOISE, "ε not split"))
    return {"σ² for σ": name in _SSE, "test for training": name in _FORESTS}.get(way, True)


@contextmanager
def broken(way: str) -> Iterator[None]:
    """Coterie with one fault. Nothing that was computed without it is used, and nothing that was is kept."""
    forget()
    with ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))  # an error of 0 divides others
        WAYS[way](stack)
        try:
            yield
        finally:
            forget()


def forget() -> None:
    """The experiments keep their grids, so that readings share them."""
    for name, module in list(sys.modules.items()):
        if name.startswith("coterie.papers.") and name != "coterie.papers.data":
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
