"""classification: train on the release, test on original records that it was not trained on (000 §4.2).

The first 66 % of the records train, the rest test; of a table that is sorted by class, 66 % drawn at random. Beside each
F-measure stands the upper bound: the same classifier trained on the original records.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.columns.column import Column, NumericColumn
from coterie.errors import DataError, ParameterError, nearest
from coterie.table import Checked
from coterie.utility.classifiers import CannotLearn, Learnt, learn, make_classifier
from coterie.utility.measure import Floats, Measure, Measured, Settings
from coterie.utility.pair import Pair

Whole = NDArray[np.int64]
MOST_CLASSES = 50
_bounds: dict[bytes, Learnt] = {}


def _compute(pair: Pair, settings: Settings) -> Measured:
    if settings.target is None:
        return Measured(None, reason="no class column was named (--target)")
    before, after = _class_column(pair, settings.target)
    features = [name for name in pair.original if name != settings.target]
    if not features:
        return Measured(None, reason="there is no attribute to classify by")
    truth, names = _classes(before, settings)
    if settings.threshold is None and len(set(after)) > MOST_CLASSES:
        return Measured(
            None, reason=f"the release has more than {MOST_CLASSES} classes; --threshold makes two of them"
        )
    labels, _ = _classes(after, settings)
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
    classes = {
        name: {"f_measure": found.get(name, 0.0), "upper_bound": best.get(name, 0.0)} for name in names
    }
    present = [name for name in names if name in set(truth[test])]
    return Measured(
        float(np.mean([classes[name]["f_measure"] for name in present])),
        details={
            "classifier": settings.classifier,
            "upper_bound": float(np.mean([classes[name]["upper_bound"] for name in present])),
            "classes": classes,
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


def check_classes(checked: Checked, settings: Settings) -> None:
    """Refuse what classification would refuse, from the original alone: before a grid is run, not after it."""
    if settings.target is None:
        return
    if settings.target in checked.columns:
        values = _plain(checked.columns[settings.target])
    elif settings.target in checked.kept:
        values = checked.kept[settings.target].to_numpy()
    else:
        raise DataError(
            f"There is no class column '{settings.target}' among the columns that are released.",
            nearest(settings.target, [*checked.kept, *checked.columns]),
        )
    _classes(values, settings)
    make_classifier(settings)


def _feature(column: Column) -> Floats:
    """Numbers as they are; one 0/1 column a label for categories."""
    if isinstance(column, NumericColumn):
        return column.values[:, None]
    return np.eye(len(column.distance))[column.codes]


def _plain(column: Column) -> NDArray[Any]:
    if isinstance(column, NumericColumn):
        return column.values
    return np.array(column.taxonomy.categories, dtype=object)[column.codes]


def _class_column(pair: Pair, target: str) -> tuple[NDArray[Any], NDArray[Any]]:
    if target in pair.original:
        return _plain(pair.original[target]), _plain(pair.released[target])
    if target in pair.original_kept:
        return pair.original_kept[target].to_numpy(), pair.released_kept[target].to_numpy()
    raise DataError(
        f"The class column '{target}' is not in the release.",
        nearest(target, [*pair.original_kept, *pair.original]),
    )


def _classes(values: NDArray[Any], settings: Settings) -> tuple[NDArray[np.str_], list[str]]:
    if settings.threshold is not None:
        try:
            above = values.astype(np.float64) > settings.threshold
        except (TypeError, ValueError):
            raise DataError(
                f"'{settings.target}' holds no numbers to split at a threshold.", "Leave out --threshold."
            ) from None
        names = [f"at most {settings.threshold:g}", f"above {settings.threshold:g}"]
        return np.where(above, names[1], names[0]), names
    if any(value is None or value != value for value in values):
        raise DataError(f"The class column '{settings.target}' misses values.", "Drop those rows first.")
    text = np.array([f"{value:g}" if isinstance(value, float) else str(value) for value in values])
    names = sorted(set(text))
    if len(names) > MOST_CLASSES:
        raise ParameterError(
            f"'{settings.target}' has more than {MOST_CLASSES} classes.",
            "Make two of them with --threshold VALUE, or name another column.",
        )
    return text, names


MEASURE = Measure(
    name="classification",
    title="F-measure of a classifier trained on the release",
    meaning="mean over classes, tested on original records; 1 is best, and the upper bound from original data stands beside",
    papers="000 §4.2",
    needs_linkage=True,  # else a released record could be tested on its own original
    table=_compute,
    rank=60,
    higher_is_better=True,
)
