"""classification: train on the release, test on original records that it was not trained on (Soria-Comas et al., §4.2).

The first 66 % of the records train, the rest test; of a table that is sorted by class, 66 % drawn at random. Beside each
F-measure stands the upper bound: the same classifier trained on the original records. Rows that are shuffled or synthetic
are nobody's in particular: then it learns from as many of them, whoever they came from.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.errors import DataError, MissingExtra, ParameterError, nearest
from coterie.evaluation.measure import Measure, MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.schema.arrays import Floats, Whole
from coterie.table.checked import Checked
from coterie.table.columns.column import Column, NumericColumn

# Any scikit-learn classifier by its class name, and what it finds.


class CannotLearn(Exception):
    """The classifier refused these records. Why is not repeated: scikit-learn's reasons may hold data values."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a classifier found: the F-measure of each class, the harmonic mean of precision and recall, 0 if never found."""

    f_measures: Mapping[str, float]
    converged: bool = True  # False: it stopped before it had settled, so it might do better


def learn(
    train: Floats, labels: NDArray[Any], test: Floats, truth: NDArray[Any], settings: Settings
) -> Learnt:
    guessed, converged = _guessed(train, labels, test, settings)
    found: dict[str, float] = {}
    for name in sorted(set(truth) | set(labels)):
        hits = int(np.sum((guessed == name) & (truth == name)))
        mentioned = int(np.sum(guessed == name)) + int(np.sum(truth == name))
        found[str(name)] = 2 * hits / mentioned if mentioned else 0.0
    return Learnt(found, converged)


def _guessed(
    train: Floats, labels: NDArray[Any], test: Floats, settings: Settings
) -> tuple[NDArray[Any], bool]:
    if len(set(labels)) == 1:  # nothing to learn: the one class is the answer to everything
        return np.full(len(test), labels[0]), True
    classifier = make_classifier(settings)
    try:
        with warnings.catch_warnings(record=True) as said:  # they would be printed with paths of files
            warnings.simplefilter("always")
            guessed = np.asarray(classifier.fit(train, labels).predict(test))
    except (ValueError, TypeError, ArithmeticError) as error:
        # Some want no negative numbers, some a neighbour near each record, some another classifier inside them.
        raise CannotLearn(
            f"{settings.classifier} cannot work with these records ({type(error).__name__}); "
            "choose another --classifier"
        ) from None
    return guessed, not any(warning.category.__name__ == "ConvergenceWarning" for warning in said)


def make_classifier(settings: Settings) -> Any:
    """Seeded where it can be."""
    try:
        from sklearn.utils import all_estimators
    except ImportError:
        raise MissingExtra.named("evaluate", "Classification") from None
    known = dict(all_estimators(type_filter="classifier"))
    if settings.classifier not in known:
        raise ParameterError(
            f"scikit-learn has no classifier '{settings.classifier}'.", nearest(settings.classifier, known)
        )
    try:
        classifier = known[settings.classifier]()
    except TypeError:
        raise ParameterError(
            f"'{settings.classifier}' needs another classifier inside it.",
            "Choose one that stands alone, such as RandomForestClassifier.",
        ) from None
    if "random_state" in classifier.get_params():
        classifier.set_params(random_state=settings.seed)
    return classifier


MOST_CLASSES = 50


def check_classes(checked: Checked, settings: Settings) -> None:
    """Refuse what classification would refuse, from the original alone: before a grid is run, not after it."""
    if settings.target is None:
        return
    if settings.target in checked.columns:
        values = _plain(checked.columns[settings.target], settings)
    elif settings.target in checked.kept:
        values = checked.kept[settings.target].to_numpy()
    else:
        raise DataError(
            f"There is no class column '{settings.target}' among the columns that are released.",
            nearest(settings.target, [*checked.kept, *checked.columns]),
        )
    classes(values, settings)
    make_classifier(settings)


def _plain(column: Column, settings: Settings) -> NDArray[Any]:
    if not isinstance(column, NumericColumn):
        return np.array(column.taxonomy.categories, dtype=object)[column.codes]
    listed = column.attribute.categories
    if listed is None or listed.labels is None or settings.threshold is not None:
        return column.values
    return np.array(listed.labels, dtype=object)[np.rint(column.values).astype(np.int64)]


