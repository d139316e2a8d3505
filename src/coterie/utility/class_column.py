"""The classes of a classification: a column of the original and of the release, read so that each class has one name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.columns.column import Column, NumericColumn
from coterie.errors import DataError, ParameterError, nearest
from coterie.table import Checked
from coterie.utility.classifiers import make_classifier
from coterie.utility.measure import Settings
from coterie.utility.pair import Pair

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
