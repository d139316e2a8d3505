"""The classes of a classification, each read under one name in original and release, and the classifier that learns them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DataError, MissingExtra, ParameterError, nearest
from coterie.evaluation.measure import Settings
from coterie.evaluation.pair import Pair
from coterie.schema.arrays import Floats
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
        # Parquet knows truth values and moments where CSV has text: the same class must have the same name.
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
        names = [f"at most {settings.threshold:g}", f"above {settings.threshold:g}"]
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
