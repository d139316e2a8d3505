"""classification: train on the release, test on original records that it was not trained on (Soria-Comas et al., §4.2).

The first 66 % of the records train, the rest test; of a table that is sorted by class, 66 % drawn at random. Beside each
F-measure stands the upper bound: the same classifier trained on the original records.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.evaluation.classes import MOST_CLASSES, CannotLearn, Learnt, class_column, classes, learn
from coterie.evaluation.measure import Measure, Measured, Settings
from coterie.evaluation.pair import Pair
from coterie.schema.arrays import Floats, Whole
from coterie.table.columns.column import Column, NumericColumn

_bounds: dict[bytes, Learnt] = {}


def _compute(pair: Pair, settings: Settings) -> Measured:
    if settings.target is None:
        return Measured(None, reason="no class column was named (--target)")
    before, after = class_column(pair, settings)
    features = [name for name in pair.original if name != settings.target]
    if not features:
        return Measured(None, reason="there is no attribute to classify by")
    truth, names = classes(before, settings)
    if settings.threshold is None and len(set(after)) > MOST_CLASSES:
        return Measured(
            None, reason=f"the release has more than {MOST_CLASSES} classes; --threshold makes two of them"
        )
    labels, _ = classes(after, settings)
    cut = int(len(truth) * settings.train_share)
    if not 0 < cut < len(truth):
        raise ParameterError("The training share leaves no record to train or test.", "Choose about 0.66.")
    original = np.column_stack([_feature(pair.original[name]) for name in features])
    released = np.column_stack([_feature(pair.released[name]) for name in features])
    train, test, split = _parts(truth, cut, settings.seed)
    try:
        bound = _upper_bound(original, truth, train, test, settings)
        learnt = learn(released[train], labels[train], original[test], truth[test], settings)
    except CannotLearn as refused:  # the other measures are still given
        return Measured(None, reason=str(refused))
    found, best = learnt.f_measures, bound.f_measures
    by_class = {
        name: {"f_measure": found.get(name, 0.0), "upper_bound": best.get(name, 0.0)} for name in names
    }
    present = [name for name in names if name in set(truth[test])]
    return Measured(
        float(np.mean([by_class[name]["f_measure"] for name in present])),
        details={
            "classifier": settings.classifier,
            "upper_bound": float(np.mean([by_class[name]["upper_bound"] for name in present])),
            "classes": by_class,
            "trained_on": cut,
            "tested_on": len(truth) - cut,
            "split": split,
            "converged": learnt.converged and bound.converged,
        },
    )


def _upper_bound(
    original: Floats, truth: NDArray[np.str_], train: Whole, test: Whole, settings: Settings
) -> Learnt:
    """Of the last original only: all example releases of a report have it in common, and training may take a minute."""
    key = hashlib.sha256(repr(settings).encode())
    for part in (original, truth, train):
        key.update(np.ascontiguousarray(part).tobytes())
    if key.digest() not in _bounds:
        bound = learn(original[train], truth[train], original[test], truth[test], settings)
        _bounds.clear()
        _bounds[key.digest()] = bound
        return bound
    return _bounds[key.digest()]


def _parts(truth: NDArray[np.str_], cut: int, seed: int) -> tuple[Whole, Whole, str]:
    """Which records train and which test. Of a table sorted by class, the first ones would teach nothing of the rest."""
    order, split = np.arange(len(truth)), "the first records train"
    if set(truth[:cut]) != set(truth[cut:]):
        order = np.random.Generator(np.random.PCG64(seed)).permutation(order)
        split = (
            "records drawn at random train, because the first ones do not have the same classes as the rest"
        )
    return order[:cut], order[cut:], split


def _feature(column: Column) -> Floats:
    """Numbers as they are; one 0/1 column per label for categories."""
    if isinstance(column, NumericColumn):
        return column.values[:, None]
    return np.eye(column.label_count)[column.codes]


MEASURE = Measure(
    name="classification",
    title="F-measure of a classifier trained on the release",
    meaning="mean over classes, tested on original records; 1 is best, and the upper bound from original data stands beside",
    papers="Soria-Comas et al. (iDP), §4.2",
    needs_linkage=True,  # else a released record could be tested on its own original
    table=_compute,
    rank=60,
    higher_is_better=True,
)