def class_column(pair: Pair, settings: Settings) -> tuple[NDArray[Any], NDArray[Any]]:
    target = str(settings.target)
    if target in pair.original:
        return _plain(pair.original[target], settings), _plain(pair.released[target], settings)
    if target in pair.original_kept:
        before, after = pair.original_kept[target], pair.released_kept[target]
        # Parquet has booleans and timestamps where CSV has text: the same class must have the same name.
        return before.to_numpy(), after.cast(before.type, safe=False).to_numpy()
    raise DataError(
        f"The class column '{target}' is not in the release.",
        nearest(target, [*pair.original_kept, *pair.original]),
    )


def classes(values: NDArray[Any], settings: Settings) -> tuple[NDArray[np.str_], list[str]]:
    if any(value is None or value != value for value in values):
        raise DataError(f"The class column '{settings.target}' misses values.", "Drop those rows first.")
    if settings.threshold is not None:
        try:
            above = values.astype(np.float64) > settings.threshold
        except (TypeError, ValueError):
            raise DataError(
                f"'{settings.target}' holds no numbers to split at a threshold.", "Leave out --threshold."
            ) from None
        names = [f"at most {settings.threshold:.12g}", f"above {settings.threshold:.12g}"]
        return np.where(above, names[1], names[0]), names
    text = np.array([_name(value) for value in values])
    names = sorted(set(text))
    if len(names) > MOST_CLASSES:
        raise ParameterError(
            f"'{settings.target}' has more than {MOST_CLASSES} classes.",
            "Make two of them with --threshold VALUE, or name another column.",
        )
    return text, names


def _name(value: Any) -> str:
    """Whole numbers without a point, and every digit: codes such as 1234560 and 1234561 are two classes."""
    return str(int(value)) if isinstance(value, float | np.floating) and value.is_integer() else str(value)


def _compute(pair: Pair, settings: Settings) -> MeasureResult:
    if settings.target is None:
        return MeasureResult(None, reason="no class column was named (--target)")
    try:
        before, after = class_column(pair, settings)
    except pa.ArrowInvalid:  # it was kept, and is of another kind now
        return MeasureResult(None, reason=pair.unlinked or f"'{settings.target}' holds something else now")
    features = [name for name in pair.original if name != settings.target]
    if not features:
        return MeasureResult(None, reason="there is no attribute to classify by")
    truth, names = classes(before, settings)
    if settings.threshold is None and len(set(after)) > MOST_CLASSES:
        return MeasureResult(
            None, reason=f"the release has more than {MOST_CLASSES} classes; --threshold makes two of them"
        )
    labels, _ = classes(after, settings)
    cut = int(len(truth) * settings.train_share)
    if not 0 < cut < len(truth):
        raise ParameterError("The training share leaves no record to train or test.", "Choose about 0.66.")
    original = np.column_stack([_feature(pair.original[name]) for name in features])
    released = np.column_stack([_feature(pair.released[name]) for name in features])
    train, test, split = _parts(truth, cut, settings.seed)
    after = train if pair.unlinked is None else np.arange(min(cut, len(labels)))
    try:
        bound = _upper_bound(original, truth, train, test, settings)
        learnt = learn(released[after], labels[after], original[test], truth[test], settings)
    except CannotLearn as refused:  # the other measures are still given
        return MeasureResult(None, reason=str(refused))
    found, best = learnt.f_measures, bound.f_measures
    by_class = {
        name: {"f_measure": found.get(name, 0.0), "upper_bound": best.get(name, 0.0)} for name in names
    }
    present = [name for name in names if name in set(truth[test])]
    return MeasureResult(
        float(np.mean([by_class[name]["f_measure"] for name in present])),
        details={
            "classifier": settings.classifier,
            "upper_bound": float(np.mean([by_class[name]["upper_bound"] for name in present])),
            "classes": by_class,
            "trained_on": len(after),
            "tested_on": len(truth) - cut,
            "split": split,
            "converged": learnt.converged and bound.converged,
        },
    )


def _upper_bound(
    original: Floats, truth: NDArray[np.str_], train: Whole, test: Whole, settings: Settings
) -> Learnt:
    """Learnt once per original: all example releases of a report have it in common, and training may take a minute."""
    key = hashlib.sha256()
    for part in (original, truth, train):
        key.update(np.ascontiguousarray(part).tobytes())
    name = f"classification {key.hexdigest()}"
    if name not in settings.shared:
        settings.shared[name] = learn(original[train], truth[train], original[test], truth[test], settings)
    bound: Learnt = settings.shared[name]
    return bound


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
    needs_linkage=False,
    table=_compute,
    rank=60,
    higher_is_better=True,
)
