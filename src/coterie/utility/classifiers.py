"""Any scikit-learn classifier by its class name, and what it finds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import MissingExtra, ParameterError, nearest
from coterie.utility.measure import Floats, Settings


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
